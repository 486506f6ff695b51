/* SPDX-License-Identifier: BSD-2-Clause */
/* Logical units: what an opcode does.
 *
 * An LU is a struct that begins with struct lu, and a struct lu_class with its
 * functions.  exec.c runs it: expand (name the locks), get all locks at once
 * (and expand anew if the configuration changed meanwhile and the wants are
 * others), check (prerequisites; nothing is changed yet), pre hooks, exec,
 * post hooks, locks back.
 *
 * To write one: a file in masterd/lu/ with a struct lu_class lu_<name>, and a
 * line in masterd/lu/frame/lu_list.def.
 */
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

	/* What a dry run answers, set by check (JSON null when NULL). */
	json_t *dry_run_result;
	/* Set by check when that was all: the result, without hooks. */
	json_t *answer;

	/* Private to exec.c and hooks.c. */
	struct lu_locks *locks;
	struct lu_keep *keep;
	json_t *env_before; /* of hook_env() before exec; that may read it */
};

struct lu_class {
	const struct op_class *op;
	size_t size; /* of the LU's own struct */

	/* NULL: no hooks.  object_type: INSTANCE NODE GROUP NETWORK CLUSTER */
	const char *hook_path;
	const char *object_type;

	bool exclusive_bgl;
	/* What it does to the instances that it locks leaves their disks where
	 * they are, so it may run while these are replaced (LOCK_INSTANCE_DISKS
	 * is not wanted by itself). */
	bool spares_disks;
	/* It handles instances that are only planned (forthcoming); others are
	 * refused the lock of one. */
	bool takes_forthcoming;

	/* When an opcode is submitted: fill in what it leaves to the cluster as
	 * it is at that time, so that the job says what it will do.  No waits.
	 * NULL: nothing. */
	void (*complete)(const struct master *m, json_t *op);

	/* Before any lock, once: what can only be found out by waiting, such as
	 * the addresses of names.  NULL: nothing. */
	WAITS int (*arguments)(struct lu *lu, struct error *err);

	/* Say which locks are needed, with lu_want().  May be called again
	 * after a wait for locks.  No waits, no changes.  NULL: none. */
	int (*expand)(struct lu *lu, struct error *err);

	/* Prerequisites, with the locks held: changes nothing but what undo
	 * takes back, and nothing at all in a dry run.  NULL: none. */
	WAITS int (*check)(struct lu *lu, struct error *err);

	/* Variables for hooks, keys without the GANETI_ prefix;
	 * GANETI_OP_TARGET is "OP_TARGET".  Called before exec and (for the
	 * POST_ ones) after. */
	void (*hook_env)(struct lu *lu, json_t *ret_env);
	/* UUIDs of nodes for the pre and the post phase. */
	void (*hook_nodes)(struct lu *lu, struct strv *ret_pre,
			   struct strv *ret_post);

	/* Do it.  The result (JSON null for none), NULL with err. */
	WAITS json_t *(*exec)(struct lu *lu, struct error *err);

	/* After the post hooks of all nodes answered: may look at the payloads
	 * ([[script, status, output], ...] or the error in each) and change
	 * the result, as cluster verify does. NULL: not interested. */
	void (*hooks_done)(struct lu *lu, const struct node_result *results,
			   size_t n, json_t **result);

	/* Take back what check or exec recorded.  Called when check, the pre
	 * hooks or exec failed, or the job was killed; NULL: nothing. */
	WAITS void (*undo)(struct lu *lu);

	/* Free what the struct owns; called always. NULL: nothing. */
	void (*done)(struct lu *lu);
};

/* --- for expand --- */

/* Want a lock; a second want of the same lock makes it exclusive if either is.
 */
void lu_want(struct lu *lu, enum lock_level level, const char *name,
	     bool exclusive);
void lu_want_all(struct lu *lu, enum lock_level level, bool exclusive);
/* The lock of an object that will be made: that one of this name is removed
 * while we wait is no failure. */
