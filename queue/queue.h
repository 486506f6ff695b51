/* SPDX-License-Identifier: BSD-2-Clause */
/* The door to the job queue: submit, wait, cancel, archive, query.
 *
 * What the queue has acknowledged is durable: submit returns when the jobs are
 * committed in its store, and a state of a job is visible only when it is, too.
 * The queue runs each job in a task of its own, which calls hooks->run_op for
 * one opcode after the other.  At most max_running jobs run at once. */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "queue/jobs/job.h"

struct queue;
struct queue_run; /* one opcode being run, see below */

/* So many live jobs, those that are not archived, are accepted. */
#define QUEUE_JOBS_MAX 100000
/* The largest size of a new job's opcodes, in bytes.  A job has to be made and
 * shown quickly. */
#define QUEUE_JOB_BYTES_MAX ((size_t)4 * 1024 * 1024)

#define JOB_PRIORITY_MIN (-20)
#define JOB_PRIORITY_MAX 19

/* Jobs in the order in which they start; private to queue/. */
struct job_heap {
	struct job **jobs;
	size_t n, cap;
};

/* The answer of a drained queue; it begins with Ganeti's words. */
#define QUEUE_DRAINED_TEXT                                                     \
	"Queue drained: it takes no new jobs until somebody runs gnt-cluster " \
	"queue undrain"

/* A rule for some of the queued jobs: either they are canceled (reject), or at
 * most `limit` of them run at once (0: none starts), even if nothing else keeps
 * them from starting.  Made by the code above the queue; see hooks.gate. */
struct queue_gate {
	bool reject;
	unsigned limit;
	const char *name; /* a text for people */
	const char *why;  /* for reject: the job's error; may be NULL */
	bool by_reason;	  /* made by rate_limits.c: the name is the reason */

	/* Private. */
	size_t n_running;
	struct job_heap held; /* the jobs that could start but for this gate */
};

/* What the queue calls in the code above it; given at creation. */
struct queue_hooks {
	void *arg;

	/* Check one submitted opcode and return it with all parameters and
	 * defaults filled in (to be freed) and its summary; NULL with err. */
	json_t *(*check_op)(void *arg, const json_t *op, char **ret_summary,
			    struct error *err);

	/* Run opcode i of the job, in the job's task: take locks, call
	 * queue_run_started() when they are held, do the work.  Returns the
	 * result, to be freed; NULL with err (ERR_CANCELED if run->cancel() has
	 * stopped it). */
	WAITS json_t *(*run_op)(void *arg, struct queue_run *run,
				struct error *err);

	/* The gate that j has to pass before it starts; NULL: none.  Called
	 * once for each job, and again after queue_gates_changed(); must not
	 * wait.  NULL: there are no gates. */
	struct queue_gate *(*gate)(void *arg, const struct job *j);

	/* Whether a change can become durable now: 0, or -1 with err; then new
	 * jobs are refused.  NULL: always 0. */
	int (*safe)(void *arg, struct error *err);

	/* A job has ended, durably; must not wait.  NULL: nothing is called. */
	void (*ended)(void *arg, const struct job *j);

	/* A write that has to be durable failed: the daemon must go down. */
	void (*fatal)(void *arg, const struct error *err);
};

struct queue_config {
	struct disk *disk;
	const char *dir; /* .../queue */
	struct queue_hooks hooks;
	unsigned max_running; /* changeable, see below */
	size_t journal_size;  /* bytes; 0: the usual one */
	bool history;	      /* index jobs in history.db (real disk only) */
	/* Where its files are, in place of a store of its own with its own
	 * lock; it outlives the queue. */
	struct store *store;
};

/* Open the queue: replay the journal and read all jobs.  Jobs that were running
 * become errors with a reason; queued and waiting ones are queued.  NULL with
 * err.  Blocks; call it after tasks_init(), before the loop runs or in a task.
 * On the real disk it locks the folder against other processes. */
WAITS struct queue *queue_open(const struct queue_config *config,
			       struct error *err);

/* Begin to run jobs. */
void queue_start(struct queue *q);

/* Start no further job; wait for the running ones; write all files. */
WAITS void queue_stop(struct queue *q);
void queue_close(struct queue *q); /* after queue_stop, or kill in the sim */

/* How many jobs may run at the same time; jobs that run already go on. */
void queue_set_max_running(struct queue *q, unsigned n);

/* The answers of hooks.gate have changed: ask again for all jobs that have not
 * ended.  When this returns the queue uses no former gate, and these may be
 * freed after queue_gate_done(); until then some jobs still have former gates,
 * but none starts by one.  In a task it lets others run; only one call at a
 * time. */
WAITS void queue_gates_changed(struct queue *q);
void queue_gate_done(struct queue_gate *g);

