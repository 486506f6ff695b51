/* SPDX-License-Identifier: BSD-2-Clause */
/* Ask the master what jobs would do, and show it: a line for each lock and
 * each step, or as data. */
#include "cli/frame/cli_plan.h"

#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_text.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"

static void line(const char *verb, const char *text)
{
	printf("  %-7s %s\n", verb, text);
}

/* Parameters that differ in every opcode, or interest nobody. */
static bool is_noise(const char *param)
{
	static const char *const noise[] = {"OP_ID", "reason", "debug_level"};

	for (size_t i = 0; i < ARRAY_SIZE(noise); i++)
		if (strcmp(param, noise[i]) == 0)
			return true;
	return false;
}

/* Whether the value means the same as leaving the parameter out. */
static bool is_nothing(const json_t *value)
{
	return json_is_null(value) || json_is_false(value) ||
	       (json_is_object(value) && json_object_size(value) == 0) ||
	       (json_is_array(value) && json_array_size(value) == 0);
}

static bool is_default(const json_t *value, const json_t *usual)
{
	if (usual == NULL || json_is_null(usual))
		return is_nothing(value);
	return json_equal(value, usual);
}

/* The parameters that are not what they are by default. */
static void show_opcode(const json_t *op)
{
	const struct op_class *class = op_class_find(json_str(op, "OP_ID", ""));
	auto_json json_t *defaults =
		class == NULL ? json_object() : op_new(class);
	const char *param;
	json_t *value;

	json_object_foreach (json_unconst(op), param, value) {
		auto_free char *text = NULL, *pair = NULL;

		if (is_noise(param) ||
		    is_default(value, json_object_get(defaults, param)))
			continue;
		text = cli_str(value);
		pair = xprintf("%s=%s", param, text);
		line("with", pair);
	}
}

static void show_locks(const json_t *op)
{
	int64_t at_least = json_int(op, "at_least", 0);
	const json_t *lock;
	size_t i;

	json_array_foreach (json_get(op, "locks"), i, lock) {
		const json_t *holders = json_get(lock, "held_by");
		auto_free char *jobs = cli_join(holders, ", ");
		auto_free char *text = xprintf(
			"%s (%s%s)%s%s", json_str(lock, "name", "?"),
			json_str(lock, "mode", "?"),
			json_bool(lock, "optional", false) ? ", if it is free"
							   : "",
			holders == NULL ? "" : ", held by job ",
			holders == NULL ? "" : jobs);

		line("lock", text);
	}
	if (at_least > 0) {
		auto_free char *text =
			xprintf("at least %jd of those that are taken if free",
				(intmax_t)at_least);

		line("", text);
	}
}

/* " on node1, node2" */
static char *on_nodes(const json_t *step)
{
	auto_free char *nodes = cli_join(json_get(step, "nodes"), ", ");

	return xprintf(" on %s", nodes);
}

static char *call_text(const json_t *step)
{
	auto_free char *about = cli_join(json_get(step, "about"), " ");
	auto_free char *nodes = on_nodes(step);

	return xprintf("%s%s%s%s", json_str(step, "procedure", "?"),
		       *about == '\0' ? "" : " ", about, nodes);
}

static char *hooks_text(const json_t *step)
{
	auto_free char *nodes = on_nodes(step);

	return xprintf("%s-%s.d%s", json_str(step, "path", "?"),
		       json_str(step, "phase", "?"), nodes);
}

static char *change_text(const json_t *change)
{
	const json_t *members = json_get(change, "members");
	auto_free char *text = xprintf(
		"%s %s %s", json_str(change, "change", "?"),
		json_str(change, "kind", "?"), json_str(change, "name", "?"));
	auto_free char *list = NULL;

	if (json_array_size(members) == 0)
		return steal(&text);
	list = cli_join(members, ", ");
	return xprintf("%s (%s)", text, list);
}

