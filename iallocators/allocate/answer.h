/* SPDX-License-Identifier: BSD-2-Clause */
/* Answering a request: doing what it asks, and the JSON of the result. */
#ifndef IALLOCATORS_ALLOCATE_ANSWER_H
#define IALLOCATORS_ALLOCATE_ANSWER_H

#include "iallocators/input/request.h"
#include "iallocators/place/place.h"
#include "lib/base/str.h"

/* Add the answer, one JSON object, in which the result has the key given.  The
 * cluster is then as it would be.  -1 when the request contradicts itself. */
int answer(struct cluster *c, const struct request *r,
	   const struct place_options *o, const char *result_key,
	   struct buf *out, struct error *err);

/* Put one more member at the end of an answer; value is JSON. */
void answer_add(struct buf *answer, const char *key, const char *value);

#endif
