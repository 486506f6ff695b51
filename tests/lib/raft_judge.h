/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold of all servers of lib/raft/ together (figure 3.2 of the
 * thesis): at most one leader in a term; the same index and term is the same
 * entry everywhere; all apply the same entry at an index and are in the same
 * state behind it; a leader has all that was ever committed; a read shows all
 * that was acknowledged before it was asked. */
#ifndef TESTS_LIB_RAFT_JUDGE_H
#define TESTS_LIB_RAFT_JUDGE_H

#include "tests/lib/raft_host.h"

/* Terms and indices beyond are a mistake in themselves. */
#define RAFT_JUDGE_MAX 100000

/* The entries that were seen at one index: a term has one. */
struct raft_judge_slot {
	struct raft_judge_seen {
		uint64_t term, hash;
	} * seen;
	size_t n;
};

struct raft_judge {
	struct raft_judge_slot *slots; /* by index */
	size_t n_slots;
	struct raft_state *committed; /* by index: the state behind it */
	size_t n_committed;	      /* the last index that is committed */
	uint64_t *leaders;	      /* by term */
	size_t n_leaders;
	uint64_t leader_term;  /* the highest that had a leader */
	uint64_t acknowledged; /* up to there somebody was told */
	char problem[320];     /* the first that was found; "" */
};

/* All servers begin with these members. */
void raft_judge_init(struct raft_judge *j, const struct raft_members *members);
void raft_judge_done(struct raft_judge *j);
/* They begin with a snapshot of this entry. */
void raft_judge_found(struct raft_judge *j, const struct raft_entry *first);

/* To be told of all that a server appends, applies, puts in place. */
void raft_judge_appended(struct raft_judge *j, const struct raft_host *h,
			 const struct raft_entry *entry);
void raft_judge_applied(struct raft_judge *j, const struct raft_host *h,
			const struct raft_entry *entry);
void raft_judge_installed(struct raft_judge *j, const struct raft_host *h);
/* To be asked after each event: is it the leader, and may it be? */
void raft_judge_look(struct raft_judge *j, const struct raft_host *h);
/* Somebody was told that this entry is committed, or has read up to it. */
void raft_judge_acknowledge(struct raft_judge *j, uint64_t index);
/* A read that was asked when `acknowledged` was this gives `index`. */
void raft_judge_read(struct raft_judge *j, const struct raft_host *h,
		     uint64_t acknowledged, uint64_t index);
/* Write down what is wrong; later problems are not looked at. */
void raft_judge_broken(struct raft_judge *j, const struct raft_host *h,
		       const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
