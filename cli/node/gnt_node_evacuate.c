/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node evacuate, migrate, failover: instances away from a node. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static void add_names(struct strv *ret, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach (names, i, name)
		if (json_is_string(name))
			strv_add_unique(ret, json_string_value(name));
}

/* --- evacuate --- */

/* "primary-only", "secondary-only" or "all"; NULL with err. */
static const char *evacuation_mode(const struct cli *cli, struct error *err)
{
	bool primary = cli_given(cli, &OPT_PRIMARY_ONLY);
	bool secondary = cli_given(cli, &OPT_SECONDARY_ONLY);

	if (primary && secondary) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Only one of the --primary-only and "
			  "--secondary-only options can be passed");
		return NULL;
	}
	if (!cli_given(cli, &OPT_NEW_SECONDARY)) {
		if (primary)
			return "primary-only";
		return secondary ? "secondary-only" : "all";
	}
	fprintf(stderr, "New secondary node given (disabling iallocator), "
			"hence evacuating secondary instances only.\n");
	return "secondary-only";
}

static int affected(struct cli *cli, const char *mode, struct strv *ret,
		    struct error *err)
{
	json_t *fields = json_array();
	auto_json json_t *rows = NULL;
	const json_t *row;
	size_t i;

	if (!str_eq(mode, "secondary-only"))
		json_array_append_new(fields, json_string("pinst_list"));
	if (!str_eq(mode, "primary-only"))
		json_array_append_new(fields, json_string("sinst_list"));
	rows = tool_query_nodes(cli, json_make("[s]", cli->args[0]), fields,
				err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		add_names(ret, json_array_get(row, 0));
		add_names(ret, json_array_get(row, 1));
	}
	strv_sort_nice(ret);
	return 0;
}

static int new_secondary_known(struct cli *cli, struct error *err)
{
	auto_json json_t *names =
		json_make("[O]", cli_value(cli, &OPT_NEW_SECONDARY));

	return tool_nodes_known(cli, names, err);
}

static int evacuate(struct cli *cli, struct error *err)
{
	const char *mode = evacuation_mode(cli, err);
	auto_strv struct strv names = {0};
	json_t *op;

	if (mode == NULL || affected(cli, mode, &names, err) < 0)
		return -1;
	if (names.n == 0) {
		if (cli_given(cli, &OPT_NEW_SECONDARY) &&
		    new_secondary_known(cli, err) < 0)
			return -1;
		fprintf(stderr,
			"No instances to evacuate on node(s) %s, "
			"exiting.\n",
			cli->args[0]);
		return CLI_OK;
	}
	if (!cli_given(cli, &OPT_FORCE)) {
		auto_free char *list = strv_join(&names, ",");

		if (!cli_ask(cli, NULL,
			     "Evacuate instance(s) %s from node(s) %s?", list,
			     cli->args[0]))
			return CLI_UNCONFIRMED;
	}
	op = cli_op(cli, &op_class_node_evacuate);
	json_set_str(op, "node_name", cli->args[0]);
	json_set_str(op, "mode", mode);
	cli_op_set(cli, op, "remote_node", &OPT_NEW_SECONDARY);
	if (!cli_given(cli, &OPT_NEW_SECONDARY))
		cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	cli_op_flag(cli, op, "early_release", &OPT_EARLY_RELEASE);
	cli_op_flag(cli, op, "ignore_soft_errors", &OPT_IGNORE_SOFT);
	return cli_submit_and_tell(cli, op,
				   "All instances evacuated successfully.",
				   "during the evacuation", err);
}

/* --- migrate, failover --- */

/* The node's primary instances; `notes`: where it is said that there are none.
 */
static int primaries(struct cli *cli, struct strv *ret, FILE *notes,
		     struct error *err)
{
	auto_json json_t *rows = tool_query_nodes(
		cli, json_make("[s]", cli->args[0]),
		json_make("[s, s]", "name", "pinst_list"), err);

