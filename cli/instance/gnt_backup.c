/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-backup: exports of instances. */
#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/json/json.h"

static const struct cli_list export_list = {
	.what = "export",
	.fields = "node,export",
	.name_field = "node",
};

/* ["|", ["==", "node", NODE], ...], or null for all. */
static json_t *node_filter(const struct cli *cli)
{
	const json_t *nodes = cli_value(cli, &OPT_NODE_ONE), *node;
	json_t *filter;
	size_t i;

	if (nodes == NULL)
		return NULL;
	filter = json_make("[s]", "|");
	json_array_foreach (nodes, i, node)
		json_array_append_new(
			filter, json_make("[s, s, O]", "==", "node", node));
	return filter;
}

static int list(struct cli *cli, struct error *err)
{
	return cli_list(cli, &export_list, node_filter(cli), err);
}

static int export_instance(struct cli *cli, struct error *err)
{
	json_t *op;

	if (!cli_given(cli, &OPT_MOVE_NODE))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Target node must be specified");
	op = cli_op(cli, &op_class_backup_export);
	json_set_str(op, "instance_name", cli->args[0]);
	cli_op_set(cli, op, "target_node", &OPT_MOVE_NODE);
	cli_op_set(cli, op, "compress", &OPT_TRANSPORT_COMPRESS);
	cli_op_set(cli, op, "dump_compress", &OPT_DUMP_COMPRESS);
	cli_op_set(cli, op, "bandwidth_limit", &OPT_BANDWIDTH_LIMIT);
	cli_op_unless(cli, op, "shutdown", &OPT_NOSHUTDOWN);
	cli_op_set(cli, op, "shutdown_timeout", &OPT_SHUTDOWN_TIMEOUT);
	cli_op_flag(cli, op, "remove_instance", &OPT_REMOVE_INSTANCE);
	cli_op_flag(cli, op, "ignore_remove_failures",
		    &OPT_IGNORE_REMOVE_FAILURES);
	cli_op_flag(cli, op, "zero_free_space", &OPT_ZERO_FREE_SPACE);
	cli_op_set(cli, op, "zeroing_timeout_fixed", &OPT_ZEROING_FIXED);
	cli_op_set(cli, op, "zeroing_timeout_per_mib", &OPT_ZEROING_PER_MIB);
	cli_op_flag(cli, op, "long_sleep", &OPT_LONG_SLEEP);
	return cli_submit(cli, op, NULL, err);
}

static int import_instance(struct cli *cli, struct error *err)
{
	json_t *op = tool_create_op(cli, "import", err);

	if (op == NULL)
		return -1;
	json_set_bool(op, "start", false);
	json_object_set_new(op, "no_install", json_null());
	cli_op_set(cli, op, "src_node", &OPT_SRC_NODE);
	cli_op_set(cli, op, "src_path", &OPT_SRC_DIR);
	cli_op_set(cli, op, "compress", &OPT_COMPRESS);
	cli_op_flag(cli, op, "identify_defaults", &OPT_IDENTIFY_DEFAULTS);
	return cli_submit(cli, op, NULL, err);
}

static int remove_export(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_backup_remove);

	json_set_str(op, "instance_name", cli->args[0]);
	return cli_submit(cli, op, NULL, err);
}

static const struct cli_command list_command = {
	.name = "list",
	.args = "",
	.help = "List the exports that nodes keep",
	.options = {OPTS_TABLE, &OPT_UNITS, &OPT_OUTPUT, &OPT_VERBOSE,
		    &OPT_FORMAT, &OPT_NODE_ONE},
	.run = list,
};

static const struct cli_command list_fields_command = {
	.name = "list-fields",
	.args = "[fields...]",
	.help = "List the fields of exports",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_FORMAT},
	.run = cli_run_list_fields,
	.list = &export_list,
};

static const struct cli_command export_command = {
	.name = "export",
	.args = "-n <node-name> [opts...] <instance-name>",
	.help = "Export an instance's data and description into files on a "
		"node",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE_NOTHING, &OPT_MOVE_NODE, &OPT_TRANSPORT_COMPRESS,
		    &OPT_DUMP_COMPRESS, &OPT_BANDWIDTH_LIMIT, &OPT_NOSHUTDOWN,
		    &OPT_SHUTDOWN_TIMEOUT, &OPT_REMOVE_INSTANCE,
		    &OPT_IGNORE_REMOVE_FAILURES, &OPT_ZERO_FREE_SPACE,
		    &OPT_ZEROING_FIXED, &OPT_ZEROING_PER_MIB, &OPT_LONG_SLEEP,
		    OPTS_JOB},
	.run = export_instance,
};

static const struct cli_command import_command = {
	.name = "import",
	.args = "[...] -t disk-type -n node[:secondary-node] <instance-name>",
	.help = "Make an instance from an export",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_CREATE, &OPT_SRC_NODE, &OPT_SRC_DIR, &OPT_COMPRESS,
		    &OPT_IDENTIFY_DEFAULTS, OPTS_JOB},
	.run = import_instance,
};

static const struct cli_command remove_command = {
	.name = "remove",
	.args = "<instance-name>",
	.help = "Remove the exports of an instance from all nodes",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_JOB},
	.run = remove_export,
};

static const struct cli_command *const commands[] = {
	&export_command,      &import_command, &list_command,
	&list_fields_command, &remove_command, NULL};

const struct cli_tool tool_backup = {
	.name = "gnt-backup",
	.help = "Exports of instances",
	.commands = commands,
};
