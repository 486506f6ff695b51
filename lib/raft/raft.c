/* SPDX-License-Identifier: BSD-2-Clause */
/* A server: its term, the membership in force, and where events go.  What each
 * role does is in the files beside this one. */
#include "lib/raft/raft.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/raft/raft_private.h"

#define MESSAGE_BYTES ((size_t)1024 * 1024)
#define INFLIGHT 64
/* Terms grow by elections; one so far ahead is damage. */
#define TERM_LEAP_MAX ((uint64_t)1 << 40)
#define UNCOMMITTED_BYTES ((size_t)64 * 1024 * 1024)

const char *raft_error_text(enum raft_error error)
{
	static const char *const texts[] = {
		[RAFT_OK] = "no error",
		[RAFT_NOT_LEADER] = "not the leader",
		[RAFT_BUSY] = "another change is not finished",
		[RAFT_NOT_YET] = "the leader has not committed anything yet",
		[RAFT_NOT_A_MEMBER] = "no such member, or it has no vote",
		[RAFT_FULL] = "too much waits to be committed",
		[RAFT_INVALID] = "no valid membership",
	};

	return (size_t)error < ARRAY_SIZE(texts) ? texts[error] : "unknown";
}

void *raft_room(void *items, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return items;
	*cap = *cap == 0 ? 16 : 2 * *cap;
	return xrealloc(items, *cap * size);
}

/* --- the membership in force --- */

const struct raft_members *raft_members(const struct raft *r)
{
	return &r->in_force[r->n_in_force - 1].members;
}

bool raft_is_voter(const struct raft *r)
{
	return raft_members_vote(raft_members(r), r->config.id);
}

bool raft_may_elect(const struct raft *r)
{
	if (r->in_force[r->n_in_force - 1].index <= r->commit)
		return raft_is_voter(r);
	for (size_t i = 0; i < r->n_in_force; i++)
		if (raft_members_vote(&r->in_force[i].members, r->config.id))
			return true;
	return false;
}

bool raft_is_changing(const struct raft *r)
{
	return raft_members_are_joint(raft_members(r)) ||
	       r->in_force[r->n_in_force - 1].index > r->commit;
}

void raft_force(struct raft *r, uint64_t index, const struct raft_members *m)
{
	r->in_force = xrealloc(r->in_force,
			       (r->n_in_force + 1) * sizeof(*r->in_force));
	r->in_force[r->n_in_force++] =
		(struct raft_in_force){.index = index, .members = *m};
	if (r->role == RAFT_LEADER)
		raft_peers_update(r);
}

/* Memberships are in force from the moment when they are appended, and no more
 * when their entry goes (4.1). */
void raft_unforce(struct raft *r, uint64_t index)
{
	while (r->n_in_force > 1 &&
	       r->in_force[r->n_in_force - 1].index >= index)
		r->n_in_force--;
}

void raft_settle(struct raft *r)
{
	size_t n = 0;

	while (n + 1 < r->n_in_force && r->in_force[n + 1].index <= r->commit)
		n++;
	r->n_in_force -= n;
	memmove(r->in_force, r->in_force + n,
		r->n_in_force * sizeof(*r->in_force));
}

/* The memberships in the entries that are stored. */
static void read_members(struct raft *r)
{
	uint64_t next = r->log.store.first(r->log.store.arg);
	uint64_t end = raft_log_last(&r->log) + 1;
	struct raft_entry entries[INFLIGHT];
	struct raft_members m;

	while (next < end) {
		size_t n = raft_log_slice(&r->log, next, end, MESSAGE_BYTES,
					  entries, ARRAY_SIZE(entries));

		assert(n > 0); /* the store must have them at hand */
		for (size_t i = 0; i < n; i++)
			if (entries[i].type == RAFT_ENTRY_MEMBERS &&
			    raft_members_decode(entries[i].data, entries[i].len,
						&m))
				raft_force(r, entries[i].index, &m);
		next += n;
	}
	raft_settle(r);
}

/* --- begin and end --- */

static size_t or_else(size_t value, size_t preset)
{
	return value == 0 ? preset : value;
}

