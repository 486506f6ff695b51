/* SPDX-License-Identifier: BSD-2-Clause */
/* A job's log as it is written (GET /gantry/1/jobs/N/log?follow=1): as
 * server-sent events, or as a line of JSON each, until the job has ended.
 *
 * Each client that follows a log has a task, which waits for the job's next
 * change; so there are fewer of these than of those who follow events. */
#ifndef RAPI_JOB_LOG_H
#define RAPI_JOB_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/event/https_server.h"
#include "lib/event/task.h"
#include "rapi/frame/request.h"

#define JOB_LOG_MAX 100
/* Of one address, so that it keeps nobody out. */
#define JOB_LOG_ADDRESS_MAX 20

/* Those that are followed. */
struct job_logs {
	struct list all;
	unsigned n;
	bool stopping;
};

void job_logs_init(struct job_logs *logs);

/* Make the answer to this request of a client with this address the log of the
 * job in q's path, from behind the serial number `since`.  -1 with err. */
WAITS int job_log_begin(struct job_logs *logs, struct https_request *http,
			const struct request *q, const char *address,
			struct error *err);

#endif
