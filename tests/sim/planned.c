/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/planned.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/jobs/job_plan.h"
#include "queue/queue.h"

#define MINUTE_MS (60 * 1000)

/* --- making a plan --- */

struct request {
	struct sim *sim;
	json_t *jobs, *plan;
	struct error err;
	bool done;
};

static void plan_task(void *arg)
{
	struct request *r = arg;

	r->plan = job_plan(r->sim->master, r->jobs, &r->err);
	r->done = true;
}

static bool is_done(struct sim *s, void *arg)
{
	(void)s;
	return ((struct request *)arg)->done;
}

/* Values that a plan must not change: the configuration in memory, the last
 * job's id. */
static char *state(struct sim *s)
{
	auto_json json_t *document = config_document(s->master->config);
	auto_free char *text = json_text_sorted(document);

	return xprintf("%ju %s", (uintmax_t)queue_last_id(s->master->queue),
		       text);
}

json_t *sim_plan(struct sim *s, const json_t *op)
{
	struct request r = {.sim = s, .jobs = json_make("[[O]]", op)};
	auto_free char *before = state(s), *after = NULL;
	size_t files = s->files.n;

	task_set_owner(&s->nodes[0].masterd);
	task_spawn("plan", plan_task, &r);
	task_set_owner(NULL);
	cr_assert(sim_run(s, MINUTE_MS, is_done, &r), "the plan does not end");
	cr_assert_not_null(r.plan, "%s", r.err.text);
	after = state(s);
	cr_assert_str_eq(before, after, "a plan changes nothing");
	cr_assert_eq(s->files.n, files, "a plan makes no files");
	json_decref(r.jobs);
	return r.plan;
}

/* --- the real calls --- */

/* Calls that the master makes all the time, or that only look. */
static bool is_beside(const char *procedure)
{
	static const char *const beside[] = {
		"all_instances_info",
		"blockdev_find",
		"blockdev_getdimensions",
		"blockdev_getmirrorstatus",
		"bridges_exist",
		"hypervisor_validate_params",
		"iallocator_runner",
		"get_file_info",
		"instance_get_migration_status",
		"instance_info",
		"migration_info",
		"node_crypto_tokens",
		"node_info",
		"os_diagnose",
		"os_supports",
		"os_validate",
		"version",
		"upload_file",
		"upload_file_single",
		"write_ssconf_files",
	};

	for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
		if (strcmp(procedure, beside[i]) == 0)
			return true;
	return strncmp(procedure, "jobqueue_", strlen("jobqueue_")) == 0 ||
	       strncmp(procedure, "master_", strlen("master_")) == 0;
}

static void leave_beside(struct strv *calls)
{
	auto_strv struct strv all = *calls;

	*calls = (struct strv){0};
	for (size_t i = 0; i < all.n; i++) {
		auto_free char *procedure =
			xstrndup(all.items[i], strcspn(all.items[i], " "));

		if (!is_beside(procedure))
			strv_add(calls, all.items[i]);
	}
}

/* --- comparing --- */

static void add_step(struct strv *ret, const json_t *step)
{
	const char *what = json_str(step, "do", "");
	const char *procedure = json_str(step, "procedure", "hooks_runner");
	const json_t *nodes = json_get(step, "nodes");

	if (strcmp(what, "call") != 0 && strcmp(what, "hooks") != 0)
		return;
	for (size_t i = 0; i < json_array_size(nodes); i++)
		strv_addf(ret, "%s %s", procedure,
			  json_string_value(json_array_get(nodes, i)));
}

/* The changing calls of all jobs of a plan, and the outcome of the first. */
static char *planned_calls(const json_t *plan, struct strv *ret)
{
	const json_t *jobs = json_get(plan, "jobs"), *job, *op, *step;
	char *error = NULL;
	size_t i, k, n;

	json_array_foreach (jobs, i, job)
		json_array_foreach (json_get(job, "ops"), k, op) {
			const json_t *failure = json_get(op, "error");

			json_array_foreach (json_get(op, "steps"), n, step)
				add_step(ret, step);
			if (i == 0 && failure != NULL)
				error = json_text(failure);
		}
	return error == NULL ? xstrdup("success") : error;
}

static bool no_job_runs(struct sim *s, void *arg)
{
	(void)arg;
	for (uint64_t id = 1; id <= queue_last_id(s->master->queue); id++) {
		const struct job *j = queue_job(s->master->queue, id);

		if (j != NULL && !job_is_final(j))
			return false;
	}
	return true;
}

void sim_expect_as_planned(struct sim *s, json_t *op STEALS)
{
	auto_json json_t *plan = sim_plan(s, op);
	auto_strv struct strv wanted = {0}, calls = {0};
	auto_free char *outcome = planned_calls(plan, &wanted), *got = NULL;
	auto_free char *planned = NULL, *real = NULL;

	s->calls = &calls;
	got = sim_do(s, op);
	cr_assert(sim_run(s, MINUTE_MS, no_job_runs, NULL));
	s->calls = NULL;
	leave_beside(&calls);
	if (json_array_size(json_get(plan, "jobs")) > 1) {
		strv_sort(&wanted); /* they run side by side */
		strv_sort(&calls);
	}
	planned = strv_join(&wanted, "\n");
	real = strv_join(&calls, "\n");
	cr_expect_str_eq(got, outcome);
	cr_expect_str_eq(real, planned, "done:\n%s\nplanned:\n%s", real,
			 planned);
}
