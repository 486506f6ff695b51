/* SPDX-License-Identifier: BSD-2-Clause */
/* Logical units: what an opcode does.
 *
 * An LU is a struct that begins with struct lu, and a struct lu_class with its
 * functions.  exec.c runs it in this order: expand (name the locks); get all
 * locks at once (if the configuration has changed meanwhile, expand again, and
 * if the wants differ now, get the locks anew); check (prerequisites; nothing
 * is changed yet); pre hooks; exec; post hooks; give the locks back.
 *
 * To write one: a file in masterd/lu/ with a struct lu_class lu_<name>, and a
 * line in masterd/lu/frame/lu_list.def. */
#ifndef MASTERD_LU_FRAME_LU_H
#define MASTERD_LU_FRAME_LU_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/opcode/opcode.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/rpc/noderpc.h"
#include "queue/locks/locks.h"
#include "queue/queue.h"

struct lu_class;

struct lu {
	struct master *m;
	struct queue_run *run;
	const struct lu_class *class;
	const void *op; /* struct op_<name> */
	struct op_common common;
	uint64_t job_id;
	int64_t began_us; /* clock_mono_us() */

	/* The result of a dry run, set by check (NULL: JSON null). */
	json_t *dry_run_result;
	/* Set by check if nothing is left to do: the result; there are no hooks
	 * then. */
	json_t *answer;

	/* Private to lu_call(): nodes that have answered this job, {uuid:
	 * whether they may be waited for}; NULL: none. */
	json_t *answered;

	/* Private to exec.c and hooks.c. */
	struct lu_locks *locks;
	struct lu_keep *keep;
	json_t *env_before;	 /* of hook_env() before exec, for exec */
	struct strv hooks_after; /* of hook_nodes(), as it was before exec */
};

struct lu_class {
	const struct op_class *op;
	size_t size; /* of the LU's own struct */

	/* NULL: no hooks.  object_type: INSTANCE NODE GROUP NETWORK CLUSTER */
	const char *hook_path;
	const char *object_type;

	bool exclusive_bgl;
	/* The LU leaves the disks of the instances that it locks where they
	 * are.  So it may run while disks are being replaced:
	 * LOCK_INSTANCE_DISKS is not wanted automatically. */
	bool spares_disks;
	/* The LU can handle forthcoming instances; other LUs get an error when
	 * they lock one. */
	bool takes_forthcoming;

	/* Called when an opcode is submitted: fill in values that the opcode
	 * leaves to the present state of the cluster, so that the job shows
	 * what it will do.  Must not wait.  NULL: nothing. */
	void (*complete)(const struct master *m, json_t *op);

	/* Called once, before any lock: find out what takes waiting, such as
	 * the addresses of names.  NULL: nothing. */
	WAITS int (*arguments)(struct lu *lu, struct error *err);

	/* Say which locks are needed, with lu_want().  May be called again
	 * after a wait for locks.  No waits, no changes.  NULL: none. */
	int (*expand)(struct lu *lu, struct error *err);

	/* Check prerequisites, with the locks held.  May change only what undo
	 * can remove, and nothing in a dry run.  NULL: none. */
	WAITS int (*check)(struct lu *lu, struct error *err);

	/* Variables for hooks, keys without the GANETI_ prefix;
	 * GANETI_OP_TARGET is "OP_TARGET".  Called before exec and (for the
	 * POST_ ones) after. */
	void (*hook_env)(struct lu *lu, json_t *ret_env);
	/* UUIDs of nodes for the pre and the post phase; called before exec, so
	 * that nodes which the object leaves are told as well. */
	void (*hook_nodes)(struct lu *lu, struct strv *ret_pre,
			   struct strv *ret_post);

	/* Do the work.  Returns the result, to be freed (JSON null for none);
	 * NULL with err. */
	WAITS json_t *(*exec)(struct lu *lu, struct error *err);

	/* After the post hooks of all nodes answered: may look at the payloads
	 * ([[script, status, output], ...] or the error in each) and change
	 * the result, as cluster verify does. NULL: not interested. */
	void (*hooks_done)(struct lu *lu, const struct node_result *results,
			   size_t n, json_t **result);

	/* Undo what check or exec has recorded.  Called when check, the pre
	 * hooks or exec have failed, and when the job was killed.  NULL:
	 * nothing. */
	WAITS void (*undo)(struct lu *lu);

	/* Free what the struct owns; always called.  NULL: nothing. */
	void (*done)(struct lu *lu);
};

/* --- for expand --- */

/* Want a lock; a second want of the same lock makes it exclusive if either is.
 */
void lu_want(struct lu *lu, enum lock_level level, const char *name,
	     bool exclusive);
void lu_want_all(struct lu *lu, enum lock_level level, bool exclusive);
/* Want the lock of an object that will be created: if another object of this
 * name is removed while we wait, that is no error. */
