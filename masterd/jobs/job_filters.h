/* SPDX-License-Identifier: BSD-2-Clause */
/* Job filters: rules in the configuration that let jobs run, hold them back,
 * limit how many run at once, or cancel them (gnt-filter).
 *
 * Rules are tried by priority, watermark and UUID; the first whose predicates
 * all hold for a job, and that does not say CONTINUE, decides. */
#ifndef MASTERD_JOBS_JOB_FILTERS_H
#define MASTERD_JOBS_JOB_FILTERS_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

struct job;
struct job_filters;
struct queue;
struct queue_gate;

/* rules: {uuid: rule}, as in the configuration.  Rules that cannot be
 * understood are logged and left out. */
struct job_filters *job_filters_create(const json_t *rules);
void job_filters_destroy(struct job_filters *f); /* when the queue is gone */

/* As queue_hooks.gate. */
struct queue_gate *job_filters_gate(struct job_filters *f, const struct job *j);

/* Load changed rules and make the queue use them. */
WAITS void job_filters_reload(struct job_filters *f, const json_t *rules,
			      struct queue *q);

/* A rule for the configuration from what a client sent; NULL with ERR_PREREQ
 * when it makes no sense.  watermark: the newest job. */
json_t *job_filters_make(const char *uuid, int64_t watermark, int64_t priority,
			 const json_t *predicates, const json_t *action,
			 const json_t *reason, struct error *err);

#endif