	if (rows == NULL)
		return -1;
	add_names(ret, json_array_get(json_array_get(rows, 0), 1));
	strv_sort_nice(ret);
	if (ret->n == 0)
		fprintf(notes, "No primary instances on node %s, exiting.\n",
			json_string_value(
				json_array_get(json_array_get(rows, 0), 0)));
	return 0;
}

static bool confirmed(struct cli *cli, const char *verb,
		      const struct strv *names)
{
	auto_free char *list = strv_join(names, ",");
	return cli_ask(cli, NULL, "%s instance(s) %s?", verb, list);
}

static int migrate(struct cli *cli, struct error *err)
{
	auto_strv struct strv names = {0};
	json_t *op;

	if (cli_given(cli, &OPT_NON_LIVE) &&
	    cli_given(cli, &OPT_MIGRATION_MODE))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Give only one of --non-live and "
				 "--migration-mode");
	if (primaries(cli, &names, stdout, err) < 0)
		return -1;
	if (names.n == 0)
		return CLI_OK;
	if (!confirmed(cli, "Migrate", &names))
		return CLI_UNCONFIRMED;
	op = cli_op(cli, &op_class_node_migrate);
	json_set_str(op, "node_name", cli->args[0]);
	if (cli_given(cli, &OPT_NON_LIVE))
		json_set_str(op, "mode", "non-live");
	cli_op_set(cli, op, "mode", &OPT_MIGRATION_MODE);
	cli_op_set(cli, op, "target_node", &OPT_DST_NODE);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	cli_op_unless(cli, op, "allow_runtime_changes",
		      &OPT_NO_RUNTIME_CHANGES);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	return cli_submit_and_tell(cli, op,
				   "All instances migrated successfully.",
				   "during the node migration", err);
}

static int failover(struct cli *cli, struct error *err)
{
	auto_strv struct strv names = {0};
	auto_jobs struct cli_jobs jobs = {0};
	auto_free char *all = NULL, *errors = NULL;

	if (primaries(cli, &names, stderr, err) < 0)
		return -1;
	if (names.n == 0)
		return CLI_OK;
	if (!confirmed(cli, "Fail over", &names))
		return CLI_USAGE;
	for (size_t i = 0; i < names.n; i++) {
		json_t *op = cli_op(cli, &op_class_instance_failover);

		json_set_str(op, "instance_name", names.items[i]);
		cli_op_flag(cli, op, "ignore_consistency",
			    &OPT_IGNORE_CONSISTENCY);
		cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
		cli_jobs_add(&jobs, names.items[i], op);
	}
	if (cli_jobs_run(cli, &jobs, err) < 0)
		return -1;
	all = cli_counted(names.n, "instance");
	if (jobs.failed == 0) {
		printf("All %s failed over successfully.\n", all);
		return CLI_OK;
	}
	errors = cli_counted((size_t)jobs.failed, "error");
	printf("There were errors during the failover:\n%s out of %s.\n",
	       errors, all);
	return CLI_FAILURE;
}

const struct cli_command node_evacuate = {
	.name = "evacuate",
	.args = "[-f] {-I <iallocator> | -n <dst>} [-p | -s] <node>",
	.help = "Move instances away from a node",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_IALLOCATOR, &OPT_IGNORE_SOFT,
		    &OPT_NEW_SECONDARY, &OPT_EARLY_RELEASE, &OPT_PRIMARY_ONLY,
		    &OPT_SECONDARY_ONLY, OPTS_SUBMIT},
	.run = evacuate,
};

const struct cli_command node_migrate = {
	.name = "migrate",
	.args = "[-f] <node>",
	.help = "Migrate all primary instances of a node",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_NON_LIVE, &OPT_MIGRATION_MODE,
		    &OPT_DST_NODE, &OPT_IALLOCATOR, &OPT_IGNORE_IPOLICY,
		    &OPT_NO_RUNTIME_CHANGES, OPTS_SUBMIT},
	.run = migrate,
};

const struct cli_command node_failover = {
	.name = "failover",
	.args = "[-f] <node>",
	.help = "Fail all primary instances of a node over",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_IGNORE_CONSISTENCY, &OPT_IALLOCATOR,
		    &OPT_PRIORITY, OPTS_PLAN},
	.run = failover,
};
