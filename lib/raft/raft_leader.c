/* SPDX-License-Identifier: BSD-2-Clause */
/* What a leader does: it brings its log to the others (3.5), commits what a
 * majority has (3.6.2), changes the membership (chapter 4), hands over (3.10)
 * and answers reads (6.4). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/raft/raft_private.h"

#define SLICE 256

/* --- the others --- */

struct raft_peer *raft_peer(const struct raft *r, uint64_t id)
{
	for (size_t i = 0; i < r->n_peers; i++)
		if (r->peers[i].id == id)
			return &r->peers[i];
	return NULL;
}

static void probe(struct raft_peer *p)
{
	p->flow = RAFT_PROBE;
	p->next = p->match + 1;
	p->waits = false;
	p->first = p->n = 0;
}

static void add_peer(struct raft *r, uint64_t id)
{
	struct raft_peer *p;

	if (id == r->config.id || raft_peer(r, id) != NULL)
		return;
	r->peers = xrealloc(r->peers, (r->n_peers + 1) * sizeof(*r->peers));
	p = &r->peers[r->n_peers++];
	*p = (struct raft_peer){
		.id = id,
		.next = raft_log_last(&r->log) + 1,
		.active = true, /* it gets an election's time to answer */
		.inflight =
			xcalloc(r->config.max_inflight, sizeof(*p->inflight)),
	};
}

void raft_peers_update(struct raft *r)
{
	const struct raft_members *m = raft_members(r);
	uint64_t ids[RAFT_ALL_MAX];
	size_t n = raft_members_all(m, ids), kept = 0;

	for (size_t i = 0; i < r->n_peers; i++) {
		if (raft_members_have(m, r->peers[i].id))
			r->peers[kept++] = r->peers[i];
		else
			free(r->peers[i].inflight);
	}
	r->n_peers = kept;
	for (size_t i = 0; i < n; i++)
		add_peer(r, ids[i]);
}

/* --- messages under way to a server --- */

static bool is_full(const struct raft *r, const struct raft_peer *p)
{
	return p->n == r->config.max_inflight;
}

static void inflight_add(struct raft *r, struct raft_peer *p, uint64_t index)
{
	p->inflight[(p->first + p->n) % r->config.max_inflight] = index;
	p->n++;
}

/* All up to index has arrived. */
static void inflight_free(struct raft *r, struct raft_peer *p, uint64_t index)
{
	while (p->n > 0 && p->inflight[p->first] <= index) {
		p->first = (p->first + 1) % r->config.max_inflight;
		p->n--;
	}
}

/* --- sending --- */

static void send_snapshot(struct raft *r, struct raft_peer *p)
{
	struct raft_snapshot s;

	if (!p->active || !r->log.store.snapshot(r->log.store.arg, &s))
		return;
	p->flow = RAFT_INSTALL;
	p->snapshot = s.index;
	p->since = 0;
	p->first = p->n = 0;
	raft_send(r, p->id,
		  (struct raft_message){.type = RAFT_SNAPSHOT, .snapshot = &s});
}

/* One message with what comes next; false when nothing can be sent. */
static bool send_append(struct raft *r, struct raft_peer *p)
{
	struct raft_entry entries[SLICE];
	uint64_t end = raft_log_last(&r->log) + 1, term;
	struct raft_message m = {.type = RAFT_APPEND,
				 .index = p->next - 1,
				 .commit = r->commit,
				 .entries = entries};

	if (!raft_log_term(&r->log, p->next - 1, &term)) {
		send_snapshot(r, p);
		return false;
	}
	m.log_term = term;
	m.n_entries =
		raft_log_slice(&r->log, p->next, end,
			       r->config.max_message_bytes, entries, SLICE);
	if (m.n_entries == 0 && p->next < end) {
		if (p->next >= r->log.store.first(r->log.store.arg))
			return false; /* they are not at hand now */
		send_snapshot(r, p);
		return false;
	}
	raft_send(r, p->id, m);
	if (p->flow == RAFT_PROBE) {
		p->waits = true;
	} else if (m.n_entries > 0) {
		p->next += m.n_entries;
		inflight_add(r, p, p->next - 1);
	}
	return true;
}

