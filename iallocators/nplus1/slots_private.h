/* SPDX-License-Identifier: BSD-2-Clause */
/* What slots.c, which keeps sums, and slots_count.c, which counts, share. */
#ifndef IALLOCATORS_NPLUS1_SLOTS_PRIVATE_H
#define IALLOCATORS_NPLUS1_SLOTS_PRIVATE_H

#include "iallocators/nplus1/slots.h"

/* What `count` equal evacuees, one after the other, each take of a node. */
struct slot_item {
	int64_t memory, disk;
	bool disks, shared;
	int64_t count;
};

/* The slots of one size on all nodes but x. */
struct slot_count {
	int64_t all;
	int64_t peak;	/* no node has more */
	bool exclusive; /* nodes with exclusive storage may have more slots */
};

/* How many instances of a size fit into what is free; one unit stays free. */
int64_t slots_fit(int64_t free, int64_t size);
/* How many of the biggest evacuee of x fit onto z. */
int64_t slots_at(const struct cluster *c, const struct node *x, int z,
		 const struct need *need);
/* Keep the `count` largest numbers, descending: put n among them and return the
 * one that falls out. */
int64_t slots_note_most(int64_t *most, int count, int64_t n);

struct need slots_need_of(const struct slot_item *it);
/* How many slots of the size of items[at] are gone at most when all items
 * before it and all but the last of its own have a place; no node has more than
 * `peak`. */
int64_t slots_all_lost(const struct slot_item *items, int at, int64_t peak);
/* Whether the evacuees of items[at] find a place when those before have one. */
enum slots_verdict slots_judge_item(const struct cluster *c,
				    const struct evacuees *l, int at,
				    const struct slot_count *slots);

#endif
