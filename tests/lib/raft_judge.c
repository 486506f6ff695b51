/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers what was appended and committed anywhere, and compares.  That a
 * leader has all that is committed is looked at in full when it appears, and
 * for each entry when that is committed first. */
#include "tests/lib/raft_judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void raft_judge_init(struct raft_judge *j, const struct raft_members *members)
{
	*j = (struct raft_judge){0};
	j->committed = xcalloc(1, sizeof(*j->committed));
	j->committed[0].members = *members;
}

void raft_judge_done(struct raft_judge *j)
{
	for (size_t i = 0; i < j->n_slots; i++)
		free(j->slots[i].seen);
	free(j->slots);
	free(j->committed);
	free(j->leaders);
}

void raft_judge_broken(struct raft_judge *j, const struct raft_host *h,
		       const char *fmt, ...)
{
	int n = 0;
	va_list ap;

	if (j->problem[0] != '\0')
		return;
	if (h != NULL)
		n = snprintf(j->problem, sizeof(j->problem),
			     "server %" PRIu64 ": ", h->config.id);
	va_start(ap, fmt);
	vsnprintf(j->problem + n, sizeof(j->problem) - (size_t)n, fmt, ap);
	va_end(ap);
}

static struct raft_judge_slot *slot_of(struct raft_judge *j, uint64_t index)
{
	while (j->n_slots <= index) {
		size_t n = j->n_slots == 0 ? 256 : 2 * j->n_slots;

		j->slots = xrealloc(j->slots, n * sizeof(*j->slots));
		memset(j->slots + j->n_slots, 0,
		       (n - j->n_slots) * sizeof(*j->slots));
		j->n_slots = n;
	}
	return &j->slots[index];
}

void raft_judge_appended(struct raft_judge *j, const struct raft_host *h,
			 const struct raft_entry *entry)
{
	struct raft_judge_slot *slot;
	uint64_t hash = raft_disk_hash(0, entry);

	if (entry->index > RAFT_JUDGE_MAX) {
		raft_judge_broken(j, h, "an entry of index %" PRIu64,
				  entry->index);
		return;
	}
	slot = slot_of(j, entry->index);
	for (size_t i = 0; i < slot->n; i++) {
		if (slot->seen[i].term != entry->term)
			continue;
		if (slot->seen[i].hash != hash)
			raft_judge_broken(j, h,
					  "two entries of index %" PRIu64
					  " and term %" PRIu64,
					  entry->index, entry->term);
		return;
	}
	slot->seen = xrealloc(slot->seen, (slot->n + 1) * sizeof(*slot->seen));
	slot->seen[slot->n++] =
		(struct raft_judge_seen){.term = entry->term, .hash = hash};
	if (entry->index <= j->n_committed &&
	    entry->term > j->committed[j->n_committed].term)
		raft_judge_broken(j, h,
				  "entry %" PRIu64 " is committed and of term "
				  "%" PRIu64 "; now one of term %" PRIu64,
				  entry->index, j->committed[entry->index].term,
				  entry->term);
}

static void check_has(struct raft_judge *j, const struct raft_host *h,
		      uint64_t index)
{
	const struct raft_entry *own = raft_disk_at(&h->seen.log, index);

	if (index <= h->seen.snapshot.index)
		return;
	if (own == NULL || own->term != j->committed[index].term)
		raft_judge_broken(j, h,
				  "it leads and lacks entry %" PRIu64
				  ", which is committed",
				  index);
}

static bool first_commit(struct raft_judge *j, const struct raft_host *h,
			 const struct raft_entry *entry)
{
	struct raft_state *before;

	if (entry->index != j->n_committed + 1) {
		raft_judge_broken(j, h,
				  "entry %" PRIu64 " is committed, %zu "
				  "was the last",
				  entry->index, j->n_committed);
		return false;
	}
	if ((j->n_committed & (j->n_committed + 1)) == 0)
		j->committed =
			xrealloc(j->committed, 2 * (j->n_committed + 1) *
						       sizeof(*j->committed));
	before = &j->committed[j->n_committed++];
	before[1] = *before;
	raft_disk_apply(before + 1, entry);
	return true;
}

