/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the files of the job queue, below its folder; what nodes send
 * each other is checked against them. */
#ifndef MODEL_FILES_QUEUE_FILES_H
#define MODEL_FILES_QUEUE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strv;

/* The highest job id.  A queue never counts up to it, so a longer number is
 * damage; and all readers of JSON hold the ids up to it exactly. */
#define JOB_ID_MAX UINT64_C(999999999999999)

/* Whether it is the name of a job's file ("job-17"), and the id of the job. */
bool queue_file_job_id(const char *name, uint64_t *ret_id);
/* How many of these are. */
size_t queue_file_count_jobs(const struct strv *names);
/* "job-" and digits, but not a valid name of a job. */
bool queue_file_is_bad_job(const char *name);
/* Read the text of the file "serial"; false when it is not a valid id. */
bool queue_file_read_serial(const char *text, uint64_t *ret_id);

/* Whether it is the key of a submission, "key-" and 64 hexadecimal digits. */
bool queue_file_is_key(const char *name);

/* Whether it is a job, "archive/0/job-17", or one of the small files ("serial",
 * "drain", ...) that candidates have, too. */
bool queue_file_is_known(const char *name);

#endif
