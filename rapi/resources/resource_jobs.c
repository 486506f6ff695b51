/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs: their state, waiting for them, canceling; and the list of OS
 * definitions, for which a job has to run. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/resources/log_entry.h"

/* How long a request waits for a job's change, as in Ganeti. */
#define WAIT_S 10
/* So long the list of OS definitions may take, with all jobs that its job has
 * to wait for. */
#define OS_US (600 * INT64_C(1000000))
/* How often it is looked whether the client is still there. */
#define LOOK_S 1

static json_t *not_found(struct error *err)
{
	reply_bare(err, ECODE_NOENT);
	return NULL;
}

/* The number in the path. */
static int job_id(struct request *q, int64_t *ret, struct error *err)
{
	if (str_to_int64(q->items.items[0], ret))
		return 0;
	not_found(err); /* longer than any number */
	return -1;
}

static json_t *status_of(struct request *q, json_int_t id, struct error *err)
{
	static const char *const names[] = {
		"id",	       "ops",	   "status", "summary", "opstatus",
		"received_ts", "start_ts", "end_ts", "oplog",	"opresult"};
	const size_t n = sizeof(names) / sizeof(names[0]);
	auto_json json_t *fields = json_array(), *rows = NULL;
	const json_t *row;
	json_t *job;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(fields, json_string(names[i]));
	rows = request_call(q, "QueryJobs", json_make("[[I], O]", id, fields),
			    err);
	if (rows == NULL)
		return NULL;
	row = json_array_get(rows, 0);
	/* A job that is not there has an id and nothing else. */
	if (!json_is_string(json_array_get(row, 2)))
		return not_found(err);
	job = json_object();
	for (size_t i = 0; i < n; i++)
		json_object_set_new(job, names[i],
				    json_ref(json_array_get(row, i)));
	return job;
}

json_t *resource_job_status(struct request *q, struct error *err)
{
	int64_t id;

	return job_id(q, &id, err) < 0 ? NULL : status_of(q, id, err);
}

json_t *resource_job_cancel(struct request *q, struct error *err)
{
	bool kill;
	int64_t id;

	if (job_id(q, &id, err) < 0 ||
	    args_flag(&q->args, "kill", &kill, err) < 0)
		return NULL;
	/* Ganeti's luxid wants one argument. */
	return request_call(q, "CancelJob",
			    kill ? json_make("[I, b]", (json_int_t)id, 1)
				 : json_make("[I]", (json_int_t)id),
			    err);
}

json_t *resource_job_why(struct request *q, struct error *err)
{
	int64_t id;

	if (job_id(q, &id, err) < 0)
		return NULL;
	return request_call(q, "QueryJobWhy", json_make("[I]", (json_int_t)id),
			    err);
}

/* Some fields of a job, also of one that is archived; to be freed. */
static json_t *job_values(struct request *q, const char *first,
			  const char *second, struct error *err)
{
	auto_json json_t *rows = NULL;
	const json_t *row;
	int64_t id;

	if (job_id(q, &id, err) < 0)
		return NULL;
	rows = request_call(
		q, "QueryJobs",
		json_make("[[I], [s, s]]", (json_int_t)id, first, second), err);
	if (rows == NULL)
		return NULL;
	row = json_array_get(rows, 0);
	if (!json_is_array(row) || json_is_null(json_array_get(row, 0)))
		return not_found(err);
	return json_ref(row);
}

json_t *resource_job_log(struct request *q, struct error *err)
{
	auto_json json_t *values = NULL, *entries = NULL;
	json_t *list, *entry;
	int64_t since;
	size_t i;

	if (args_int(&q->args, "since", 0, &since, err) < 0 ||
	    (values = job_values(q, "status", "oplog", err)) == NULL)
		return NULL;
	entries = log_entry_newer(json_array_get(values, 1), since);
	list = json_array();
	json_array_foreach (entries, i, entry)
		json_array_append_new(list, log_entry_json(entry));
	return list;
}

/* What a job that has not begun would do now. */
json_t *resource_job_plan(struct request *q, struct error *err)
{
	auto_json json_t *values = job_values(q, "status", "ops", err);
	const char *status = json_string_value(json_array_get(values, 0));

	if (values == NULL)
		return NULL;
	if (!str_eq(status, "queued") && !str_eq(status, "waiting")) {
		error_set(err, ERR_PREREQ, ECODE_MOVED,
			  "The job has begun: its status is %s", status);
		return NULL;
	}
	return request_call(q, "PlanJobs",
			    json_make("[[O]]", json_array_get(values, 1)), err);
}

/* --- waiting --- */

static int refuse(const char *text, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL, "%s", text);
}

static int check_wait(const json_t *body, struct error *err)
{
	const json_t *info = json_get(body, "previous_job_info");
	const json_t *serial = json_get(body, "previous_log_serial");
	const json_t *fields = json_object_get(body, "fields");

	if (request_check_dict(body, "Body contents", err) < 0)
		return -1;
	if (fields == NULL)
		return refuse("Required parameter 'fields' is missing", err);
	if (!json_is_array(fields))
		return refuse("The 'fields' parameter should be a list", err);
	if (info != NULL && !json_is_array(info))
		return refuse("The 'previous_job_info' parameter should be a "
			      "list",
			      err);
	if (serial != NULL && !json_is_integer(serial))
		return refuse("The 'previous_log_serial' parameter should be a "
			      "number",
			      err);
	return 0;
}

