/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the files of the job queue, below its folder; what nodes send
 * each other is checked against them. */
#ifndef MODEL_QUEUE_FILES_H
#define MODEL_QUEUE_FILES_H

#include <stdbool.h>

/* "job-17" */
bool queue_file_is_job(const char *name);

/* A job, "archive/0/job-17", or one of the small files ("serial", "drain", ...)
 * that candidates have, too. */
bool queue_file_is_known(const char *name);

#endif
