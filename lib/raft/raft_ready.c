/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes out of the core: messages, entries to be written, entries that are
 * committed. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/raft/raft_private.h"

/* Committed entries are handed out so many at a time. */
#define COMMITTED_MAX 1024

/* --- messages --- */

/* The entries and their data in one block. */
static struct raft_entry *copy_entries(const struct raft_entry *entries,
				       size_t n)
{
	size_t bytes = 0;
	struct raft_entry *copy;
	char *data;

	if (n == 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		bytes += entries[i].len;
	copy = xalloc(n * sizeof(*copy) + bytes);
	data = (char *)(copy + n);
	memcpy(copy, entries, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++) {
		if (entries[i].len > 0)
			memcpy(data, entries[i].data, entries[i].len);
		copy[i].data = entries[i].len > 0 ? data : NULL;
		data += entries[i].len;
	}
	return copy;
}

void raft_send(struct raft *r, uint64_t to, struct raft_message m)
{
	struct raft_out *out = &r->out;

	out->messages = raft_room(out->messages, out->n, &out->cap,
				  sizeof(*out->messages));
	m.from = r->config.id;
	m.to = to;
	if (m.term == 0)
		m.term = r->term + (m.type == RAFT_ASK_VOTE && m.pre);
	m.entries = copy_entries(m.entries, m.n_entries);
	if (m.snapshot != NULL)
		m.snapshot = raft_snapshot_copy(m.snapshot);
	out->messages[out->n++] = m;
}

void raft_out_clear(struct raft_out *out)
{
	for (size_t i = 0; i < out->n; i++) {
		free(mem_unconst(out->messages[i].entries));
		raft_snapshot_free(mem_unconst(out->messages[i].snapshot));
	}
	out->n = 0;
}

void raft_unsay(struct raft *r, uint64_t index)
{
	struct raft_out *out = &r->out;
	size_t kept = 0;

	for (size_t i = 0; i < out->n; i++) {
		const struct raft_message *m = &out->messages[i];

		if (m->type != RAFT_APPENDED || m->reject || m->index < index)
			out->messages[kept++] = *m;
	}
	out->n = kept;
}

/* What goes out now is kept until the next time. */
static void hand_messages(struct raft *r, struct raft_ready *ret)
{
	struct raft_out empty = r->sent;

	r->sent = r->out;
	r->out = empty;
	ret->messages = r->sent.messages;
	ret->n_messages = r->sent.n;
}

/* --- reads --- */

void raft_add_read(struct raft *r, uint64_t context, uint64_t index)
{
	r->reads = raft_room(r->reads, r->n_reads, &r->reads_cap,
			     sizeof(*r->reads));
	r->reads[r->n_reads++] =
		(struct raft_read_at){.context = context, .index = index};
}

static void hand_reads(struct raft *r, struct raft_ready *ret)
{
	struct raft_read_at *room = r->read_sent;
	size_t cap = r->read_sent_cap;

	ret->reads = r->reads;
	ret->n_reads = r->n_reads;
	r->read_sent = r->reads;
	r->read_sent_cap = r->reads_cap;
	r->reads = room;
	r->reads_cap = cap;
	r->n_reads = 0;
}

/* --- writes --- */

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void note_write(struct raft *r, const struct raft_ready *ready)
{
	struct raft_write w = {.number = ++r->last_write,
			       .hard_term = r->term,
			       .hard_vote = r->vote};

	if (ready->n_entries > 0) {
		w.first = ready->entries[0].index;
		w.index = ready->entries[ready->n_entries - 1].index;
		w.term = ready->entries[ready->n_entries - 1].term;
	}
	r->writes = raft_room(r->writes, r->n_writes, &r->writes_cap,
			      sizeof(*r->writes));
	r->writes[r->n_writes++] = w;
}

static void hand_writes(struct raft *r, struct raft_ready *ret)
{
	struct raft_log *l = &r->log;
	uint64_t next = l->handed + 1 > l->offset ? l->handed + 1 : l->offset;

	/* Not beyond what is durable: whoever finds the one on disk and the
	 * other not would take an entry for committed that was replaced. */
	ret->hard = (struct raft_hard){
		.term = r->term,
		.vote = r->vote,
		.commit = lower(r->commit, raft_log_durable(l)),
	};
	ret->hard_changed =
		r->term != r->handed_term || r->vote != r->handed_vote;
	r->handed_term = r->term;
	r->handed_vote = r->vote;
	/* What was taken before a snapshot came has been answered, so it is
	 * written before it. */
	if (!l->snapshot_handed && next <= raft_log_last(l)) {
		ret->entries = l->entries + (next - l->offset);
		ret->n_entries = raft_log_last(l) + 1 - next;
		l->handed = raft_log_last(l);
	}
	if (ret->hard_changed || ret->n_entries > 0) {
		note_write(r, ret);
		ret->write = r->last_write;
	}
	if (l->snapshot != NULL && !l->snapshot_handed) {
		l->snapshot_handed = true;
		ret->snapshot = l->snapshot; /* until raft_installed() */
	}
}

/* Up to where the entries of the write are in place: one that was handed out
 * later may replace some of them. */
static uint64_t stays_until(const struct raft *r, size_t i)
{
	uint64_t index = r->writes[i].index;

	for (size_t k = i + 1; k < r->n_writes; k++)
		if (r->writes[k].first != 0 && r->writes[k].first <= index)
			index = r->writes[k].first - 1;
	return index;
}

void raft_written(struct raft *r, uint64_t write)
{
	size_t n = 0;

	for (; n < r->n_writes && r->writes[n].number <= write; n++) {
		const struct raft_write *w = &r->writes[n];
		uint64_t index = stays_until(r, n), term = w->term;

		r->durable_term = w->hard_term;
		r->durable_vote = w->hard_vote;
		if (w->index == 0 || index < w->first)
			continue;
		if (index == w->index || raft_log_term(&r->log, index, &term))
			raft_log_written(&r->log, index, term);
	}
	r->n_writes -= n;
	if (n > 0)
		memmove(r->writes, r->writes + n,
			r->n_writes * sizeof(*r->writes));
	if (r->durable_term == r->term && r->durable_vote == r->config.id)
		raft_own_vote(r);
	raft_lead_commit(r);
}

/* --- all of it --- */

/* Only what is durable here as well, though a majority is enough: so what the
 * driver makes of it is never ahead of its own log. */
static void hand_committed(struct raft *r, struct raft_ready *ret)
{
	uint64_t end = lower(r->commit, raft_log_durable(&r->log));
	size_t n;

	if (r->given >= end || r->log.snapshot != NULL)
		return;
	if (r->committed == NULL)
		r->committed = xcalloc(COMMITTED_MAX, sizeof(*r->committed));
	n = raft_log_slice(&r->log, r->given + 1, end + 1,
			   r->config.max_message_bytes, r->committed,
			   COMMITTED_MAX);
	ret->committed = r->committed;
	ret->n_committed = n;
	r->given += n;
}

bool raft_ready(struct raft *r, struct raft_ready *ret)
{
	raft_out_clear(&r->sent);
	if (r->role == RAFT_LEADER)
		raft_lead_flush(r);
	*ret = (struct raft_ready){0};
	hand_writes(r, ret);
	hand_messages(r, ret);
	hand_reads(r, ret);
	hand_committed(r, ret); /* last: the store is not read again */
	return ret->write != 0 || ret->snapshot != NULL ||
	       ret->n_messages > 0 || ret->n_reads > 0 || ret->n_committed > 0;
}