void raft_judge_found(struct raft_judge *j, const struct raft_entry *first)
{
	first_commit(j, NULL, first);
}

void raft_judge_applied(struct raft_judge *j, const struct raft_host *h,
			const struct raft_entry *entry)
{
	const struct raft_state *known;

	if (entry->index > j->n_committed && !first_commit(j, h, entry))
		return;
	known = &j->committed[entry->index];
	if (known->term != entry->term)
		raft_judge_broken(j, h,
				  "it applies entry %" PRIu64
				  " of term %" PRIu64
				  ", others did that of term %" PRIu64,
				  entry->index, entry->term, known->term);
	else if (known->hash != h->state.hash)
		raft_judge_broken(
			j, h, "it is in another state behind entry %" PRIu64,
			entry->index);
}

static bool same_members(const struct raft_members *a,
			 const struct raft_members *b)
{
	return raft_ids_equal(&a->voters, &b->voters) &&
	       raft_ids_equal(&a->outgoing, &b->outgoing) &&
	       raft_ids_equal(&a->learners, &b->learners);
}

void raft_judge_installed(struct raft_judge *j, const struct raft_host *h)
{
	const struct raft_state *s = &h->state;

	if (s->index > j->n_committed ||
	    j->committed[s->index].hash != s->hash ||
	    j->committed[s->index].term != s->term)
		raft_judge_broken(j, h,
				  "it gets a snapshot of entry %" PRIu64
				  " that is not the state there",
				  s->index);
	else if (!same_members(&j->committed[s->index].members, &s->members))
		raft_judge_broken(j, h,
				  "it gets a snapshot of entry %" PRIu64
				  " with the members %s",
				  s->index,
				  raft_disk_members_text(&s->members));
}

static void new_leader(struct raft_judge *j, const struct raft_host *h,
		       uint64_t term)
{
	if (term <= j->leader_term || h->pending)
		return;
	j->leader_term = term;
	for (uint64_t i = 1; i <= j->n_committed; i++)
		check_has(j, h, i);
}

void raft_judge_look(struct raft_judge *j, const struct raft_host *h)
{
	struct raft_status status;

	if (h->raft == NULL)
		return;
	raft_status(h->raft, &status);
	if (status.role != RAFT_LEADER)
		return;
	if (status.term > RAFT_JUDGE_MAX) {
		raft_judge_broken(j, h, "term %" PRIu64, status.term);
		return;
	}
	while (j->n_leaders <= status.term) {
		size_t n = j->n_leaders == 0 ? 64 : 2 * j->n_leaders;

		j->leaders = xrealloc(j->leaders, n * sizeof(*j->leaders));
		memset(j->leaders + j->n_leaders, 0,
		       (n - j->n_leaders) * sizeof(*j->leaders));
		j->n_leaders = n;
	}
	if (j->leaders[status.term] == 0)
		j->leaders[status.term] = status.id;
	if (j->leaders[status.term] == status.id) {
		new_leader(j, h, status.term);
	} else {
		raft_judge_broken(
			j, h, "it leads in term %" PRIu64 " as %" PRIu64 " did",
			status.term, j->leaders[status.term]);
	}
	/* What it has not handed out is not seen. */
	if (h->pending)
		return;
	if (status.term == j->leader_term && j->n_committed > 0)
		check_has(j, h, j->n_committed);
}

void raft_judge_acknowledge(struct raft_judge *j, uint64_t index)
{
	if (index > j->acknowledged)
		j->acknowledged = index;
}

void raft_judge_read(struct raft_judge *j, const struct raft_host *h,
		     uint64_t acknowledged, uint64_t index)
{
	if (index < acknowledged)
		raft_judge_broken(j, h,
				  "a read gives entry %" PRIu64 ", but %" PRIu64
				  " was acknowledged before it was asked",
				  index, acknowledged);
	raft_judge_acknowledge(j, h->state.index);
}
