/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of locks: who holds and who waits.  Jobs are named by strings, as
 * Ganeti's clients expect. */
#include <inttypes.h>

#include "lib/base/table.h"
#include "lib/json/json.h"
#include "masterd/query/query_private.h"
#include "queue/locks/locks.h"

static json_t *job_name(uint64_t id)
{
	return json_sprintf("%" PRIu64, id);
}

static struct query_cell get_name(const struct query *q, struct query_row *row,
				  const struct query_field *field)
{
	const struct lock_info *lock = row->data;

	(void)q;
	(void)field;
	return query_text(lock->name);
}

static struct query_cell get_mode(const struct query *q, struct query_row *row,
				  const struct query_field *field)
{
	const struct lock_info *lock = row->data;

	(void)q;
	(void)field;
	return query_value(lock->mode == NULL ? json_null()
					      : json_string(lock->mode));
}

static struct query_cell get_owner(const struct query *q, struct query_row *row,
				   const struct query_field *field)
{
	const struct lock_info *lock = row->data;
	json_t *owners = json_array();

	(void)q;
	(void)field;
	for (size_t i = 0; i < lock->n_owners; i++)
		json_array_append_new(owners, job_name(lock->owners[i]));
	return query_value(owners);
}

/* [[mode, [job]], ...] in the order of their turns. */
static struct query_cell get_pending(const struct query *q,
				     struct query_row *row,
				     const struct query_field *field)
{
	const struct lock_info *lock = row->data;
	json_t *pending = json_array();

	(void)q;
	(void)field;
	for (size_t i = 0; i < lock->n_pending; i++)
		json_array_append_new(
			pending,
			json_make("[s, [o]]",
				  lock->pending[i].exclusive ? "exclusive"
							     : "shared",
				  job_name(lock->pending[i].owner)));
	return query_value(pending);
}

static const struct query_field fields[] = {
	{"name", "Name", KIND_OTHER, "Name of the lock", get_name},
	{"mode", "Mode", KIND_OTHER, "How it is held: shared or exclusive",
	 get_mode},
	{"owner", "Owner", KIND_OTHER, "Jobs that hold it", get_owner},
	{"pending", "Pending", KIND_OTHER, "Jobs that wait for it",
	 get_pending},
};

/* Copies, since the locks change while the answer is made. */
struct lock_rows {
	struct table names; /* empty: all */
	struct lock_info *all;
	size_t n, cap;
};

static void on_lock(const struct lock_info *info, void *arg)
{
	struct lock_rows *rows = arg;
	struct lock_info *copy;

	if (rows->names.n > 0 && table_get(&rows->names, info->name) == NULL)
		return;
	if (rows->n == rows->cap) {
		rows->cap = rows->cap == 0 ? 64 : rows->cap * 2;
		rows->all = xrealloc(rows->all, rows->cap * sizeof(*rows->all));
	}
	copy = &rows->all[rows->n++];
	*copy = *info;
	copy->name = xstrdup(info->name);
	copy->owners = xmemdup(info->owners,
			       (info->n_owners + 1) * sizeof(*info->owners));
	copy->pending = xmemdup(info->pending,
				(info->n_pending + 1) * sizeof(*info->pending));
}

static void rows_done(struct lock_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free(rows->all[i].name);
		free(mem_unconst(rows->all[i].owners));
		free(mem_unconst(rows->all[i].pending));
	}
	free(rows->all);
	table_done(&rows->names, NULL);
}

/* A name that is no lock in use is not an error: nobody holds or wants it. */
static WAITS int lock_rows(struct query *q, const struct strv *names,
			   struct error *err)
{
	__attribute__((cleanup(rows_done))) struct lock_rows rows = {0};

	(void)err;
	for (size_t i = 0; names != NULL && i < names->n; i++) {
		table_put(&rows.names, names->items[i], q);
		slice_steps(&q->work, 1);
	}
	locks_describe(q->m->locks, on_lock, &rows);
	for (size_t i = 0; i < rows.n; i++)
		if (query_add_row(q, &(struct query_row){.data = &rows.all[i],
							 .own = q->heavy}) < 0)
			return -1;
	return 0;
}

const struct query_class query_class_lock = {
	.what = "lock",
	.title = "Lock",
	.name_field = "name",
	QUERY_TABLE(fields),
	.rows = lock_rows,
};
