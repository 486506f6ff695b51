/* SPDX-License-Identifier: BSD-2-Clause */
/* Random lives of a write-ahead log: the power fails at each operation of the
 * disk in turn, and what was acknowledged must be there afterwards, and nothing
 * that was never written. */
#include "tests/lib/wal_case.h"

#define ENTRIES_MAX 512
#define LIVES 4000

/* What must be there: the entries 1..last, the hard state, the snapshot. */
struct model {
	uint64_t last, snapshot, snapshot_term;
	uint64_t terms[ENTRIES_MAX], values[ENTRIES_MAX];
	struct raft_hard hard;
};

struct life {
	struct wal_case c;
	struct model now, next; /* acknowledged; if what is under way counts */
	uint64_t random, value;
};

static uint64_t draw(struct life *l, uint64_t limit)
{
	uint64_t z = l->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % limit;
}

/* Some entries, which may replace others that no snapshot has. */
static void add(struct life *l)
{
	struct model *m = &l->next;
	uint64_t at = m->last + 1, n = draw(l, 4);
	struct raft_entry entries[4];
	char texts[4][700];
	struct raft_ready ready = {.write = ++l->c.write, .entries = entries};

	if (draw(l, 5) == 0 && m->last > m->snapshot) {
		m->hard.term++;
		m->hard.vote = draw(l, 3);
		at = m->snapshot + 1 + draw(l, m->last - m->snapshot);
		n++;
	}
	if (n > 4)
		n = 4;
	for (uint64_t i = 0; i < n && at < ENTRIES_MAX; i++, at++) {
		int len = snprintf(texts[i], sizeof(texts[i]), "%" PRIu64 " ",
				   ++l->value);

		memset(texts[i] + len, 'x', sizeof(texts[i]) - (size_t)len);
		m->terms[at] = m->hard.term;
		m->values[at] = l->value;
		m->last = at;
		entries[ready.n_entries++] =
			(struct raft_entry){.index = at,
					    .term = m->hard.term,
					    .data = texts[i],
					    .len = (size_t)len + draw(l, 600)};
	}
	ready.hard = m->hard;
	wal_add(l->c.wal, &ready);
}

static int write_some(struct life *l, struct error *err)
{
	for (uint64_t i = 1 + draw(l, 3); i > 0; i--)
		add(l);
	if (wal_case_write(&l->c, err) < 0)
		return -1;
	l->now = l->next;
	wal_applied(l->c.wal, l->now.snapshot);
	return 0;
}

static int make_segment(struct life *l, struct error *err)
{
	int rc;

	if (!wal_segment_begin(l->c.wal))
		return 0;
	rc = wal_segment_work(l->c.wal, err);
	wal_segment_end(l->c.wal, rc == 0);
	return rc;
}

static int snapshot(struct life *l, struct error *err)
{
	struct model *m = &l->next;
	bool own = draw(l, 4) > 0;
	uint64_t index = m->snapshot + 1 + draw(l, 5);

	if (index >= ENTRIES_MAX || (own && index > m->last))
		return 0;
	m->snapshot = index;
	m->snapshot_term = own ? m->terms[index] : m->hard.term;
	if (!own)
		m->last = index;
	if (wal_case_snapshot(&l->c, index, m->snapshot_term, own, err) < 0)
		return -1;
	l->now = l->next;
	return 0;
}

static int step(struct life *l, struct error *err)
{
	switch (draw(l, 8)) {
	case 0:
		return snapshot(l, err);
	case 1:
		return make_segment(l, err);
	default:
		return write_some(l, err);
	}
}

static bool has_entries(struct life *l, const struct model *m)
{
	for (uint64_t i = wal_case_first(&l->c); i <= m->last; i++) {
		auto_free char *text = NULL;

		if (i <= m->snapshot && i < wal_case_first(&l->c))
			continue;
		text = wal_case_text(&l->c, i);
		if (text == NULL || strtoull(text, NULL, 10) != m->values[i] ||
		    wal_case_term(&l->c, i) != m->terms[i])
			return false;
	}
	return true;
}

static bool is_as(struct life *l, const struct model *m)
{
	return wal_case_last(&l->c) == m->last &&
	       wal_snapshot_index(l->c.wal) == m->snapshot &&
	       wal_case_first(&l->c) <= m->snapshot + 1 &&
	       wal_case_term(&l->c, m->snapshot) == m->snapshot_term &&
	       l->c.core.hard.term == m->hard.term &&
	       l->c.core.hard.vote == m->hard.vote && has_entries(l, m);
}

/* One life after the other on the same disk, each ended by a loss of power at
 * the operation `die_at`. */
static void live(uint64_t seed, size_t die_at)
{
	struct life l = {.random = seed};
	struct error err;

	wal_case_init(&l.c, true);
	l.now.last = l.now.snapshot = l.now.snapshot_term = 1;
	l.now.hard.term = 1;
	for (int crash = 0; crash < 3; crash++) {
		int rc = 0;

		l.next = l.now;
		l.c.cache_bytes = draw(&l, 2) == 0 ? 1 : 0;
		l.c.disk.die_at = crash == 0 ? die_at : 1 + draw(&l, 40);
		if (wal_case_try(&l.c, &err) != NULL)
			while (rc == 0 && l.now.last < ENTRIES_MAX - 20)
				rc = step(&l, &err);
		wal_case_crash(&l.c, draw(&l, UINT64_MAX));
		cr_assert_not_null(wal_case_try(&l.c, &err), "seed %ju: %s",
				   (uintmax_t)seed, err.text);
		if (is_as(&l, &l.next))
			l.now = l.next;
		cr_assert(is_as(&l, &l.now), "seed %ju, life %d",
			  (uintmax_t)seed, crash);
	}
	wal_case_done(&l.c);
}

Test(wal_crash, nothing_acknowledged_is_lost)
{
	for (uint64_t seed = 1; seed <= LIVES; seed++)
		live(seed, 1 + seed % 97);
}
