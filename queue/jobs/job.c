/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs in memory: states and their changes, copies, values for queries.  The
 * form in the files is in job_text.c. */
#include "queue/jobs/job.h"

#include <assert.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "queue/jobs/job_facts.h"
#include "queue/jobs/secrets.h"

#define N_STATES (JOB_ERROR + 1)

static const char *const state_names[N_STATES] = {
#define X(state, name) [JOB_##state] = name,
	JOB_STATES(X)
#undef X
};

/* allowed[from][to] */
static const bool allowed[N_STATES][N_STATES] = {
	[JOB_QUEUED] = {[JOB_WAITING] = true,
			[JOB_CANCELED] = true,
			[JOB_ERROR] = true},
	[JOB_WAITING] = {[JOB_QUEUED] = true, /* after a restart */
			 [JOB_CANCELING] = true,
			 [JOB_RUNNING] = true,
			 [JOB_CANCELED] = true,
			 [JOB_ERROR] = true},
	[JOB_CANCELING] = {[JOB_CANCELED] = true,
			   [JOB_SUCCESS] = true, /* ended before noticing */
			   [JOB_ERROR] = true},
	[JOB_RUNNING] = {[JOB_CANCELING] = true,
			 [JOB_CANCELED] = true,
			 [JOB_SUCCESS] = true,
			 [JOB_ERROR] = true},
};

const char *job_state_name(enum job_state s)
{
	assert((unsigned)s < N_STATES);
	return state_names[s];
}

bool job_state_by_name(const char *name, enum job_state *ret)
{
	for (int s = 0; s < N_STATES; s++)
		if (strcmp(state_names[s], name) == 0) {
			*ret = (enum job_state)s;
			return true;
		}
	return false;
}

bool job_state_is_final(enum job_state s)
{
	return s == JOB_CANCELED || s == JOB_SUCCESS || s == JOB_ERROR;
}

/* --- making and copying --- */

/* Values are kept as text; NULL stands for null. */
static json_t *stored(const char *text)
{
	struct error err;
	json_t *value;

	if (text == NULL)
		return json_null();
	value = json_parse(text, strlen(text), &err);
	return value == NULL ? json_null() : value;
}

void job_op_init(struct job_op *op, const json_t *input, const char *summary)
{
	*op = (struct job_op){
		.input = json_text(input),
		.summary =
			summary == NULL ? op_summary(input) : xstrdup(summary),
		.status = JOB_QUEUED,
		.priority = (int)json_int(input, "priority", 0),
	};
}

void job_op_set_input(struct job_op *op, const json_t *input)
{
	free(op->input);
	op->input = json_text(input);
}

void job_op_reason(struct job_op *op, const char *source, const char *text,
		   int64_t now_us)
{
	auto_json json_t *input = stored(op->input);
	json_t *trail = json_object_get(input, "reason");

	if (!json_is_array(trail)) {
		trail = json_array();
		json_object_set_new(input, "reason", trail);
	}
	json_array_append_new(trail, json_make("[s, s, I]", source, text,
					       (json_int_t)now_us * 1000));
	job_op_set_input(op, input);
}

struct job *job_new(uint64_t id, size_t n_ops)
{
	struct job *j = xalloc(sizeof(*j));

	j->id = id;
	j->ops = xcalloc(n_ops == 0 ? 1 : n_ops, sizeof(*j->ops));
	j->n_ops = n_ops;
	return j;
}

static void ops_free(struct job *j)
{
	for (size_t i = 0; i < j->n_ops; i++) {
		free(j->ops[i].input);
		free(j->ops[i].result);
		free(j->ops[i].summary);
		buf_done(&j->ops[i].log);
	}
	free(j->ops);
}

void job_free(struct job *j)
{
	if (j == NULL)
		return;
	ops_free(j);
	free(j);
}

static char *copy_str(const char *s)
{
	return s == NULL ? NULL : xstrdup(s);
}

struct job *job_copy(const struct job *j)
{
	struct job *copy = job_new(j->id, j->n_ops);
	struct job_op *ops = copy->ops;

