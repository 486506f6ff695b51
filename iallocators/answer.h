/* SPDX-License-Identifier: BSD-2-Clause */
/* Answering a request: doing what it asks, and the JSON of the result. */
#ifndef IALLOCATORS_ANSWER_H
#define IALLOCATORS_ANSWER_H

#include "iallocators/place.h"
#include "iallocators/request.h"
#include "lib/base/str.h"

/* Add the answer, one JSON object.  The cluster is then as it would be.  -1
 * when the request contradicts itself. */
int answer(struct cluster *c, const struct request *r,
	   const struct place_options *o, struct buf *out, struct error *err);

#endif
