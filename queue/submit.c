/* SPDX-License-Identifier: BSD-2-Clause */
/* New jobs.  The jobs of one call become durable in one change, together with
 * the serial number.  Until then they are in the index but unborn: nobody sees
 * them, but a dependency on them, or on a job that ends meanwhile, is not
 * lost. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/files/queue_files.h"
#include "queue/jobs/secrets.h"
#include "queue/queue_private.h"

/* Checking a job takes some 20 us, and so does letting it into the queue: let
 * others run after so many. */
#define YIELD_EVERY 100

/* A job with more opcodes could not be made and shown quickly. */
#define JOB_OPS_MAX 1000

/* The jobs of one call. */
struct submission {
	struct queue *queue;
	struct job **jobs; /* NULL: refused */
	size_t n;
	size_t n_good; /* how many are not NULL */
	char **texts;  /* their files, not handed over yet */
};

/* --- the input of an opcode --- */

/* The number that stands for a job; clients may send it as text. */
static bool read_id(const json_t *id, int64_t *ret)
{
	if (json_is_string(id))
		return str_to_int64(json_string_value(id), ret) && *ret > 0;
	*ret = json_integer_value(id);
	return json_is_integer(id) && *ret != 0;
}

/* Turn a relative job id into an absolute one; ids has those of the jobs before
 * this one in the submission. */
static int resolve(const json_t *id, const uint64_t *ids, size_t n,
		   uint64_t last_id, uint64_t *ret_id, struct error *err)
{
	int64_t value;

	if (!read_id(id, &value))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A dependency needs the id of a job");
	if (value > 0 && (uint64_t)value > last_id)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Job %jd, named as a dependency, does not "
				 "exist",
				 (intmax_t)value);
	if (value > 0) {
		*ret_id = (uint64_t)value;
		return 0;
	}
	if (value < -(int64_t)n || ids[(int64_t)n + value] == 0)
		return error_set(
			err, ERR_PREREQ, ECODE_INVAL,
			"The relative dependency %jd names no job that "
			"was submitted before in the same call",
			(intmax_t)value);
	*ret_id = ids[(int64_t)n + value];
	return 0;
}

static int resolve_depends(json_t *op, const uint64_t *ids, size_t n,
			   uint64_t last_id, struct error *err)
{
	json_t *depends = json_object_get(op, "depends"), *depend;
	size_t i;

	if (depends == NULL || json_is_null(depends))
		return 0;
	if (!json_is_array(depends))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Dependencies have to be a list");
	json_array_foreach (depends, i, depend) {
		uint64_t id = 0;

		if (!json_is_array(depend) ||
		    !json_is_array(json_array_get(depend, 1)))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "A dependency has to be a job id and "
					 "a list of states");
		if (resolve(json_array_get(depend, 0), ids, n, last_id, &id,
			    err) < 0)
			return -1;
		json_array_set_new(depend, 0, json_integer((json_int_t)id));
	}
	return 0;
}