static uint64_t highest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct raft *raft_create(const struct raft_config *config)
{
	struct raft *r = xcalloc(1, sizeof(*r));
	struct raft_config *c = &r->config;
	uint64_t snapshot;

	assert(config->id != 0 && config->election_ticks > 0 &&
	       config->heartbeat_ticks > 0);
	*c = *config;
	c->max_message_bytes = or_else(c->max_message_bytes, MESSAGE_BYTES);
	c->max_inflight = or_else(c->max_inflight, INFLIGHT);
	c->max_uncommitted_bytes =
		or_else(c->max_uncommitted_bytes, UNCOMMITTED_BYTES);
	raft_log_init(&r->log, &c->store);
	snapshot = c->store.first(c->store.arg) - 1;
	/* Entries may be on disk of a term that is not: nothing was said in it.
	 */
	if (c->hard.term < raft_log_last_term(&r->log))
		c->hard = (struct raft_hard){
			.term = raft_log_last_term(&r->log),
			.commit = c->hard.commit,
		};
	r->term = r->durable_term = c->hard.term;
	r->vote = r->durable_vote = c->hard.vote;
	r->handed_term = config->hard.term;
	r->handed_vote = config->hard.vote;
	r->given = highest(c->applied, snapshot);
	assert(r->given <= raft_log_last(&r->log));
	r->commit = c->hard.commit <= raft_log_last(&r->log)
			    ? highest(c->hard.commit, r->given)
			    : raft_log_last(&r->log);
	raft_force(r, snapshot, &c->members);
	read_members(r);
	raft_reset_timeout(r);
	/* No answer to a question of a former life is taken for a new one's. */
	r->next_round = (uint64_t)c->random(c->random_arg) << 31 |
			c->random(c->random_arg);
	return r;
}

void raft_destroy(struct raft *r)
{
	if (r == NULL)
		return;
	raft_lead_no_more(r);
	raft_log_free(&r->log);
	raft_out_clear(&r->out);
	raft_out_clear(&r->sent);
	free(r->out.messages);
	free(r->sent.messages);
	free(r->in_force);
	free(r->proposals);
	free(r->pending);
	free(r->reads);
	free(r->read_sent);
	free(r->asked);
	free(r->committed);
	free(r->writes);
	free(r);
}

/* --- terms and roles --- */

void raft_reset_timeout(struct raft *r)
{
	const struct raft_config *c = &r->config;

	r->elapsed = 0;
	r->timeout = c->election_ticks +
		     c->random(c->random_arg) % c->election_ticks;
}

void raft_follow(struct raft *r, uint64_t term, uint64_t leader)
{
	if (r->role == RAFT_LEADER)
		raft_lead_no_more(r);
	if (term != r->term) {
		assert(term > r->term);
		r->term = term;
		r->vote = 0;
	}
	r->role = RAFT_FOLLOWER;
	r->leader = leader;
	if (leader != 0)
		r->told = false;
	raft_reset_timeout(r);
}

void raft_commit_to(struct raft *r, uint64_t index)
{
	if (index <= r->commit)
		return;
	assert(index <= raft_log_last(&r->log));
	r->commit = index;
	raft_settle(r);
}

/* --- time --- */

void raft_tick(struct raft *r)
{
	r->elapsed++;
	if (r->role == RAFT_LEADER) {
		raft_lead_tick(r);
		return;
	}
	if (r->elapsed < r->timeout)
		return;
	if ((r->config.elects || r->told) && raft_may_elect(r) &&
	    r->log.snapshot == NULL) {
		raft_elect(r, false);
		return;
	}
	/* Nobody is heard; who was told to be elected has not been. */
	r->role = RAFT_FOLLOWER;
	r->leader = 0;
	raft_reset_timeout(r);
}

int raft_campaign(struct raft *r)
{
	if (!raft_may_elect(r))
		return RAFT_NOT_A_MEMBER;
	if (r->log.snapshot != NULL)
		return RAFT_BUSY;
	if (r->role != RAFT_LEADER)
		raft_elect(r, false);
	return RAFT_OK;
}

/* --- messages --- */

static bool is_from_leader(const struct raft_message *m)
{
	return m->type == RAFT_APPEND || m->type == RAFT_HEARTBEAT ||
	       m->type == RAFT_SNAPSHOT;
}

/* Whether the numbers of a message can be meant; the entries are looked at
 * where they are taken. */
static bool makes_sense(const struct raft *r, const struct raft_message *m)
{
	return (unsigned)m->type <= RAFT_READ_AT && m->to == r->config.id &&
	       m->from != 0 && m->from != r->config.id && m->term > 0 &&
	       (m->term <= r->term || m->term - r->term < TERM_LEAP_MAX) &&
	       m->index < RAFT_NUMBER_MAX && m->commit < RAFT_NUMBER_MAX &&
	       m->log_term <= m->term &&
	       (m->type != RAFT_SNAPSHOT || m->snapshot != NULL) &&
	       (m->n_entries == 0 || m->entries != NULL);
}

