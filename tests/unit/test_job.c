/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "queue/jobs/job.h"
#include "tests/lib/compat.h"

#define JOBS "tests/compat/jobs"

static struct job *read_job(const char *text)
{
	struct error err;
	struct job *j = job_from_text(text, strlen(text), &err);

	cr_assert_not_null(j, "%s", err.text);
	return j;
}

static char *read_in(const char *folder, const char *name)
{
	auto_free char *path = xprintf("%s/%s", folder, name);
	struct error err;
	char *text = fs_read(path, 1 << 20, NULL, &err);

	cr_assert_not_null(text, "%s", err.text);
	return text;
}

static char *sample(const char *name)
{
	return read_in(JOBS, name);
}

/* Each file means the same after we have read and written it.  Who ran the
 * job there (livelock, process_id) is of no use to anybody later. */
static size_t check_folder(const char *folder)
{
	auto_strv struct strv names = {0};
	struct error err;
	size_t n = 0;

	cr_assert_eq(fs_list(folder, &names, &err), 0, "%s", err.text);
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *theirs = NULL, *ours = NULL;
		auto_json json_t *a = NULL, *b = NULL;
		struct job *j;

		if (!str_starts(names.items[i], "job-"))
			continue;
		theirs = read_in(folder, names.items[i]);
		j = read_job(theirs);
		ours = job_to_text(j);
		job_free(j);
		a = json_parse(theirs, strlen(theirs), &err);
		b = json_parse(ours, strlen(ours), &err);
		json_object_del(a, "livelock");
		json_object_del(a, "process_id");
		compat_assert_same(b, a);
		cr_assert_null(strchr(ours, '\n'));
		n++;
	}
	return n;
}

Test(job, files_of_ganeti_survive_reading_and_writing)
{
	cr_assert_gt(check_folder(JOBS), 5);
}

Test(job, all_recorded_files_survive_too)
{
	const char *folder = COMPAT_SHARED "state/node1/var-lib-ganeti/queue";

	compat_need(folder);
	cr_assert_gt(check_folder(folder), 100);
}

static void expect_field(const struct job *j, const char *field,
			 const char *expected)
{
	auto_json json_t *value = job_field(j, field);
	auto_free char *text = json_text(value);

	cr_assert_str_eq(text, expected, "%s is %s", field, text);
}

Test(job, fields_show_what_the_file_says)
{
	auto_free char *text = sample("job-2391");
	struct job *j = read_job(text);

	expect_field(j, "id", "2391");
	expect_field(j, "status", "\"error\"");
	expect_field(j, "opstatus", "[\"success\",\"error\",\"error\"]");
	expect_field(j, "archived", "false");
	expect_field(j, "oppriority", "[0,0,0]");
	cr_assert_null(job_field(j, "nonsense"));
	job_free(j);
}

Test(job, log_serial_goes_on_after_reading)
{
	auto_free char *text = sample("job-2283");
	struct job *j = read_job(text);
	uint64_t serial = j->log_serial;
	auto_json json_t *log = NULL, *last = NULL;

	cr_assert_gt(serial, 0);
	job_log(j, 0, "message", json_string("more"), 5000001);
	log = job_field(j, "oplog");
	cr_assert_eq(json_array_size(json_array_get(log, 0)), serial + 1);
	last = json_make("[I, [i, i], s, s]", (json_int_t)serial + 1, 5, 1,
			 "message", "more");
	cr_assert(json_equal(
		json_array_get(json_array_get(log, 0), (size_t)serial), last));
	job_free(j);
}

