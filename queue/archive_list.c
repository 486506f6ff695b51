/* SPDX-License-Identifier: BSD-2-Clause */
/* Which jobs are in the archive. */
#include "lib/model/files/queue_files.h"
#include "queue/queue_private.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t *archive_folders(struct queue *q, size_t *ret_n, struct error *err)
{
	auto_strv struct strv names = {0};
	uint64_t *folders;
	size_t n = 0;

	if (store_list(q->store, "archive", &names, err) < 0)
		return NULL;
	folders = xcalloc(names.n + 1, sizeof(*folders));
	for (size_t i = 0; i < names.n; i++)
		if (str_to_number(names.items[i], JOB_ID_MAX / ARCHIVE_FOLDER,
				  &folders[n], NULL))
			n++;
	qsort(folders, n, sizeof(*folders), by_value);
	*ret_n = n;
	return folders;
}

uint64_t *archive_ids(struct queue *q, uint64_t folder, size_t *ret_n,
		      struct error *err)
{
	auto_free char *name = xprintf("archive/%ju", (uintmax_t)folder);
	auto_strv struct strv names = {0};
	uint64_t *ids;
	size_t n = 0;

	if (store_list(q->store, name, &names, err) < 0)
		return NULL;
	ids = xcalloc(names.n + 1, sizeof(*ids));
	for (size_t i = 0; i < names.n; i++)
		if (queue_file_job_id(names.items[i], &ids[n]) &&
		    ids[n] / ARCHIVE_FOLDER == folder)
			n++;
	qsort(ids, n, sizeof(*ids), by_value);
	*ret_n = n;
	return ids;
}
