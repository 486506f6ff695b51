/* SPDX-License-Identifier: BSD-2-Clause */
/* New instances of one size, one after the other, each in the best place. */
#ifndef IALLOCATORS_CAPACITY_CAPACITY_RUN_H
#define IALLOCATORS_CAPACITY_CAPACITY_RUN_H

#include "iallocators/capacity/capacity.h"
#include "iallocators/place/series.h"

struct run {
	struct capacity *k;
	struct instance inst;
	struct place_options options;
	struct place p;
	struct promises promises;
	bool hopeless; /* nothing passes the checks */
	struct series series;
	int *tentative; /* refused now, but perhaps not for ever */
	int n_tentative;
};

/* For instances like this, anywhere; */
void capacity_run_init(struct run *r, struct capacity *k,
		       const struct instance *like);
void capacity_run_done(struct run *r);
/* with checks, each must leave all redundant. */
void capacity_run_check(struct run *r, bool checks);

/* Place one more; false if it does not fit, with the reasons counted in the
 * capacity. */
bool capacity_run_place(struct run *r);

/* A point to return to. */
struct capacity_run_mark {
	size_t change;
	int n_instances;
};

/* Where the run is; go back there, taking back what was placed since. */
struct capacity_run_mark capacity_run_mark(const struct run *r);
void capacity_run_undo(struct run *r, struct capacity_run_mark mark);

/* Count the reasons against some places, as if one more were to be placed;
 * whether it would fit. */
bool capacity_run_count(struct run *r);

/* On one node: whether all is redundant with the instance on a candidate; one
 * that is refused is not in question any more. */
bool capacity_run_passes(struct run *r, int position);

/* Go on with another size, of which nothing has been placed yet. */
void capacity_run_resize(struct run *r, const struct instance *like);

#endif
