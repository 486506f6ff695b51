/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-job why: what a job waits for, job by job, up to the one that runs. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/job/gnt_job.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static long long number(const json_t *step, const char *key)
{
	return (long long)json_int(step, key, 0);
}

static double seconds(const json_t *step)
{
	return json_number_value(json_get(step, "seconds"));
}

static void print_before(const json_t *step)
{
	long long n = number(step, "before");

	if (n == 1)
		printf("; 1 job is before it");
	else if (n > 1)
		printf("; %lld jobs are before it", n);
}

static void print_lock(const json_t *step)
{
	printf("waits for the lock %s (%s), ", json_str(step, "lock", "?"),
	       json_str(step, "mode", "?"));
	if (json_bool(step, "other_holds", false))
		printf("which job %lld has held (%s) for %.1f s",
		       number(step, "next"), json_str(step, "other_mode", "?"),
		       seconds(step));
	else
		printf("for which job %lld waits before it (%s)",
		       number(step, "next"), json_str(step, "other_mode", "?"));
	print_before(step);
}

static void print_depends(const json_t *step)
{
	printf("waits for the end of job %lld, on which it depends",
	       number(step, "next"));
}

static void print_gate(const json_t *step)
{
	if (number(step, "limit") > 0)
		printf(", which lets %lld job%s run at once, job %lld for "
		       "example",
		       number(step, "limit"),
		       number(step, "limit") == 1 ? "" : "s",
		       number(step, "next"));
	print_before(step);
}

static void print_filter(const json_t *step)
{
	printf("is held back by the filter %s", json_str(step, "filter", "?"));
	print_gate(step);
}

static void print_reason(const json_t *step)
{
	printf("is held back by its reason %s", json_str(step, "reason", "?"));
	print_gate(step);
}

static void print_places(const json_t *step)
{
	printf("waits for a free place: %lld jobs run, which is the limit "
	       "(max-running-jobs), job %lld for longest",
	       number(step, "limit"), number(step, "next"));
	print_before(step);
}

static void print_runs(const json_t *step)
{
	printf("runs for %.1f s", seconds(step));
}

static void print_starts(const json_t *step)
{
	(void)step;
	printf("waits for nobody; it is about to start");
}

static void print_ended(const json_t *step)
{
	const char *error = json_str(step, "error", NULL);

	printf("has ended%s",
	       json_bool(step, "archived", false) ? " and is archived" : "");
	if (error != NULL)
		printf(": %s", error);
}

static const struct {
	const char *why;
	void (*print)(const json_t *step);
} reasons[] = {
	{"lock", print_lock},	  {"depends", print_depends},
	{"filter", print_filter}, {"reason", print_reason},
	{"places", print_places}, {"runs", print_runs},
	{"starts", print_starts}, {"ended", print_ended},
};

static void print_step(const json_t *step)
{
	printf("Job %lld (%s, %s) ", number(step, "id"),
	       json_str(step, "opcode", "?"), json_str(step, "status", "?"));
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strcmp(reasons[i].why, json_str(step, "why", "")) == 0)
			reasons[i].print(step);
	putchar('\n');
}

static int why(struct cli *cli, struct error *err)
{
	auto_json json_t *steps = NULL;
	const json_t *step;
	int64_t id;
	size_t i;

	if (!str_to_int64(cli->args[0], &id) || id < 1)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid job ID '%s' (a number is wanted)",
				 cli->args[0]);
	steps = cli_call(cli, "QueryJobWhy", json_make("[I]", (json_int_t)id),
			 err);
	if (steps == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		cli_print_data(cli, steps);
		return CLI_OK;
	}
	json_array_foreach (steps, i, step)
		print_step(step);
	return CLI_OK;
}

const struct cli_command gnt_job_why = {
	.name = "why",
	.args = "<job-id>",
	.help = "Show which jobs a job waits for, and what for",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_INFO},
	.run = why,
};
