/* SPDX-License-Identifier: BSD-2-Clause */
/* Was the history altered?  Works on what the files of the archive say; does
 * not read files. */
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
	uint64_t id, number; /* the oldest entry that is wrong */
	uint64_t witness;    /* whose link shows it; 0: archive-head */
	bool unsure;	     /* the job before it may be altered as well */
	size_t n_linked;     /* how many entries of the chain exist */
	size_t n_before;     /* jobs archived before the chain */
};

/* head: the newest entry when the reading of the files began; newest: the
 * number of the newest one when it ended.  Sorts entries. */
void chain_check(const struct chain_link *head, uint64_t newest,
		 struct chain_entry *entries, size_t n,
		 struct chain_verdict *ret);

#endif