Test(job, broken_files_are_refused)
{
	static const char *const broken[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"id\": 0, \"ops\": []}",
		"{\"id\": \"0\", \"ops\": []}",
		"{\"id\": \"1x\", \"ops\": []}",
		"{\"id\": 1}",
		"{\"id\": 1, \"ops\": {}}",
		"{\"id\": 1, \"ops\": [{}]}",
		"{\"id\": 1, \"ops\": [{\"input\": {\"OP_ID\": \"OP_X\"}}]}",
		"{\"id\": 1, \"ops\": [{\"input\": {\"OP_ID\": \"OP_X\"},"
		"\"status\": \"odd\"}]}",
		"{\"id\": 1, \"ops\": [{\"input\": {\"OP_ID\": \"OP_X\"},"
		"\"status\": \"queued\", \"log\": [[1]]}]}",
		"{\"id\": 1, \"ops\": [{\"input\": {\"OP_ID\": \"OP_X\"},"
		"\"status\": \"queued\", \"priority\": \"high\"}]}",
		"{\"id\": 1, \"ops\": [], \"start_timestamp\": [1]}",
		"{\"id\": 1, \"ops\": [], \"end_timestamp\": [1, 1000000]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct error err;

		cr_assert_null(
			job_from_text(broken[i], strlen(broken[i]), &err), "%s",
			broken[i]);
		cr_assert_eq(err.kind, ERR_JOB_CORRUPT);
	}
}

/* As in files of Ganeti before 2.6. */
Test(job, an_id_may_be_a_text)
{
	struct job *j = read_job("{\"id\": \"17\", \"ops\": []}");

	cr_assert_eq(j->id, 17);
	job_free(j);
}

static struct job *two_ops(void)
{
	struct job *j = job_new(7, 2);
	auto_json json_t *input = json_make("{s:s, s:i}", "OP_ID",
					    "OP_TEST_DELAY", "priority", -10);

	job_op_init(&j->ops[0], input, "TEST_DELAY(1)");
	job_op_init(&j->ops[1], input, NULL);
	return j;
}

Test(job, status_follows_the_opcodes)
{
	struct job *j = two_ops();

	cr_assert_eq(job_status(j), JOB_QUEUED);
	cr_assert_eq(job_priority(j), -10);
	job_op_move(&j->ops[0], JOB_WAITING);
	cr_assert_eq(job_status(j), JOB_WAITING);
	job_op_move(&j->ops[0], JOB_RUNNING);
	job_op_end(&j->ops[0], JOB_SUCCESS, json_null(), 1);
	cr_assert_null(j->ops[0].result);
	cr_assert_eq(job_status(j), JOB_QUEUED);
	job_op_move(&j->ops[1], JOB_WAITING);
	job_op_move(&j->ops[1], JOB_CANCELING);
	cr_assert_eq(job_status(j), JOB_CANCELING);
	cr_assert(!job_is_final(j));
	job_op_end(&j->ops[1], JOB_CANCELED, NULL, 2);
	cr_assert_eq(job_status(j), JOB_CANCELED);
	cr_assert(job_is_final(j));
	cr_assert_eq(job_priority(j), 0);
	expect_field(j, "summary", "[\"TEST_DELAY(1)\",\"TEST_DELAY(None)\"]");
	job_free(j);
}

Test(job, a_final_state_does_not_change, .signal = SIGABRT)
{
	struct job *j = two_ops();

	job_op_end(&j->ops[0], JOB_ERROR, NULL, 1);
	job_op_move(&j->ops[0], JOB_RUNNING);
}

Test(job, the_rest_ends_without_times_that_never_were)
{
	struct job *j = two_ops();
	auto_json json_t *result = json_string("why");

	job_op_move(&j->ops[0], JOB_WAITING);
	j->ops[0].start_us = 3;
	job_end_rest(j, 0, JOB_ERROR, result, 9);
	expect_field(j, "opend", "[[0,9],null]");
	expect_field(j, "opresult", "[\"why\",\"why\"]");
	job_free(j);
}

Test(job, copies_are_apart)
{
	struct job *j = two_ops(), *copy;

	job_log(j, 1, "message", json_string("one"), 1);
	copy = job_copy(j);
	job_log(copy, 1, "message", json_string("two"), 2);
	job_op_move(&copy->ops[0], JOB_WAITING);
	cr_assert_eq(job_status(j), JOB_QUEUED);
	expect_field(j, "oplog", "[[],[[1,[0,1],\"message\",\"one\"]]]");
	job_assign(j, copy);
	cr_assert_eq(job_status(j), JOB_WAITING);
	cr_assert_eq(j->log_serial, 2);
	job_free(j);
}

