/* SPDX-License-Identifier: BSD-2-Clause */
/* PlanJobs: what jobs would do. */
#include "masterd/jobs/job_plan.h"
#include "masterd/luxi/luxi_calls.h"

static WAITS json_t *plan_jobs(struct master *m, const json_t *args,
			       struct error *err)
{
	return job_plan(m, json_array_get(args, 0), err);
}

const struct luxi_method luxi_PlanJobs = {.run = plan_jobs,
					  .waits = luxi_always};
