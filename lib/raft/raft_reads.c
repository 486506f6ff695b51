/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads that see all that was acknowledged (6.4): the leader notes its commit
 * index, asks the others whether it still is the leader, and says the index
 * when a majority has answered.  A follower asks the leader. */
#include <stdlib.h>
#include <string.h>

#include "lib/raft/raft_private.h"

#define PENDING_MAX 65536

static void answer_read(struct raft *r, const struct raft_pending_read *read)
{
	if (read->from == 0)
		raft_add_read(r, read->context, read->index);
	else
		raft_send(r, read->from,
			  (struct raft_message){.type = RAFT_READ_AT,
						.index = read->index,
						.round = read->context});
}

struct round_asked {
	const struct raft *r;
	uint64_t round;
};

static bool answered_round(const void *arg, uint64_t id)
{
	const struct round_asked *asked = arg;
	const struct raft_peer *p;

	if (id == asked->r->config.id)
		return true;
	p = raft_peer(asked->r, id);
	return p != NULL && p->read_round >= asked->round;
}

/* Answer the reads whose round a majority has answered. */
void raft_reads_finish(struct raft *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_pending; i++) {
		const struct raft_pending_read *read = &r->pending[i];
		struct round_asked asked = {r, read->round};

		if (read->round != 0 &&
		    raft_members_quorum(raft_members(r), answered_round,
					&asked))
			answer_read(r, read);
		else
			r->pending[kept++] = *read;
	}
	r->n_pending = kept;
}

/* Ask the others whether this is still the leader, for all reads that came
 * since the last round. */
void raft_reads_begin(struct raft *r)
{
	bool any = false;

	if (r->commit < r->own_from)
		return; /* what is committed is not known yet */
	for (size_t i = 0; i < r->n_pending; i++) {
		struct raft_pending_read *read = &r->pending[i];

		if (read->round != 0)
			continue;
		read->round = r->read_round + 1;
		read->index = r->commit;
		any = true;
	}
	if (!any)
		return;
	r->read_round++;
	raft_lead_heartbeats(r);
	raft_reads_finish(r);
}

void raft_lead_read(struct raft *r, uint64_t from, uint64_t context)
{
	if (r->n_pending == PENDING_MAX)
		return; /* who asks will ask again */
	r->pending = raft_room(r->pending, r->n_pending, &r->pending_cap,
			       sizeof(*r->pending));
	r->pending[r->n_pending++] =
		(struct raft_pending_read){.context = context, .from = from};
}

/* --- a follower's --- */

/* Questions that no leader answers go when so many are there. */
#define ASKED_MAX 4096

static void drop_asked(struct raft *r, size_t i)
{
	r->n_asked--;
	memmove(r->asked + i, r->asked + i + 1,
		(r->n_asked - i) * sizeof(*r->asked));
}

static void ask_leader(struct raft *r, uint64_t context)
{
	uint64_t round = r->next_round++;

	if (r->n_asked == ASKED_MAX)
		drop_asked(r, 0);
	r->asked = raft_room(r->asked, r->n_asked, &r->asked_cap,
			     sizeof(*r->asked));
	r->asked[r->n_asked++] =
		(struct raft_read_at){.context = context, .index = round};
	raft_send(r, r->leader,
		  (struct raft_message){.type = RAFT_READ,
					.round = round,
					.after_write = true});
}

void raft_read_answered(struct raft *r, const struct raft_message *m)
{
	for (size_t i = 0; i < r->n_asked; i++) {
		if (r->asked[i].index != m->round)
			continue;
		raft_add_read(r, r->asked[i].context, m->index);
		drop_asked(r, i);
		return;
	}
}

int raft_read(struct raft *r, uint64_t context)
{
	if (r->leader == 0)
		return RAFT_NOT_LEADER;
	if (r->role == RAFT_LEADER)
		raft_lead_read(r, 0, context);
	else
		ask_leader(r, context);
	return RAFT_OK;
}
