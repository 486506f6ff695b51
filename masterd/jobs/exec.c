/* SPDX-License-Identifier: BSD-2-Clause */
/* Run one opcode: expand, lock, check, hooks, exec.
 *
 * All locks are requested at once.  While the request waits the configuration
 * may change; so after the wait the LU names its wants again.  If they differ,
 * the locks are given back and requested anew.  This ends, as each round needs
 * another job's change in between; EXPAND_ROUNDS limits it in any case. */
#include <assert.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/reserve.h"
#include "masterd/jobs/exec_double.h"
#include "masterd/jobs/exec_old_calls.h"
#include "masterd/jobs/exec_uuids.h"
#include "masterd/jobs/hooks.h"
#include "masterd/jobs/lock_object.h"
#include "masterd/lu/frame/lu_private.h"

#define EXPAND_ROUNDS 100

/* A longer time limit for locks, ten years, is none. */
#define LOCK_TIMEOUT_MAX_S (INT64_C(3650) * 86400)

/* --- locks --- */

static void on_granted(struct lock_request *r)
{
	struct lu_locks *locks = r->arg;

	r->granted_us = clock_mono_us();
	cond_signal(&locks->changed);
}

static void on_removed(struct lock_request *r, const struct lock_want *want,
		       const char *known_as)
{
	struct lu_locks *locks = r->arg;

	locks->gone = xprintf("%s %s", lock_object_word(want->level), known_as);
	cond_signal(&locks->changed);
}

static void on_cancel(struct queue_run *run)
{
	struct lu *lu = run->arg;

	lu->locks->canceled = true;
	cond_signal(&lu->locks->changed);
}

static void on_priority(struct queue_run *run, int priority)
{
	struct lu *lu = run->arg;

	locks_set_priority(lu->m->locks, &lu->locks->request, priority);
}

static int expand(struct lu *lu, struct error *err)
{
	lu_want(lu, LOCK_CLUSTER, LOCK_BGL, lu->class->exclusive_bgl);
	return lu->class->expand == NULL ? 0 : lu->class->expand(lu, err);
}

/* The opcode has a time limit for locks, which is over. */
static int too_late(struct lu *lu, struct error *err)
{
	auto_free char *lock = NULL;
	struct lock_block block;

	locks_blocked(&lu->locks->request, &block);
	lock = lock_object_text(lu->m->config, block.level, block.name);
	return error_set(err, ERR_PREREQ, ECODE_TEMP_NORES,
			 "The locks were not to be had within %jd s: %s is %s "
			 "by job %ju",
			 (intmax_t)lu->common.lock_timeout_s, lock,
			 block.by_holds ? "held" : "waited for",
			 (uintmax_t)block.by->owner);
}

/* Wait for a change of the request; false when the opcode's time limit is
 * over. */
static WAITS bool wait_for_locks(struct lu *lu)
{
	struct cond *changed = &lu->locks->changed;
	int64_t limit_s = lu->common.lock_timeout_s;

	if (limit_s > 0 && limit_s <= LOCK_TIMEOUT_MAX_S)
		return cond_wait_until(changed,
				       lu->began_us + limit_s * 1000000);
	cond_wait(changed);
	return true;
}

/* Wait until all wants are granted. */
static WAITS int acquire(struct lu *lu, struct error *err)
{
	struct lu_locks *locks = lu->locks;
	bool in_time = true;

	locks->request = (struct lock_request){
		.wants = locks->wants,
		.n_wants = locks->n,
		.priority = queue_run_priority(lu->run),
		.owner = lu->job_id,
		.at_least = locks->at_least,
		.granted = on_granted,
		.removed = on_removed,
		.arg = locks,
	};
	if (locks_request(lu->m->locks, &locks->request, err) < 0)
		return -1;
	lu->run->arg = lu;
	lu->run->cancel = on_cancel;
	lu->run->set_priority = on_priority;
	while (!locks_held(&locks->request) && locks->gone == NULL &&
	       !locks->canceled && !lu->run->canceled && in_time)
		in_time = wait_for_locks(lu);
	lu->run->cancel = NULL;
	lu->run->set_priority = NULL;
	if (locks_held(&locks->request))
		return 0;
	if (locks->gone != NULL)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "The %s was removed while this job waited for "
				 "its lock",
				 locks->gone);
	if (!in_time)
		return too_late(lu, err);
	return error_set(err, ERR_CANCELED, NULL,
			 "Job %ju was canceled while waiting for locks",
			 (uintmax_t)lu->job_id);
}

