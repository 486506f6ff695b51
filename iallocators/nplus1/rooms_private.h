/* SPDX-License-Identifier: BSD-2-Clause */
/* What counting slots and keeping their sums share. */
#ifndef IALLOCATORS_NPLUS1_ROOMS_PRIVATE_H
#define IALLOCATORS_NPLUS1_ROOMS_PRIVATE_H

#include "iallocators/nplus1/rooms.h"

/* What something takes of a node; so many of the same, one after the other. */
struct room_item {
	int64_t memory, disk;
	bool disks, shared;
	int64_t count;
};

/* The slots of one size, besides x's own. */
struct room_slots {
	int64_t all;
	int64_t peak;	/* no node has more */
	bool exclusive; /* there may be others */
};

/* So many of a size there is room for; one unit always stays free. */
int64_t rooms_fit(int64_t free, int64_t size);
/* How many of the biggest thing that leaves x could come to z. */
int64_t rooms_slots_at(const struct cluster *c, const struct node *x, int z,
		       const struct need *need);
/* Put n among the most; what falls out of them. */
int64_t rooms_note_most(int64_t *most, int count, int64_t n);

struct need rooms_need_of(const struct room_item *it);
/* So many slots for the last of those at `at` are gone at most when all before
 * it have found a place; no node has more than peak. */
int64_t rooms_all_lost(const struct room_item *items, int at, int64_t peak);
/* Whether those at `at` find a place, when those before it have theirs. */
enum rooms_verdict rooms_judge_item(const struct cluster *c,
				    const struct leavers *l, int at,
				    const struct room_slots *slots);

#endif
