/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement over the node groups: each is tried, the best one wins, preferred
 * ones before those of last resort. */
#ifndef IALLOCATORS_PLACE_GROUPS_H
#define IALLOCATORS_PLACE_GROUPS_H

#include "iallocators/place/place.h"

/* Groups to try: all, or those in the list. */
struct group_choice {
	bool any;
	const int *groups;
	int n;
};

enum placed {
	PLACED,
	PLACED_NOT,	/* it fits nowhere */
	PLACED_WRONGLY, /* it cannot even be tried */
};

/* Place inst, in any of the groups or in the one named (name or UUID).
 * *ret_info is the text about it, or the reasons.  p->scope is the whole
 * cluster. */
enum placed groups_place_any(struct place *p, const struct group_choice *choice,
			     struct solution *ret, struct buf *ret_info);
enum placed groups_place_named(struct place *p, const char *name,
			       struct solution *ret, struct buf *ret_info);

/* The best group for inst; NO_INDEX and the reasons in *ret_info. */
int groups_best(struct place *p, const struct group_choice *choice,
		struct buf *ret_info);

#endif