static bool same_wants(const struct lu_locks *a, const struct lu_locks *b)
{
	if (a->n != b->n || a->at_least != b->at_least)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->wants[i].level != b->wants[i].level ||
		    a->wants[i].exclusive != b->wants[i].exclusive ||
		    a->wants[i].group != b->wants[i].group ||
		    !str_eq(a->wants[i].name, b->wants[i].name))
			return false;
	return true;
}

static void locks_swap(struct lu_locks *a, struct lu_locks *b)
{
	struct lock_want *wants = a->wants;
	size_t n = a->n, cap = a->cap;
	struct table places = a->places;
	unsigned at_least = a->at_least;

	a->wants = b->wants;
	a->n = b->n;
	a->cap = b->cap;
	a->places = b->places;
	a->at_least = b->at_least;
	b->wants = wants;
	b->n = n;
	b->cap = cap;
	b->places = places;
	b->at_least = at_least;
}

static void lu_locks_done(struct lu_locks *locks)
{
	for (size_t i = 0; locks->objects != NULL && i < locks->n; i++)
		json_decref(locks->objects[i]);
	free(locks->objects);
	lu_locks_clear(locks);
	free(locks->gone);
	free(locks->wants);
	free(locks->released);
}

/* Name the wants again after a wait.  1: they are the same; 0: they are others,
 * which are now in lu->locks, and no lock is held. */
static int expand_again(struct lu *lu, struct error *err)
{
	__attribute__((cleanup(lu_locks_done))) struct lu_locks old = {0};
	int rc;

	locks_swap(&old, lu->locks);
	rc = expand(lu, err);
	if (rc < 0 || !same_wants(&old, lu->locks)) {
		/* Release first: the request points to the old wants. */
		locks_release(lu->m->locks, &lu->locks->request);
		return rc;
	}
	/* The wants are equal: keep the old ones, as the request points to
	 * them. */
	locks_swap(&old, lu->locks);
	return 1;
}

/* Whether the opcode is about one instance.  Opcodes about a node, a group or
 * everything skip forthcoming instances by themselves. */
static bool is_of_one_instance(const struct lu *lu)
{
	return op_has_param(lu->class->op, "instance_name");
}

/* Refuse an instance that is forthcoming: the job that creates it has not begun
 * yet (a job that creates it now would hold the lock). */
static int refuse_forthcoming(struct lu *lu, struct error *err)
{
	for (size_t i = 0; i < lu->locks->n; i++) {
		const struct lock_want *w = &lu->locks->wants[i];
		const json_t *inst;

		if (w->level != LOCK_INSTANCE || w->name == NULL || w->creates)
			continue;
		inst = config_find(lu->m->config, CONFIG_INSTANCE, w->name);
		if (inst_forthcoming(inst))
			return error_set(
				err, ERR_PREREQ, ECODE_STATE,
				"Instance %s is forthcoming, which is not "
				"supported for this operation: %s",
				w->name,
				!inst_has_reserved_by_job(inst)
					? "gnt-instance add --commit makes it "
					  "real"
					: "a job is about to create it");
	}
	return 0;
}

/* Keep the objects that are locked exclusively, to see at the end whether they
 * were removed. */
static void note_objects(struct lu *lu)
{
	struct lu_locks *locks = lu->locks;

	locks->objects = xcalloc(locks->n + 1, sizeof(*locks->objects));
	for (size_t i = 0; i < locks->n; i++) {
		const struct lock_want *w = &locks->wants[i];
		int kind = lock_object_kind(w->level);

		if (w->name != NULL && w->exclusive && !w->creates && kind >= 0)
			locks->objects[i] = json_ref(
				config_find(lu->m->config,
					    (enum config_kind)kind, w->name));
	}
}

