/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-group. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static char *format_list(const json_t *value)
{
	return cli_join(value, ",");
}

/* a=1, b=2 */
static char *format_params(const json_t *value)
{
	auto_strv struct strv parts = {0};
	const char *key;
	json_t *one;

	json_object_foreach (json_unconst(value), key, one) {
		auto_free char *text = cli_str(one);

		strv_addf(&parts, "%s=%s", key, text);
	}
	return strv_join(&parts, ", ");
}

static const struct cli_format formats[] = {
	{"node_list", format_list},
	{"pinst_list", format_list},
	{"ndparams", format_params},
	{NULL, NULL},
};

static const struct cli_list group_list = {
	.what = "group",
	.fields = "name,node_cnt,pinst_cnt,alloc_policy,ndparams",
	.name_field = "name",
	.formats = formats,
};

/* --- info --- */

/* The fields queried, in this order. */
static const char *const info_fields[] = {
	"name",		 "ndparams",	      "custom_ndparams",
	"diskparams",	 "custom_diskparams", "ipolicy",
	"custom_ipolicy"};
#define N_INFO ARRAY_SIZE(info_fields)

enum { F_NAME, F_ND, F_CUSTOM_ND, F_DISK, F_CUSTOM_DISK, F_IP, F_CUSTOM_IP };

/* One of min and max of the policy's bounds. */
static void bound(json_t *view, const char *which, size_t index,
		  const json_t *custom, const json_t *actual)
{
	auto_free char *key = xprintf("%s/%zu", which, index);

	cli_info_params(view, key, json_object_get(custom, which),
			json_object_get(actual, which));
}

static json_t *bounds_view(const json_t *custom, const json_t *actual)
{
	json_t *list = json_array(), *view;
	const json_t *pair;
	size_t i;

	json_array_foreach (json_get(actual, "minmax"), i, pair) {
		const json_t *own =
			json_array_get(json_get(custom, "minmax"), i);

		view = json_object();
		bound(view, "max", i, own, pair);
		bound(view, "min", i, own, pair);
		json_array_append_new(list, view);
	}
	return list;
}

static json_t *policy_view(const json_t *custom, const json_t *actual)
{
	json_t *view = json_object();
	bool own = json_get(custom, "disk-templates") != NULL;
	auto_free char *templates =
		cli_join(json_get(actual, "disk-templates"), ", ");
	auto_free char *shown = xprintf("default (%s)", templates);
	auto_json json_t *ratios = json_object();
	auto_json json_t *numbers = json_object();
	const char *const keys[] = {"spindle-ratio", "vcpu-ratio"};
	/* Not in the policy in force, which is for Ganeti's programs, too. */
	const char *const extra[] = {"oversubscription-ratio",
				     "max-node-failures"};

	json_object_set_new(view, "bounds specs", bounds_view(custom, actual));
	json_set_str(view, "allowed disk templates", own ? templates : shown);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_get(actual, keys[i]) != NULL)
			json_object_set(
				numbers, keys[i],
				json_unconst(json_get(actual, keys[i])));
	for (size_t i = 0; i < ARRAY_SIZE(extra); i++)
		if (json_get(custom, extra[i]) != NULL)
			json_object_set(
				numbers, extra[i],
				json_unconst(json_get(custom, extra[i])));
	cli_info_params(ratios, "all", custom, numbers);
	json_object_update(view, json_object_get(ratios, "all"));
	return view;
}

static json_t *group_view(const json_t *row)
{
	json_t *view = json_object();

	json_object_set(view, "Node group", json_array_get(row, F_NAME));
	cli_info_params(view, "Node parameters",
			json_array_get(row, F_CUSTOM_ND),
			json_array_get(row, F_ND));
	cli_info_params(view, "Disk parameters",
			json_array_get(row, F_CUSTOM_DISK),
			json_array_get(row, F_DISK));
	json_object_set_new(view, "Instance policy",
			    policy_view(json_array_get(row, F_CUSTOM_IP),
					json_array_get(row, F_IP)));
	return view;
}

static int info(struct cli *cli, struct error *err)
{
	json_t *names = cli_args(cli, 0), *fields = json_array();
	auto_json json_t *rows = NULL, *views = json_array();
	const json_t *row;
	size_t i;

	for (i = 0; i < N_INFO; i++)
		json_array_append_new(fields, json_string(info_fields[i]));
	rows = cli_call(cli, "QueryGroups",
			json_make("[o, o, b]", names, fields, 0), err);
	if (rows == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		auto_json json_t *objects =
			cli_objects(rows, info_fields, N_INFO);

		cli_print_data(cli, objects);
		return CLI_OK;
	}
	json_array_foreach (rows, i, row)
		json_array_append_new(views, group_view(row));
	cli_print_info(views);
	return CLI_OK;
}

/* --- evacuate --- */

static int evacuate(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_group_evacuate);

	json_set_str(op, "group_name", cli->args[0]);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	cli_op_set(cli, op, "target_groups", &OPT_TO_GROUP);
	cli_op_flag(cli, op, "early_release", &OPT_EARLY_RELEASE);
	cli_op_flag(cli, op, "sequential", &OPT_SEQUENTIAL);
	cli_op_flag(cli, op, "force_failover", &OPT_FORCE_FAILOVER);
	return cli_submit_and_tell(cli, op,
				   "All instances evacuated successfully.",
				   "during the evacuation", err);
}

/* --- the table --- */

static const struct cli_command evacuate_command = {
	.name = "evacuate",
	.args = "[-I <iallocator>] [--to <group>] <source-group>",
	.help = "Move all instances of a group to other groups",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_TO_GROUP, &OPT_IALLOCATOR, &OPT_EARLY_RELEASE,
		    &OPT_SEQUENTIAL, &OPT_FORCE_FAILOVER, &OPT_SUBMIT,
		    &OPT_PRINT_JOBID, OPTS_PLAN},
	.run = evacuate,
};

static const struct cli_command list_command = {
	.name = "list",
	.args = "[<group-name>...]",
	.help = "List the node groups. Fields: name, node_cnt, pinst_cnt, "
		"alloc_policy, ndparams; list-fields shows all there are.",
	.max_args = -1,
	.options = {OPTS_LIST},
	.run = cli_run_list,
	.list = &group_list,
};

static const struct cli_command list_fields_command = {
	.name = "list-fields",
	.args = "[<fields>...]",
	.help = "List all fields of node groups",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_FORMAT},
	.run = cli_run_list_fields,
	.list = &group_list,
};

static const struct cli_command info_command = {
	.name = "info",
	.args = "[<group>...]",
	.help = "Show all about node groups",
	.max_args = -1,
	.options = {OPTS_INFO},
	.run = info,
};

static const struct cli_command *const commands[] = {
	&group_add,	      &group_tags[1],
	&group_assign_nodes,  &evacuate_command,
	&info_command,	      &list_command,
	&list_fields_command, &group_tags[0],
	&group_modify,	      &group_remove,
	&group_tags[2],	      &group_rename,
	&group_show_ispecs,   NULL};

const struct cli_tool tool_group = {
	.name = "gnt-group",
	.help = "Node groups",
	.commands = commands,
};
