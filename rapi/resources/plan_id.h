/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of a plan: a hash of what it would do, and of the serial numbers of
 * the objects that it locks.  So it is the same as long as nothing has changed
 * that matters to it, on each master, and nobody has to keep plans. */
#ifndef RAPI_PLAN_ID_H
#define RAPI_PLAN_ID_H

#include <jansson.h>

#include "lib/base/error.h"

struct request;

/* The id of an answer of PlanJobs, to be freed; NULL with err. */
char *plan_id(struct request *q, const json_t *plan, struct error *err);

/* 0 when the plan that the client knows (q->wanted_plan) is that of these jobs
 * still.  -1 with ECODE_MOVED otherwise. */
int plan_id_check(struct request *q, const json_t *ops, struct error *err);

#endif
