/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster verify and verify-disks: jobs that submit jobs. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static json_t *verify_op(const struct cli *cli)
{
	json_t *op = cli_op(cli, &op_class_cluster_verify);

	cli_op_flag(cli, op, "verbose", &OPT_VERBOSE);
	cli_op_flag(cli, op, "error_codes", &OPT_ERROR_CODES);
	cli_op_flag(cli, op, "debug_simulate_errors", &OPT_SIMULATE_ERRORS);
	json_object_set_new(op, "skip_checks", json_array());
	if (cli_given(cli, &OPT_NO_NPLUS1))
		json_array_append_new(json_object_get(op, "skip_checks"),
				      json_string("nplusone_mem"));
	cli_op_set(cli, op, "ignore_errors", &OPT_IGNORE_ERRORS);
	cli_op_set(cli, op, "group_name", &OPT_GROUP);
	cli_op_flag(cli, op, "verify_clutter", &OPT_VERIFY_CLUTTER);
	return op;
}

/* A job may end with success and still report faults: its result is false
 * then. */
static int verify_jobs(struct cli *cli, const json_t *result, struct error *err)
{
	auto_jobs struct cli_jobs jobs = {.want_true = true};
	auto_free char *text = NULL;

	cli_jobs_adopt(&jobs, json_get(result, "jobs"));
	if (cli_jobs_wait(cli, &jobs, err) < 0)
		return -1;
	text = cli_counted((size_t)jobs.failed, "job");
	if (jobs.failed > 0)
		printf("%s failed while verifying the cluster.\n", text);
	return jobs.failed == 0 && jobs.unwell == 0 ? CLI_OK : CLI_FAILURE;
}

static int verify(struct cli *cli, struct error *err)
{
	auto_json json_t *result = cli_run_op(cli, verify_op(cli), err);

	return result == NULL ? -1 : verify_jobs(cli, result, err);
}

/* --- verify-disks --- */

static int activate(struct cli *cli, const char *name, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_instance_activate_disks);
	auto_json json_t *result = NULL;
	struct error failure;

	(void)err;
	printf("Activating disks for instance '%s'\n", name);
	fflush(stdout);
	json_set_str(op, "instance_name", name);
	result = cli_run_op(cli, op, &failure);
	if (result != NULL)
		return 0;
	auto_free char *text = cli_error_text(&failure);

	fprintf(stderr, "Error activating disks for instance %s: %s\n", name,
		text);
	return 1;
}

/* volumes: [[node, name]...]; broken: an object of nodes */
static void print_missing(const char *instance, const json_t *volumes,
			  const json_t *broken)
{
	auto_strv struct strv lines = {0};
	bool all_broken = true;
	const json_t *volume;
	size_t i;

	json_array_foreach (volumes, i, volume) {
		const char *node = json_string_value(json_array_get(volume, 0));
		bool bad = json_get(broken, node) != NULL;

		strv_addf(&lines, "%s%s /dev/%s", bad ? "broken node " : "",
			  node, json_string_value(json_array_get(volume, 1)));
		all_broken = all_broken && bad;
	}
	if (all_broken) {
		printf("Instance %s cannot be verified as it lives on broken "
		       "nodes\n",
		       instance);
		return;
	}
	strv_sort(&lines);
	printf("Instance %s has missing logical volumes:\n", instance);
	for (i = 0; i < lines.n; i++)
		printf("\t%s\n", lines.items[i]);
}

/* The result of a group's job: [{node: error}, [instance...], {instance:
 * [[node, volume], ...]}]. */
static int repair(struct cli *cli, const json_t *found, struct error *err)
{
	const json_t *lost = json_array_get(found, 2), *name;
	const char *key;
	json_t *value;
	int problems = 0;
	size_t i;

	json_object_foreach (json_array_get(found, 0), key, value) {
		auto_free char *raw = cli_str(value);
		auto_free char *text = cli_printable(raw);

		printf("Error gathering data on node %s: %s\n"
		       "You need to fix these nodes first before fixing "
		       "instances\n",
		       key, text);
		problems = 1;
	}
	json_array_foreach (json_array_get(found, 1), i, name)
		if (json_get(lost, json_string_value(name)) == NULL)
			problems |= activate(cli, json_string_value(name), err);
	json_object_foreach (json_unconst(lost), key, value)
		print_missing(key, value, json_array_get(found, 0));
	if (json_object_size(lost) > 0) {
		printf("You need to replace or recreate disks for all the "
		       "above instances if this message persists after fixing "
		       "broken nodes.\n");
		problems = 1;
	} else if (json_array_size(json_array_get(found, 1)) == 0) {
		printf("No disks need to be activated.\n");
	}
	return problems;
}

static int verify_disks(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_cluster_verify_disks);
	auto_json json_t *result = NULL;
	auto_jobs struct cli_jobs jobs = {.keep_results = true};
	const json_t *one;
	int problems = 0;
	size_t i;

	cli_op_set(cli, op, "group_name", &OPT_GROUP);
	result = cli_run_op(cli, op, err);
	if (result == NULL)
		return -1;
	cli_jobs_adopt(&jobs, json_get(result, "jobs"));
	if (cli_jobs_wait(cli, &jobs, err) < 0)
		return -1;
	json_array_foreach (jobs.results, i, one)
		problems |= repair(cli, json_array_get(one, 0), err);
	return problems == 0 && jobs.failed == 0 ? CLI_OK : CLI_FAILURE;
}

const struct cli_command cluster_verify = {
	.name = "verify",
	.args = "",
	.help = "Check the configuration and all nodes",
	.options = {&OPT_VERBOSE, &OPT_SIMULATE_ERRORS, &OPT_ERROR_CODES,
		    &OPT_NO_NPLUS1, &OPT_DRY_RUN, &OPT_PRIORITY, &OPT_GROUP,
		    &OPT_IGNORE_ERRORS, &OPT_VERIFY_CLUTTER, OPTS_PLAN},
	.run = verify,
};

const struct cli_command cluster_verify_disks = {
	.name = "verify-disks",
	.args = "",
	.help = "Check the disks of running instances and activate those that "
		"are not active",
	.options = {&OPT_PRIORITY, &OPT_GROUP, OPTS_PLAN},
	.run = verify_disks,
};
