/* SPDX-License-Identifier: BSD-2-Clause */
/* Which jobs are in the archive. */
#include "queue/queue_private.h"

uint64_t archive_folders(const struct queue *q)
{
	return q->last_id / ARCHIVE_FOLDER + 1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
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
		if (load_id(names.items[i], &ids[n]) &&
		    ids[n] / ARCHIVE_FOLDER == folder)
			n++;
	qsort(ids, n, sizeof(*ids), by_value);
	*ret_n = n;
	return ids;
}