	*copy = *j;
	copy->private = NULL;
	copy->ops = ops;
	for (size_t i = 0; i < j->n_ops; i++) {
		ops[i] = j->ops[i];
		ops[i].input = copy_str(j->ops[i].input);
		ops[i].result = copy_str(j->ops[i].result);
		ops[i].summary = copy_str(j->ops[i].summary);
		ops[i].log = (struct buf){0};
		if (j->ops[i].log.len > 0) { /* without spare room */
			ops[i].log.len = j->ops[i].log.len;
			ops[i].log.cap = ops[i].log.len + 1;
			ops[i].log.data =
				xmemdup(j->ops[i].log.data, ops[i].log.cap);
		}
	}
	return copy;
}

void job_assign(struct job *j, struct job *from STEALS)
{
	struct job_private *private = j->private;

	assert(j->id == from->id);
	ops_free(j);
	*j = *from;
	j->private = private;
	free(from);
}

/* --- states --- */

enum job_state job_status(const struct job *j)
{
	enum job_state status = JOB_QUEUED;
	bool all_done = true;

	for (size_t i = 0; i < j->n_ops; i++) {
		enum job_state s = j->ops[i].status;

		if (s == JOB_ERROR || s == JOB_CANCELING || s == JOB_CANCELED)
			return s;
		if (s == JOB_WAITING || s == JOB_RUNNING)
			status = s;
		all_done = all_done && s == JOB_SUCCESS;
	}
	return all_done ? JOB_SUCCESS : status;
}

bool job_is_final(const struct job *j)
{
	return job_state_is_final(job_status(j));
}

int job_priority(const struct job *j)
{
	bool found = false;
	int priority = 0;

	for (size_t i = 0; i < j->n_ops; i++) {
		const struct job_op *op = &j->ops[i];

		if (job_state_is_final(op->status) ||
		    (found && op->priority >= priority))
			continue;
		priority = op->priority;
		found = true;
	}
	return priority;
}

void job_op_move(struct job_op *op, enum job_state to)
{
	assert(allowed[op->status][to]);
	op->status = to;
}

void job_op_end(struct job_op *op, enum job_state to, json_t *result STEALS,
		int64_t now_us)
{
	job_op_move(op, to);
	free(op->result);
	op->result = result == NULL || json_is_null(result) ? NULL
							    : json_text(result);
	json_decref(result);
	op->end_us = now_us;
}

/* The error of a failed hook is a list [[node, script, output], ...] in the
 * result. */
static json_t *hooks_list(const struct error *err)
{
	struct error ignored;
	auto_json json_t *list = NULL;

	if (err->kind != ERR_HOOKS_ABORT)
		return NULL;
	list = json_parse(err->text, strlen(err->text), &ignored);
	return json_is_array(list) ? steal(&list) : NULL;
}

json_t *job_error_result(const struct error *err)
{
	const char *class = error_kind_name(err->kind);
	auto_free char *text = xstrdup(err->text);
	json_t *list = hooks_list(err);

	if (list != NULL)
		return json_make("[s, [o]]", class, list);
	/* The text may quote a program's output, or be cut within a
	 * character. */
	if (!str_valid_utf8(text, strlen(text)))
		for (char *c = text; *c != '\0'; c++)
			if ((unsigned char)*c >= 0x80)
				*c = '?';
	if (err->kind == ERR_PREREQ && err->ecode != NULL)
		return json_make("[s, [s, s]]", class, text, err->ecode);
	return json_make("[s, [s]]", class, text);
}

void job_end_rest(struct job *j, size_t first, enum job_state to,
		  const json_t *result, int64_t now_us)
{
	for (size_t i = first; i < j->n_ops; i++) {
		struct job_op *op = &j->ops[i];
		bool begun = op->start_us != 0 || to == JOB_CANCELED;

		if (!job_state_is_final(op->status))
			job_op_end(op, to, json_ref(result),
				   begun ? now_us : 0);
	}
}

void job_log(struct job *j, size_t op, const char *type, json_t *message STEALS,
	     int64_t now_us)
{
	auto_json json_t *entry =
		json_make("[I, [I, I], s, o]", (json_int_t)++j->log_serial,
			  (json_int_t)(now_us / 1000000),
			  (json_int_t)(now_us % 1000000), type, message);
	auto_free char *text = json_text(entry);

	assert(op < j->n_ops);
	buf_adds(&j->ops[op].log, text);
	buf_addc(&j->ops[op].log, ',');
}

