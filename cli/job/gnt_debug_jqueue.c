/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-debug test-jobqueue: jobs that stop at certain moments of their life, so
 * that what the queue shows can be compared with their real state. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define WAIT_S 30
#define MESSAGE_PREFIX "TESTMSG="

static const struct mode {
	const char *title;
	size_t n_ops;
	size_t fails_at; /* from 1; 0: none */
} modes[] = {
	{"Testing job success", 1, 0},
	{"Testing multiple successful opcodes", 2, 0},
	{"Testing job failure", 1, 1},
	{"Testing partial job failure", 4, 3},
};

static const char *const texts[] = {"Hello World", "A", "", "B", "Foo|bar|baz"};
#define N_TEXTS ARRAY_SIZE(texts)

/* A job that is followed. */
struct followed {
	struct cli *cli;
	json_t *id;
	size_t n_messages; /* that have come, of all opcodes */
};

static int differs(const char *what, const char *got, const char *wanted,
		   struct error *err)
{
	if (str_eq(got, wanted))
		return 0;
	return error_set(err, ERR_EXEC, NULL, "%s is '%s', not '%s'", what,
			 got == NULL ? "none" : got, wanted);
}

static int check_status(struct followed *f, const char *wanted,
			struct error *err)
{
	auto_json json_t *rows =
		cli_call(f->cli, "QueryJobs",
			 json_make("[[O], [s]]", f->id, "status"), err);

	if (rows == NULL)
		return -1;
	return differs(
		"The job's status",
		json_string_value(json_array_get(json_array_get(rows, 0), 0)),
		wanted, err);
}

/* The job goes on when the connection is closed. */
static int connect_to(const char *file, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", file);
	if (fd >= 0 &&
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return error_set(err, ERR_EXEC, NULL,
			 "The job's socket %s cannot be reached", file);
}

/* [socket, moment, number] */
static int on_stop(struct followed *f, const json_t *message, struct error *err)
{
	const char *file = json_string_value(json_array_get(message, 0));
	const char *moment = json_string_value(json_array_get(message, 1));
	size_t number = (size_t)json_integer_value(json_array_get(message, 2));
	int fd = connect_to(file == NULL ? "" : file, err);
	int rc = 0;

	if (fd < 0)
		return -1;
	if (str_eq(moment, "expandnames"))
		rc = check_status(f, "waiting", err);
	else if (str_eq(moment, "exec") || str_eq(moment, "logmsg"))
		rc = check_status(f, "running", err);
	if (rc == 0 && str_eq(moment, "logmsg") &&
	    (f->n_messages - 1) % N_TEXTS + 1 != number)
		rc = error_set(err, ERR_EXEC, NULL,
			       "%zu messages have come, not %zu", f->n_messages,
			       number);
	close(fd);
	return rc;
}

static int on_entry(struct followed *f, const json_t *entry, struct error *err)
{
	const char *type = json_string_value(json_array_get(entry, 2));
	const json_t *message = json_array_get(entry, 3);
	const char *text = json_string_value(message);

	if (str_eq(type, "jqueue-test"))
		return on_stop(f, message, err);
	if (text == NULL || !str_starts(text, MESSAGE_PREFIX))
		return 0;
	return differs("The message", text + strlen(MESSAGE_PREFIX),
		       texts[f->n_messages++ % N_TEXTS], err);
}

static bool is_final(const char *status)
{
	return str_eq(status, "success") || str_eq(status, "error") ||
	       str_eq(status, "canceled");
}

/* Read the log to the end; *ret_status is the last one, to be freed. */
static int follow(struct followed *f, char **ret_status, struct error *err)
{
	auto_json json_t *seen = json_null();
	json_int_t serial = -1;

	for (;;) {
		auto_json json_t *change =
			cli_call(f->cli, "WaitForJobChange",
				 json_make("[O, [s], O, I, i]", f->id, "status",
					   seen, serial, WAIT_S),
				 err);
		const json_t *entries = json_array_get(change, 1);
		const char *status;

		if (change == NULL)
			return -1;
		if (!json_is_array(change))
			continue;
		for (size_t i = 0; i < json_array_size(entries); i++) {
			const json_t *entry = json_array_get(entries, i);

			serial = json_integer_value(json_array_get(entry, 0));
			if (on_entry(f, entry, err) < 0)
				return -1;
		}
		json_decref(seen);
		seen = json_incref(json_array_get(change, 0));
		status = json_string_value(json_array_get(seen, 0));
		if (is_final(status)) {
			*ret_status = xstrdup(status);
			return 0;
		}
	}
}

static json_t *mode_ops(const struct cli *cli, const struct mode *m)
{
	json_t *ops = json_array();

	for (size_t i = 0; i < m->n_ops; i++) {
		json_t *op = cli_op(cli, &op_class_test_jqueue);
		json_t *messages = json_array();

		for (size_t k = 0; k < N_TEXTS; k++)
			json_array_append_new(messages, json_string(texts[k]));
		json_set_bool(op, "notify_waitlock", true);
		json_set_bool(op, "notify_exec", true);
		json_object_set_new(op, "log_messages", messages);
		json_set_bool(op, "fail", i + 1 == m->fails_at);
		json_array_append_new(ops, op);
	}
	return ops;
}

/* Opcodes from the failed one on are errors. */
static int check_ops(struct followed *f, const struct mode *m,
		     struct error *err)
{
	auto_json json_t *rows =
		cli_call(f->cli, "QueryJobs",
			 json_make("[[O], [s]]", f->id, "opstatus"), err);
	const json_t *statuses = json_array_get(json_array_get(rows, 0), 0);

	if (rows == NULL)
		return -1;
	if (json_array_size(statuses) != m->n_ops)
		return error_set(err, ERR_EXEC, NULL,
				 "%zu opcodes have a status, not %zu",
				 json_array_size(statuses), m->n_ops);
	for (size_t i = 0; i < m->n_ops; i++)
		if (differs("An opcode's status",
			    json_string_value(json_array_get(statuses, i)),
			    m->fails_at != 0 && i + 1 >= m->fails_at
				    ? "error"
				    : "success",
			    err) < 0)
			return -1;
	return 0;
}

static int test_mode(struct cli *cli, const struct mode *m, struct error *err)
{
	struct followed f = {.cli = cli};
	auto_json json_t *id = cli_submit_job(cli, mode_ops(cli, m), err);
	auto_free char *status = NULL;
	size_t n_run = m->fails_at != 0 ? m->fails_at : m->n_ops;

	if (id == NULL)
		return -1;
	printf("%s\n", m->title);
	f.id = id;
	if (follow(&f, &status, err) < 0 ||
	    differs("The job's last status", status,
		    m->fails_at != 0 ? "error" : "success", err) < 0)
		return -1;
	if (f.n_messages != n_run * N_TEXTS)
		return error_set(err, ERR_EXEC, NULL,
				 "%zu messages have come, not %zu",
				 f.n_messages, n_run * N_TEXTS);
	return check_ops(&f, m, err);
}

/* --- submission and dependencies --- */

static json_t *short_delay(const struct cli *cli)
{
	json_t *op = cli_op(cli, &op_class_test_delay);

	json_object_set_new(op, "duration", json_real(0.01));
	return op;
}

static int must_fail(struct cli *cli, const char *what, json_t *op STEALS,
		     struct error *err)
{
	struct error ignored;
	auto_json json_t *id =
		cli_call(cli, "SubmitJob", json_make("[[o]]", op), &ignored);

	if (id == NULL)
		return 0;
	return error_set(err, ERR_EXEC, NULL, "%s was accepted", what);
}

static int test_submission(struct cli *cli, struct error *err)
{
	static const int priorities[] = {-30, -5, 5, 30};

	printf("Testing job submission\n");
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		json_t *op = short_delay(cli);

		json_set_int(op, "priority", priorities[i]);
		if (must_fail(cli, "A priority that is none", op, err) < 0)
			return -1;
	}
	return 0;
}