void lu_want_new(struct lu *lu, enum lock_level level, const char *name);
/* Want a lock only if it is free: the request waits until at least so many
 * groups are free; wants with the same group number (from 1 on) are taken
 * together.  lu_has() tells which were taken. */
void lu_want_free(struct lu *lu, enum lock_level level, const char *name,
		  bool exclusive, unsigned group);
void lu_want_at_least(struct lu *lu, unsigned n_groups);

/* The object by name (as config_expect()), kept alive until the LU ends, so
 * that it survives waits.  It does not show later changes; ask again for
 * those. */
const json_t *lu_instance(struct lu *lu, const char *name, struct error *err);
const json_t *lu_node(struct lu *lu, const char *name, struct error *err);
const json_t *lu_group(struct lu *lu, const char *name, struct error *err);
/* Keep any object alive until the LU ends. */
const json_t *lu_keep(struct lu *lu, const json_t *object);
/* Put the UUIDs of these nodes into *ret, which is emptied first, and want the
 * lock of each.  No names: all nodes, in nice order. */
int lu_want_nodes(struct lu *lu, const json_t *names, bool exclusive,
		  struct strv *ret, struct error *err);
/* A string that lives as long as the LU. */
const char *lu_keep_str(struct lu *lu, char *s STEALS);

/* --- for check and exec --- */

/* Whether the lock is held now (it was taken and not released).  name NULL: the
 * lock of the whole level, which does not count for single objects. */
bool lu_has(const struct lu *lu, enum lock_level level, const char *name);

/* Release all locks of a level before the LU ends. */
void lu_release(struct lu *lu, enum lock_level level);
/* Release the locks of a level except those of these names; a lock of the whole
 * level is released. */
void lu_release_but(struct lu *lu, enum lock_level level,
		    const struct strv *names);

/* Hold the locks of a level shared from now on: what the LU still does, others
 * may look at meanwhile, but not change. */
void lu_share(struct lu *lu, enum lock_level level);

/* Take the lock of one more object exclusively, for a short while at the end of
 * the work; it is given back when the LU ends, and only one can be taken so.
 * All locks that are still held must come before it in the order of the levels.
 * -1 when the job was killed. */
WAITS int lu_lock_more(struct lu *lu, enum lock_level level, const char *name,
		       struct error *err);

/* The job's log as Ganeti's: feedback is the bare text, info and warn get
 * " - INFO: " and " - WARNING: " in front. */
void lu_feedback(struct lu *lu, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void lu_info(struct lu *lu, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void lu_warn(struct lu *lu, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* -1 when the job was killed.  From then on node calls fail.  An LU that
 * continues after failures has to call this before it changes anything that it
 * could not undo. */
int lu_check_killed(const struct lu *lu, struct error *err);

/* Whether only a plan is made (job_plan.h): no time passes, and nothing but the
 * configuration may change.  Few LUs need to ask, as node calls, logs and jobs
 * take care of it. */
bool lu_plans(const struct lu *lu);

/* Submit jobs from an LU; jobs is a list of lists of opcodes.  Returns the LU's
 * result, to be freed: {"jobs": [[true, id], ...]} with the members of `other`
 * (may be NULL). */
WAITS json_t *lu_submit_jobs(struct lu *lu, json_t *jobs STEALS,
			     json_t *other STEALS, struct error *err);
/* The same for jobs that undo what others have begun: also while the queue is
 * drained. */
WAITS json_t *lu_submit_undo(struct lu *lu, json_t *jobs STEALS,
			     json_t *other STEALS, struct error *err);

/* The reason trail for node calls that take it; to be freed. */
json_t *lu_reason(struct lu *lu);

/* Call one node by UUID; as noderpc_call().  A node daemon that has answered
 * this job and does not run now is just being started anew, as a rule: it is
 * waited for, some seconds and once in a job. */
WAITS json_t *lu_call(struct lu *lu, const char *node_uuid,
		      struct rpc_request request, struct error *err);

/* For a check whose question to a node has failed; turns err into an error of
 * the arguments (the node has answered) or of the environment (it has not).
 * Returns -1. */
int lu_not_valid(struct error *err);

/* Call those of these nodes that exist, all at the same time; free the results
 * with node_results_free(results, n). */
WAITS struct node_result *lu_call_nodes(struct lu *lu, const struct strv *uuids,
					struct rpc_request request,
					size_t *ret_n);

/* --- for exec.c and tests --- */

/* The class that runs opcodes of this OP_ID; NULL when there is none. */
const struct lu_class *lu_class_find(const char *op_id);

/* The functions for queue_hooks.run_op and check_op; arg is the master. */
WAITS json_t *exec_run_op(void *master, struct queue_run *run,
			  struct error *err);
json_t *exec_check_op(void *master, const json_t *op, char **ret_summary,
		      struct error *err);

#endif
