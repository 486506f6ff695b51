/* SPDX-License-Identifier: BSD-2-Clause */
/* What a job's opcodes are about: fields of jobs beyond Ganeti's, which the
 * history can be searched for. */
#ifndef QUEUE_JOBS_JOB_FACTS_H
#define QUEUE_JOBS_JOB_FACTS_H

#include <jansson.h>

#include "queue/jobs/job.h"

/* Lists of strings, none twice, to be freed: the kinds of the opcodes; the
 * instances, nodes, groups and networks that they name; who asked (sources of
 * the reason trail) and why (its texts), without what the queue adds itself. */
json_t *job_opids(const struct job *j);
json_t *job_objects(const struct job *j);
json_t *job_users(const struct job *j);
json_t *job_reasons(const struct job *j);

/* An opcode without all that these do not read.  NULL where input is no
 * opcode.  To be freed. */
json_t *op_facts(const char *input);

#endif
