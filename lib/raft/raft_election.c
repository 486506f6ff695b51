/* SPDX-License-Identifier: BSD-2-Clause */
/* Elections (3.4), with a vote that is only tried before the real one (9.6):
 * who cannot win does not raise the term, and so disturbs nobody. */
#include "lib/raft/raft_private.h"

static const struct raft_vote *vote_of(const struct raft *r, uint64_t id)
{
	for (size_t i = 0; i < r->n_votes; i++)
		if (r->votes[i].id == id)
			return &r->votes[i];
	return NULL;
}

static bool said_yes(const void *arg, uint64_t id)
{
	const struct raft_vote *vote = vote_of(arg, id);

	return vote != NULL && vote->yes;
}

static bool may_say_yes(const void *arg, uint64_t id)
{
	const struct raft_vote *vote = vote_of(arg, id);

	return vote == NULL || vote->yes;
}

/* Count what a member says; its first word holds. */
static void count(struct raft *r, uint64_t id, bool yes)
{
	if (vote_of(r, id) == NULL && r->n_votes < RAFT_ALL_MAX)
		r->votes[r->n_votes++] = (struct raft_vote){id, yes};
}

static void ask_votes(struct raft *r, bool forced)
{
	struct raft_message ask = {
		.type = RAFT_ASK_VOTE,
		.index = raft_log_last(&r->log),
		.log_term = raft_log_last_term(&r->log),
		.pre = r->role == RAFT_PRE_CANDIDATE,
		.force = forced,
		/* Nobody may hear of a term that this server can forget. */
		.after_write = true,
	};
	const struct raft_members *m = raft_members(r);
	uint64_t ids[RAFT_ALL_MAX];
	size_t n = raft_members_all(m, ids);

	for (size_t i = 0; i < n; i++)
		if (ids[i] != r->config.id && raft_members_vote(m, ids[i]))
			raft_send(r, ids[i], ask);
}

static void stand(struct raft *r, bool forced)
{
	r->term++;
	r->vote = r->config.id;
	r->role = RAFT_CANDIDATE;
	r->leader = 0;
	r->n_votes = 0;
	raft_reset_timeout(r);
	ask_votes(r, forced);
	/* The own vote counts when it is durable: raft_own_vote(). */
}

static void tally(struct raft *r)
{
	if (raft_members_quorum(raft_members(r), said_yes, r)) {
		if (r->role == RAFT_PRE_CANDIDATE)
			stand(r, false);
		else
			raft_lead(r);
	} else if (!raft_members_quorum(raft_members(r), may_say_yes, r)) {
		raft_follow(r, r->term, 0);
	}
}

void raft_elect(struct raft *r, bool forced)
{
	if (r->term + 1 >= RAFT_NUMBER_MAX)
		return;
	if (forced) {
		stand(r, true);
		return;
	}
	r->role = RAFT_PRE_CANDIDATE;
	r->leader = 0;
	r->n_votes = 0;
	count(r, r->config.id, true);
	raft_reset_timeout(r);
	ask_votes(r, false);
	tally(r);
}

void raft_own_vote(struct raft *r)
{
	if (r->role != RAFT_CANDIDATE || vote_of(r, r->config.id) != NULL)
		return;
	count(r, r->config.id, true);
	tally(r);
}

/* Somebody asks for this server's vote.  It gets it if nobody else has it in
 * this term and its log is as good (3.6.1).  Whether it is a member here is not
 * asked: this server may not know yet who is (4.2). */
void raft_asked(struct raft *r, const struct raft_message *m)
{
	uint64_t own = raft_log_last_term(&r->log);
	bool unbound = r->vote == m->from || (r->vote == 0 && r->leader == 0) ||
		       (m->pre && m->term > r->term);
	bool good = m->log_term > own ||
		    (m->log_term == own && m->index >= raft_log_last(&r->log));
	struct raft_message answer = {.type = RAFT_VOTE,
				      .pre = m->pre,
				      .reject = !unbound || !good,
				      .after_write = true};

	if (!answer.reject) {
		if (m->pre) {
			answer.term = m->term; /* the one that it would be */
		} else {
			r->elapsed = 0;
			r->told = false;
			r->vote = m->from;
		}
	}
	raft_send(r, m->from, answer);
}

void raft_voted(struct raft *r, const struct raft_message *m)
{
	enum raft_role asked = m->pre ? RAFT_PRE_CANDIDATE : RAFT_CANDIDATE;

	if (r->role != asked || !raft_members_vote(raft_members(r), m->from))
		return;
	if (m->pre && !m->reject && m->term != r->term + 1)
		return; /* of an attempt before */
	count(r, m->from, !m->reject);
	tally(r);
}
