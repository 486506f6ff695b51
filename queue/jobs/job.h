/* SPDX-License-Identifier: BSD-2-Clause */
/* A job and its opcodes: states, log, JSON form (job files of Ganeti 3.0).
 * A job is a struct plus serialised pieces; no JSON tree is kept for it. */
#ifndef QUEUE_JOBS_JOB_H
#define QUEUE_JOBS_JOB_H

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
bool job_state_is_final(enum job_state s); /* canceled, success, error */

struct job_op {
	char *input;   /* JSON text of the opcode, with all parameters */
	char *result;  /* JSON text; NULL means null */
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
	uint64_t log_serial; /* of the newest entry of all logs */
	bool archived;

	/* Private to queue/. */
	struct job_private *private;
};

/* An opcode just submitted: queued, priority as its input says.  input has the
 * complete form; summary may be NULL, then op_summary() makes it. */
void job_op_init(struct job_op *op, const json_t *input, const char *summary);

/* Replace its input by this one, complete and without secrets. */
void job_op_set_input(struct job_op *op, const json_t *input);
/* Append an entry to the opcode's reason trail. */
void job_op_reason(struct job_op *op, const char *source, const char *text,
		   int64_t now_us);

/* The source of the entries that say why a job was ended early. */
#define JOB_DEATH_SOURCE "gnt:daemon:luxid:deathdetection"

/* A job of n_ops zeroed opcodes. */
struct job *job_new(uint64_t id, size_t n_ops);
void job_free(struct job *j); /* private is the owner's */

/* A copy of everything but private; and its reverse: give j the content of
 * `from`. */
struct job *job_copy(const struct job *j);
void job_assign(struct job *j, struct job *from STEALS);

/* The state of the first opcode that failed or was (or is being) canceled,
 * else of the last that waits or runs; success when all succeeded, else
 * queued. */
enum job_state job_status(const struct job *j);
bool job_is_final(const struct job *j);
/* The most urgent (lowest) priority of the opcodes that are not final; 0 if all
 * are. */
int job_priority(const struct job *j);

/* Change the state of an opcode.  A change that makes no sense is a bug of the
 * caller and asserted. */
void job_op_move(struct job_op *op, enum job_state to);

/* End an opcode with a result (NULL: null). */
void job_op_end(struct job_op *op, enum job_state to, json_t *result STEALS,
		int64_t now_us);

/* The result of a failed opcode, to be freed: [class, [text]]; for a failed
 * prerequisite [class, [text, ecode]]; for failed hooks [class, [list]], where
 * the text of the error is the list. */
json_t *job_error_result(const struct error *err);

/* End all opcodes from `first` on that are not final; only those that have
 * begun get a time. */
void job_end_rest(struct job *j, size_t first, enum job_state to,
		  const json_t *result, int64_t now_us);

/* Add an entry to an opcode's log. */
void job_log(struct job *j, size_t op, const char *type, json_t *message STEALS,
	     int64_t now_us);

/* The entries of all opcodes' logs with a higher serial number (-1: all), to be
 * freed.  The cost does not grow with the entries before. */
json_t *job_log_since(const struct job *j, int64_t serial);

/* The whole job as in its file, one line. */
char *job_to_text(const struct job *j);

/* From a file's text; NULL with ERR_JOB_CORRUPT. */
struct job *job_from_text(const char *text, size_t len, struct error *err);

/* The value of a field of old-style queries (id status priority ops opresult
 * opstatus oplog opstart opexec opend oppriority summary received_ts start_ts
 * end_ts archived) or of a field of job_facts.h (opid objects user reason), to
 * be freed; NULL for an unknown field. */
json_t *job_field(const struct job *j, const char *field);

#endif
