/* SPDX-License-Identifier: BSD-2-Clause */
/* Many jobs at once: submitted together, followed one after the other, those
 * that run before those that wait. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_plan.h"
#include "cli/frame/cli_text.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

void cli_jobs_add_list(struct cli_jobs *jobs, const char *name,
		       json_t *ops STEALS)
{
	if (jobs->ops == NULL) {
		jobs->ops = json_array();
		jobs->names = xalloc(sizeof(*jobs->names));
	}
	json_array_append_new(jobs->ops, ops);
	strv_add(jobs->names, name);
}

void cli_jobs_add(struct cli_jobs *jobs, const char *name, json_t *op STEALS)
{
	cli_jobs_add_list(jobs, name, json_make("[o]", op));
}

void cli_jobs_done(struct cli_jobs *jobs)
{
	json_decref(jobs->ops);
	json_decref(jobs->jobs);
	json_decref(jobs->results);
	if (jobs->names != NULL)
		strv_done(jobs->names);
	free(jobs->names);
}

/* One answer of SubmitManyJobs. */
static void adopt_one(struct cli_jobs *jobs, const json_t *answer,
		      const char *name)
{
	const json_t *value = json_array_get(answer, 1);

	if (json_is_true(json_array_get(answer, 0))) {
		json_array_append_new(
			jobs->jobs,
			json_make("[O, s]", value, name == NULL ? "" : name));
		return;
	}
	auto_free char *text = cli_str(value);

	fprintf(stderr, "Failed to submit job%s%s: %s\n",
		name == NULL ? "" : " for ", name == NULL ? "" : name, text);
	jobs->failed++;
}

int cli_jobs_adopt(struct cli_jobs *jobs, const json_t *submitted)
{
	const json_t *answer;
	size_t i;

	if (jobs->jobs == NULL)
		jobs->jobs = json_array();
	json_array_foreach (submitted, i, answer)
		adopt_one(jobs, answer,
			  jobs->names == NULL ? NULL : jobs->names->items[i]);
	return jobs->failed;
}

static void print_ids(const struct cli_jobs *jobs)
{
	const json_t *job;
	size_t i;

	json_array_foreach (jobs->jobs, i, job) {
		auto_free char *id = cli_str(json_array_get(job, 0));
		const char *name = json_string_value(json_array_get(job, 1));

		if (*name == '\0')
			printf("%s\n", id);
		else
			printf("%s: %s\n", id, name);
	}
}

static void print_submitted(const struct cli_jobs *jobs)
{
	auto_strv struct strv ids = {0};
	auto_free char *joined = NULL;
	const json_t *job;
	size_t i;

	json_array_foreach (jobs->jobs, i, job) {
		auto_free char *id = cli_str(json_array_get(job, 0));

		strv_add(&ids, id);
	}
	joined = strv_join(&ids, ", ");
	printf("Submitted jobs %s\n", joined);
}

/* So many of the jobs that are left are asked for the one to follow next.  More
 * would rarely find a better one, and for each job of thousands all would be
 * asked. */
#define LOOK_MAX 25

/* Take out the job to be followed next: the first that does not wait for its
 * turn, else the first. */
static json_t *choose(struct cli *cli, struct cli_jobs *jobs, struct error *err)
{
	json_t *ids = json_array(), *job, *chosen;
	auto_json json_t *rows = NULL;
	size_t i, best = 0;

	json_array_foreach (jobs->jobs, i, job) {
		if (i == LOOK_MAX)
			break;
		json_array_append(ids, json_array_get(job, 0));
	}
	rows = cli_call_again(cli, "QueryJobs",
			      json_make("[o, [s]]", ids, "status"), err);
	if (rows == NULL)
		return NULL;
	for (i = 0; i < json_array_size(rows); i++) {
		const char *status = json_string_value(
			json_array_get(json_array_get(rows, i), 0));

		if (str_eq(status, "queued") || str_eq(status, "waiting"))
			continue;
		best = i;
		break;
	}
	chosen = json_incref(json_array_get(jobs->jobs, best));
	json_array_remove(jobs->jobs, best);
	return chosen;
}

static void note_result(struct cli_jobs *jobs, json_t *results)
{
	jobs->succeeded++;
	if (jobs->want_true && !json_is_true(json_array_get(results, 0)))
		jobs->unwell++;
	if (!jobs->keep_results)
		return;
	if (jobs->results == NULL)
		jobs->results = json_array();
	json_array_append(jobs->results, results);
}

/* " for web1"; for a job that another one has submitted " (the summary of its
 * first opcode)"; to be freed. */
