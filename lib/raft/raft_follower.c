/* SPDX-License-Identifier: BSD-2-Clause */
/* What a follower does with its leader's words (3.5, chapter 5). */
#include <assert.h>

#include "lib/raft/raft_private.h"

static void answer(struct raft *r, const struct raft_message *m, uint64_t index)
{
	raft_send(r, m->from,
		  (struct raft_message){.type = RAFT_APPENDED,
					.index = index,
					.after_write = true});
}

/* Behind one another, in terms that do not fall, none newer than the leader. */
static bool are_sound(const struct raft_message *m)
{
	uint64_t term = m->log_term;

	for (size_t i = 0; i < m->n_entries; i++) {
		const struct raft_entry *e = &m->entries[i];

		if (e->index != m->index + 1 + i || e->term < term ||
		    e->term > m->term || e->term == 0 ||
		    (e->len > 0 && e->data == NULL))
			return false;
		if (e->type != RAFT_ENTRY_DATA && e->type != RAFT_ENTRY_MEMBERS)
			return false;
		term = e->term;
	}
	return true;
}

static void append(struct raft *r, const struct raft_entry *e)
{
	struct raft_members members;

	raft_log_append(&r->log, e->term, e->type, e->data, e->len);
	if (e->type == RAFT_ENTRY_MEMBERS &&
	    raft_members_decode(e->data, e->len, &members))
		raft_force(r, e->index, &members);
}

/* Take those that are not there.  False if they contradict what is committed:
 * no leader of this cluster sends that. */
static bool take(struct raft *r, const struct raft_message *m)
{
	size_t i = 0;

	while (i < m->n_entries &&
	       raft_log_has(&r->log, m->entries[i].index, m->entries[i].term))
		i++;
	if (i == m->n_entries)
		return true;
	if (m->entries[i].index <= r->commit)
		return false;
	if (m->entries[i].index <= raft_log_last(&r->log)) {
		raft_log_truncate(&r->log, m->entries[i].index);
		raft_unforce(r, m->entries[i].index);
		raft_unsay(r, m->entries[i].index);
	}
	for (; i < m->n_entries; i++)
		append(r, &m->entries[i]);
	return true;
}

/* Where the logs may agree, so that the leader need not try one entry after the
 * other (3.5 at its end). */
static void refuse(struct raft *r, const struct raft_message *m)
{
	uint64_t hint = raft_log_before(&r->log, m->index, m->log_term);
	uint64_t term = 0;

	if (!raft_log_term(&r->log, hint, &term))
		term = 0;
	raft_send(r, m->from,
		  (struct raft_message){.type = RAFT_APPENDED,
					.reject = true,
					.index = m->index,
					.hint = hint,
					.log_term = term,
					.after_write = true});
}

void raft_take_append(struct raft *r, const struct raft_message *m)
{
	uint64_t last = m->index + m->n_entries;

	if (r->log.snapshot != NULL || !are_sound(m))
		return;
	if (m->index < r->commit) {
		answer(r, m, r->commit);
		return;
	}
	if (!raft_log_has(&r->log, m->index, m->log_term)) {
		refuse(r, m);
		return;
	}
	if (!take(r, m)) {
		r->contradictions++;
		return;
	}
	raft_commit_to(r, m->commit < last ? m->commit : last);
	answer(r, m, last);
}

void raft_take_heartbeat(struct raft *r, const struct raft_message *m)
{
	/* The leader says no commit beyond what this server has told it to have
	 * (3.5); a damaged word must not get beyond the log. */
	if (r->log.snapshot == NULL && m->commit <= raft_log_last(&r->log))
		raft_commit_to(r, m->commit);
	raft_send(r, m->from,
		  (struct raft_message){.type = RAFT_HEARTBEATEN,
					.round = m->round,
					/* It says nothing but the term. */
					.after_write =
						r->durable_term != r->term});
}

void raft_take_snapshot(struct raft *r, const struct raft_message *m)
{
	const struct raft_snapshot *s = m->snapshot;

	if (r->log.snapshot != NULL)
		return; /* one is being put in place */
	if (s->index == 0 || s->term == 0 || s->index >= RAFT_NUMBER_MAX ||
	    s->term > m->term || !raft_members_are_valid(&s->members) ||
	    (s->len > 0 && s->data == NULL)) {
		r->contradictions++;
		return;
	}
	if (s->index <= r->commit) {
		answer(r, m, r->commit);
		return;
	}
	if (raft_log_has(&r->log, s->index, s->term)) {
		raft_commit_to(r, s->index);
		answer(r, m, r->commit);
		return;
	}
	r->log.snapshot = raft_snapshot_copy(s);
}

void raft_installed(struct raft *r, bool ok)
{
	struct raft_message told = {.type = RAFT_APPENDED, .after_write = true};
	const struct raft_snapshot *s = r->log.snapshot;

	if (s == NULL || !r->log.snapshot_handed)
		return;
	told.index = s->index;
	if (ok) {
		r->n_in_force = 0;
		raft_force(r, s->index, &s->members);
		r->commit = r->given = s->index;
	} else {
		told.reject = true;
		told.hint = raft_log_last(&r->log);
		told.log_term = raft_log_last_term(&r->log);
	}
	raft_log_installed(&r->log, ok);
	if (r->leader != 0)
		raft_send(r, r->leader, told);
}
