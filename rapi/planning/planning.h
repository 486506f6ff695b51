/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster as the planners see it, for requests that plan: read from the
 * master, computed on beside the loop.  Planning takes all of a processor, so
 * few requests do it at the same time. */
#ifndef RAPI_PLANNING_PLANNING_H
#define RAPI_PLANNING_PLANNING_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

struct request;

/* At the same time; further ones get 503. */
#define PLANNING_MAX 2

struct planning {
	struct cluster c;
	struct load_options loads;
	struct buf text; /* c points into it */
};

/* Plans with the cluster; 0, or -1 with err. */
typedef int planning_fn(struct request *q, struct planning *p, void *arg,
			struct error *err);

/* Read the cluster and call fn with it, on a stack that is large enough for
 * planners.  -1 with its error; REPLY_UNAVAILABLE when too many are planning.
 */
int planning_run(struct request *q, planning_fn *fn, void *arg,
		 struct error *err);

/* An argument that is a number of at most max, in *ret; untouched without
 * it. */
int planning_number(const struct request *q, const char *name, int64_t max,
		    int64_t *ret, struct error *err);

#endif