/* Submit one job; ops is a list of opcodes.  0 with its id, or -1 with err. */
WAITS int queue_submit(struct queue *q, const json_t *ops, bool ignore_drain,
		       uint64_t *ret_id, struct error *err);

/* Submit one job under a key, 64 hexadecimal digits, for which the client has
 * chosen them: submitted again with this key within QUEUE_KEY_S seconds it is
 * the same job.  digest: of the request; with another one ECODE_REUSED, and
 * ECODE_UNDERWAY while the first one is not durable. */
#define QUEUE_KEY_S 86400
#define QUEUE_KEYS_MAX 100000
WAITS int queue_submit_once(struct queue *q, const json_t *ops, const char *key,
			    const char *digest, uint64_t *ret_id,
			    struct error *err);
/* The job that was submitted so; 0: none.  The same errors. */
int queue_submitted_once(struct queue *q, const char *key, const char *digest,
			 uint64_t *ret_id, struct error *err);

/* Submit several jobs, a list of lists of opcodes; relative dependencies are
 * resolved.  The answer has the form of LUXI's SubmitManyJobs: [[true, id] or
 * [false, text], ...], to be freed. */
enum queue_many {
	QUEUE_ALL_READABLE = 1, /* an unreadable opcode refuses all jobs */
	QUEUE_IGNORES_DRAIN = 2,
};
WAITS json_t *queue_submit_many(struct queue *q, const json_t *jobs,
				unsigned how, struct error *err);

/* A live job, borrowed until the next wait; NULL if there is none with this id.
 * It is in its last durable state; a state that is still being written is not
 * shown. */
const struct job *queue_job(struct queue *q, uint64_t id);

/* Whether the job is live and has not ended; a final state that is still being
 * written counts as its end. */
bool queue_lives(struct queue *q, uint64_t id);

/* The live job with the lowest id above `after`, borrowed likewise, or NULL. */
const struct job *queue_next(struct queue *q, uint64_t after);

/* Each live job in order of id; stops when fn returns false. */
void queue_each(struct queue *q, bool (*fn)(const struct job *j, void *arg),
		void *arg);

/* Call fn for each job that was running when the last master ended, in order of
 * id, in the final state that it will have once the queue is started.  After
 * queue_start() there are none. */
void queue_each_cut_off(struct queue *q,
			void (*fn)(const struct job *j, void *arg), void *arg);

/* Live jobs lie in pages: page N has the ids from N * QUEUE_PAGE on.  A page
 * has a state, a number that is new after each change of what can be seen of
 * its jobs; so a reader can tell whether it has to look again. */
#define QUEUE_PAGE 64
struct queue_page {
	uint64_t number, state;
};
/* The first page with this number or a higher one; false: there is none. */
bool queue_page_from(struct queue *q, uint64_t number, struct queue_page *ret);

/* Call fn with each archived job, read from its file, which fn has to free,
 * until fn returns false.  0, or -1 with err. */
WAITS int queue_each_archived(struct queue *q,
			      WAITS bool (*fn)(struct job *j STEALS, void *arg),
			      void *arg, struct error *err);

/* The same by the history, without reading the jobs' files, in the same order,
 * for jobs that qfilter may let pass (the caller still has to apply the
 * filter).  The jobs are brief: their opcodes have no parameters (except what
 * job_facts.h reads), results or logs.  1: these were all; 0: the history
 * cannot answer, although fn may have been called; -1: fn returned false. */
WAITS int queue_each_indexed(struct queue *q, const json_t *qfilter,
			     WAITS bool (*fn)(const struct job *j, void *arg),
			     void *arg);

/* An archived job by id, to be freed; NULL with err. */
WAITS struct job *queue_archived(struct queue *q, uint64_t id,
				 struct error *err);

/* Wait, without a task, until the job differs from what the client knows
 * (LUXI's WaitForJobChange): changed() is called once from the loop when
 * something durable has changed; then look, and add the watch again if that was
 * not enough. */
struct queue_watch {
	uint64_t id;
	void (*changed)(struct queue_watch *w);
	struct list link; /* private; all zero: it watches nothing */
};
void queue_watch(struct queue *q, struct queue_watch *w);
void queue_unwatch(struct queue_watch *w);

/* The reasons why a live job does not run. */
struct queue_why {
	enum queue_why_kind {
		QUEUE_WAITS_NOT, /* it runs, has ended, or just starts */
		QUEUE_WAITS_JOB, /* jobs on which it depends have not ended */
		QUEUE_WAITS_GATE,
		QUEUE_WAITS_PLACE, /* max_running jobs run */
		QUEUE_WAITS_LOCKS,
	} kind;
	uint64_t job; /* that one, or one that has a place; 0: none */
	const struct queue_gate *gate;
	unsigned limit;	 /* how many places there are */
	size_t n_before; /* how many jobs get a place earlier */
};
void queue_why(struct queue *q, uint64_t id, struct queue_why *ret);

