/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node: the table of its commands, and the small ones. */
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

static const struct cli_format formats[] = {
	{"pinst_list", format_list},
	{"sinst_list", format_list},
	{"tags", format_list},
	{NULL, NULL},
};

static const struct cli_list node_list = {
	.what = "node",
	.fields = "name,dtotal,dfree,mtotal,mnode,mfree,pinst_cnt,sinst_cnt",
	.name_field = "name",
	.formats = formats,
};

/* --- info --- */

/* The fields queried, in this order. */
enum {
	F_NAME,
	F_PIP,
	F_SIP,
	F_PINST,
	F_SINST,
	F_MC,
	F_DRAINED,
	F_OFFLINE,
	F_MASTER_CAPABLE,
	F_VM_CAPABLE,
	F_POWERED,
	F_NDPARAMS,
	F_CUSTOM,
};

static void copy(json_t *view, const char *title, const json_t *row, size_t i)
{
	auto_free char *text = cli_str(json_array_get(row, i));

	json_set_str(view, title, text);
}

static void set_sorted(json_t *view, const char *title, const json_t *names)
{
	auto_strv struct strv sorted = {0};

	json_to_strv(names, &sorted);
	strv_sort_nice(&sorted);
	json_object_set_new(view, title, json_from_strv(&sorted));
}

static json_t *node_view(const json_t *row)
{
	json_t *view = json_object();

	copy(view, "Node name", row, F_NAME);
	copy(view, "primary ip", row, F_PIP);
	copy(view, "secondary ip", row, F_SIP);
	copy(view, "master candidate", row, F_MC);
	copy(view, "drained", row, F_DRAINED);
	copy(view, "offline", row, F_OFFLINE);
	if (!json_is_null(json_array_get(row, F_POWERED)))
		copy(view, "powered", row, F_POWERED);
	copy(view, "master_capable", row, F_MASTER_CAPABLE);
	copy(view, "vm_capable", row, F_VM_CAPABLE);
	if (json_is_true(json_array_get(row, F_VM_CAPABLE))) {
		set_sorted(view, "primary for instances",
			   json_array_get(row, F_PINST));
		set_sorted(view, "secondary for instances",
			   json_array_get(row, F_SINST));
	}
	cli_info_params(view, "node parameters", json_array_get(row, F_CUSTOM),
			json_array_get(row, F_NDPARAMS));
	return view;
}

static int info(struct cli *cli, struct error *err)
{
	static const char *const fields[] = {
		"name",		  "pip",	"sip",
		"pinst_list",	  "sinst_list", "master_candidate",
		"drained",	  "offline",	"master_capable",
		"vm_capable",	  "powered",	"ndparams",
		"custom_ndparams"};
	const size_t n = ARRAY_SIZE(fields);
	auto_json json_t *wanted = json_array(), *rows = NULL;
	auto_json json_t *views = json_array();
	const json_t *row;
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(wanted, json_string(fields[i]));
	rows = tool_query_nodes(cli, cli_args(cli, 0), json_incref(wanted),
				err);
	if (rows == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		auto_json json_t *objects = cli_objects(rows, fields, n);

		cli_print_data(cli, objects);
		return CLI_OK;
	}
	json_array_foreach (rows, i, row)
		json_array_append_new(views, node_view(row));
	cli_print_info(views);
	return CLI_OK;
}

/* --- remove, powercycle --- */

static int remove_node(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_node_remove);

	json_set_str(op, "node_name", cli->args[0]);
	return cli_submit(cli, op, NULL, err);
}

static int powercycle(struct cli *cli, struct error *err)
{
	auto_json json_t *result = NULL;
	json_t *op;
	int code;

	if (!cli_ask(cli, &OPT_YES,
		     "Powercycle node %s at once, whatever runs on it?",
		     cli->args[0]))
		return CLI_USAGE;
	op = cli_op(cli, &op_class_node_powercycle);
	json_set_str(op, "node_name", cli->args[0]);
	cli_op_flag(cli, op, "force", &OPT_FORCE);
	code = cli_submit(cli, op, &result, err);
	if (code == CLI_OK && json_is_string(result))
		fprintf(stderr, "%s\n", json_string_value(result));
	return code;
}

/* --- the table --- */

static const struct cli_command list_command = {
	.name = "list",
	.args = "[<node-name>...]",
	.help = "List the nodes. Fields: name, dtotal, dfree, mtotal, mnode, "
		"mfree, pinst_cnt, sinst_cnt; list-fields shows all there are.",
	.max_args = -1,
	.options = {OPTS_LIST, &OPT_UNITS},
	.run = cli_run_list,
	.list = &node_list,
};

static const struct cli_command list_fields_command = {
	.name = "list-fields",
	.args = "[<fields>...]",
	.help = "List all fields of nodes",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_FORMAT},
	.run = cli_run_list_fields,
	.list = &node_list,
};

static const struct cli_command info_command = {
	.name = "info",
	.alias = "show",
	.args = "[<node-name>...]",
	.help = "Show all about nodes",
	.max_args = -1,
	.options = {OPTS_INFO},
	.run = info,
};

static const struct cli_command remove_command = {
	.name = "remove",
	.args = "<node-name>",
	.help = "Take a node out of the cluster",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_DRY_RUN, &OPT_PRIORITY, OPTS_PLAN},
	.run = remove_node,
};

static const struct cli_command powercycle_command = {
	.name = "powercycle",
	.args = "<node-name>",
	.help = "Reboot a node the hard way",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE_CYCLE, &OPT_YES, OPTS_JOB},
	.run = powercycle,
};

static const struct cli_command *const commands[] = {&node_add,
						     &node_tags[1],
						     &node_evacuate,
						     &node_failover,
						     &node_health,
						     &node_join,
						     &info_command,
						     &list_command,
						     &node_list_drbd,
						     &list_fields_command,
						     &node_list_storage,
						     &node_tags[0],
						     &node_migrate,
						     &node_modify,
						     &node_modify_storage,
						     &node_power,
						     &powercycle_command,
						     &node_refresh_state,
						     &remove_command,
						     &node_tags[2],
						     &node_repair_storage,
						     &node_restricted_command,
						     &node_volumes,
						     NULL};

const struct cli_tool tool_node = {
	.name = "gnt-node",
	.help = "Nodes: add, drain, evacuate, remove",
	.commands = commands,
};
