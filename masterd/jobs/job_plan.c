/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans of jobs.  A second struct master is made: its configuration,
 * reservations and locks are copies, its node calls go to job_plan_calls.c, and
 * the log entries and jobs that its opcodes make come here.  In it the opcodes
 * run as in the real master.  So a plan uses the logical units themselves, and
 * nothing is written twice. */
#include "masterd/jobs/job_plan.h"

#include "lib/base/table.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/config/reserve.h"
#include "masterd/jobs/job_plan_private.h"
#include "masterd/jobs/lock_object.h"
#include "masterd/lu/frame/lu_private.h"
#include "queue/jobs/secrets.h"

/* A plan is for people to read; further jobs are only named. */
#define JOBS_MAX 1000

/* One opcode that is planned. */
struct planned {
	struct queue_run run;
	struct job_plan *plan;
	json_t *op; /* what the plan says of it */
};

static struct planned *planned_of(const struct queue_run *run)
{
	return container_of(mem_unconst(run), struct planned, run);
}

/* --- the master that only plans --- */

static void on_committed(void *arg)
{
	job_plan_note_changes(arg, true);
}

static void plan_init(struct job_plan *p, struct master *m)
{
	const struct noderpc_transport transport = {.arg = p,
						    .send = job_plan_send};
	struct config *config = config_copy(m->config, on_committed, p);

	p->real = m;
	p->todo = json_array();
	p->next_id = queue_last_id(m->queue) + 1;
	p->running = json_object();
	p->document = config_document(config);
	p->own = (struct master){
		.role = m->role,
		.paths = m->paths,
		.disk = m->disk, /* read alone: see lu_plans() */
		.config = config,
		.queue = m->queue,
		.filters = m->filters,
		.locks = locks_create(),
		.rpc = noderpc_create(&transport),
		.reserve = reserve_copy(m->reserve, config),
		.ssh_keys = m->ssh_keys,
		.kept = m->kept,
		.distribute = m->distribute,
		.plans = true,
	};
	noderpc_set_fill(p->own.rpc, config_fill_devices, config);
}

static void plan_done(struct job_plan *p)
{
	reserve_destroy(p->own.reserve);
	noderpc_destroy(p->own.rpc);
	locks_destroy(p->own.locks);
	config_free(p->own.config);
	json_decref(p->document);
	json_decref(p->running);
	json_decref(p->todo);
	free(p->unknown);
}

/* --- locks --- */

static json_t *lock_entry(const struct job_plan *p, const struct lock_want *w)
{
	auto_free char *text =
		lock_object_text(p->own.config, w->level, w->name);
	json_t *lock = json_make("{s:s, s:s}", "name", text, "mode",
				 w->exclusive ? "exclusive" : "shared");

	if (w->group > 0)
		json_set_bool(lock, "optional", true);
	return lock;
}

static void add_holder(uint64_t job, void *arg)
{
	json_t *jobs = arg, *other;
	size_t i;

	json_array_foreach (jobs, i, other)
		if (json_integer_value(other) == (json_int_t)job)
			return;
	json_array_append_new(jobs, json_integer((json_int_t)job));
}

/* The ids of the jobs that hold the locks, and for which one would wait. */
static void note_holders(const struct job_plan *p, const struct lock_want *w,
			 json_t *lock)
{
	auto_json json_t *jobs = json_array();

	locks_holders(p->real->locks, w, add_holder, jobs);
	if (json_array_size(jobs) > 0)
		json_object_set(lock, "held_by", jobs);
}

static json_t *lock_list(const struct job_plan *p, const struct lu_locks *locks)
{
	json_t *list = json_array();

	for (int level = 0; level < LOCK_LEVEL_COUNT; level++)
		for (size_t i = 0; i < locks->n; i++) {
			const struct lock_want *w = &locks->wants[i];
			json_t *lock;

			if ((int)w->level != level)
				continue;
			lock = lock_entry(p, w);
			note_holders(p, w, lock);
			json_array_append_new(list, lock);
		}
	return list;
}

/* --- what stands for the queue --- */

static int on_started(struct queue_run *run, struct error *err)
{
	struct planned *r = planned_of(run);
	const struct lu *lu = run->arg; /* exec.c has set it */

	(void)err;
	json_object_set_new(r->op, "locks", lock_list(r->plan, lu->locks));
	if (lu->locks->at_least > 0)
		json_set_int(r->op, "at_least", lu->locks->at_least);
	return 0;
}

static int always_safe(struct queue_run *run, struct error *err)
{
	(void)run;
	(void)err;
	return 0;
}

static void on_log(struct queue_run *run, const char *type,
		   json_t *message STEALS)
{
	if (str_eq(type, "message") && json_is_string(message))
		job_plan_note_text(planned_of(run)->plan,
				   json_string_value(message));
	json_decref(message);
}

static int no_priority(const struct queue_run *run)
{
	(void)run;
	return 0;
}

/* Note jobs that would be submitted, to be planned later; returns their ids. */
static json_t *add_jobs(struct job_plan *p, const json_t *jobs, uint64_t by)
{
	json_t *ids = json_array(), *ops;
	size_t i;

	json_array_foreach (jobs, i, ops) {
		json_array_append_new(p->todo,
				      json_make("[I, O]", (json_int_t)by, ops));
		json_array_append_new(ids,
				      json_integer((json_int_t)p->next_id++));
	}
	return ids;
}

