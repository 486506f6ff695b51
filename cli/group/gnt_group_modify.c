/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-group add, modify, remove, rename, assign-nodes. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

/* An opcode for the group that the first argument names. */
static json_t *group_op(struct cli *cli, const struct op_class *class)
{
	json_t *op = cli_op(cli, class);

	json_set_str(op, "group_name", cli->args[0]);
	return op;
}

/* Parameters that add and modify have in common. */
static int set_params(struct cli *cli, json_t *op, struct error *err)
{
	cli_op_set(cli, op, "alloc_policy", &OPT_ALLOC_POLICY);
	cli_op_set(cli, op, "ndparams", &OPT_NDPARAMS);
	if (cli_given(cli, &OPT_NDPARAMS) &&
	    tool_type_nd(json_object_get(op, "ndparams"), err) < 0)
		return -1;
	if (tool_set_diskparams(cli, op, err) < 0)
		return -1;
	if (tool_set_ipolicy(cli, op, err) < 0)
		return -1;
	return tool_set_states(cli, op, err);
}

static int add(struct cli *cli, struct error *err)
{
	auto_json json_t *op = group_op(cli, &op_class_group_add);

	if (set_params(cli, op, err) < 0)
		return -1;
	return cli_submit_and_follow(cli, steal(&op), err);
}

static int modify(struct cli *cli, struct error *err)
{
	auto_json json_t *op = NULL, *changes = NULL;
	int code;

	op = group_op(cli, &op_class_group_set_params);
	if (set_params(cli, op, err) < 0)
		return -1;
	code = cli_submit(cli, steal(&op), &changes, err);
	if (code == CLI_OK)
		tool_print_changes("node group", cli->args[0], changes);
	return code;
}

static int remove_group(struct cli *cli, struct error *err)
{
	return cli_submit(cli, group_op(cli, &op_class_group_remove), NULL,
			  err);
}

static int rename_group(struct cli *cli, struct error *err)
{
	json_t *op = group_op(cli, &op_class_group_rename);

	json_set_str(op, "new_name", cli->args[1]);
	return cli_submit(cli, op, NULL, err);
}

static int assign_nodes(struct cli *cli, struct error *err)
{
	json_t *op = group_op(cli, &op_class_group_assign_nodes);
	json_t *nodes = cli_args(cli, 1);

	json_object_set_new(op, "nodes", nodes);
	cli_op_flag(cli, op, "force", &OPT_FORCE);
	return cli_submit(cli, op, NULL, err);
}

#define OPTS_GROUP                                                             \
	&OPT_ALLOC_POLICY, &OPT_NDPARAMS, &OPT_DISKPARAMS, &OPT_HV_STATE,      \
		&OPT_DISK_STATE, OPTS_IPOLICY, OPTS_JOB

const struct cli_command group_add = {
	.name = "add",
	.args = "<group-name>",
	.help = "Add a node group",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_GROUP},
	.run = add,
};

const struct cli_command group_modify = {
	.name = "modify",
	.args = "<group-name>",
	.help = "Change the parameters of a node group",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_GROUP},
	.run = modify,
};

const struct cli_command group_remove = {
	.name = "remove",
	.args = "<group-name>",
	.help = "Remove an empty node group",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_JOB},
	.run = remove_group,
};

const struct cli_command group_rename = {
	.name = "rename",
	.args = "<group-name> <new-name>",
	.help = "Give a node group another name",
	.min_args = 2,
	.max_args = 2,
	.options = {OPTS_JOB},
	.run = rename_group,
};

const struct cli_command group_assign_nodes = {
	.name = "assign-nodes",
	.args = "<group-name> [<node-name>...]",
	.help = "Put nodes into a node group",
	.min_args = 1,
	.max_args = -1,
	.options = {&OPT_FORCE_SPLIT, OPTS_JOB},
	.run = assign_nodes,
};
