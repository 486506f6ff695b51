/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of planning, for job_plan*.c alone. */
#ifndef MASTERD_JOBS_JOB_PLAN_PRIVATE_H
#define MASTERD_JOBS_JOB_PLAN_PRIVATE_H

#include "masterd/core/master.h"
#include "masterd/rpc/noderpc.h"

struct job_plan {
	struct master own; /* the master of the plan: a copy */
	struct master *real;
	json_t *todo; /* jobs: [[id of the one that submits it, ops], ...] */
	uint64_t next_id; /* of the next job that is noted */
	json_t *steps;	  /* of the opcode that is planned */
	json_t *document; /* the configuration as it was at the last step */

	/* What recorded calls have changed, as far as later calls ask for
	 * it. */
	json_t *running; /* {"node instance": whether it runs} */
	bool disks_changed;
	/* The call whose answer could not be made up; nothing after it is
	 * recorded. NULL: there was none. */
	char *unknown;
};

/* --- job_plan_calls.c --- */

/* As noderpc_transport.send; arg is the plan.  Calls that only look go to the
 * nodes, all others get an answer as if they had succeeded. */
void job_plan_send(void *arg, const struct noderpc_call *call);

/* --- job_plan_steps.c: what is recorded --- */

/* The same call to several nodes, one directly after the other, is one step. */
void job_plan_note_call(struct job_plan *p, const struct noderpc_call *call,
			const json_t *args, bool looks);
void job_plan_note_text(struct job_plan *p, const char *text);
/* Jobs that would be submitted, by their ids. */
void job_plan_note_jobs(struct job_plan *p, json_t *ids STEALS);
/* Record what has changed in the configuration since the last time; with
 * `written` there is a step even if nothing has changed. */
void job_plan_note_changes(struct job_plan *p, bool written);

#endif