static json_t *on_submit(struct queue_run *run, const json_t *jobs,
			 bool ignore_drain, struct error *err)
{
	struct job_plan *p = planned_of(run)->plan;
	auto_json json_t *ids = add_jobs(p, jobs, run->job->id);
	json_t *answer = json_array(), *id;
	size_t i;

	(void)ignore_drain;
	(void)err;
	json_array_foreach (ids, i, id)
		json_array_append_new(answer, json_make("[b, O]", 1, id));
	job_plan_note_jobs(p, steal(&ids));
	return answer;
}

static void no_members(struct queue_run *run, const json_t *members)
{
	(void)run;
	(void)members;
}

static const struct queue_runner runner = {
	.started = on_started,
	.safe = always_safe,
	.log = on_log,
	.priority = no_priority,
	.fill = no_members,
	.submit = on_submit,
};

/* --- opcodes and jobs --- */

/* The opcode without values that must not be shown. */
static json_t *public_form(const json_t *op)
{
	json_t *copy = json_deep_copy(op);

	json_decref(secrets_take(copy));
	secrets_hide(copy);
	return copy;
}

/* Whether an opcode with these steps changes nothing. */
static bool only_looks(const json_t *steps)
{
	size_t i;
	json_t *step;

	json_array_foreach (steps, i, step) {
		const char *what = json_str(step, "do", "");

		if (!str_eq(what, "look") && !str_eq(what, "say"))
			return false;
	}
	return true;
}

static WAITS bool plan_op(struct job_plan *p, struct job *j, size_t i,
			  const json_t *input, json_t *entry)
{
	struct planned r = {
		.run = {.runner = &runner,
			.queue = p->own.queue,
			.job = j,
			.op_index = i,
			.input = input},
		.plan = p,
		.op = entry,
	};
	struct error err = {.text = ""};
	auto_json json_t *result = NULL;

	p->steps = json_array();
	json_object_set_new(entry, "locks", json_array());
	json_object_set_new(entry, "steps", p->steps);
	result = exec_run_op(&p->own, &r.run, &err);
	job_plan_note_changes(p, false);
	p->steps = NULL;
	if (p->unknown != NULL)
		json_set_str(entry, "unknown", p->unknown);
	else if (result == NULL)
		json_object_set_new(entry, "error", job_error_result(&err));
	else if (only_looks(json_object_get(entry, "steps")))
		json_object_set(entry, "result", result);
	free(steal(&p->unknown));
	return result != NULL;
}

/* Check each opcode as a submission would; -1 with err when it would be
 * refused. */
static int check_ops(struct job_plan *p, const json_t *ops, json_t *checked,
		     json_t *entries, struct job *j, struct error *err)
{
	for (size_t i = 0; i < j->n_ops; i++) {
		auto_free char *summary = NULL;
		auto_json json_t *op = exec_check_op(
			p->real, json_array_get(ops, i), &summary, err);
		json_t *shown;

		if (op == NULL)
			return -1;
		shown = public_form(op);
		job_op_init(&j->ops[i], shown, summary);
		json_array_append(checked, op);
		json_array_append_new(entries,
				      json_make("{s:s, s:o}", "summary",
						summary, "opcode", shown));
	}
	return 0;
}

static WAITS int plan_ops(struct job_plan *p, const json_t *ops,
			  json_t *entries, struct job *j, struct error *err)
{
	auto_json json_t *checked = json_array();

	if (check_ops(p, ops, checked, entries, j, err) < 0)
		return -1;
	for (size_t i = 0; i < j->n_ops; i++)
		if (!plan_op(p, j, i, json_array_get(checked, i),
			     json_array_get(entries, i)))
			break;
	return 0;
}

/* job: [id of the one that submits it or 0, opcodes] */
static WAITS json_t *plan_job(struct job_plan *p, const json_t *job,
			      uint64_t id)
{
	const json_t *ops = json_array_get(job, 1);
	struct job *j = job_new(id, json_array_size(ops));
	json_t *entry = json_make("{s:I, s:o, s:[]}", "id", (json_int_t)id,
				  "by", json_null(), "ops");
	struct error err;

	if (json_integer_value(json_array_get(job, 0)) != 0)
		json_object_set(entry, "by", json_array_get(job, 0));
	if (plan_ops(p, ops, json_object_get(entry, "ops"), j, &err) < 0) {
		json_array_clear(json_object_get(entry, "ops"));
		json_object_set_new(entry, "error", job_error_result(&err));
	}
	job_free(j);
	return entry;
}

static int check_jobs(const json_t *jobs, struct error *err)
{
	size_t i;
	json_t *ops;

	if (!json_is_array(jobs))
		return error_set(err, ERR_REQUEST, NULL,
				 "the argument is a list of jobs");
	json_array_foreach (jobs, i, ops)
		if (json_array_size(ops) == 0)
			return error_set(err, ERR_REQUEST, NULL,
					 "a job is a list of at least one "
					 "opcode");
	return 0;
}

json_t *job_plan(struct master *m, const json_t *jobs, struct error *err)
{
	__attribute__((cleanup(plan_done))) struct job_plan p = {0};
	json_t *planned = json_array();
	uint64_t id;

	if (check_jobs(jobs, err) < 0) {
		json_decref(planned);
		return NULL;
	}
	plan_init(&p, m);
	id = p.next_id;
	json_decref(add_jobs(&p, jobs, 0));
	for (size_t i = 0; i < json_array_size(p.todo) && i < JOBS_MAX; i++) {
		json_array_append_new(
			planned,
			plan_job(&p, json_array_get(p.todo, i), id + i));
		task_yield();
	}
	return json_make("{s:o, s:I}", "jobs", planned, "left",
			 (json_int_t)(json_array_size(p.todo) -
				      json_array_size(planned)));
}
