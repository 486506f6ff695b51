/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/lu/plan.h"

#include "lib/json/json.h"
#include "masterd/lu_allocator.h"

const char *plan_iallocator(struct lu *lu, const char *given)
{
	const char *ours = json_str(config_cluster(lu->m->config),
				    "default_iallocator", "");

	if (given != NULL && !str_eq(given, "."))
		return given;
	return *ours == '\0' ? NULL : lu_keep_str(lu, xstrdup(ours));
}

/* "inst1 (to node2, node3)" and so on. */
static char *moves_text(const json_t *moved)
{
	auto_strv struct strv all = {0};
	size_t i;
	json_t *row;

	json_array_foreach ((json_t *)moved, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		auto_strv struct strv nodes = {0};
		auto_free char *to = NULL;

		json_to_strv(json_array_get(row, 2), &nodes);
		to = strv_join(&nodes, ", ");
		if (nodes.n > 0)
			strv_addf(&all, "%s (to %s)", name, to);
		else
			strv_add(&all, name);
	}
	return strv_join(&all, ", ");
}

/* "inst1 (why)" and so on. */
static char *failures_text(const json_t *failed)
{
	auto_strv struct strv all = {0};
	size_t i;
	json_t *row;

	json_array_foreach ((json_t *)failed, i, row)
		strv_addf(&all, "%s (%s)",
			  json_string_value(json_array_get(row, 0)),
			  json_string_value(json_array_get(row, 1)));
	return strv_join(&all, ", ");
}

static void set_early_release(const json_t *jobs, bool early)
{
	size_t i, k;
	json_t *job, *op;

	json_array_foreach ((json_t *)jobs, i, job)
		json_array_foreach (job, k, op)
			if (str_eq(json_str(op, "OP_ID", ""),
				   "OP_INSTANCE_REPLACE_DISKS"))
				json_set_bool(op, "early_release", early);
}

/* The jobs of the answer [[moved], [failed], [jobs]]. */
static json_t *read_plan(struct lu *lu, const json_t *plan, struct error *err)
{
	const json_t *moved = json_array_get(plan, 0);
	const json_t *failed = json_array_get(plan, 1);

	if (json_array_size(failed) > 0) {
		auto_free char *text = failures_text(failed);

		lu_warn(lu, "Unable to evacuate instances %s", text);
		error_set(err, ERR_EXEC, NULL,
			  "Unable to evacuate instances %s", text);
		return NULL;
	}
	if (json_array_size(moved) > 0) {
		auto_free char *text = moves_text(moved);

		lu_info(lu, "Instances to be moved: %s", text);
	}
	return json_incref(json_array_get(plan, 2));
}

WAITS json_t *plan_jobs(struct lu *lu, const struct plan_wish *wish,
			json_t *request STEALS, struct error *err)
{
	auto_json json_t *plan = lu_allocator(
		lu, request,
		(struct iallocator_how){
			.name = wish->iallocator,
			.disk_template = "diskless",
			.ignore_soft_errors = wish->ignore_soft_errors,
		},
		err);
	json_t *jobs;

	if (plan == NULL)
		return NULL;
	jobs = read_plan(lu, plan, err);
	set_early_release(jobs, wish->early_release);
	return jobs;
}
