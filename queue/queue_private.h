/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the queue share.
 *
 * Each live job has a visible state, the durable one that everybody may look
 * at.  While the job changes it also has a newer state, the draft.  A save
 * turns the draft into text for the store and, when that is durable, makes it
 * visible and tells those who watch the job.
 *
 * submit.c makes jobs, sched.c says which may start, run.c runs them, save.c
 * saves them, control.c has cancel, priority and drain, archive.c the
 * archive. */
#ifndef QUEUE_QUEUE_PRIVATE_H
#define QUEUE_QUEUE_PRIVATE_H

#include "lib/base/table.h"
#include "lib/store/store.h"
#include "queue/history.h"
#include "queue/history/chain.h"
#include "queue/jobs/job_index.h"
#include "queue/queue.h"

/* Archived jobs lie in folders of this many ids, as Ganeti's. */
#define ARCHIVE_FOLDER 10000

/* A job that waits for the end of another one. */
struct child {
	uint64_t id;
	unsigned wanted; /* enum job_state as bits */
};

/* A job in its task. */
struct running {
	struct queue_run run;
	struct job *job;   /* the visible state */
	struct task *task; /* NULL: it has not begun yet */
	bool log_waits;	   /* log entries that no save contains yet */
	/* The save of the state "running", until the opcode has waited for it;
	 * NULL: there is nothing to wait for. */
	struct store_change *starting;
};

struct job_private {
	struct queue *queue;
	struct job *draft; /* NULL: the same as the visible state */
	size_t n_saving;
	bool unborn;		    /* not durable yet: invisible */
	bool archiving;		    /* it is being archived */
	bool ended_at_start;	    /* load.c has ended it, not this master */
	bool in_history_list;	    /* history.c knows that it has changed */
	bool has_slot;		    /* counts against max_running */
	struct job_heap *heap;	    /* where it waits for its turn, or NULL */
	size_t slot;		    /* its index in that heap */
	int priority;		    /* the one it has there */
	struct queue_gate *gate;    /* the gates that it has to pass, or NULL */
	unsigned gates_seen;	    /* n_gates_changed when it got that */
	struct rate_limit **limits; /* gates that it asks for itself */
	size_t n_limits;
	struct running *running;
	json_t **secrets; /* of each opcode; NULL: none has any */

	size_t n_parents; /* how many unfinished jobs it depends on */
	struct child *children;
	size_t n_children;
	struct list watches;
};

/* Work that may take longer than a client waits. */
struct work {
	bool running, ended; /* it has ended once, so there is a result */
	uint64_t done;
	bool ok;
	uint64_t job; /* 0: none */
	char *text;
	struct cond changed;
};

struct queue {
	struct queue_config config;
	char *dir;
	int lock;
	struct store *store;
	struct job_index jobs;
	uint64_t last_id;
	bool drained;

	struct job_heap ready;
	unsigned n_gates_changed; /* how often */
	bool counting;		  /* new gates count who runs: nothing starts */
	struct table rate_limits; /* struct rate_limit by the reason */
	struct table keys;	  /* of submissions: keys.c */
	int64_t keys_swept_us;
	size_t n_running, n_saving;
	size_t n_births; /* submissions whose jobs are being let in */
	struct cond born;
	bool started, stopping, closed;
	struct chain_link chain; /* the job archived last */
	bool archiving;		 /* a group of jobs is being archived */
	struct cond archived;	 /* signalled when that has ended */
	struct work verifying;
	struct history *history; /* NULL: none */
	struct cond idle;	 /* n_running or n_saving came down to 0 */
};

/* The newest state of j, only for reading. */
static inline const struct job *job_newest(const struct job *j)
{
	return j->private->draft != NULL ? j->private->draft : j;
}

/* The live job with this id, as queue_job(), but for changing it. */
static inline struct job *job_find_live(const struct queue *q, uint64_t id)
{
	struct job *j = job_index_get(&q->jobs, id);

	return j == NULL || j->private->unborn ? NULL : j;
}

/* --- save.c --- */

struct job *job_attach(struct queue *q, struct job *j);
void job_destroy(struct job *j); /* with private */
/* Keep values of an opcode that must not be stored, until the job ends. */
void job_keep_secrets(struct job *j, size_t op, json_t *secrets STEALS);
/* The newest state, to be changed. */
struct job *job_edit(struct job *j);
/* Begin to save the newest state; it becomes visible when it is durable. */
void job_save(struct job *j);
/* As job_save(); the result is for store_wait(). */
struct store_change *job_save_begin(struct job *j);
/* As job_save(), and wait. */
WAITS int job_save_wait(struct job *j, struct error *err);
/* Copy a state that need not be durable (that a job waits) to the visible
 * state. */
void job_show_waiting(struct job *j, size_t op);
char *queue_job_name(uint64_t id);     /* "job-N" */
char *queue_archive_name(uint64_t id); /* "archive/K/job-N" */

/* --- heap.c: jobs by priority and id --- */

