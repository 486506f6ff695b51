/* SPDX-License-Identifier: BSD-2-Clause */
/* Answering a request: doing what it asks. */
#ifndef IALLOCATORS_ALLOCATE_ANSWER_H
#define IALLOCATORS_ALLOCATE_ANSWER_H

#include "iallocators/allocate/hail_result.h"
#include "iallocators/place/place.h"

/* Restrict placements so; nodes that the options name already go first. */
void answer_restrict(struct place_options *o, const struct restriction *r);

/* Fill the answer, which is empty before.  The cluster is then as it would be.
 * -1 when the request contradicts itself. */
int answer(struct cluster *c, const struct request *r,
	   const struct place_options *o, struct hail_result *ret,
	   struct error *err);

#endif
