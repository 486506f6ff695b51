/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of locks: who holds and who waits.  Jobs are named by strings, as
 * Ganeti's clients expect. */
#include <inttypes.h>

#include "lib/json/json.h"
#include "masterd/query_private.h"
#include "queue/locks.h"

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

struct lock_rows {
	struct query *q;
	const struct strv *names;
	int rc;
};

static void on_lock(const struct lock_info *info, void *arg)
{
	struct lock_rows *rows = arg;

	if (rows->rc == 0 &&
	    (rows->names == NULL || strv_has(rows->names, info->name)))
		rows->rc = query_add_row(rows->q,
					 &(struct query_row){.data = info});
}

/* A name without a lock is none that anybody wants: no error. */
static int lock_rows(struct query *q, const struct strv *names,
		     struct error *err)
{
	struct lock_rows rows = {.q = q, .names = names};

	(void)err;
	locks_describe(q->m->locks, on_lock, &rows);
	return rows.rc;
}

const struct query_class query_class_lock = {
	.what = "lock",
	.title = "Lock",
	.name_field = "name",
	QUERY_TABLE(fields),
	.rows = lock_rows,
};