void lu_want_new(struct lu *lu, enum lock_level level, const char *name);
/* Want what is free of these, at least so many groups; wants of one group
 * (numbers from 1 on) come together.  lu_has() tells which came. */
void lu_want_free(struct lu *lu, enum lock_level level, const char *name,
		  bool exclusive, unsigned group);
void lu_want_at_least(struct lu *lu, unsigned n_groups);

/* The object by name (as config_expect), kept alive until the LU ends, so that
 * it survives waits.  It does not follow later changes: ask again for that. */
const json_t *lu_instance(struct lu *lu, const char *name, struct error *err);
const json_t *lu_node(struct lu *lu, const char *name, struct error *err);
const json_t *lu_group(struct lu *lu, const char *name, struct error *err);
/* Keep any object alive until the LU ends. */
const json_t *lu_keep(struct lu *lu, const json_t *object);
/* The UUIDs of these nodes in *ret, which is emptied first, and a want of the
 * lock of each; all nodes, in nice order, when names is empty. */
int lu_want_nodes(struct lu *lu, const json_t *names, bool exclusive,
		  struct strv *ret, struct error *err);
/* A string that lives as long as the LU. */
const char *lu_keep_str(struct lu *lu, char *s STEALS);

/* --- for check and exec --- */

/* Whether the wanted lock is held now (not left out, not released); name NULL:
 * the one of all, which does not count for the single ones. */
bool lu_has(const struct lu *lu, enum lock_level level, const char *name);

/* Give back before the end what is not needed any more (all of a level). */
void lu_release(struct lu *lu, enum lock_level level);
/* Give back the locks of a level except those of these names; one of all of the
 * level goes back as a whole. */
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

/* -1 when the job was killed.  Node calls fail from then on; who goes on in
 * spite of failures asks before it changes anything that it could not take
 * back. */
int lu_check_killed(const struct lu *lu, struct error *err);

/* Whether only a plan is made (job_plan.h): no time passes, and nothing may
 * change but the configuration.  Few need to ask: node calls, logs and jobs
 * know by themselves. */
bool lu_plans(const struct lu *lu);

/* Submit jobs from an LU; the result to return: {"jobs": [[true, id], ...]}
 * with the other members of `other` (may be NULL). jobs: list of lists of
 * opcodes. */
WAITS json_t *lu_submit_jobs(struct lu *lu, const json_t *jobs STEALS,
			     json_t *other STEALS, struct error *err);

/* The reason trail for node calls that take it; to be freed. */
json_t *lu_reason(struct lu *lu);

/* Call one node by UUID. */
WAITS json_t *lu_call(struct lu *lu, const char *node_uuid,
		      const char *procedure, json_t *args STEALS,
		      struct error *err);

/* The same with another time limit. */
WAITS json_t *lu_call_for(struct lu *lu, const char *node_uuid,
			  const char *procedure, json_t *args STEALS,
			  unsigned timeout_ms, struct error *err);

/* For a check that asks a node, when that failed: what was asked for is wrong,
 * or there was no answer, and the environment is.  -1. */
int lu_not_valid(struct error *err);

/* Call those of these nodes that there are, all at the same time; to be freed
 * with node_results_free(results, n). */
WAITS struct node_result *lu_call_nodes(struct lu *lu, const struct strv *uuids,
					const char *procedure,
					json_t *args STEALS, size_t *ret_n);

/* --- for exec.c and tests --- */

/* The class that runs opcodes of this OP_ID; NULL when there is none. */
const struct lu_class *lu_class_find(const char *op_id);

/* As queue_hooks.run_op and check_op, arg is the master. */
WAITS json_t *exec_run_op(void *master, struct queue_run *run,
			  struct error *err);
json_t *exec_check_op(void *master, const json_t *op, char **ret_summary,
		      struct error *err);

#endif