static void flush_peer(struct raft *r, struct raft_peer *p)
{
	if (p->flow == RAFT_PROBE && !p->waits)
		send_append(r, p);
	while (p->flow == RAFT_REPLICATE && !is_full(r, p) &&
	       p->next <= raft_log_last(&r->log))
		if (!send_append(r, p))
			break;
}

void raft_lead_flush(struct raft *r)
{
	raft_reads_begin(r);
	for (size_t i = 0; i < r->n_peers; i++)
		flush_peer(r, &r->peers[i]);
}

/* Others learn what is committed with the next entries, or at once where
 * nothing else is sent. */
static void tell_commit(struct raft *r)
{
	for (size_t i = 0; i < r->n_peers; i++) {
		struct raft_peer *p = &r->peers[i];

		if (p->flow == RAFT_REPLICATE && !is_full(r, p))
			send_append(r, p);
	}
}

void raft_lead_heartbeats(struct raft *r)
{
	r->heartbeat_elapsed = 0;
	for (size_t i = 0; i < r->n_peers; i++) {
		const struct raft_peer *p = &r->peers[i];
		struct raft_message m = {
			.type = RAFT_HEARTBEAT,
			.commit = p->match < r->commit ? p->match : r->commit,
			.round = r->read_round,
		};

		raft_send(r, p->id, m);
	}
}

/* --- committing --- */

static uint64_t match_of(const void *arg, uint64_t id)
{
	const struct raft *r = arg;
	const struct raft_peer *p;

	if (id == r->config.id)
		return raft_log_durable(&r->log);
	p = raft_peer(r, id);
	return p == NULL ? 0 : p->match;
}

/* Proposals up to the commit index wait no more. */
static void settle_proposals(struct raft *r)
{
	size_t n = 0;

	while (n < r->n_proposals && r->proposals[n].index <= r->commit)
		r->uncommitted_bytes -= r->proposals[n++].len;
	if (n == 0)
		return;
	r->n_proposals -= n;
	memmove(r->proposals, r->proposals + n,
		r->n_proposals * sizeof(*r->proposals));
}

void raft_lead_commit(struct raft *r)
{
	uint64_t index;

	if (r->role != RAFT_LEADER)
		return;
	index = raft_members_reached(raft_members(r), match_of, r);
	/* An entry of a term before is never committed by counting (3.6.2). */
	if (index <= r->commit || index < r->own_from)
		return;
	raft_commit_to(r, index);
	settle_proposals(r);
	tell_commit(r);
	raft_lead_committed(r);
}

static void append_members(struct raft *r, const struct raft_members *m)
{
	size_t len;
	auto_free char *data = raft_members_encode(m, &len);
	uint64_t index = raft_lead_append(r, RAFT_ENTRY_MEMBERS, data, len);

	raft_force(r, index, m);
}

void raft_lead_committed(struct raft *r)
{
	const struct raft_members *m = raft_members(r);
	struct raft_members next = *m;

	if (r->commit < r->own_from ||
	    r->commit < r->in_force[r->n_in_force - 1].index)
		return;
	if (raft_members_are_joint(m)) {
		next.outgoing = (struct raft_ids){0};
		append_members(r, &next);
		raft_lead_commit(r); /* a sole voter's may be so at once */
	} else if (!raft_is_voter(r)) {
		/* It led until its removal was committed (4.2.2). */
		raft_follow(r, r->term, 0);
	}
}

uint64_t raft_lead_append(struct raft *r, enum raft_entry_type type,
			  const void *data, size_t len)
{
	uint64_t index = raft_log_last(&r->log) + 1;

	raft_log_append(&r->log, r->term, type, data, len);
	r->proposals = raft_room(r->proposals, r->n_proposals,
				 &r->proposals_cap, sizeof(*r->proposals));
	r->proposals[r->n_proposals++] =
		(struct raft_proposal){.index = index, .len = len};
	r->uncommitted_bytes += len;
	return index;
}

/* --- being the leader --- */