static char *write_text(const json_t *step)
{
	const json_t *candidates = json_get(step, "candidates"), *change;
	auto_free char *to = cli_join(candidates, ", ");
	struct buf b = {0};
	size_t i;

	buf_adds(&b, "the configuration: ");
	json_array_foreach (json_get(step, "changes"), i, change) {
		auto_free char *text = change_text(change);

		buf_addf(&b, "%s%s", i > 0 ? ", " : "", text);
	}
	if (i == 0)
		buf_adds(&b, "nothing changed");
	if (json_array_size(candidates) > 0)
		buf_addf(&b, "; also to %s", to);
	if (json_bool(step, "ssconf", false))
		buf_adds(&b, "; ssconf files to all nodes");
	return buf_steal(&b);
}

static char *jobs_text(const json_t *step)
{
	auto_free char *jobs = cli_join(json_get(step, "jobs"), ", ");

	return xprintf("jobs %s", jobs);
}

/* Lines of a job's log may be indented. */
static char *said_text(const json_t *step)
{
	const char *text = json_str(step, "text", "");

	return xstrdup(text + strspn(text, " "));
}

static void show_step(const json_t *step)
{
	const char *what = json_str(step, "do", "?");
	auto_free char *text = NULL;

	if (strcmp(what, "look") == 0 || strcmp(what, "call") == 0)
		text = call_text(step);
	else if (strcmp(what, "hooks") == 0)
		text = hooks_text(step);
	else if (strcmp(what, "write") == 0)
		text = write_text(step);
	else if (strcmp(what, "submit") == 0)
		text = jobs_text(step);
	else
		text = said_text(step);
	line(what, text);
}

static void show_error(const json_t *error)
{
	const char *class = json_string_value(json_array_get(error, 0));
	auto_free char *arguments = cli_join(json_array_get(error, 1), ", ");
	auto_free char *text =
		xprintf("%s: %s", class == NULL ? "?" : class, arguments);

	line("fails", text);
}

static void show_op(const json_t *op)
{
	const json_t *error = json_get(op, "error"), *step;
	const char *unknown = json_str(op, "unknown", NULL);
	size_t i;

	printf(" %s\n", json_str(op, "summary", "?"));
	show_opcode(json_get(op, "opcode"));
	show_locks(op);
	json_array_foreach (json_get(op, "steps"), i, step)
		show_step(step);
	if (error != NULL)
		show_error(error);
	if (unknown != NULL) {
		auto_free char *text =
			xprintf("what comes after the answer of %s", unknown);

		line("unknown", text);
	}
}

static void show_job(const json_t *job)
{
	const json_t *by = json_get(job, "by"), *op;
	size_t i;

	printf("Job %jd", (intmax_t)json_int(job, "id", 0));
	if (by != NULL)
		printf(", submitted by job %jd",
		       (intmax_t)json_integer_value(by));
	printf(":\n");
	json_array_foreach (json_get(job, "ops"), i, op)
		if (json_get(op, "steps") != NULL)
			show_op(op);
	if (json_get(job, "error") != NULL)
		show_error(json_get(job, "error"));
}

static void show(const json_t *plan)
{
	int64_t left = json_int(plan, "left", 0);
	const json_t *job;
	size_t i;

	printf("A plan; nothing was done, and no job was submitted.\n");
	json_array_foreach (json_get(plan, "jobs"), i, job)
		show_job(job);
	if (left > 0)
		printf("And %jd more jobs.\n", (intmax_t)left);
}

/* Print the errors of jobs that would fail; returns the exit code. */
static int tell_errors(const struct cli *cli, const json_t *plan)
{
	const json_t *job, *op;
	int code = CLI_OK;
	size_t i, k;

	json_array_foreach (json_get(plan, "jobs"), i, job) {
		const json_t *error = json_get(job, "error");
		struct error err;

		json_array_foreach (json_get(job, "ops"), k, op)
			if (error == NULL)
				error = json_get(op, "error");
		if (error == NULL)
			continue;
		luxi_error_unpack(error, &err);
		code = cli_error(cli, &err);
	}
	return code;
}

int cli_plan(struct cli *cli, json_t *jobs STEALS, struct error *err)
{
	auto_json json_t *plan =
		cli_call(cli, "PlanJobs", json_make("[o]", jobs), err);

	if (plan == NULL)
		return -1;
	if (cli_wants_data(cli))
		cli_print_data(cli, json_get(plan, "jobs"));
	else
		show(plan);
	cli->planned = true;
	cli->plan_code = tell_errors(cli, plan);
	return -1;
}