/* Whether a comes before b in a heap: by priority and id. */
bool heap_before(const struct job *a, const struct job *b);
void heap_add(struct job_heap *h, struct job *j);
void heap_remove(struct job *j); /* from where it stands; idempotent */
void heap_done(struct job_heap *h);

/* --- sched.c --- */

void sched_kick(struct queue *q); /* start what can */
/* The job will not start: remove it from the heap. */
void sched_withdraw(struct queue *q, struct job *j);
/* The job's priority has changed. */
void sched_moved(struct job *j);
/* A job that ran has ended: its place goes to the next one. */
void sched_left(struct queue *q, struct job *j);

/* --- gate.c --- */

/* Find the gates that j has to pass; false when a rule has rejected it and it
 * has ended. */
bool gate_assign(struct queue *q, struct job *j);
/* Whether j may start now; otherwise its gate holds it, or has rejected it. */
bool gate_pass(struct queue *q, struct job *j);
/* j leaves its gates: it ran and has ended (ran), or will never start. */
void gate_left(struct queue *q, struct job *j, bool ran);
/* The gate that holds j; NULL: none. */
struct queue_gate *gate_holding(const struct job *j);
/* Whether j has to pass the gate g. */
bool gate_is_of(const struct queue_gate *g, const struct job *j);

/* --- rate_limits.c --- */

/* Put j into the buckets that its reasons name; and take it out of all. */
void rate_limits_join(struct queue *q, struct job *j);
void rate_limits_leave(struct queue *q, struct job *j);
struct queue_gate *rate_limit_gate(struct rate_limit *l);

/* At start: as queue_gates_changed(), but before any job can start. */
void gates_start(struct queue *q);

/* Count the parents of a new job (the jobs that it depends on), and arrange
 * that it is told of their end.  status_of gives the state of parents that are
 * not live (-1: unknown).  -1 with err when the job can never run; *ret_state
 * is then its state. */
WAITS int sched_depend(struct queue *q, struct job *j,
		       enum job_state *ret_state, struct error *err);
/* The job was loaded, or its submission is durable: let it start or wait for
 * its turn. */
void sched_born(struct queue *q, struct job *j);
/* The job has ended, durably: tell the jobs that depend on it. */
void sched_ended(struct queue *q, struct job *j);

/* End a job that has not begun. */
void job_end_unstarted(struct job *j, enum job_state to, const char *why);

/* --- run.c --- */

void queue_run_start(struct queue *q, struct job *j);
void queue_run_free(struct running *r); /* NULL: nothing happens */
/* A save of j has become visible. */
void queue_run_saved(struct job *j);
json_t *queue_run_preceding_failed(void);

/* --- watch.c --- */

/* Tell those who watch the job that it has changed.  Each is told once and has
 * to watch again. */
void watch_changed(struct job *j);

/* --- submit.c, keys.c --- */

/* As queue_submit(), with more in the change that makes the job durable. */
WAITS int submit_one(struct queue *q, const json_t *ops,
		     void (*more)(struct store_change *c, uint64_t id,
				  void *arg),
		     void *arg, uint64_t *ret_id, struct error *err);

WAITS int keys_load(struct queue *q, struct error *err);
void keys_done(struct queue *q);

/* --- archive_list.c --- */

/* The numbers of the existing folders of the archive, sorted, to be freed; NULL
 * with err. */
WAITS uint64_t *archive_folders(struct queue *q, size_t *ret_n,
				struct error *err);
/* The ids of the jobs in one of them, sorted, to be freed; NULL with err. */
WAITS uint64_t *archive_ids(struct queue *q, uint64_t folder, size_t *ret_n,
			    struct error *err);

/* --- chain_files.c --- */

/* At start: find the newest entry of the chain. */
WAITS void chain_load(struct queue *q);
/* Read the archive and find the oldest entry of the chain that is wrong. */
struct chain_verdict;
WAITS int chain_verify(struct queue *q, uint64_t *done,
		       struct chain_verdict *ret, struct error *err);

/* --- work.c --- */

void work_begin(struct work *w);
void work_end(struct work *w, bool ok, uint64_t job, char *text STEALS);
/* As queue_verify_history() has it. */
WAITS json_t *work_answer(struct work *w, unsigned wait_s);

/* --- load.c --- */

/* The largest job file, in bytes; no submission can make a larger one. */
#define JOB_FILE_MAX (256 * 1024 * 1024)

WAITS int load_all(struct queue *q, struct error *err);
/* Save the ends of jobs that were interrupted. */
void load_save_ends(struct queue *q);
/* The job in a file; NULL with err, also when its id is another one. */
WAITS struct job *load_file(struct queue *q, const char *name, uint64_t id,
			    struct error *err);
/* The job from the text of its file; as load_file().  It uses nothing else, so
 * it may run beside the loop. */
struct job *load_text(const char *text, size_t len, const char *name,
		      uint64_t id, struct error *err);

#endif