void raft_lead(struct raft *r)
{
	assert(r->role == RAFT_CANDIDATE);
	r->role = RAFT_LEADER;
	r->leader = r->config.id;
	r->told = false;
	r->elapsed = r->heartbeat_elapsed = 0;
	r->read_round = 0;
	raft_peers_update(r);
	/* With an entry of its own term it can commit those before (3.6.2). */
	r->own_from = raft_lead_append(r, RAFT_ENTRY_DATA, NULL, 0);
	for (size_t i = 0; i < r->n_peers; i++)
		r->peers[i].next = r->own_from;
}

void raft_lead_no_more(struct raft *r)
{
	for (size_t i = 0; i < r->n_peers; i++)
		free(r->peers[i].inflight);
	free(r->peers);
	r->peers = NULL;
	r->n_peers = 0;
	r->n_proposals = 0;
	r->uncommitted_bytes = 0;
	r->n_pending = 0;
	r->transfer_to = 0;
}

static bool was_active(const void *arg, uint64_t id)
{
	const struct raft *r = arg;
	const struct raft_peer *p = raft_peer(r, id);

	return id == r->config.id || (p != NULL && p->active);
}

/* A leader that hears no majority is none any more (6.2). */
static void check_majority(struct raft *r)
{
	if (!raft_members_quorum(raft_members(r), was_active, r)) {
		raft_follow(r, r->term, 0);
		return;
	}
	for (size_t i = 0; i < r->n_peers; i++)
		r->peers[i].active = false;
}

void raft_lead_tick(struct raft *r)
{
	for (size_t i = 0; i < r->n_peers; i++)
		r->peers[i].since++;
	if (r->transfer_to != 0 &&
	    ++r->transfer_elapsed >= r->config.election_ticks)
		r->transfer_to = 0; /* it did not come to pass */
	if (r->elapsed >= r->config.election_ticks) {
		r->elapsed = 0;
		check_majority(r);
		if (r->role != RAFT_LEADER)
			return;
	}
	if (++r->heartbeat_elapsed < r->config.heartbeat_ticks)
		return;
	for (size_t i = 0; i < r->n_peers; i++)
		r->peers[i].beat = true;
	raft_lead_heartbeats(r);
}

/* --- answers --- */

static void hand_over_if_ready(struct raft *r, const struct raft_peer *p)
{
	if (p->id == r->transfer_to && p->match == raft_log_last(&r->log))
		raft_send(r, p->id,
			  (struct raft_message){.type = RAFT_ELECT_NOW});
}

static void was_refused(struct raft *r, struct raft_peer *p,
			const struct raft_message *m)
{
	uint64_t next;

	if (p->flow == RAFT_INSTALL) {
		if (m->index ==
		    p->snapshot) { /* it could not put it in place */
			probe(p);
			p->waits = true; /* until it answers a heartbeat */
		}
		return;
	}
	if (p->flow == RAFT_REPLICATE) {
		if (m->index > p->match)
			probe(p);
		return;
	}
	if (m->index != p->next - 1)
		return; /* the answer to a message before */
	next = raft_log_before(&r->log,
			       m->hint < m->index ? m->hint : m->index - 1,
			       m->log_term) +
	       1;
	p->waits = false;
	if (m->index == 0 || next <= p->match) {
		/* It refuses what it has said to have: it may have lost its
		 * disk and must not be asked without a pause. */
		next = p->match + 1;
		p->waits = true;
	}
	p->next = next;
}

static void has_up_to(struct raft *r, struct raft_peer *p, uint64_t index)
{
	bool further = index > p->match;
	uint64_t term;

	if (index > raft_log_last(&r->log))
		return; /* it cannot have what is not there */
	if (further)
		p->match = index;
	if (p->next <= p->match)
		p->next = p->match + 1;
	switch (p->flow) {
	case RAFT_PROBE:
		if (index == p->match) { /* they agree up to there */
			p->flow = RAFT_REPLICATE;
			p->next = p->match + 1;
		}
		break;
	case RAFT_REPLICATE:
		inflight_free(r, p, index);
		break;
	case RAFT_INSTALL:
		/* From there the log goes on, whatever was sent last. */
		if (p->match >= p->snapshot ||
		    raft_log_term(&r->log, p->match, &term))
			probe(p);
		break;
	}
	if (further)
		raft_lead_commit(r);
}