/* "OP_TEST_DELAY" is shown as "test_delay". */
static char *source_name(const json_t *op)
{
	const char *id = json_str(op, "OP_ID", "");
	char *name =
		xprintf("gnt:opcode:%s", str_starts(id, "OP_") ? id + 3 : id);

	for (char *c = name; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return name;
}

static void extend_reason(json_t *op, uint64_t id, size_t index,
			  int64_t received_us)
{
	json_t *trail = json_object_get(op, "reason");
	auto_free char *source = source_name(op);
	auto_free char *text =
		xprintf("job=%ju;index=%zu", (uintmax_t)id, index);

	if (!json_is_array(trail)) {
		trail = json_array();
		json_object_set_new(op, "reason", trail);
	}
	json_array_append_new(trail,
			      json_make("[s, s, I]", source, text,
					(json_int_t)(received_us * 1000)));
}

/* --- one job --- */

/* What is wrong with a job. */
enum refusal { REFUSED_JOB, REFUSED_OPCODE /* an opcode cannot be read */ };

static int make_op(struct queue *q, struct job *j, size_t i, const json_t *op,
		   const uint64_t *ids, size_t n_ids, enum refusal *ret_why,
		   struct error *err)
{
	const struct queue_hooks *hooks = &q->config.hooks;
	auto_free char *summary = NULL;
	auto_json json_t *checked = NULL, *own = NULL;

	checked = hooks->check_op(hooks->arg, op, &summary, err);
	if (checked == NULL) {
		*ret_why = REFUSED_OPCODE;
		return -1;
	}
	own = json_deep_copy(checked); /* the result may share parts with op */
	if (resolve_depends(own, ids, n_ids, q->last_id, err) < 0)
		return -1;
	extend_reason(own, j->id, i, j->received_us);
	job_keep_secrets(j, i, secrets_take(own));
	job_op_init(&j->ops[i], own, summary);
	return 0;
}

static void unlive(struct queue *q, struct job *j)
{
	job_index_remove(&q->jobs, j->id);
	job_destroy(j);
}

static int check_room(struct queue *q, const json_t *ops, struct error *err)
{
	if (!json_is_array(ops) || json_array_size(ops) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A job needs a list of at least one opcode");
	if (json_array_size(ops) > JOB_OPS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A job has at most %d opcodes; make several "
				 "jobs of it",
				 JOB_OPS_MAX);
	if (json_is_longer(ops, QUEUE_JOB_BYTES_MAX))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The job is too large, %zu MiB is the limit; "
				 "make several of it",
				 QUEUE_JOB_BYTES_MAX >> 20);
	if (q->jobs.n >= QUEUE_JOBS_MAX)
		return error_set(err, ERR_QUEUE_FULL, NULL,
				 "The job queue has %d jobs, which is its "
				 "limit; archive some first (gnt-job "
				 "autoarchive)",
				 QUEUE_JOBS_MAX);
	if (q->last_id >= JOB_ID_MAX)
		return error_set(err, ERR_QUEUE_FULL, NULL,
				 "The job queue has given its last id, %ju; "
				 "if %s/serial is wrong, stop the master "
				 "daemon, correct it and start again",
				 (uintmax_t)q->last_id, q->dir);
	return 0;
}

/* Make the job that ops describes, unborn; ids has those of the jobs before
 * it. */
static WAITS struct job *make_job(struct queue *q, const json_t *ops,
				  const uint64_t *ids, size_t n_ids,
				  enum refusal *ret_why, struct error *err)
{
	enum job_state state;
	struct job *j;

	*ret_why = REFUSED_JOB;
	if (check_room(q, ops, err) < 0)
		return NULL;
	j = job_attach(q, job_new(q->last_id + 1, json_array_size(ops)));
	j->received_us = clock_wall_us();
	j->private->unborn = true;
	for (size_t i = 0; i < j->n_ops; i++)
		if (make_op(q, j, i, json_array_get(ops, i), ids, n_ids,
			    ret_why, err) < 0) {
			job_destroy(j);
			return NULL;
		}
	q->last_id++;
	job_index_add(&q->jobs, j->id, j);
	if (sched_depend(q, j, &state, err) < 0)
		job_end_unstarted(j, state, err->text);
	return j;
}

/* --- all jobs of a call --- */

static void submission_over(struct submission *s)
{
	struct queue *q = s->queue;

	if (--q->n_saving == 0 && !q->closed)
		cond_signal(&q->idle);
	free(s->jobs);
	free(s->texts);
	free(s);
}

/* Let the next jobs of a large submission into the queue. */
static WAITS void births(void *arg)
{
	struct submission *s = arg;
	struct queue *q = s->queue;

	for (size_t i = 0; i < s->n && !q->closed; i++) {
		if (s->jobs[i] != NULL)
			sched_born(q, s->jobs[i]);
		if (i % YIELD_EVERY != YIELD_EVERY - 1)
			continue;
		sched_kick(q);
		task_yield();
	}
	q->n_births--;
	if (!q->closed) {
		sched_kick(q);
		cond_signal(&q->born);
	}
	submission_over(s);
}

static void let_in(struct submission *s)
{
	struct queue *q = s->queue;

	for (size_t i = 0; i < s->n; i++)
		if (s->jobs[i] != NULL)
			sched_born(q, s->jobs[i]);
	sched_kick(q);
}

/* Also runs when the submitting task has been killed. */
static void on_stored(struct store_change *c, const struct error *err)
{
	struct submission *s = c->arg;
	struct queue *q = s->queue;

	if (err == NULL && s->n > YIELD_EVERY && !q->closed) {
		q->n_births++;
		task_spawn("queue-births", births, s);
		return;
	}
	for (size_t i = 0; err != NULL && i < s->n && !q->closed; i++)
		if (s->jobs[i] != NULL)
			unlive(q, s->jobs[i]);
	if (err == NULL && !q->closed)
		let_in(s);
	submission_over(s);
}

static struct submission *submission_new(struct queue *q, size_t n)
{
	struct submission *s = xalloc(sizeof(*s));

	s->queue = q;
	s->jobs = xcalloc(n + 1, sizeof(struct job *));
	s->texts = xcalloc(n + 1, sizeof(*s->texts));
	return s;
}

static void submission_add(struct submission *s, struct job *j)
{
	s->texts[s->n] = j == NULL ? NULL : job_to_text(j);
	s->jobs[s->n++] = j;
}

/* Returns the change with the present serial number in it; it has to be handed
 * over to the store before the next wait. */
static struct store_change *submission_change(struct submission *s STEALS)
{
	struct store_change *c = store_change_new();
	struct queue *q = s->queue;

	store_change_write(c, "serial",
			   xprintf("%ju\n", (uintmax_t)q->last_id));
	for (size_t i = 0; i < s->n; i++) {
		auto_free char *name = NULL;

		if (s->jobs[i] == NULL)
			continue;
		name = queue_job_name(s->jobs[i]->id);
		store_change_write(c, name, steal(&s->texts[i]));
	}
	c->done = on_stored;
	c->arg = s;
	c->may_fail = true;
	q->n_saving++;
	return c;
}

static int check_open(struct queue *q, bool ignore_drain, struct error *err)
{
	const struct queue_hooks *hooks = &q->config.hooks;

	/* A queue that is stopping still takes the jobs of running jobs, for
	 * the next start. */
	if (q->stopping && q->n_running == 0)
		return error_set(err, ERR_QUEUE, NULL,
				 "The job queue is shutting down");
	if (q->drained && !ignore_drain)
		return error_set(err, ERR_SYSTEM, NULL, QUEUE_DRAINED_TEXT);
	if (hooks->safe != NULL && hooks->safe(hooks->arg, err) < 0)
		return -1;
	return store_full(q->store, err) ? -1 : 0;
}

/* Undo a submission that was not handed over. */
static void submission_free_p(struct submission **p)
{
	struct submission *s = *p;

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (s->jobs[i] != NULL)
			unlive(s->queue, s->jobs[i]);
		free(s->texts[i]);
	}
	free(s->texts);
	free(s->jobs);
	free(s);
}

