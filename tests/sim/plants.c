/* SPDX-License-Identifier: BSD-2-Clause */
/* Planted bugs: each program that is linked with this file has one function of
 * the product replaced (the linker's --wrap; see tests/meson.build) by what is
 * here.  The simulation must catch every one. */
#include "lib/store/journal.h"
#include "masterd/replicate/distribute_private.h"
#include "noded/replica/candidate.h"

/* The journal is written, but never synced. */
int __wrap_journal_sync(struct journal *j, struct error *err);
int __wrap_journal_sync(struct journal *j, struct error *err)
{
	(void)j;
	(void)err;
	return 0;
}

/* A node serves every caller, whatever it promised. */
enum candidate_verdict __wrap_candidate_check(struct candidate *c,
					      uint64_t term, struct error *err);
enum candidate_verdict __wrap_candidate_check(struct candidate *c,
					      uint64_t term, struct error *err)
{
	(void)c;
	(void)term;
	(void)err;
	return CANDIDATE_SERVE;
}

/* A change is safe before any other candidate has it. */
WAITS int __wrap_safe_wait(struct distribute *d,
			   const struct lane *(*lane)(const struct peer *p),
			   uint64_t number, struct error *err);
WAITS int __wrap_safe_wait(struct distribute *d,
			   const struct lane *(*lane)(const struct peer *p),
			   uint64_t number, struct error *err)
{
	(void)lane;
	(void)number;
	(void)err;
	distribute_wake(d);
	return 0;
}
