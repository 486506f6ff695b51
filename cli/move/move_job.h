/* SPDX-License-Identifier: BSD-2-Clause */
/* A job that is followed to its end, also while its cluster cannot be asked for
 * some time: a restart of the remote API, or another master, does not end a
 * copy that takes hours. */
#ifndef CLI_MOVE_JOB_H
#define CLI_MOVE_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/move/move_log.h"
#include "lib/base/mem.h"

struct move_cluster;
struct rapi;
struct rapi_set;

struct move_job {
	struct move_cluster *cluster; /* NULL: there is no such job */
	char *id;
	const char *what; /* "import" */
	struct move_log log;
	bool ended;
	json_t *end; /* what GET /2/jobs/ID says of the end */

	/* move_job.c */
	struct rapi_set *set;
	struct rapi *rapi;
	json_t *info;	    /* what the last wait said, null before */
	bool asked;	    /* a request is on its way */
	bool asked_all;	    /* it is GET /2/jobs/ID */
	bool ask_all;	    /* the next one shall be that */
	bool polled;	    /* the cluster does not let us wait */
	int64_t again_us;   /* not before */
	int64_t trouble_us; /* no answer since; 0: none */
};

/* Begin to follow a job that was submitted; id is taken over. */
void move_job_init(struct move_job *j, struct move_cluster *cluster,
		   struct rapi_set *set, char *id STEALS, const char *what);
void move_job_done(struct move_job *j);

/* Whether the job was submitted, and may still run. */
bool move_job_is_open(const struct move_job *j);

/* Wait until something was learned of one of n jobs of one set, for a second at
 * the most.  -1 with err when one of them cannot be followed any more, or the
 * user wants to end. */
int move_job_next(struct move_job *const *jobs, size_t n, struct error *err);

/* The same until all have ended. */
int move_job_finish(struct move_job *const *jobs, size_t n, struct error *err);

/* "job 7 (import) on beta"; to be freed. */
char *move_job_name(const struct move_job *j);

/* The user wants to end; may be called by a signal's handler. */
void move_job_interrupt(void);
bool move_job_interrupted(void);

#endif
