/* SPDX-License-Identifier: BSD-2-Clause */
/* One job: make its opcode, submit it, follow it to its end. */
#include "cli/frame/cli_job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_plan.h"
#include "cli/frame/cli_text.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"

/* How long one WaitForJobChange may sleep, in seconds. */
#define WAIT_S 60

/* --- opcodes --- */

static int64_t priority_value(const char *name)
{
	if (str_eq(name, "low"))
		return 10;
	return str_eq(name, "high") ? -10 : 0;
}

static json_t *reason_entry(const char *source, const char *reason)
{
	return json_make("[s, s, I]", source, reason,
			 (json_int_t)(clock_wall_us() * 1000));
}

json_t *cli_user_reason(const struct cli *cli)
{
	json_t *trail = json_array();

	if (!str_empty(cli_text(cli, &OPT_REASON)))
		json_array_append_new(
			trail,
			reason_entry("gnt:user", cli_text(cli, &OPT_REASON)));
	return trail;
}

static json_t *reason_trail(const struct cli *cli)
{
	json_t *trail = cli_user_reason(cli);
	auto_free char *source = xprintf("gnt:client:%s", cli->tool->name);

	json_array_append_new(trail, reason_entry(source, cli->name));
	return trail;
}

json_t *cli_op(const struct cli *cli, const struct op_class *class)
{
	json_t *op = op_new(class);

	if (cli_has(cli, &OPT_DRY_RUN))
		json_set_bool(op, "dry_run", cli_given(cli, &OPT_DRY_RUN));
	else
		json_object_set_new(op, "dry_run", json_null());
	json_set_int(op, "debug_level", cli_count(cli, &OPT_DEBUG));
	json_set_int(op, "priority",
		     priority_value(cli_text(cli, &OPT_PRIORITY)));
	json_object_set_new(op, "reason", reason_trail(cli));
	cli_op_set(cli, op, "lock_timeout", &OPT_LOCK_TIMEOUT);
	return op;
}

void cli_op_set(const struct cli *cli, json_t *op, const char *param,
		const struct opt *option)
{
	const json_t *value = cli_value(cli, option);

	if (value == NULL)
		return;
	if (option->kind == KIND_FLAG)
		json_set_bool(op, param, true);
	else
		json_object_set_new(op, param, json_deep_copy(value));
}

void cli_op_object(const struct cli *cli, json_t *op, const char *param,
		   const struct opt *option)
{
	json_object_set_new(op, param, json_object());
	cli_op_set(cli, op, param, option);
}

void cli_op_flag(const struct cli *cli, json_t *op, const char *param,
		 const struct opt *option)
{
	json_set_bool(op, param, cli_given(cli, option));
}

void cli_op_unless(const struct cli *cli, json_t *op, const char *param,
		   const struct opt *option)
{
	json_set_bool(op, param, !cli_given(cli, option));
}

/* --- following a job --- */

/* On a terminal, entries of the type progress are drawn over each other. */
static bool in_progress;

static void end_progress(FILE *out)
{
	if (in_progress)
		putc('\n', out);
	in_progress = false;
}

static void print_line(FILE *out, const char *type, const char *when,
		       const char *text)
{
	if (str_eq(type, "progress") && isatty(fileno(out))) {
		fprintf(out, "\r%s %s\033[K", when, text);
		in_progress = true;
		return;
	}
	end_progress(out);
	fprintf(out, "%s %s\n", when, text);
}

static void print_entry(FILE *out, const json_t *entry)
{
	const json_t *stamp = json_array_get(entry, 1);
	const char *type = json_string_value(json_array_get(entry, 2));
	const json_t *message = json_array_get(entry, 3);
	auto_free char *when =
		cli_ctime((double)json_integer_value(json_array_get(stamp, 0)));
	auto_free char *text = NULL;

	if (str_eq(type, "message-list")) {
		auto_strv struct strv lines = {0};

		json_to_strv(message, &lines);
		text = strv_join(&lines, "\n");
	} else {
		auto_free char *raw = cli_str(message);

		text = cli_printable(raw);
	}
	print_line(out, type, when, text);
}

