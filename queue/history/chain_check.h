/* SPDX-License-Identifier: BSD-2-Clause */
/* Is the history unaltered?  Looks at what the files of the archive say, not
 * at files. */
#ifndef QUEUE_HISTORY_CHAIN_CHECK_H
#define QUEUE_HISTORY_CHAIN_CHECK_H

#include "queue/history/chain.h"

/* An archived job. */
struct chain_entry {
	uint64_t id, number; /* number 0: its file has no place in the chain */
	char sha256[CHAIN_HEX];
	struct chain_link previous;
};

struct chain_verdict {
	enum { CHAIN_GOOD, CHAIN_ALTERED, CHAIN_MISSING, CHAIN_ADDED } kind;
	uint64_t id, number; /* of the first (oldest) that is not good */
	uint64_t witness;    /* the job whose link shows it; 0: archive-head */
	bool unsure;	     /* the one before it may be altered, too */
	size_t n_linked;     /* entries of the chain that are there */
	size_t n_before;     /* jobs archived before there was a chain */
};

/* head: the newest entry when the files began to be read; newest: the number of
 * the newest one when that was done.  Sorts entries. */
void chain_check(const struct chain_link *head, uint64_t newest,
		 struct chain_entry *entries, size_t n,
		 struct chain_verdict *ret);

#endif