/* The answers of LUXI calls, [bool, text]; for an unknown job [false, text], as
 * Ganeti's.  -1 with err only when the change could not be made durable. */
WAITS int queue_cancel(struct queue *q, uint64_t id, bool kill, bool *ret_ok,
		       char **ret_text, struct error *err);
WAITS int queue_change_priority(struct queue *q, uint64_t id, int priority,
				bool *ret_ok, char **ret_text,
				struct error *err);
/* Archive one job; *ret_ok is false when it is unknown or not final. */
WAITS int queue_archive(struct queue *q, uint64_t id, bool *ret_ok,
			struct error *err);
/* Archive the final jobs that ended more than age_s seconds ago (-1: all); ends
 * after timeout_s. */
WAITS int queue_auto_archive(struct queue *q, int64_t age_s, int64_t timeout_s,
			     size_t *ret_archived, size_t *ret_left,
			     struct error *err);

/* Long work on the history, in a task of its own; each kind runs once at a
 * time.  start: begin the work, unless it runs already.  Waits up to wait_s for
 * its end and returns how far it is, to be freed: {"running", "done": files or
 * jobs, "ok" (null while it runs or when it never ran), "job": id of the first
 * altered one or null, "text": a sentence}. */
#define QUEUE_WORK_WAIT_MAX_S 60
WAITS json_t *queue_verify_history(struct queue *q, bool start,
				   unsigned wait_s);
/* Make the index of the history anew. */
WAITS json_t *queue_reindex(struct queue *q, bool start, unsigned wait_s);

/* The number N of the folder "archive/N" in which the job is. */
uint64_t queue_archive_folder(uint64_t id);

/* Append the names of job files that could not be read and were renamed. */
WAITS int queue_damaged(struct queue *q, struct strv *ret_names,
			struct error *err);

/* Whether the queue is drained, so that new jobs are refused; setting it is
 * durable on return.  The last id that was given to a job; 0 before the
 * first. */
bool queue_drained(const struct queue *q);
WAITS int queue_set_drained(struct queue *q, bool drained, struct error *err);
uint64_t queue_last_id(const struct queue *q);

/* --- for hooks->run_op, in the job's task --- */

/* The functions behind those below.  For jobs they write into the job's file.
 * Code that only tries an opcode without running it (masterd/jobs/job_plan.h)
 * makes a struct queue_run with functions of its own. */
struct queue_runner {
	int (*started)(struct queue_run *run, struct error *err);
	WAITS int (*safe)(struct queue_run *run, struct error *err);
	void (*log)(struct queue_run *run, const char *type,
		    json_t *message STEALS);
	int (*priority)(const struct queue_run *run);
	WAITS void (*fill)(struct queue_run *run, const json_t *members);
	WAITS json_t *(*submit)(struct queue_run *run, const json_t *jobs,
				bool ignore_drain, struct error *err);
};

struct queue_run {
	const struct queue_runner *runner;
	struct queue *queue;
	const struct job *job;
	size_t op_index;
	const json_t *input; /* the opcode, borrowed during the run */

	/* Set by run_op while it waits for locks; the queue calls them to make
	 * it give up (cancel) or to move its request (priority).  NULL: it is
	 * not waiting. */
	void (*cancel)(struct queue_run *run);
	void (*set_priority)(struct queue_run *run, int priority);
	void *arg;
	bool canceled; /* a cancel was asked for: stop at the next safe point */
	bool killed;   /* --kill: interrupted, stop at once */
};

/* The locks are held: waiting -> running. -1 with ERR_CANCELED if it was
 * canceled meanwhile. */
int queue_run_started(struct queue_run *run, struct error *err);
/* Wait until the state "running" is durable.  Call it before anything that must
 * not be done again after a restart. */
WAITS int queue_run_safe(struct queue_run *run, struct error *err);

/* Add an entry to the job's log.  type: "message" (text is a string), or
 * another of Ganeti's log types.  Clients see it when it is durable; does not
 * wait. */
void queue_run_log(struct queue_run *run, const char *type,
		   json_t *message STEALS);

/* The present priority of the running opcode. */
int queue_run_priority(const struct queue_run *run);

/* Store members of the opcode that it came without; run->input does not
 * change. */
WAITS void queue_run_fill(struct queue_run *run, const json_t *members);

/* Submit jobs on behalf of this one, as queue_submit_many(). */
WAITS json_t *queue_run_submit(struct queue_run *run, const json_t *jobs,
			       bool ignore_drain, struct error *err);

#endif
