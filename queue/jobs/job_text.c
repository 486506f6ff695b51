/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs in their files: one JSON object per job, as Ganeti's.  Values that
 * memory holds as text are written unchanged; files are checked when they are
 * read. */
#include <stdio.h>
#include <string.h>

#include "lib/json/json.h"
#include "queue/jobs/job.h"

/* --- writing --- */

static void add_time(struct buf *b, const char *key, int64_t us)
{
	if (us == 0)
		buf_addf(b, "\"%s\": null", key);
	else
		buf_addf(b, "\"%s\": [%jd, %jd]", key, (intmax_t)(us / 1000000),
			 (intmax_t)(us % 1000000));
}

/* Ganeti cannot read a job with types of log entries that it does not know; so
 * in files our own types become "message".  The text looked for cannot be part
 * of a message, where quotes have a backslash before them. */
static void add_log(struct buf *b, const struct buf *log)
{
	static const char ours[] = "],\"progress\",";
	size_t left = log->len == 0 ? 0 : log->len - 1; /* last comma */
	const char *at = log->data, *found;

	while (left > 0 && (found = memmem(at, left, ours, strlen(ours)))) {
		buf_add(b, at, (size_t)(found - at));
		buf_adds(b, "],\"message\",");
		left -= (size_t)(found - at) + strlen(ours);
		at = found + strlen(ours);
	}
	if (left > 0)
		buf_add(b, at, left);
}

static void add_op(struct buf *b, const struct job_op *op)
{
	buf_adds(b, "{\"input\": ");
	buf_adds(b, op->input);
	buf_addf(b, ", \"status\": \"%s\", \"result\": ",
		 job_state_name(op->status));
	buf_adds(b, op->result == NULL ? "null" : op->result);
	buf_adds(b, ", \"log\": [");
	add_log(b, &op->log);
	buf_addf(b, "], \"priority\": %d, ", op->priority);
	add_time(b, "start_timestamp", op->start_us);
	buf_adds(b, ", ");
	add_time(b, "exec_timestamp", op->exec_us);
	buf_adds(b, ", ");
	add_time(b, "end_timestamp", op->end_us);
	buf_addc(b, '}');
}

char *job_to_text(const struct job *j)
{
	struct buf b = {0};

	buf_addf(&b, "{\"id\": %ju, \"ops\": [", (uintmax_t)j->id);
	for (size_t i = 0; i < j->n_ops; i++) {
		if (i > 0)
			buf_adds(&b, ", ");
		add_op(&b, &j->ops[i]);
	}
	buf_adds(&b, "], ");
	add_time(&b, "received_timestamp", j->received_us);
	buf_adds(&b, ", ");
	add_time(&b, "start_timestamp", j->start_us);
	buf_adds(&b, ", ");
	add_time(&b, "end_timestamp", j->end_us);
	buf_addc(&b, '}');
	return buf_steal(&b);
}

/* --- reading --- */

/* The highest valid id: no queue counts up to it, and its successor still
 * fits. */
#define LOG_SERIAL_MAX INT64_C(999999999999999)

/* The types of log entries that Ganeti has. */
#define PRIORITY_MIN (-20)
#define PRIORITY_MAX 19

static int corrupt(struct error *err, const char *what)
{
	return error_set(err, ERR_JOB_CORRUPT, NULL, "Not a valid job file: %s",
			 what);
}

static int read_time(const json_t *object, const char *key, int64_t *ret_us,
		     struct error *err)
{
	const json_t *value = json_get(object, key);
	const json_t *s = json_array_get(value, 0);
	const json_t *us = json_array_get(value, 1);
	json_int_t seconds = json_integer_value(s);
	json_int_t micro = json_integer_value(us);

	if (value == NULL)
		return 0;
	if (json_array_size(value) != 2 || !json_is_integer(s) ||
	    !json_is_integer(us) || seconds < 0 ||
	    seconds > INT64_MAX / 1000000 - 1 || micro < 0 || micro >= 1000000)
		return corrupt(err, key);
	*ret_us = seconds * 1000000 + micro;
	return 0;
}

