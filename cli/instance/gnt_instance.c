/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance: the table of its commands, and the small ones. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static char *format_list(const json_t *value)
{
	return cli_join(value, ",");
}

static const struct cli_format formats[] = {
	{"tags", format_list},
	{"disk.sizes", format_list},
	{"nic.macs", format_list},
	{"nic.ips", format_list},
	{"nic.modes", format_list},
	{"nic.links", format_list},
	{"nic.bridges", format_list},
	{"nic.networks", format_list},
	{"snodes", format_list},
	{"snodes.group", format_list},
	{"snodes.group.uuid", format_list},
	{NULL, NULL},
};

static const struct cli_list instance_list = {
	.what = "instance",
	.fields = "name,hypervisor,os,pnode,status,oper_ram",
	.name_field = "name",
	.formats = formats,
};

int tool_instances_exist(struct cli *cli, struct error *err)
{
	json_t *names = cli_args(cli, 0);
	auto_json json_t *rows = NULL;
	const json_t *row;
	size_t i;

	rows = cli_call(cli, "QueryInstances",
			json_make("[o, [s], b]", names, "name", 0), err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row)
		if (json_is_null(json_array_get(row, 0)))
			return tool_unknown("Instance", cli->args[i], err);
	return 0;
}

static int remove_instance(struct cli *cli, struct error *err)
{
	json_t *op;

	if (!cli_given(cli, &OPT_FORCE)) {
		if (tool_instances_exist(cli, err) < 0)
			return -1;
		if (!cli_ask(cli, NULL,
			     "Remove instance %s with all its disks and data?",
			     cli->args[0]))
			return CLI_FAILURE;
	}
	op = cli_op(cli, &op_class_instance_remove);
	json_set_str(op, "instance_name", cli->args[0]);
	cli_op_flag(cli, op, "ignore_failures", &OPT_IGNORE_FAILURES);
	cli_op_set(cli, op, "shutdown_timeout", &OPT_SHUTDOWN_TIMEOUT);
	return cli_submit(cli, op, NULL, err);
}

/* --- the table --- */

static const struct cli_command list_command = {
	.name = "list",
	.args = "[<instance-name>...]",
	.help = "List the instances and their status. Fields: name, "
		"hypervisor, os, pnode, status, oper_ram; list-fields shows "
		"all there are.",
	.max_args = -1,
	.options = {OPTS_LIST, &OPT_UNITS},
	.run = cli_run_list,
	.list = &instance_list,
};

static const struct cli_command list_fields_command = {
	.name = "list-fields",
	.args = "[<fields>...]",
	.help = "List all fields of instances",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_FORMAT},
	.run = cli_run_list_fields,
	.list = &instance_list,
};

static const struct cli_command remove_command = {
	.name = "remove",
	.args = "[-f] <instance-name>",
	.help = "Shut the instance down and remove it",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_SHUTDOWN_TIMEOUT, &OPT_IGNORE_FAILURES,
		    OPTS_JOB},
	.run = remove_instance,
};

static const struct cli_command *const commands[] = {
	&instance_activate_disks,
	&instance_add,
	&instance_tags[1],
	&instance_batch_create,
	&instance_change_group,
	&instance_console,
	&instance_deactivate_disks,
	&instance_failover,
	&instance_grow_disk,
	&instance_info,
	&list_command,
	&list_fields_command,
	&instance_tags[0],
	&instance_migrate,
	&instance_modify,
	&instance_move,
	&instance_reboot,
	&instance_recreate_disks,
	&instance_reinstall,
	&remove_command,
	&instance_tags[2],
	&instance_rename,
	&instance_replace_disks,
	&instance_shutdown,
	&instance_startup,
	NULL,
};

const struct cli_tool tool_instance = {
	.name = "gnt-instance",
	.help = "Instances: add, start, move, remove",
	.commands = commands,
};
