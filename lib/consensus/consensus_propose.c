/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits: for an entry to be committed, for a state that has all that was
 * acknowledged. */
#include <assert.h>

#include "lib/base/clock.h"
#include "lib/consensus/consensus_private.h"

/* Somebody who waits in consensus_read(). */
struct reader {
	struct list link;
	uint64_t number; /* of the question; 0: it is to be asked */
	uint64_t index;	 /* applied up to there is enough; 0: not known */
	unsigned ticks;	 /* since it was asked */
	bool done;
	struct cond changed;
};

/* --- proposals --- */

static void finish(struct consensus_proposal *p, const struct error *err)
{
	list_remove(&p->link);
	free(steal(&p->data));
	p->done(p, err);
}

void consensus_propose(struct consensus *c, struct consensus_proposal *p,
		       char *data STEALS, size_t len)
{
	struct error err;

	p->data = data;
	p->len = len;
	list_append(&c->waiting, &p->link);
	if (c->stopping || c->failed || c->given_up) {
		error_set(&err, ERR_QUEUE, ECODE_STATE,
			  "The master daemon ends");
		finish(p, &err);
		return;
	}
	consensus_pump(c);
}

void consensus_propose_waiting(struct consensus *c)
{
	while (!list_empty(&c->waiting)) {
		struct consensus_proposal *p = list_first(
			&c->waiting, struct consensus_proposal, link);

		if (raft_propose(c->raft, p->data, p->len, &p->index,
				 &p->term) != RAFT_OK)
			return;
		free(steal(&p->data));
		list_remove(&p->link);
		list_append(&c->proposed, &p->link);
	}
}

static void tell_lost(struct consensus_proposal *p)
{
	struct error err;

	error_set(&err, ERR_QUEUE, ECODE_FENCED,
		  "Another master has taken over before this change was kept");
	finish(p, &err);
}

static void refuse(struct list *proposals, const struct error *err)
{
	while (!list_empty(proposals))
		finish(list_first(proposals, struct consensus_proposal, link),
		       err);
}

void consensus_give_up(struct consensus *c)
{
	struct error err;

	error_set(&err, ERR_QUEUE, ECODE_STATE,
		  "The master daemon ends without a majority of the master "
		  "candidates");
	c->given_up = true;
	refuse(&c->proposed, &err);
	refuse(&c->waiting, &err);
}

bool consensus_any_waits(const struct consensus *c)
{
	return !list_empty(&c->waiting) || !list_empty(&c->proposed);
}

void consensus_refuse_all(struct consensus *c, const struct error *err)
{
	struct reader *r;

	refuse(&c->proposed, err);
	refuse(&c->waiting, err);
	list_each (r, &c->readers, link)
		cond_signal(&r->changed);
}

/* A proposal and the one who waits for it. */
struct commit {
	struct consensus_proposal p;
	struct cond changed;
	bool done;
	int rc;
	struct error *err;
};

static void on_done(struct consensus_proposal *p, const struct error *err)
{
	struct commit *commit = p->arg;

	commit->done = true;
	if (err != NULL) {
		commit->rc = -1;
		*commit->err = *err;
	}
	cond_signal(&commit->changed);
}

/* Also when the task was killed in the simulation. */
static void commit_done(struct commit *commit)
{
	if (commit->done)
		return;
	list_remove(&commit->p.link);
	free(steal(&commit->p.data));
}

WAITS int consensus_commit(struct consensus *c, char *data STEALS, size_t len,
			   struct error *err)
{
	__attribute__((cleanup(commit_done))) struct commit commit = {
		.p = {.done = on_done}, .err = err};

	commit.p.arg = &commit;
	cond_init(&commit.changed);
	list_init(&commit.p.link);
	consensus_propose(c, &commit.p, data, len);
	while (!commit.done)
		cond_wait(&commit.changed);
	return commit.rc;
}

/* --- reads --- */

static void wake_readers(struct consensus *c)
{
	struct reader *r;

	list_each (r, &c->readers, link)
		if (r->index != 0 && r->index <= c->applied && !r->done) {
			r->done = true;
			cond_signal(&r->changed);
		}
}

void consensus_applied(struct consensus *c, const struct raft_entry *entry)
{
	while (!list_empty(&c->proposed)) {
		struct consensus_proposal *p = list_first(
			&c->proposed, struct consensus_proposal, link);

		if (p->index > entry->index)
			break;
		if (p->index == entry->index && p->term == entry->term)
			finish(p, NULL);
		else
			tell_lost(p);
	}
	wake_readers(c);
}

void consensus_reads_answer(struct consensus *c,
			    const struct raft_read_at *reads, size_t n)
{
	struct reader *r;

	for (size_t i = 0; i < n; i++)
		list_each (r, &c->readers, link)
			if (r->number == reads[i].context && r->index == 0)
				r->index = reads[i].index;
	if (n > 0)
		wake_readers(c);
}

/* An answer may never come: after an election's time it is asked again. */
void consensus_reads_tick(struct consensus *c)
{
	struct reader *r;

	list_each (r, &c->readers, link) {
		if (r->index != 0)
			continue;
		if (r->number != 0 && ++r->ticks < c->config.election_ticks)
			continue;
		r->ticks = 0;
		r->number = ++c->last_reader;
		if (raft_read(c->raft, r->number) != RAFT_OK)
			r->number = 0;
	}
}

static void reader_done(struct reader *r)
{
	list_remove(&r->link);
}

WAITS int consensus_read(struct consensus *c, unsigned timeout_ms,
			 struct error *err)
{
	int64_t deadline_us = clock_mono_us() + (int64_t)timeout_ms * 1000;
	__attribute__((cleanup(reader_done))) struct reader r = {0};
	bool in_time = true;

	cond_init(&r.changed);
	list_append(&c->readers, &r.link);
	consensus_reads_tick(c);
	consensus_pump(c);
	while (!r.done && in_time && !c->stopping && !c->failed)
		in_time = cond_wait_until(&r.changed, deadline_us);
	if (r.done)
		return 0;
	return error_set(err, ERR_QUEUE, ECODE_STATE,
			 "No majority of the master candidates has confirmed "
			 "what is known here");
}