static int test_dependencies(struct cli *cli, struct error *err)
{
	auto_jobs struct cli_jobs jobs = {.quiet = true};
	json_t *alone = short_delay(cli);
	auto_json json_t *list = json_array(), *submitted = NULL;

	printf("Testing job dependencies\n");
	json_object_set_new(alone, "depends", json_make("[[i, n]]", -1));
	if (must_fail(cli, "A dependency on a job before the first", alone,
		      err) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		json_t *op = short_delay(cli);

		if (i > 0)
			json_object_set_new(
				op, "depends",
				json_make("[[i, [s]]]", -i, "success"));
		json_array_append_new(list, json_make("[o]", op));
	}
	submitted =
		cli_call(cli, "SubmitManyJobs", json_make("[O]", list), err);
	if (submitted == NULL)
		return -1;
	cli_jobs_adopt(&jobs, submitted);
	if (cli_jobs_wait(cli, &jobs, err) < 0)
		return -1;
	return jobs.failed == 0
		       ? 0
		       : error_set(err, ERR_EXEC, NULL,
				   "%d of the jobs that depend on each other "
				   "failed",
				   jobs.failed);
}

static int test_jobqueue(struct cli *cli, struct error *err)
{
	if (test_submission(cli, err) < 0 || test_dependencies(cli, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (test_mode(cli, &modes[i], err) < 0)
			return -1;
	printf("Job queue test successful\n");
	return CLI_OK;
}

const struct cli_command debug_test_jobqueue = {
	.name = "test-jobqueue",
	.args = "",
	.help = "Run jobs that test the job queue",
	.options = {&OPT_PRIORITY},
	.run = test_jobqueue,
};
