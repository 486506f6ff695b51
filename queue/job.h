/* SPDX-License-Identifier: BSD-2-Clause */
/* A job and its opcodes: states, log, JSON form (inventory/config.md 3).
 * A job is a struct plus serialised pieces; no JSON tree is kept for it. */
#ifndef QUEUE_JOB_H
#define QUEUE_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* In the order of a normal life.  Names are those of the job files. */
#define JOB_STATES(X)                                                          \
	X(QUEUED, "queued")                                                    \
	X(WAITING, "waiting")                                                  \
	X(CANCELING, "canceling")                                              \
	X(RUNNING, "running")                                                  \
	X(CANCELED, "canceled")                                                \
	X(SUCCESS, "success")                                                  \
	X(ERROR, "error")

enum job_state {
#define X(state, name) JOB_##state,
	JOB_STATES(X)
#undef X
};

const char *job_state_name(enum job_state s);
bool job_state_by_name(const char *name, enum job_state *ret);

struct job_op {
	char *input;  /* JSON text of the opcode, with all parameters */
	char *result; /* JSON text; NULL is null */
	char *summary; /* "INSTANCE_CREATE(web1)" */
	enum job_state status;
	int priority;
	struct buf log; /* JSON texts of entries, each followed by a comma */
	int64_t start_us, exec_us, end_us; /* 0: not yet */
};

struct job {
	uint64_t id;
	struct job_op *ops;
	size_t n_ops;
	int64_t received_us, start_us, end_us;
	uint64_t log_serial; /* of the newest log entry of all its opcodes */
	bool archived;

	/* Private to queue/. */
	struct job_private *private;
};

/* First error/canceling/canceled op, else last waiting/running, ... as
 * inventory/config.md section 3 says. */
enum job_state job_status(const struct job *j);
bool job_is_final(const struct job *j);
int job_priority(const struct job *j);

/* The whole job as in its file, one line. */
char *job_to_text(const struct job *j);

/* From a file's text; NULL with ERR_JOB_CORRUPT. */
struct job *job_from_text(const char *text, size_t len, struct error *err);
void job_free(struct job *j);

/* Values of the old-style query fields (id status priority ops opresult
 * opstatus oplog opstart opexec opend oppriority summary received_ts start_ts
 * end_ts archived); NULL for an unknown field. */
json_t *job_field(const struct job *j, const char *field);

#endif
