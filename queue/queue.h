/* SPDX-License-Identifier: BSD-2-Clause */
/* The door to the job queue: submit, wait, cancel, archive, query.
 *
 * What is acknowledged is durable: submit returns when the jobs are on disk
 * (and on the other candidates where a replicate hook is set), and nobody sees
 * a state before it is.  The queue runs each job in a task of its own, calling
 * hooks->run_op for one opcode after the other; at most max_running at once.
 */
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

/* Live jobs, those that are not archived. */
#define QUEUE_JOBS_MAX 100000
/* What the opcodes of a new job may take.  It is made, and shown, in a moment,
 * and its file has to fit a call to the other candidates (60 MiB), where each
 * quote takes two bytes, with its results. */
#define QUEUE_JOB_BYTES_MAX ((size_t)4 * 1024 * 1024)

#define JOB_PRIORITY_MIN (-20)
#define JOB_PRIORITY_MAX 19

/* Jobs in the order in which they start; private to queue/. */
struct job_heap {
	struct job **jobs;
	size_t n, cap;
};

/* What a drained queue answers, Ganeti's words first. */
#define QUEUE_DRAINED_TEXT                                                     \
	"Queue drained: it takes no new jobs until somebody runs gnt-cluster " \
	"queue undrain"

/* What applies to some of the queued jobs: they are canceled (reject), or at
 * most `limit` of them run at once (0: none starts), whatever else would let
 * them start.  Made by whoever is above; see hooks.gate. */
struct queue_gate {
	bool reject;
	unsigned limit;
	const char *name; /* for people */
	const char *why; /* of reject: what the jobs' error says; may be NULL */
	bool by_reason;	 /* of rate_limits.c: the name is the reason */

	/* Private. */
	size_t n_running;
	struct job_heap held; /* those that would start but for the gate */
};

/* What the queue needs from above, given at creation. */
struct queue_hooks {
	void *arg;

	/* Check one submitted opcode and return it with all parameters and
	 * defaults filled in (to be freed) and its summary; NULL with err. */
	json_t *(*check_op)(void *arg, const json_t *op, char **ret_summary,
			    struct error *err);

	/* Run opcode i of the job: takes locks, calls queue_run_started() when
	 * it has them, returns the result; NULL with err (ERR_CANCELED when
	 * run->cancel() made it stop).  In the job's task. */
	WAITS json_t *(*run_op)(void *arg, struct queue_run *run,
				struct error *err);

	/* Bring files to the other candidates; returns when enough of them
	 * have them, or -1 with err when that will never be known: then the
	 * queue acknowledges and writes nothing any more.  NULL: there are
	 * none.  content NULL: remove. */
	WAITS int (*replicate)(void *arg, const char *const *names,
			       const char *const *contents, size_t n,
			       struct error *err);

	/* The gate that j has to pass before it starts, NULL: none.  Asked once
	 * a job, and again after queue_gates_changed(); does not wait.  NULL:
	 * there are no gates. */
	struct queue_gate *(*gate)(void *arg, const struct job *j);

	/* Whether there is nobody to replicate to now.  NULL: never is. */
	bool (*alone)(void *arg);

	/* Whether changes can get safe now: 0, or -1 with err, and new jobs
	 * are refused.  NULL: always. */
	int (*safe)(void *arg, struct error *err);

	/* A job has ended, durably; does not wait.  NULL: nobody cares. */
	void (*ended)(void *arg, const struct job *j);

	/* A write that has to be durable failed: the daemon must go down. */
	void (*fatal)(void *arg, const struct error *err);
};

struct queue_config {
	struct disk *disk;
	const char *dir; /* .../queue */
	struct queue_hooks hooks;
	unsigned max_running; /* changeable, see below */
	size_t journal_size;  /* 0: the usual one; for tests */
	bool history;	      /* index jobs in history.db (real disk only) */
	uint64_t term; /* of the master, for the file "position"; in tests 0 */
};

/* Read the queue (replay the journal first).  Jobs that ran become error with
 * a reason, queued and waiting ones are queued.  NULL with err.  Blocks; after
 * tasks_init(), before the loop runs or in a task.  On the real disk it takes
 * the lock of the folder. */
struct queue *queue_open(const struct queue_config *config, struct error *err);

/* Begin to run jobs. */
void queue_start(struct queue *q);

/* Start no further job; wait for the running ones; write all files. */
WAITS void queue_stop(struct queue *q);
void queue_close(struct queue *q); /* after queue_stop, or kill in the sim */