json_t *resource_job_wait(struct request *q, struct error *err)
{
	auto_json json_t *change = NULL;
	int64_t id;

	if (job_id(q, &id, err) < 0 || check_wait(q->body, err) < 0)
		return NULL;
	change = request_call(
		q, "WaitForJobChange",
		json_make("[I, O, o, o, i]", (json_int_t)id,
			  json_object_get(q->body, "fields"),
			  json_ref(json_get(q->body, "previous_job_info"))
				  ?: json_null(),
			  json_ref(json_get(q->body, "previous_log_serial"))
				  ?: json_null(),
			  WAIT_S),
		err);
	if (change == NULL)
		return NULL;
	if (json_is_array(change))
		return json_make("{s:O, s:O}", "job_info",
				 json_array_get(change, 0), "log_entries",
				 json_array_get(change, 1));
	return json_is_null(change) ? not_found(err) : json_null();
}

static bool is_final(const char *status)
{
	return str_eq(status, "success") || str_eq(status, "error") ||
	       str_eq(status, "canceled");
}

/* Wait for the job's end; its [status, opresult], to be freed, with the status
 * NULL when time or client ended before. */
static json_t *follow(struct request *q, json_int_t id, int64_t end_us,
		      struct error *err)
{
	auto_json json_t *seen = json_null();

	for (;;) {
		auto_json json_t *change = request_call(
			q, "WaitForJobChange",
			json_make("[I, [s, s], O, n, i]", id, "status",
				  "opresult", seen, LOOK_S),
			err);
		json_t *info = json_array_get(change, 0);

		if (change == NULL)
			return NULL;
		if (is_final(json_string_value(json_array_get(info, 0))))
			return json_incref(info);
		if (info != NULL) {
			json_decref(seen);
			seen = json_incref(info);
		}
		if (clock_mono_us() > end_us ||
		    (q->gone != NULL && q->gone(q->gone_arg)))
			return json_make("[n, n]");
	}
}

json_t *resource_job_end(struct request *q, const json_t *id, struct error *err)
{
	const json_int_t number = json_integer_value(id);
	auto_json json_t *end = follow(
		q, number, clock_mono_us() + q->wait_s * INT64_C(1000000), err);

	/* What was archived has ended. */
	if (end == NULL && err->kind != ERR_JOB_LOST)
		return NULL;
	buf_addf(&q->headers, "Preference-Applied: wait=%u\n", q->wait_s);
	if (end == NULL || json_is_string(json_array_get(end, 0)))
		return status_of(q, number, err);
	q->status = 202;
	buf_addf(&q->headers, "Location: /2/jobs/%jd\n", (intmax_t)number);
	return json_ref(id);
}

/* --- OS definitions --- */

/* A definition without variants is listed by its name, others once for each. */
static void add_names(json_t *list, const json_t *row)
{
	const char *name = json_string_value(json_array_get(row, 0));
	const json_t *variants = json_array_get(row, 1);

	if (name == NULL)
		return;
	if (json_array_size(variants) == 0)
		json_array_append_new(list, json_string(name));
	for (size_t i = 0; i < json_array_size(variants); i++) {
		auto_free char *full = xprintf(
			"%s+%s", name,
			json_string_value(json_array_get(variants, i)) ?: "");

		json_array_append_new(list, json_string(full));
	}
}

/* Whether the job has ended well; otherwise it is canceled, in case nobody
 * waits for it any more. */
static int check_end(struct request *q, const json_t *id, const json_t *end,
		     struct error *err)
{
	const char *status = json_string_value(json_array_get(end, 0));
	auto_json json_t *canceled = NULL;

	if (str_eq(status, "success"))
		return 0;
	if (status != NULL)
		return error_set(err, ERR_LUXI, NULL, "Can't get OS list");
	canceled = request_call(q, "CancelJob", json_make("[O]", id), err);
	return canceled == NULL
		       ? -1
		       : error_set(err, ERR_SYSTEM, NULL,
				   "The client or the time limit ended before "
				   "the job");
}

json_t *resource_os(struct request *q, struct error *err)
{
	auto_json json_t *id = request_submit(
		q,
		json_make("[{s:s, s:[s, s], s:[]}]", "OP_ID", "OP_OS_DIAGNOSE",
			  "output_fields", "name", "variants", "names"),
		err);
	auto_json json_t *end = id == NULL
					? NULL
					: follow(q, json_integer_value(id),
						 clock_mono_us() + OS_US, err);
	const json_t *rows = json_array_get(json_array_get(end, 1), 0);
	json_t *list;

	if (end == NULL || check_end(q, id, end, err) < 0)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < json_array_size(rows); i++)
		add_names(list, json_array_get(rows, i));
	return list;
}