Test(job, errors_become_results)
{
	struct error err;
	auto_json json_t *a = NULL, *b = NULL;
	auto_free char *a_text = NULL, *b_text = NULL;

	error_set(&err, ERR_PREREQ, ECODE_STATE, "no");
	a = job_error_result(&err);
	a_text = json_text(a);
	cr_assert_str_eq(a_text,
			 "[\"OpPrereqError\",[\"no\",\"wrong_state\"]]");
	error_set(&err, ERR_EXEC, NULL, "not UTF-8: \xff");
	b = job_error_result(&err);
	b_text = json_text(b);
	cr_assert_str_eq(b_text, "[\"OpExecError\",[\"not UTF-8: ?\"]]");
}

Test(job, failed_hooks_are_a_list_in_the_result)
{
	struct error err;
	auto_json json_t *result = NULL;
	auto_free char *text = NULL;

	error_set(&err, ERR_HOOKS_ABORT, NULL, "%s",
		  "[[\"n1\", \"a.d/x\", \"no\"]]");
	result = job_error_result(&err);
	text = json_text(result);
	cr_assert_str_eq(text, "[\"HooksAbort\",[[[\"n1\",\"a.d/x\","
			       "\"no\"]]]]");
}

/* The serial numbers of the entries behind this one. */
static void expect_since(const struct job *j, int64_t serial,
			 const char *expected)
{
	auto_json json_t *newer = job_log_since(j, serial);
	auto_buf struct buf text = {0};
	const json_t *entry;
	size_t i;

	json_array_foreach (newer, i, entry)
		buf_addf(&text, "%d ",
			 (int)json_integer_value(json_array_get(entry, 0)));
	cr_assert_str_eq(text.data == NULL ? "" : text.data, expected);
}

Test(job, the_log_behind_a_known_entry)
{
	static const char *const nasty[] = {"],[9,",	"\\",	  "\"",
					    "a\\\",[8", "{[\\\"", ""};
	struct job *j = two_ops();
	auto_json json_t *last = NULL;

	expect_since(j, -1, "");
	for (size_t i = 0; i < ARRAY_SIZE(nasty); i++)
		job_log(j, 0, "message", json_string(nasty[i]), 1);
	job_log(j, 1, "other", json_make("[{s:[s]}]", "]", "[7,"), 1);
	expect_since(j, -1, "1 2 3 4 5 6 7 ");
	expect_since(j, 0, "1 2 3 4 5 6 7 ");
	expect_since(j, 2, "3 4 5 6 7 ");
	expect_since(j, 5, "6 7 ");
	expect_since(j, 6, "7 ");
	expect_since(j, 7, "");
	last = job_log_since(j, 3);
	cr_assert_str_eq(
		json_string_value(json_array_get(json_array_get(last, 0), 3)),
		nasty[3]);
	job_free(j);
}

/* With all entries parsed each time it would take minutes. */
Test(job, a_long_log_is_followed, .timeout = 20)
{
	struct job *j = two_ops();

	for (int64_t i = 0; i < 100000; i++) {
		auto_json json_t *newer = NULL;

		job_log(j, 0, "message", json_string("a line of the log"), 1);
		newer = job_log_since(j, i);
		cr_assert_eq(json_array_size(newer), 1);
	}
	job_free(j);
}

Test(job, progress_is_a_message_in_files)
{
	struct job *j = job_new(7, 1);
	auto_json json_t *input = json_make("{s:s}", "OP_ID", "OP_TEST_DELAY");
	auto_free char *text = NULL;

	job_op_init(&j->ops[0], input, NULL);
	job_log(j, 0, "message", json_string("a],\"progress\",b"), 1000000);
	job_log(j, 0, "progress", json_string("half"), 2000000);
	job_log(j, 0, "progress", json_string("done"), 3000000);
	text = job_to_text(j);
	cr_assert_not_null(strstr(text, "\"log\": [[1,[1,0],\"message\","
					"\"a],\\\"progress\\\",b\"],"
					"[2,[2,0],\"message\",\"half\"],"
					"[3,[3,0],\"message\",\"done\"]]"),
			   "%s", text);
	job_free(j);
}