static char *about(struct cli *cli, const json_t *job)
{
	const char *name = json_string_value(json_array_get(job, 1));
	const char *summary;
	struct error ignored;
	auto_json json_t *rows = NULL;

	if (*name != '\0')
		return xprintf(" for %s", name);
	rows = cli_call(
		cli, "QueryJobs",
		json_make("[[O], [s]]", json_array_get(job, 0), "summary"),
		&ignored);
	summary = json_string_value(
		json_array_get(json_array_get(json_array_get(rows, 0), 0), 0));
	return summary == NULL ? xstrdup("") : xprintf(" (%s)", summary);
}

static int wait_one(struct cli *cli, struct cli_jobs *jobs, struct error *err)
{
	auto_json json_t *job = choose(cli, jobs, err);
	auto_json json_t *results = NULL;
	auto_free char *id = NULL, *who = NULL;
	struct error failure;
	const char *name;

	if (job == NULL)
		return -1;
	id = cli_str(json_array_get(job, 0));
	name = json_string_value(json_array_get(job, 1));
	who = *name == '\0' ? xstrdup("") : xprintf(" for %s", name);
	printf("Waiting for job %s%s ...\n", id, who);
	fflush(stdout);
	results = cli_poll(cli, json_array_get(job, 0), false, &failure);
	if (results != NULL) {
		note_result(jobs, results);
		return 0;
	}
	if (cli_is_cut(cli, &failure)) {
		*err = failure;
		return -1;
	}
	auto_free char *text = cli_error_text(&failure);

	auto_free char *what = about(cli, job);

	fprintf(stderr, "Job %s%s has failed: %s\n", id, what, text);
	jobs->failed++;
	return 0;
}

int cli_jobs_wait(struct cli *cli, struct cli_jobs *jobs, struct error *err)
{
	if (!jobs->quiet && json_array_size(jobs->jobs) > 0)
		print_submitted(jobs);
	while (json_array_size(jobs->jobs) > 0)
		if (wait_one(cli, jobs, err) < 0)
			return -1;
	return 0;
}

int cli_jobs_submit(struct cli *cli, struct cli_jobs *jobs, struct error *err)
{
	auto_json json_t *answers = NULL;

	if (json_array_size(jobs->ops) == 0)
		return 0;
	if (cli_given(cli, &OPT_PLAN))
		return cli_plan(cli, json_incref(jobs->ops), err);
	answers = cli_call(cli, "SubmitManyJobs", json_make("[O]", jobs->ops),
			   err);
	if (answers == NULL)
		return -1;
	if (json_array_size(answers) != jobs->names->n)
		return error_set(err, ERR_LUXI, NULL,
				 "The master answered for %zu of %zu jobs",
				 json_array_size(answers), jobs->names->n);
	cli_jobs_adopt(jobs, answers);
	json_array_clear(jobs->ops);
	strv_done(jobs->names);
	*jobs->names = (struct strv){0};
	return 0;
}

int cli_jobs_run(struct cli *cli, struct cli_jobs *jobs, struct error *err)
{
	if (cli_jobs_submit(cli, jobs, err) < 0)
		return -1;
	if (cli_given(cli, &OPT_SUBMIT)) {
		print_ids(jobs);
		return 0;
	}
	return cli_jobs_wait(cli, jobs, err);
}

int cli_follow(struct cli *cli, const json_t *result, struct error *err)
{
	auto_jobs struct cli_jobs jobs = {0};

	cli_jobs_adopt(&jobs, json_get(result, "jobs"));
	if (cli_jobs_wait(cli, &jobs, err) < 0)
		return -1;
	return jobs.failed;
}

int cli_submit_and_follow(struct cli *cli, json_t *op, struct error *err)
{
	auto_json json_t *result = NULL;
	int code = cli_submit(cli, op, &result, err);
	int failed;

	if (code != CLI_OK || json_get(result, "jobs") == NULL)
		return code;
	failed = cli_follow(cli, result, err);
	if (failed < 0)
		return -1;
	return failed == 0 ? CLI_OK : CLI_FAILURE;
}

int cli_submit_and_tell(struct cli *cli, json_t *op, const char *good,
			const char *bad, struct error *err)
{
	auto_json json_t *result = NULL;
	auto_free char *errors = NULL;
	int code = cli_submit(cli, op, &result, err), failed;

	if (code != CLI_OK || result == NULL)
		return code;
	failed = cli_follow(cli, result, err);
	if (failed < 0)
		return -1;
	errors = cli_errors(failed);
	if (failed == 0)
		printf("%s\n", good);
	else
		printf("%s %s.\n", errors, bad);
	return failed == 0 ? CLI_OK : CLI_FAILURE;
}
