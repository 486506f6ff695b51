/* SPDX-License-Identifier: BSD-2-Clause */
/* Archived jobs in their files: archive/<id / 10000>/job-<id>. */
#include "lib/json/json.h"
#include "queue/queue_private.h"

static WAITS struct job *parse(const char *text, size_t len, const char *name,
			       uint64_t id, struct error *err)
{
	struct job *j;

	if (len <= JSON_INLINE_MAX)
		return load_text(text, len, name, id, err);
	task_leave(); /* only this task uses the text */
	j = load_text(text, len, name, id, err);
	task_enter();
	return j;
}

struct job *queue_archived(struct queue *q, uint64_t id, struct error *err)
{
	auto_free char *name = queue_archive_name(id);
	size_t len = 0;
	auto_free char *text =
		store_read(q->store, name, JOB_FILE_MAX, &len, err);
	struct job *j = text == NULL ? NULL : parse(text, len, name, id, err);

	if (j != NULL)
		j->archived = true;
	return j;
}

/* Returns 1 when fn wants no more jobs. */
static WAITS int each_in_folder(struct queue *q, uint64_t folder,
				WAITS bool (*fn)(struct job *j STEALS,
						 void *arg),
				void *arg, struct error *err)
{
	auto_free uint64_t *ids = NULL;
	size_t n;

	ids = archive_ids(q, folder, &n, err);
	if (ids == NULL)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct error ignored; /* a damaged file is skipped */
		struct job *j = queue_archived(q, ids[i], &ignored);

		if (j != NULL && !fn(j, arg))
			return 1;
	}
	return 0;
}

int queue_each_archived(struct queue *q,
			WAITS bool (*fn)(struct job *j STEALS, void *arg),
			void *arg, struct error *err)
{
	size_t n = 0;
	auto_free uint64_t *folders = archive_folders(q, &n, err);
	int rc = folders == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = each_in_folder(q, folders[i], fn, arg, err);
	return rc < 0 ? -1 : 0;
}

int queue_each_indexed(struct queue *q, const json_t *qfilter,
		       WAITS bool (*fn)(const struct job *j, void *arg),
		       void *arg)
{
	return history_each(q->history, qfilter, fn, arg);
}