static bool is_final(const char *status)
{
	return str_eq(status, "success") || str_eq(status, "error") ||
	       str_eq(status, "canceled");
}

/* A job that waits produces no output, so say that it waits. */
static void note_waiting(const json_t *id, const char *status,
			 const char **said)
{
	auto_free char *text = cli_str(id);

	if (str_eq(*said, status))
		return;
	if (str_eq(status, "queued")) {
		fprintf(stderr, "Job %s is waiting in queue\n", text);
		*said = "queued";
	} else if (str_eq(status, "waiting")) {
		fprintf(stderr,
			"Job %s is trying to acquire all necessary locks\n",
			text);
		*said = "waiting";
	}
}

/* The text that on_interrupt() prints about the job. */
static char interrupt_note[160];

/* Ctrl-C does not end the job: say so. */
static void on_interrupt(int signal)
{
	ssize_t ignored =
		write(STDERR_FILENO, interrupt_note, strlen(interrupt_note));

	(void)signal;
	(void)ignored;
	_exit(CLI_FAILURE);
}

static void prepare_interrupt(const json_t *id)
{
	auto_free char *text = cli_str(id);

	snprintf(interrupt_note, sizeof(interrupt_note),
		 "\nAborted. Job %.20s goes on; see gnt-job watch %.20s, "
		 "gnt-job cancel %.20s.\n",
		 text, text, text);
	signal(SIGINT, on_interrupt);
}

/* The master cannot be reached, and nobody knows what becomes of the job: say
 * which one it is. */
static int out_of_sight(const struct cli *cli, const json_t *id,
			struct error *err)
{
	auto_free char *text = cli_str(id);

	if (!cli_is_cut(cli, err))
		return -1;
	return error_wrap(err,
			  "Job %s was submitted and may go on; gnt-job watch "
			  "%s follows it",
			  text, text);
}

/* Call WaitForJobChange until the job has ended and its log is told. */
static int follow(struct cli *cli, const json_t *id, bool quiet,
		  struct error *err)
{
	auto_json json_t *info = json_null(), *serial = json_null();
	/* What is on stdout is read by a program then. */
	FILE *out = cli_wants_data(cli) ? stderr : stdout;
	const char *said = "";

	prepare_interrupt(id);
	for (;;) {
		const json_t *log, *entry, *now;
		const char *status;
		size_t i;
		auto_json json_t *change = cli_call_again(
			cli, "WaitForJobChange",
			json_make("[O, [s], O, O, i]", id, "status", info,
				  serial, WAIT_S),
			err);

		if (change == NULL)
			return out_of_sight(cli, id, err);
		if (json_is_string(change)) { /* "nochange" of old masters */
			note_waiting(id,
				     json_string_value(json_array_get(info, 0)),
				     &said);
			continue;
		}
		now = json_array_get(change, 0);
		log = json_array_get(change, 1);
		status = json_string_value(json_array_get(now, 0));
		if (status == NULL)
			return error_set(err, ERR_JOB_LOST, NULL,
					 "The master knows no status of the "
					 "job");
		json_array_foreach (log, i, entry) {
			if (!quiet)
				print_entry(out, entry);
			json_decref(serial);
			serial = json_copy(json_array_get(entry, 0));
		}
		if (is_final(status))
			end_progress(out);
		fflush(out);
		if (json_array_size(log) == 0 && is_final(status))
			return 0;
		if (json_array_size(log) == 0 && json_equal(info, now))
			note_waiting(id, status, &said);
		json_decref(info);
		info = json_deep_copy(now);
	}
}

/* The error of the first opcode that failed. */
static int job_failure(const json_t *statuses, const json_t *results,
		       struct error *err)
{
	const json_t *status;
	size_t i;

	json_array_foreach (statuses, i, status) {
		const json_t *result = json_array_get(results, i);

		if (!str_eq(json_string_value(status), "error"))
			continue;
		if (json_is_string(result))
			error_set(err, ERR_EXEC, NULL, "%s",
				  json_string_value(result));
		else
			luxi_error_unpack(result, err);
		return -1;
	}
	return error_set(err, ERR_EXEC, NULL,
			 "The job failed without a "
			 "reason");
}