/* So many jobs may run at the same time; those that run already go on. */
void queue_set_max_running(struct queue *q, unsigned n);

/* The answers of hooks.gate are others now: ask again for all jobs that have
 * not ended.  When this returns the queue knows no gate of before, and they may
 * be freed after queue_gate_done(); until then some jobs have gates of before
 * still.  In a task it lets others run; one at a time. */
WAITS void queue_gates_changed(struct queue *q);
void queue_gate_done(struct queue_gate *g);

/* ops: a list of opcodes.  0 with the id, or -1. */
WAITS int queue_submit(struct queue *q, const json_t *ops, bool ignore_drain,
		       uint64_t *ret_id, struct error *err);

/* jobs: a list of lists of opcodes; relative dependencies are resolved.  The
 * answer as LUXI's SubmitManyJobs: [[true, id] or [false, text], ...].
 * readable: all are refused when an opcode of one cannot be read. */
WAITS json_t *queue_submit_many(struct queue *q, const json_t *jobs,
				bool readable, struct error *err);

/* The live job, borrowed until the next wait; NULL if unknown. Durable states
 * only: a state that is still being written does not show. */
const struct job *queue_job(struct queue *q, uint64_t id);

/* Whether the job is there and has not ended, not even by a state that is still
 * being written. */
bool queue_lives(struct queue *q, uint64_t id);

/* The live job with the lowest id above `after`, borrowed likewise, or NULL. */
const struct job *queue_next(struct queue *q, uint64_t after);

/* Each live job in order of id; stops when fn returns false. */
void queue_each(struct queue *q, bool (*fn)(const struct job *j, void *arg),
		void *arg);

/* Each job that ran when the master before this one ended, in order of id, as
 * it will be seen once the queue is started: it has ended.  Nothing after
 * queue_start(). */
void queue_each_cut_off(struct queue *q,
			void (*fn)(const struct job *j, void *arg), void *arg);

/* Live jobs lie in pages: page N has the ids from N * QUEUE_PAGE on.  The state
 * of a page is another one, never seen before, after each change of what can be
 * seen of its jobs. */
#define QUEUE_PAGE 64
struct queue_page {
	uint64_t number, state;
};
/* The first page whose number is not below `number`; false: there is none. */
bool queue_page_from(struct queue *q, uint64_t number, struct queue_page *ret);

/* Each archived job read from disk, to be freed by fn. For `archived`. */
WAITS int queue_each_archived(struct queue *q,
			      bool (*fn)(struct job *j STEALS, void *arg),
			      void *arg, struct error *err);

/* The same without reading their files, for those that qfilter may let pass
 * (the filter is to be applied, still), in the same order.  They are brief:
 * their opcodes have neither parameters (but what job_facts.h reads) nor
 * results nor logs.  1 when that was all; 0 when it cannot be told without the
 * files, even if fn was called; -1 when fn returned false. */
WAITS int queue_each_indexed(struct queue *q, const json_t *qfilter,
			     bool (*fn)(const struct job *j, void *arg),
			     void *arg);

/* An archived job by id, to be freed; NULL with err. */
WAITS struct job *queue_archived(struct queue *q, uint64_t id,
				 struct error *err);

/* Wait until the job differs from what the client knows (LUXI's
 * WaitForJobChange), without a task: changed() is called from the loop when
 * something durable changed; look again then, and add the watch anew if that
 * was not enough. */
struct queue_watch {
	uint64_t id;
	void (*changed)(struct queue_watch *w);
	struct list link; /* private; zeroed: not watching */
};
void queue_watch(struct queue *q, struct queue_watch *w);
void queue_unwatch(struct queue_watch *w);

/* Why a live job does not run. */
struct queue_why {
	enum queue_why_kind {
		QUEUE_WAITS_NOT, /* it runs, is over, or starts just now */
		QUEUE_WAITS_JOB, /* on which it depends */
		QUEUE_WAITS_GATE,
		QUEUE_WAITS_PLACE, /* max_running jobs run */
		QUEUE_WAITS_LOCKS,
	} kind;
	uint64_t job; /* that, or one of those that have a place; 0: none */
	const struct queue_gate *gate;
	unsigned limit;	 /* so many places there are */
	size_t n_before; /* so many jobs get a place earlier */
};
void queue_why(struct queue *q, uint64_t id, struct queue_why *ret);

/* Answers [bool, text] of the LUXI calls; an unknown job is [false, text], as
 * Ganeti's.  err only when the change could not be made durable. */
