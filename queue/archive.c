/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs that have ended leave the queue for the archive; each becomes an entry
 * of the chain of hashes (chain.h). */
#include <assert.h>
#include <string.h>

#include "lib/base/clock.h"
#include "queue/queue_private.h"

/* A sweep is ended after this time, whatever a client asks for. */
#define AUTO_ARCHIVE_MAX_S 3600

/* So many jobs are archived in one change of the store; fewer when they are
 * big. */
#define ARCHIVE_GROUP 500
#define ARCHIVE_GROUP_BYTES (4 * 1024 * 1024)

/* The jobs of one change.  Only one group is archived at a time, since the
 * first entry of the next one needs the hash of the last entry of this one. */
struct archiving {
	struct queue *queue;
	struct chain_link head; /* when it is durable */
	size_t n, bytes;
	uint64_t ids[ARCHIVE_GROUP];
};

static void forget(struct queue *q, struct job *j)
{
	job_index_remove(&q->jobs, j->id);
	j->archived = true;
	history_archived(q->history, j);
	/* Tell those who watch the job; when they look again it is gone. */
	watch_changed(j);
	job_destroy(j);
}

static void on_archived(struct store_change *c, const struct error *err)
{
	auto_free struct archiving *a = c->arg;
	struct queue *q = a->queue;

	q->n_saving--;
	q->archiving = false;
	if (err == NULL)
		q->chain = a->head;
	for (size_t i = 0; i < a->n && !q->closed; i++) {
		struct job *j = job_index_get(&q->jobs, a->ids[i]);

		j->private->archiving = false;
		if (err == NULL)
			forget(q, j);
	}
	if (!q->closed)
		cond_signal(&q->archived);
	if (q->n_saving == 0 && !q->closed)
		cond_signal(&q->idle);
}

/* Wait until no other group is being archived. */
static WAITS struct store_change *begin_archiving(struct queue *q)
{
	struct store_change *c = store_change_new();
	struct archiving *a = xalloc(sizeof(*a));

	while (q->archiving)
		cond_wait(&q->archived);
	q->archiving = true;
	a->queue = q;
	a->head = q->chain;
	c->done = on_archived;
	c->arg = a;
	c->may_fail = true;
	return c;
}

/* No job was found that could be archived. */
static void end_archiving(struct queue *q, struct store_change *c STEALS)
{
	free(c->arg);
	store_change_drop(c);
	q->archiving = false;
	cond_signal(&q->archived);
}

static bool can_be_archived(const struct job *j)
{
	return !j->private->unborn && !j->private->archiving &&
	       j->private->n_saving == 0 && j->private->running == NULL &&
	       job_is_final(j);
}

/* A crash may come between any two of these operations.  Until its file is
 * moved the job is still live; then load.c sets the head of the chain back to
 * the predecessor that the job's file names. */
static void archive_add(struct store_change *c, struct job *j)
{
	auto_free char *from = queue_job_name(j->id);
	auto_free char *to = queue_archive_name(j->id);
	struct archiving *a = c->arg;
	char *text = chain_seal(&a->head, j->id, job_to_text(j));

	assert(a->n < ARCHIVE_GROUP);
	j->private->archiving = true;
	a->ids[a->n++] = j->id;
	a->bytes += strlen(text);
	store_change_write(c, from, text);
	store_change_write(c, CHAIN_HEAD_FILE, chain_head_text(&a->head));
	store_change_move(c, from, to);
}

int queue_archive(struct queue *q, uint64_t id, bool *ret_ok, struct error *err)
{
	struct job *j = job_find_live(q, id);
	struct store_change *c;

	*ret_ok = false;
	if (j == NULL || !can_be_archived(j))
		return 0;
	c = begin_archiving(q);
	j = job_find_live(q, id);
	if (j == NULL || !can_be_archived(j)) { /* somebody else was faster */
		end_archiving(q, c);
		return 0;
	}
	archive_add(c, j);
	q->n_saving++;
	if (store_commit(q->store, c, err) < 0)
		return -1;
	*ret_ok = true;
	return 0;
}

static bool old_enough(const struct job *j, int64_t age_s, int64_t now_us)
{
	int64_t end = j->end_us != 0 ? j->end_us : j->received_us;

	return age_s < 0 || end / 1000000 < now_us / 1000000 - age_s;
}

/* Collect jobs with ids above `after`, which this sweep has not looked at. */
static size_t count_after(struct queue *q, uint64_t after)
{
	size_t n = 0;

	for (struct job *j = job_index_next(&q->jobs, after); j != NULL;
	     j = job_index_next(&q->jobs, j->id))
		n++;
	return n;
}

static bool is_full(const struct archiving *a)
{
	return a->n == ARCHIVE_GROUP || a->bytes >= ARCHIVE_GROUP_BYTES;
}

/* Archive the next group, with ids above *at, which moves on.  1: there may be
 * more jobs, 0: there are none. */
static WAITS int archive_group(struct queue *q, int64_t age_s, uint64_t *at,
			       size_t *archived, struct error *err)
{
	struct store_change *c = begin_archiving(q);
	struct archiving *a = c->arg;
	int64_t now = clock_wall_us();
	struct job *j = NULL;
	bool full;

	while (!is_full(a) && (j = job_index_next(&q->jobs, *at)) != NULL) {
		*at = j->id;
		if (can_be_archived(j) && old_enough(j, age_s, now))
			archive_add(c, j);
	}
	*archived += a->n;
	full = is_full(a);
	if (a->n == 0) {
		end_archiving(q, c);
		return 0;
	}
	q->n_saving++;
	if (store_commit(q->store, c, err) < 0)
		return -1;
	return full;
}

int queue_auto_archive(struct queue *q, int64_t age_s, int64_t timeout_s,
		       size_t *ret_archived, size_t *ret_left,
		       struct error *err)
{
	int64_t limit_s =
		timeout_s < AUTO_ARCHIVE_MAX_S ? timeout_s : AUTO_ARCHIVE_MAX_S;
	int64_t deadline = clock_mono_us() + limit_s * 1000000;
	size_t archived = 0;
	uint64_t at = 0;
	int more;

	do {
		history_keep_up(q->history);
		more = archive_group(q, age_s, &at, &archived, err);
	} while (more > 0 && clock_mono_us() < deadline);
	if (more < 0)
		return -1;
	*ret_archived = archived;
	*ret_left = more > 0 ? count_after(q, at) : 0;
	return 0;
}