/* The reason, if the queue gives one: a filter's rule, a job that it depends
 * on. */
static void job_canceled(const json_t *id, const json_t *results,
			 struct error *err)
{
	auto_free char *text = cli_str(id);
	const json_t *result;
	size_t i;

	json_array_foreach (results, i, result)
		if (json_is_array(result) && json_array_size(result) == 2) {
			luxi_error_unpack(result, err);
			/* Of a kind that is printed as its text alone. */
			error_wrap_as(err, ERR_REQUEST, "Job %s was canceled",
				      text);
			return;
		}
	error_set(err, ERR_CANCELED, NULL, "Job was canceled");
}

/* How the job has ended: as cli_poll(). */
static json_t *outcome(struct cli *cli, const json_t *id, struct error *err)
{
	auto_json json_t *rows = NULL;
	json_t *row;
	const char *status;

	rows = cli_call_again(cli, "QueryJobs",
			      json_make("[[O], [s, s, s]]", id, "status",
					"opstatus", "opresult"),
			      err);
	if (rows == NULL) {
		out_of_sight(cli, id, err);
		return NULL;
	}
	row = json_array_get(rows, 0);
	status = json_string_value(json_array_get(row, 0));
	if (status == NULL) {
		auto_free char *text = cli_str(id);

		error_set(err, ERR_JOB_LOST, NULL,
			  "Job with id %s lost during execution", text);
		return NULL;
	}
	if (str_eq(status, "success"))
		return json_incref(json_array_get(row, 2));
	if (str_starts(status, "cancel"))
		job_canceled(id, json_array_get(row, 2), err);
	else
		job_failure(json_array_get(row, 1), json_array_get(row, 2),
			    err);
	return NULL;
}

json_t *cli_watch(struct cli *cli, const json_t *id, bool quiet,
		  struct error *err)
{
	return follow(cli, id, quiet, err) < 0 ? NULL : outcome(cli, id, err);
}

json_t *cli_poll(struct cli *cli, const json_t *id, bool quiet,
		 struct error *err)
{
	if (follow(cli, id, quiet, err) < 0 && err->kind != ERR_JOB_LOST)
		return NULL;
	return outcome(cli, id, err);
}

json_t *cli_submit_job(struct cli *cli, json_t *ops STEALS, struct error *err)
{
	if (cli_given(cli, &OPT_PLAN)) {
		cli_plan(cli, json_make("[o]", ops), err);
		return NULL;
	}
	return cli_call(cli, "SubmitJob", json_make("[o]", ops), err);
}

json_t *cli_run_op(struct cli *cli, json_t *op STEALS, struct error *err)
{
	auto_json json_t *results = NULL;
	auto_json json_t *id = cli_submit_job(cli, json_make("[o]", op), err);

	if (id == NULL)
		return NULL;
	results = cli_poll(cli, id, false, err);
	if (results == NULL)
		return NULL;
	if (json_array_size(results) == 0)
		return json_null();
	return json_incref(json_array_get(results, 0));
}

int cli_submit(struct cli *cli, json_t *op STEALS, json_t **ret_result,
	       struct error *err)
{
	bool submit = cli_given(cli, &OPT_SUBMIT);
	auto_json json_t *id = cli_submit_job(cli, json_make("[o]", op), err);
	auto_json json_t *results = NULL;
	auto_free char *text = NULL;

	if (ret_result != NULL)
		*ret_result = NULL;
	if (id == NULL)
		return -1;
	text = cli_str(id);
	if (cli_given(cli, &OPT_PRINT_JOBID)) {
		printf("%s\n", text);
		fflush(stdout);
	}
	if (submit) {
		fprintf(stderr, "JobID: %s\n", text);
		return CLI_OK;
	}
	results = cli_poll(cli, id, false, err);
	if (results == NULL)
		return -1;
	if (ret_result != NULL)
		*ret_result = json_array_size(results) == 0
				      ? json_null()
				      : json_incref(json_array_get(results, 0));
	return CLI_OK;
}