/* Tell the requests that wait for a removed object. */
static void tell_removed(struct lu *lu)
{
	struct lu_locks *locks = lu->locks;

	for (size_t i = 0; locks->objects != NULL && i < locks->n; i++) {
		const json_t *object = locks->objects[i];
		const struct lock_want *w = &locks->wants[i];

		if (object != NULL &&
		    config_get(lu->m->config,
			       (enum config_kind)lock_object_kind(w->level),
			       object_uuid(object)) == NULL)
			locks_remove(lu->m->locks, w->level, w->name,
				     object_name_or(object, w->name));
	}
}

static WAITS int lu_lock(struct lu *lu, struct error *err)
{
	int rc;

	if (lu->class->arguments != NULL && lu->class->arguments(lu, err) < 0)
		return -1;
	rc = expand(lu, err);
	for (int i = 0; rc == 0 && i < EXPAND_ROUNDS; i++) {
		int64_t serial = config_serial(lu->m->config);

		if (acquire(lu, err) < 0)
			return -1;
		if (config_serial(lu->m->config) == serial)
			rc = 1;
		else
			rc = expand_again(lu, err);
	}
	if (rc < 0)
		return -1;
	if (rc == 0)
		return error_set(err, ERR_LOCK, NULL,
				 "The configuration changed %d times while "
				 "waiting for locks; try again later",
				 EXPAND_ROUNDS);
	lu->locks->released = xcalloc(lu->locks->n + 1, sizeof(bool));
	note_objects(lu);
	if (lu->class->takes_forthcoming || !is_of_one_instance(lu))
		return 0;
	return refuse_forthcoming(lu, err);
}

WAITS int lu_lock_more(struct lu *lu, enum lock_level level, const char *name,
		       struct error *err)
{
	struct lu_locks *locks = lu->locks;
	const struct lock_request *const held[] = {&locks->request};

	assert(!locks->more.active);
	locks->more_want = (struct lock_want){
		.level = level, .name = name, .exclusive = true};
	locks->more = (struct lock_request){
		.wants = &locks->more_want,
		.n_wants = 1,
		.priority = queue_run_priority(lu->run),
		.owner = lu->job_id,
		.granted = on_granted,
		.removed = on_removed,
		.arg = locks,
	};
	if (locks_request_more(lu->m->locks, &locks->more, held, 1, err) < 0)
		return -1;
	while (!locks_held(&locks->more) && locks->gone == NULL &&
	       !lu->run->killed)
		cond_wait(&locks->changed);
	if (locks_held(&locks->more))
		return 0;
	locks_release(lu->m->locks, &locks->more);
	return error_set(err, ERR_LOCK, NULL,
			 "The lock of %s %s was not to be had",
			 lock_object_word(level), name);
}

/* --- one LU's life --- */

static void keep_done(struct lu_keep *keep)
{
	for (size_t i = 0; i < keep->n_objects; i++)
		json_decref(keep->objects[i]);
	free(keep->objects);
	strv_done(&keep->strings);
}

static void lu_free(struct lu **p)
{
	struct lu *lu = *p;

	if (lu == NULL)
		return;
	if (lu->class->done != NULL)
		lu->class->done(lu);
	tell_removed(lu);
	locks_release(lu->m->locks, &lu->locks->more);
	locks_release(lu->m->locks, &lu->locks->request);
	reserve_release(lu->m->reserve, lu->job_id);
	lu_locks_done(lu->locks);
	keep_done(lu->keep);
	json_decref(lu->dry_run_result);
	json_decref(lu->answer);
	json_decref(lu->env_before);
	json_decref(lu->answered);
	strv_done(&lu->hooks_after);
	free(lu->locks);
	free(lu->keep);
	free(mem_unconst(lu->op));
	free(lu);
}

#define auto_lu __attribute__((cleanup(lu_free), unused))