static WAITS int submit(struct queue *q, const json_t *ops, bool ignore_drain,
			void (*more)(struct store_change *c, uint64_t id,
				     void *arg),
			void *arg, uint64_t *ret_id, struct error *err)
{
	struct store_change *c;
	struct submission *s;
	enum refusal why;
	struct job *j;
	uint64_t id;

	if (check_open(q, ignore_drain, err) < 0)
		return -1;
	j = make_job(q, ops, NULL, 0, &why, err);
	if (j == NULL)
		return -1;
	id = j->id;
	s = submission_new(q, 1);
	submission_add(s, j);
	c = submission_change(s);
	if (more != NULL)
		more(c, id, arg);
	if (store_commit(q->store, c, err) < 0)
		return -1;
	*ret_id = id;
	return 0;
}

int queue_submit(struct queue *q, const json_t *ops, bool ignore_drain,
		 uint64_t *ret_id, struct error *err)
{
	return submit(q, ops, ignore_drain, NULL, NULL, ret_id, err);
}

int submit_one(struct queue *q, const json_t *ops,
	       void (*more)(struct store_change *c, uint64_t id, void *arg),
	       void *arg, uint64_t *ret_id, struct error *err)
{
	return submit(q, ops, false, more, arg, ret_id, err);
}

static json_t *refused(const struct error *err)
{
	struct error copy = *err;

	if (!str_valid_utf8(copy.text, strlen(copy.text)))
		snprintf(copy.text, sizeof(copy.text), "not valid UTF-8");
	return json_make("[b, s]", 0, copy.text);
}

/* Fill the submission and the answer.  -1 with err when all jobs are refused
 * because an opcode of one cannot be read. */
static WAITS int make_all(struct submission *s, const json_t *jobs,
			  bool readable, uint64_t *ids, json_t *answer,
			  struct error *err)
{
	size_t n = json_array_size(jobs);

	for (size_t i = 0; i < n; i++) {
		enum refusal why;

		if (i % YIELD_EVERY == YIELD_EVERY - 1)
			task_yield();
		submission_add(s, make_job(s->queue, json_array_get(jobs, i),
					   ids, i, &why, err));
		if (s->jobs[i] == NULL && why == REFUSED_OPCODE && readable)
			return n == 1 ? -1
				      : error_wrap(err, "Job %zu of %zu", i + 1,
						   n);
		ids[i] = s->jobs[i] == NULL ? 0 : s->jobs[i]->id;
		s->n_good += ids[i] != 0;
		json_array_append_new(
			answer, ids[i] == 0 ? refused(err)
					    : json_make("[b, I]", 1,
							(json_int_t)ids[i]));
	}
	return 0;
}

json_t *queue_submit_many(struct queue *q, const json_t *jobs, unsigned how,
			  struct error *err)
{
	size_t n = json_array_size(jobs);
	auto_json json_t *answer = json_array();
	auto_free uint64_t *ids = xcalloc(n + 1, sizeof(*ids));
	__attribute__((cleanup(submission_free_p))) struct submission *s = NULL;

	if (!json_is_array(jobs)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "The jobs have to be a list");
		return NULL;
	}
	if (check_open(q, how & QUEUE_IGNORES_DRAIN, err) < 0)
		return NULL;
	s = submission_new(q, n);
	if (make_all(s, jobs, how & QUEUE_ALL_READABLE, ids, answer, err) < 0)
		return NULL;
	if (s->n_good == 0)
		return steal(&answer);
	if (store_commit(q->store, submission_change(steal(&s)), err) < 0)
		return NULL;
	while (q->n_births > 0)
		cond_wait(&q->born);
	return steal(&answer);
}
