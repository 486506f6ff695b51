/* SPDX-License-Identifier: BSD-2-Clause */
/* What a job's opcodes are about: fields of jobs that Ganeti does not have, by
 * which the history can be searched. */
#ifndef QUEUE_JOBS_JOB_FACTS_H
#define QUEUE_JOBS_JOB_FACTS_H

#include <jansson.h>

#include "queue/jobs/job.h"

/* Lists of strings without duplicates, to be freed: the kinds of the opcodes;
 * the instances, nodes, groups and networks that they name; who submitted them
 * (the sources in the reason trail) and why (its texts).  Entries that the
 * queue adds itself are left out. */
json_t *job_opids(const struct job *j);
json_t *job_objects(const struct job *j);
json_t *job_users(const struct job *j);
json_t *job_reasons(const struct job *j);

/* The opcode reduced to what these functions read, to be freed.  NULL when
 * input is not an opcode. */
json_t *job_facts_of_op(const char *input);

#endif
