/* SPDX-License-Identifier: BSD-2-Clause */
/* From an allocator's answer about moves to the jobs of evacuations and of
 * changes of the group. */
#ifndef MASTERD_LU_PARTS_PLAN_H
#define MASTERD_LU_PARTS_PLAN_H

#include "masterd/lu/frame/lu.h"

/* The allocator given, or the cluster's for NULL and "."; NULL without one.
 * Lives as long as the LU. */
const char *plan_iallocator(struct lu *lu, const char *given);
/* The node (*ret_iallocator is NULL then) or the allocator, the cluster's where
 * neither is given; ERR_PREREQ for both, or none at all. */
int plan_choose(struct lu *lu, const char *node, const char *iallocator,
		const char **ret_iallocator, struct error *err);

struct plan_wish {
	const char *iallocator;
	const struct strv *instances; /* that move, their names */
	bool ignore_soft_errors;
	bool early_release; /* of the jobs that replace disks */
};

/* Ask the allocator and say in the job's log what will be moved; returns the
 * jobs, to be freed.  All or nothing: if one instance cannot be moved the plan
 * fails. NULL with err. */
WAITS json_t *plan_jobs(struct lu *lu, const struct plan_wish *wish,
			json_t *request STEALS, struct error *err);

/* Book what the jobs will need for this job, until it ends, so that its next
 * plan counts them. */
void plan_book(struct lu *lu, const json_t *jobs);

/* As lu_submit_jobs(); the resources that the jobs will need are booked for
 * them, so that the next planner counts them, and the locks of the nodes'
 * resources are released. */
WAITS json_t *plan_submit(struct lu *lu, json_t *jobs STEALS,
			  struct error *err);

#endif
