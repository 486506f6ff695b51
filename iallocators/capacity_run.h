/* SPDX-License-Identifier: BSD-2-Clause */
/* New instances of one size, one after the other, each in the best place. */
#ifndef IALLOCATORS_CAPACITY_RUN_H
#define IALLOCATORS_CAPACITY_RUN_H

#include "iallocators/capacity.h"
#include "iallocators/series.h"

struct run {
	struct capacity *k;
	struct instance inst;
	struct place_options options;
	struct place p;
	struct series series;
	bool has_series;
	struct nodeset few; /* candidates */
};

/* For instances like this; with checks, each must leave all redundant. */
void run_init(struct run *r, struct capacity *k, const struct instance *like,
	      bool checks);
void run_done(struct run *r);

/* Whether one more fits, without placing it if `place` is false; if not, or if
 * that is all that is asked, the reasons are counted in the capacity. */
bool run_try(struct run *r, bool place, struct solution *ret);

/* Place one more; false if it does not fit. */
bool run_place(struct run *r);

/* Whether one more would fit; if not, the reasons are counted. */
bool run_would_fit(struct capacity *k, const struct instance *like,
		   bool checks);

#endif
