/* SPDX-License-Identifier: BSD-2-Clause */
/* The chain in the files of the archive: where it ends (at start), and whether
 * it is whole (on request). */
#include <assert.h>
#include <string.h>

#include "lib/base/log.h"
#include "queue/history/chain_check.h"
#include "queue/queue_private.h"

struct entries {
	struct chain_entry *items;
	size_t n, cap;
};

/* A job whose file cannot be read has no place in the chain any more. */
static WAITS void add_entry(struct queue *q, struct entries *all, uint64_t id)
{
	auto_free char *name = queue_archive_name(id);
	struct chain_entry e = {.id = id};
	struct error ignored;
	size_t len;
	auto_free char *text =
		store_read(q->store, name, JOB_FILE_MAX, &len, &ignored);

	if (text != NULL) {
		chain_hash(text, len, e.sha256);
		chain_read(text, len, &e.number, &e.previous);
	}
	if (all->n == all->cap) {
		all->cap = all->cap == 0 ? 256 : all->cap * 2;
		all->items =
			xrealloc(all->items, all->cap * sizeof(*all->items));
	}
	all->items[all->n++] = e;
}

/* Read all files, and count them in *done on the way. */
static WAITS int collect(struct queue *q, struct entries *all, uint64_t *done,
			 struct error *err)
{
	size_t n_folders = 0;
	auto_free uint64_t *folders = archive_folders(q, &n_folders, err);

	if (folders == NULL)
		return -1;
	for (size_t f = 0; f < n_folders; f++) {
		size_t n;
		auto_free uint64_t *ids = archive_ids(q, folders[f], &n, err);

		if (ids == NULL)
			return -1;
		for (size_t i = 0; i < n && !q->stopping; i++) {
			add_entry(q, all, ids[i]);
			++*done;
		}
	}
	return 0;
}

/* --- at start --- */

/* The highest job id in the archive. */
static WAITS void head_from_files(struct queue *q)
{
	struct entries all = {0};
	struct error ignored;
	uint64_t done = 0;

	collect(q, &all, &done, &ignored);
	for (size_t i = 0; i < all.n; i++)
		if (all.items[i].number > q->chain.number) {
			q->chain.number = all.items[i].number;
			q->chain.id = all.items[i].id;
			memcpy(q->chain.sha256, all.items[i].sha256, CHAIN_HEX);
		}
	free(all.items);
}

/* Whether the archived job with the highest id has a place in a chain. */
static WAITS bool has_chain(struct queue *q)
{
	struct entries one = {0};
	struct error ignored;
	size_t n_folders = 0;
	auto_free uint64_t *folders = archive_folders(q, &n_folders, &ignored);
	bool has = false;

	while (n_folders > 0 && one.n == 0) {
		size_t n = 0;
		auto_free uint64_t *ids =
			archive_ids(q, folders[--n_folders], &n, &ignored);

		if (n > 0)
			add_entry(q, &one, ids[n - 1]);
	}
	has = one.n > 0 && one.items[0].number > 0;
	free(one.items);
	return has;
}

static void save_head(struct queue *q)
{
	store_write_at_start(q->store, CHAIN_HEAD_FILE,
			     chain_head_text(&q->chain));
}

/* A crash came after the head was written and before the file was moved. */
static WAITS void take_back(struct queue *q)
{
	struct job *j = job_index_get(&q->jobs, q->chain.id);
	auto_free char *name = queue_job_name(q->chain.id);
	struct chain_link previous;
	struct error ignored;
	uint64_t number;
	size_t len;
	auto_free char *text =
		j == NULL ? NULL
			  : store_read(q->store, name, JOB_FILE_MAX, &len,
				       &ignored);

	if (text == NULL || !chain_read(text, len, &number, &previous) ||
	    number != q->chain.number)
		return;
	q->chain = previous;
	save_head(q);
}

void chain_load(struct queue *q)
{
	bool exists = store_exists(q->store, CHAIN_HEAD_FILE);
	auto_free char *text = NULL;
	struct error err;
	size_t len;

	if (exists)
		text = store_read(q->store, CHAIN_HEAD_FILE, 1000, &len, &err);
	if (text != NULL && chain_head_read(text, len, &q->chain)) {
		if (q->chain.number > 0)
			take_back(q);
		return;
	}
	if (!exists && !has_chain(q))
		return;
	log_warning("%s/" CHAIN_HEAD_FILE " is %s: the last archived job is "
		    "taken from the archive instead",
		    q->dir, exists ? "damaged" : "missing");
	head_from_files(q);
	save_head(q);
}

/* --- on request --- */

int chain_verify(struct queue *q, uint64_t *done, struct chain_verdict *ret,
		 struct error *err)
{
	struct chain_link head = q->chain;
	struct entries all = {0};
	int rc = collect(q, &all, done, err);

	while (q->archiving && !q->stopping)
		cond_wait(&q->archived);
	if (rc == 0 && q->stopping)
		rc = error_set(err, ERR_QUEUE, NULL, "The master daemon ends");
	if (rc == 0)
		chain_check(&head, q->chain.number, all.items, all.n, ret);
	free(all.items);
	return rc;
}
