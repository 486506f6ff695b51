/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether one more instance fits, asked of sizes of which each is the one
 * before with less of one thing.
 *
 * A node that has not enough of something else will not have it then either,
 * so only the others are looked at again. */
#ifndef IALLOCATORS_CAPACITY_CAPACITY_FIT_H
#define IALLOCATORS_CAPACITY_CAPACITY_FIT_H

#include "iallocators/capacity/capacity_run.h"

struct fit {
	struct run run;
	enum fail why; /* what there is less and less of */
	int *open;     /* positions that may change */
	int n_open;
	int64_t counts[FAIL_COUNT]; /* of all positions */
};

void fit_init(struct fit *f, struct capacity *k, const struct instance *inst,
	      enum fail why);
void fit_done(struct fit *f);

/* Whether it fits somewhere, checks and all; if not, the reasons are counted
 * in the capacity. */
bool fit_now(struct fit *f);

/* Go on with a smaller one. */
void fit_shrink(struct fit *f, const struct instance *smaller);

#endif
