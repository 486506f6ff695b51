/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans of jobs: which locks, node calls, hooks and changes jobs would need,
 * without making any of them (doc/design/plan.md).  The logical units
 * themselves run on a copy of the configuration; nodes are only asked, never
 * changed. */
#ifndef MASTERD_JOBS_JOB_PLAN_H
#define MASTERD_JOBS_JOB_PLAN_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct master;

/* The plan of these jobs (a list of lists of opcodes), in their order, and then
 * of those that they would submit: {"jobs": [...]} as doc/protocol/luxi.md has
 * it.  A job that would fail is part of the plan, with its error.  To be freed;
 * NULL with err: jobs is no such list. */
WAITS json_t *job_plan(struct master *m, const json_t *jobs, struct error *err);

#endif