void raft_lead_appended(struct raft *r, const struct raft_message *m)
{
	struct raft_peer *p = raft_peer(r, m->from);

	if (p == NULL)
		return;
	p->active = true;
	if (m->reject)
		was_refused(r, p, m);
	else
		has_up_to(r, p, m->index);
	/* That may have ended its leadership, or this member. */
	p = r->role == RAFT_LEADER ? raft_peer(r, m->from) : NULL;
	if (p != NULL)
		hand_over_if_ready(r, p);
}

/* Once a heartbeat: what was sent may be lost, so one more message goes out. */
static void go_on(struct raft *r, struct raft_peer *p)
{
	bool behind = p->match < raft_log_last(&r->log);

	p->waits = false;
	if (p->flow == RAFT_REPLICATE && behind) {
		if (is_full(r, p))
			inflight_free(r, p, p->inflight[p->first]);
		send_append(r, p);
	}
	if (p->flow == RAFT_INSTALL && p->since >= r->config.election_ticks)
		send_snapshot(r, p);
}

void raft_lead_heartbeaten(struct raft *r, const struct raft_message *m)
{
	struct raft_peer *p = raft_peer(r, m->from);

	if (p == NULL)
		return;
	p->active = true;
	if (m->round > p->read_round && m->round <= r->read_round)
		p->read_round = m->round;
	if (p->beat) {
		p->beat = false;
		go_on(r, p);
	}
	raft_reads_finish(r);
}

/* --- what is asked of a leader --- */

int raft_propose(struct raft *r, const void *data, size_t len,
		 uint64_t *ret_index, uint64_t *ret_term)
{
	uint64_t index;

	if (r->role != RAFT_LEADER)
		return RAFT_NOT_LEADER;
	if (r->transfer_to != 0)
		return RAFT_BUSY;
	if (r->uncommitted_bytes > 0 &&
	    r->uncommitted_bytes + len > r->config.max_uncommitted_bytes)
		return RAFT_FULL;
	index = raft_lead_append(r, RAFT_ENTRY_DATA, data, len);
	if (ret_index != NULL)
		*ret_index = index;
	if (ret_term != NULL)
		*ret_term = r->term;
	return RAFT_OK;
}

int raft_change_members(struct raft *r, const struct raft_members *wanted)
{
	const struct raft_members *now = raft_members(r);
	struct raft_members next;
	int rc;

	if (r->role != RAFT_LEADER)
		return RAFT_NOT_LEADER;
	if (r->commit < r->own_from)
		return RAFT_NOT_YET; /* the correction of 2015 */
	if (raft_is_changing(r) || r->transfer_to != 0)
		return RAFT_BUSY;
	rc = raft_members_step(now, wanted, &next);
	if (rc != RAFT_OK)
		return rc;
	if (!raft_ids_equal(&now->voters, &next.voters) ||
	    !raft_ids_equal(&now->learners, &next.learners))
		append_members(r, &next);
	return RAFT_OK;
}

int raft_transfer(struct raft *r, uint64_t to)
{
	struct raft_peer *p = raft_peer(r, to);

	if (r->role != RAFT_LEADER)
		return RAFT_NOT_LEADER;
	if (r->transfer_to != 0)
		return RAFT_BUSY;
	if (p == NULL || !raft_members_vote(raft_members(r), to))
		return RAFT_NOT_A_MEMBER;
	r->transfer_to = to;
	r->transfer_elapsed = 0;
	hand_over_if_ready(r, p);
	return RAFT_OK;
}

void raft_unreachable(struct raft *r, uint64_t id)
{
	struct raft_peer *p = r->role == RAFT_LEADER ? raft_peer(r, id) : NULL;

	if (p == NULL)
		return;
	if (p->flow != RAFT_PROBE) {
		probe(p);
		p->waits = true; /* until it answers a heartbeat */
	}
}