static struct lu *lu_new(struct master *m, struct queue_run *run,
			 struct error *err)
{
	const char *id = json_str(run->input, "OP_ID", "");
	const struct lu_class *class = lu_class_find(id);
	struct lu *lu;
	void *op;

	if (class == NULL) {
		error_set(err, ERR_OPCODE, NULL,
			  "This version does not execute %s", id);
		return NULL;
	}
	lu = xalloc(class->size);
	lu->m = m;
	lu->run = run;
	lu->class = class;
	lu->job_id = run->job->id;
	lu->began_us = clock_mono_us();
	lu->locks = xalloc(sizeof(*lu->locks));
	lu->keep = xalloc(sizeof(*lu->keep));
	cond_init(&lu->locks->changed);
	op = xalloc(class->op->size);
	op_parse(class->op, run->input, op);
	op_parse_common(run->input, &lu->common);
	lu->op = op;
	return lu;
}

/* An error about a node that cannot be reached gets the class of any other
 * failure of check or exec: ERR_RPC is for our own modules only. */
static void unreachable(struct error *err, enum error_kind kind,
			const char *ecode)
{
	if (err->kind == ERR_RPC)
		error_as(err, kind, ecode);
}

static json_t *dry_run(struct lu *lu)
{
	lu_info(lu, "dry-run mode requested, not actually executing the "
		    "operation");
	return lu->dry_run_result == NULL ? json_null()
					  : steal(&lu->dry_run_result);
}

/* Everything that is done while the locks are held. */
static WAITS json_t *lu_perform(struct lu *lu, struct error *err)
{
	auto_json json_t *result = NULL;

	if (queue_run_started(lu->run, err) < 0 || exec_old_calls(lu, err) < 0)
		return NULL;
	/* check only looks at things, and books what undo or a restart can give
	 * back. */
	if (lu->class->check != NULL && lu->class->check(lu, err) < 0) {
		unreachable(err, ERR_PREREQ, ECODE_ENVIRON);
		return NULL;
	}
	if (lu->answer != NULL)
		return steal(&lu->answer);
	if (queue_run_safe(lu->run, err) < 0 ||
	    hooks_run(lu, HOOKS_PRE, err) < 0 || lu_check_killed(lu, err) < 0)
		return NULL;
	if (lu->common.dry_run)
		return dry_run(lu);
	result = lu->class->exec(lu, err);
	if (result == NULL) {
		unreachable(err, ERR_EXEC, NULL);
		return NULL;
	}
	hooks_run_post(lu, &result);
	/* exec may have succeeded although a kill made its last node calls
	 * fail. */
	return lu_check_killed(lu, err) < 0 ? NULL : steal(&result);
}

static WAITS void record_uuids(struct lu *lu)
{
	auto_json json_t *found = exec_uuids(lu);

	if (json_object_size(found) > 0)
		queue_run_fill(lu->run, found);
}

json_t *exec_run_op(void *master, struct queue_run *run, struct error *err)
{
	auto_lu struct lu *lu = lu_new(master, run, err);
	bool changed = false;
	int64_t begun_us;
	json_t *result;

	if (lu == NULL || lu_lock(lu, err) < 0)
		return NULL;
	begun_us = clock_mono_us();
	record_uuids(lu);
	config_note_changes(&changed);
	result = lu_perform(lu, err);
	if (result == NULL && lu->class->undo != NULL)
		lu->class->undo(lu);
	config_note_changes(NULL);
	if (changed && !lu->run->killed && !lu_plans(lu))
		hooks_run_config_update(lu);
	exec_take_time(lu, begun_us);
	return result;
}

json_t *exec_check_op(void *master, const json_t *op, char **ret_summary,
		      struct error *err)
{
	json_t *complete = op_check(op, err);
	const struct lu_class *class =
		complete == NULL
			? NULL
			: lu_class_find(json_str(complete, "OP_ID", ""));

	if (class != NULL && class->complete != NULL)
		class->complete(master, complete);
	if (complete != NULL)
		*ret_summary = op_summary(complete);
	return complete;
}
