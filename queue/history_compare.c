/* SPDX-License-Identifier: BSD-2-Clause */
/* Compare the history with the archive, folder by folder. */
#include <stdlib.h>

#include "queue/history_private.h"

struct folder {
	uint64_t *have, *there;
	size_t n_have, n_there;
};

static void folder_done(struct folder *f)
{
	free(f->have);
	free(f->there);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool has(const uint64_t *ids, size_t n, uint64_t id)
{
	return bsearch(&id, ids, n, sizeof(*ids), by_value) != NULL;
}

/* Jobs in files that the history does not know. */
static WAITS int add_missing(struct history *h, const struct folder *f,
			     struct error *err)
{
	struct job *jobs[HISTORY_BATCH];
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < f->n_there && rc == 0 && !h->stopping; i++) {
		struct error ignored; /* a damaged file is skipped */
		struct job *j = NULL;

		if (!has(f->have, f->n_have, f->there[i]))
			j = queue_archived(h->queue, f->there[i], &ignored);
		if (j != NULL)
			jobs[n++] = j;
		if (n == HISTORY_BATCH) {
			rc = history_put(h, jobs, n, err);
			n = 0;
		}
		h->work.done++;
	}
	if (rc == 0)
		return n == 0 ? 0 : history_put(h, jobs, n, err);
	while (n > 0)
		job_free(jobs[--n]);
	return rc;
}

/* Jobs that the history knows and whose files are gone. */
static WAITS int remove_gone(struct history *h, const struct folder *f,
			     struct error *err)
{
	auto_free uint64_t *gone = xcalloc(f->n_have + 1, sizeof(*gone));
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < f->n_have; i++)
		if (!has(f->there, f->n_there, f->have[i]))
			gone[n++] = f->have[i];
	if (n == 0)
		return 0;
	task_leave();
	rc = history_write(h->db, NULL, 0, gone, n, err);
	task_enter();
	return rc;
}

static WAITS int compare_folder(struct history *h, uint64_t number,
				struct error *err)
{
	__attribute__((cleanup(folder_done))) struct folder f = {0};
	uint64_t from = number * ARCHIVE_FOLDER;

	task_leave();
	f.have = history_db_archived(h->db, from, from + ARCHIVE_FOLDER,
				     &f.n_have, err);
	task_enter();
	if (f.have == NULL)
		return -1;
	f.there = archive_ids(h->queue, number, &f.n_there, err);
	if (f.there == NULL || remove_gone(h, &f, err) < 0)
		return -1;
	return add_missing(h, &f, err);
}

/* The first folder from *number on that the archive or the history has.  1, 0
 * when there is none, -1 with err. */
static WAITS int next_folder(struct history *h, const uint64_t *folders,
			     size_t n, uint64_t *number, struct error *err)
{
	uint64_t id, from = *number;
	size_t i = 0;
	int rc;

	task_leave();
	rc = history_db_next_archived(h->db, from * ARCHIVE_FOLDER, &id, err);
	task_enter();
	while (i < n && folders[i] < from)
		i++;
	if (rc < 0 || (rc == 0 && i == n))
		return rc;
	*number = rc > 0 ? id / ARCHIVE_FOLDER : folders[i];
	if (i < n && folders[i] < *number)
		*number = folders[i];
	return 1;
}

WAITS int history_compare_archive(struct history *h, struct error *err)
{
	size_t n = 0;
	auto_free uint64_t *folders = archive_folders(h->queue, &n, err);
	int rc = folders == NULL ? -1 : 1;

	for (uint64_t f = 0; rc > 0; f++) {
		rc = next_folder(h, folders, n, &f, err);
		if (rc <= 0)
			break;
		if (compare_folder(h, f, err) < 0 ||
		    history_put_waiting(h, err) < 0)
			return -1;
		if (h->stopping || h->remake || h->forgot)
			break;
	}
	return rc < 0 ? -1 : 0;
}