WAITS int queue_cancel(struct queue *q, uint64_t id, bool kill, bool *ret_ok,
		       char **ret_text, struct error *err);
WAITS int queue_change_priority(struct queue *q, uint64_t id, int priority,
				bool *ret_ok, char **ret_text,
				struct error *err);
/* false when unknown or not final. */
WAITS int queue_archive(struct queue *q, uint64_t id, bool *ret_ok,
			struct error *err);
/* Final jobs that ended more than age_s ago (-1: all), for at most timeout_s.
 */
WAITS int queue_auto_archive(struct queue *q, int64_t age_s, int64_t timeout_s,
			     size_t *ret_archived, size_t *ret_left,
			     struct error *err);

/* Long work on the history, beside all else; one of each kind at a time.
 * start: begin it, unless it runs.  Waits at most wait_s for its end and tells
 * how far it is: {"running", "done": files or jobs, "ok" (null while it runs or
 * when it never did), "job": id of the first altered one or null, "text": a
 * sentence}.  To be freed. */
#define QUEUE_WORK_WAIT_MAX_S 60
WAITS json_t *queue_verify_history(struct queue *q, bool start,
				   unsigned wait_s);
/* Make the index of the history anew. */
WAITS json_t *queue_reindex(struct queue *q, bool start, unsigned wait_s);

/* For bringing another copy up to date: the durable text of a file ("serial",
 * "archive/0/job-1"), to be freed, or NULL with err; names in a folder
 * ("archive", "archive/0"; a missing one is empty); what the file "position"
 * says. */
WAITS char *queue_file(struct queue *q, const char *name, struct error *err);
WAITS int queue_files(struct queue *q, const char *folder,
		      struct strv *ret_names, struct error *err);
char *queue_position(const struct queue *q);
/* N of the folder "archive/N" for a job. */
uint64_t queue_archive_folder(uint64_t id);

/* Add the names of job files that could not be read and were put aside. */
WAITS int queue_damaged(struct queue *q, struct strv *ret_names,
			struct error *err);

/* Whether new jobs are refused; setting it is durable on return.  The last id
 * that was given to a job, 0 before the first. */
bool queue_drained(const struct queue *q);
WAITS int queue_set_drained(struct queue *q, bool drained, struct error *err);
uint64_t queue_last_id(const struct queue *q);

/* --- for hooks->run_op, in the job's task --- */

/* What is behind the functions below. The queue's own records in the job's
 * file; who only tries an opcode without running it (masterd/jobs/job_plan.h)
 * has another one, and makes the struct queue_run itself. */
struct queue_runner {
	int (*started)(struct queue_run *run, struct error *err);
	WAITS int (*safe)(struct queue_run *run, struct error *err);
	void (*log)(struct queue_run *run, const char *type,
		    json_t *message STEALS);
	int (*priority)(const struct queue_run *run);
	WAITS void (*fill)(struct queue_run *run, const json_t *members);
	WAITS json_t *(*submit)(struct queue_run *run, const json_t *jobs,
				struct error *err);
};

struct queue_run {
	const struct queue_runner *runner;
	struct queue *queue;
	const struct job *job;
	size_t op_index;
	const json_t *input; /* the opcode, borrowed during the run */

	/* Set by run_op while it waits for locks: called to make it give up
	 * (cancel), or to move the request (priority).  NULL: cannot. */
	void (*cancel)(struct queue_run *run);
	void (*set_priority)(struct queue_run *run, int priority);
	void *arg;
	bool canceled; /* somebody asked: stop at the next point that can */
	bool killed;   /* --kill: the task is interrupted; stop at once */
};

/* The locks are held: waiting -> running. -1 with ERR_CANCELED if it was
 * canceled meanwhile. */
int queue_run_started(struct queue_run *run, struct error *err);
/* Wait until that is durable: before anything is done that a restart could not
 * do again. */
WAITS int queue_run_safe(struct queue_run *run, struct error *err);

/* Add to the job's log.  type: "message" (text a string), or another of
 * Ganeti's log types.  Clients see it when it is durable; does not wait. */
void queue_run_log(struct queue_run *run, const char *type,
		   json_t *message STEALS);

/* The priority of the opcode that runs, as it is now. */
int queue_run_priority(const struct queue_run *run);

/* Record more of the opcode's members than it came with; run->input stays. */
WAITS void queue_run_fill(struct queue_run *run, const json_t *members);

/* Submit jobs from this one, as queue_submit_many(). */
WAITS json_t *queue_run_submit(struct queue_run *run, const json_t *jobs,
			       struct error *err);

#endif