/* Who hears a leader does not help to replace it, unless the leader itself
 * wants that (4.2.3): so a server that was removed disturbs nobody.  A leader
 * that asks is none any more: it has started anew, or lost its majority. */
static bool hears_leader(const struct raft *r)
{
	return r->leader != 0 && r->elapsed < r->config.election_ticks;
}

/* A message of a newer term; whether to go on with it. */
static bool step_newer(struct raft *r, const struct raft_message *m)
{
	if (m->type == RAFT_ASK_VOTE && !m->force && m->from != r->leader &&
	    hears_leader(r))
		return false;
	/* A vote that is only tried changes nothing (9.6). */
	if (m->pre &&
	    (m->type == RAFT_ASK_VOTE || (m->type == RAFT_VOTE && !m->reject)))
		return true;
	raft_follow(r, m->term, is_from_leader(m) ? m->from : 0);
	return true;
}

/* A message of an older term: who sent it learns the newer one, so that a
 * leader or a candidate of the past does not go on. */
static void step_older(struct raft *r, const struct raft_message *m)
{
	struct raft_message answer = {.reject = true, .after_write = true};

	if (is_from_leader(m)) {
		answer.type = RAFT_APPENDED;
		answer.index = m->index;
		answer.hint = raft_log_last(&r->log);
	} else if (m->type == RAFT_ASK_VOTE) {
		answer.type = RAFT_VOTE;
		answer.pre = m->pre;
	} else {
		return;
	}
	raft_send(r, m->from, answer);
}

static void step_leader(struct raft *r, const struct raft_message *m)
{
	switch (m->type) {
	case RAFT_APPENDED:
		raft_lead_appended(r, m);
		break;
	case RAFT_HEARTBEATEN:
		raft_lead_heartbeaten(r, m);
		break;
	case RAFT_READ:
		raft_lead_read(r, m->from, m->round);
		break;
	default: /* there is no other leader in this term */
		break;
	}
}

static void step_follower(struct raft *r, const struct raft_message *m)
{
	if (is_from_leader(m)) {
		if (r->role != RAFT_FOLLOWER || r->leader != m->from)
			raft_follow(r, m->term, m->from);
		r->elapsed = 0;
	}
	switch (m->type) {
	case RAFT_APPEND:
		raft_take_append(r, m);
		break;
	case RAFT_HEARTBEAT:
		raft_take_heartbeat(r, m);
		break;
	case RAFT_SNAPSHOT:
		raft_take_snapshot(r, m);
		break;
	case RAFT_VOTE:
		raft_voted(r, m);
		break;
	case RAFT_ELECT_NOW:
		if (m->from == r->leader && raft_may_elect(r) &&
		    r->log.snapshot == NULL) {
			r->told = true;
			raft_elect(r, true);
		}
		break;
	case RAFT_READ_AT:
		raft_read_answered(r, m);
		break;
	default:
		break;
	}
}

void raft_step(struct raft *r, const struct raft_message *m)
{
	if (!makes_sense(r, m))
		return;
	if (m->term < r->term) {
		step_older(r, m);
		return;
	}
	if (m->term > r->term && !step_newer(r, m))
		return;
	if (m->type == RAFT_ASK_VOTE)
		raft_asked(r, m);
	else if (r->role == RAFT_LEADER)
		step_leader(r, m);
	else
		step_follower(r, m);
}

/* --- looking at it --- */

void raft_status(const struct raft *r, struct raft_status *ret)
{
	*ret = (struct raft_status){
		.id = r->config.id,
		.term = r->term,
		.vote = r->vote,
		.leader = r->leader,
		.role = r->role,
		.commit = r->commit,
		.last = raft_log_last(&r->log),
		.last_term = raft_log_last_term(&r->log),
		.members = *raft_members(r),
		.changing = raft_is_changing(r),
		.transfer_to = r->transfer_to,
		.contradictions = r->contradictions,
		.ready = r->role == RAFT_LEADER && r->given >= r->own_from,
	};
}

bool raft_progress(const struct raft *r, uint64_t id, struct raft_progress *ret)
{
	const struct raft_peer *p = raft_peer(r, id);

	if (r->role != RAFT_LEADER || p == NULL)
		return false;
	*ret = (struct raft_progress){.match = p->match,
				      .active = p->active,
				      .snapshot = p->flow == RAFT_INSTALL};
	return true;
}