static int read_log(struct job *j, struct job_op *op, const json_t *list,
		    struct error *err)
{
	const json_t *entry;
	size_t i;

	if (list != NULL && !json_is_array(list))
		return corrupt(err, "log");
	json_array_foreach (list, i, entry) {
		const json_t *serial = json_array_get(entry, 0);
		auto_free char *text = NULL;

		if (json_array_size(entry) != 4 || !json_is_integer(serial) ||
		    json_integer_value(serial) < 0 ||
		    json_integer_value(serial) > LOG_SERIAL_MAX)
			return corrupt(err, "log entry");
		if ((uint64_t)json_integer_value(serial) > j->log_serial)
			j->log_serial = (uint64_t)json_integer_value(serial);
		text = json_text(entry);
		buf_adds(&op->log, text);
		buf_addc(&op->log, ',');
	}
	return 0;
}

static int read_op(struct job *j, struct job_op *op, const json_t *value,
		   struct error *err)
{
	const json_t *input = json_get(value, "input");
	const json_t *result = json_get(value, "result");
	const json_t *priority = json_get(value, "priority");
	const char *status = json_str(value, "status", "");

	if (json_str(input, "OP_ID", NULL) == NULL)
		return corrupt(err, "opcode without OP_ID");
	job_op_init(op, input, NULL);
	if (!job_state_by_name(status, &op->status))
		return corrupt(err, "status of an opcode");
	if (priority != NULL && (!json_is_integer(priority) ||
				 json_integer_value(priority) < PRIORITY_MIN ||
				 json_integer_value(priority) > PRIORITY_MAX))
		return corrupt(err, "priority of an opcode");
	op->priority = (int)json_int(value, "priority", op->priority);
	op->result = result == NULL ? NULL : json_text(result);
	if (read_log(j, op, json_get(value, "log"), err) < 0 ||
	    read_time(value, "start_timestamp", &op->start_us, err) < 0 ||
	    read_time(value, "exec_timestamp", &op->exec_us, err) < 0)
		return -1;
	return read_time(value, "end_timestamp", &op->end_us, err);
}

static int read_ops(struct job *j, const json_t *ops, struct error *err)
{
	for (size_t i = 0; i < j->n_ops; i++)
		if (read_op(j, &j->ops[i], json_array_get(ops, i), err) < 0)
			return -1;
	return 0;
}

/* Before Ganeti 2.6 it was a text; the archive may be as old. */
static bool read_id(const json_t *id, uint64_t *ret)
{
	if (json_is_string(id))
		return str_to_number(json_string_value(id), INT64_MAX, ret,
				     NULL) &&
		       *ret > 0;
	*ret = (uint64_t)json_integer_value(id);
	return json_integer_value(id) > 0;
}

static void free_job_p(struct job **j)
{
	job_free(*j);
}

struct job *job_from_text(const char *text, size_t len, struct error *err)
{
	auto_json json_t *root = json_parse(text, len, err);
	const json_t *id = json_get(root, "id");
	const json_t *ops = json_get(root, "ops");
	__attribute__((cleanup(free_job_p))) struct job *j = NULL;
	uint64_t number = 0;

	if (root == NULL) {
		error_wrap_as(err, ERR_JOB_CORRUPT, "Not a valid job file");
		return NULL;
	}
	if (!read_id(id, &number)) {
		corrupt(err, "id");
		return NULL;
	}
	if (!json_is_array(ops)) {
		corrupt(err, "ops");
		return NULL;
	}
	j = job_new(number, json_array_size(ops));
	if (read_ops(j, ops, err) < 0 ||
	    read_time(root, "received_timestamp", &j->received_us, err) < 0 ||
	    read_time(root, "start_timestamp", &j->start_us, err) < 0 ||
	    read_time(root, "end_timestamp", &j->end_us, err) < 0)
		return NULL;
	return steal(&j);
}