/* --- values for queries --- */

static json_t *timestamp(int64_t us)
{
	if (us == 0)
		return json_null();
	return json_make("[I, I]", (json_int_t)(us / 1000000),
			 (json_int_t)(us % 1000000));
}

static json_t *log_list(const struct buf *log)
{
	auto_free char *text = NULL;

	if (log->len == 0)
		return json_array();
	text = xprintf("[%.*s]", (int)(log->len - 1), log->data);
	return stored(text);
}

/* One value of each opcode, as a list. */
struct op_field {
	const char *name;
	json_t *(*value)(const struct job_op *op);
};

/* Parameters that clients see even when they are null, as in Ganeti. */
static bool is_shown_unset(const char *name)
{
	return strcmp(name, "depends") == 0 || strcmp(name, "comment") == 0;
}

static json_t *op_input(const struct job_op *op)
{
	json_t *input = stored(op->input), *value;
	const char *name;
	void *next;

	secrets_hide(input);
	json_object_foreach_safe(input, next, name,
				 value) if (json_is_null(value) &&
					    !is_shown_unset(name))
		json_object_del(input, name);
	return input;
}

static json_t *op_result(const struct job_op *op)
{
	return stored(op->result);
}

static json_t *op_status(const struct job_op *op)
{
	return json_string(job_state_name(op->status));
}

static json_t *op_log(const struct job_op *op)
{
	return log_list(&op->log);
}

static json_t *op_start(const struct job_op *op)
{
	return timestamp(op->start_us);
}

static json_t *op_exec(const struct job_op *op)
{
	return timestamp(op->exec_us);
}

static json_t *op_end(const struct job_op *op)
{
	return timestamp(op->end_us);
}

static json_t *op_priority(const struct job_op *op)
{
	return json_integer(op->priority);
}

static json_t *op_summary_text(const struct job_op *op)
{
	return json_string(op->summary);
}

static const struct op_field op_fields[] = {
	{"ops", op_input},
	{"opresult", op_result},
	{"opstatus", op_status},
	{"oplog", op_log},
	{"opstart", op_start},
	{"opexec", op_exec},
	{"opend", op_end},
	{"oppriority", op_priority},
	{"summary", op_summary_text},
};

/* Fields of the whole job. */
struct job_value {
	const char *name;
	json_t *(*value)(const struct job *j);
};

static json_t *value_id(const struct job *j)
{
	return json_integer((json_int_t)j->id);
}

static json_t *value_status(const struct job *j)
{
	return json_string(job_state_name(job_status(j)));
}

static json_t *value_priority(const struct job *j)
{
	return json_integer(job_priority(j));
}

static json_t *value_received(const struct job *j)
{
	return timestamp(j->received_us);
}

static json_t *value_start(const struct job *j)
{
	return timestamp(j->start_us);
}

static json_t *value_end(const struct job *j)
{
	return timestamp(j->end_us);
}

static json_t *value_archived(const struct job *j)
{
	return json_boolean(j->archived);
}

static const struct job_value job_values[] = {
	{"id", value_id},
	{"status", value_status},
	{"priority", value_priority},
	{"received_ts", value_received},
	{"start_ts", value_start},
	{"end_ts", value_end},
	{"archived", value_archived},
	{"opid", job_opids},
	{"objects", job_objects},
	{"user", job_users},
	{"reason", job_reasons},
};

json_t *job_field(const struct job *j, const char *field)
{
	json_t *list;

	for (size_t i = 0; i < ARRAY_SIZE(job_values); i++)
		if (strcmp(job_values[i].name, field) == 0)
			return job_values[i].value(j);
	for (size_t i = 0; i < ARRAY_SIZE(op_fields); i++) {
		if (strcmp(op_fields[i].name, field) != 0)
			continue;
		list = json_array();
		for (size_t op = 0; op < j->n_ops; op++)
			json_array_append_new(list,
					      op_fields[i].value(&j->ops[op]));
		return list;
	}
	return NULL;
}
