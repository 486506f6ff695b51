/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-network add, modify, remove, rename, connect, disconnect. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_plan.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static json_t *network_op(struct cli *cli, const struct op_class *class)
{
	json_t *op = cli_op(cli, class);

	json_set_str(op, "network_name", cli->args[0]);
	return op;
}

/* Parameters that add and modify have in common. */
static const struct {
	const char *param;
	const struct opt *option;
} plain[] = {
	{"gateway", &OPT_GATEWAY},
	{"network6", &OPT_NETWORK6},
	{"gateway6", &OPT_GATEWAY6},
	{"mac_prefix", &OPT_MAC_PREFIX},
	{"add_reserved_ips", &OPT_ADD_RESERVED_IPS},
};

static void set_plain(const struct cli *cli, json_t *op)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		cli_op_set(cli, op, plain[i].param, plain[i].option);
}

static int add(struct cli *cli, struct error *err)
{
	json_t *op;

	if (!cli_given(cli, &OPT_NETWORK))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The --network option must be given");
	op = network_op(cli, &op_class_network_add);
	cli_op_set(cli, op, "network", &OPT_NETWORK);
	set_plain(cli, op);
	json_object_set_new(op, "tags", tool_tags(cli));
	cli_op_unless(cli, op, "conflicts_check", &OPT_NO_CONFLICTS_CHECK);
	return cli_submit(cli, op, NULL, err);
}

static bool asks_for_nothing(const struct cli *cli)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (cli_given(cli, plain[i].option))
			return false;
	return !cli_given(cli, &OPT_REMOVE_RESERVED_IPS);
}

static int modify(struct cli *cli, struct error *err)
{
	json_t *op;

	if (asks_for_nothing(cli)) {
		fprintf(stderr, "Please give at least one of the "
				"parameters.\n");
		return CLI_FAILURE;
	}
	op = network_op(cli, &op_class_network_set_params);
	set_plain(cli, op);
	cli_op_set(cli, op, "remove_reserved_ips", &OPT_REMOVE_RESERVED_IPS);
	return cli_submit(cli, op, NULL, err);
}

static int remove_network(struct cli *cli, struct error *err)
{
	json_t *op = network_op(cli, &op_class_network_remove);

	cli_op_flag(cli, op, "force", &OPT_FORCE);
	return cli_submit(cli, op, NULL, err);
}

static int rename_network(struct cli *cli, struct error *err)
{
	json_t *op = network_op(cli, &op_class_network_rename);

	json_set_str(op, "new_name", cli->args[1]);
	return cli_submit(cli, op, NULL, err);
}

/* --- connect and disconnect: a job for each group, one by one --- */

/* The groups that were named, or all there are. */
static json_t *find_groups(struct cli *cli, struct error *err)
{
	json_t *names = cli_args(cli, 1);

	return cli_call(cli, "QueryGroups",
			json_make("[o, [s], b]", names, "name", 0), err);
}

static int for_groups(struct cli *cli, const json_t *template,
		      struct error *err)
{
	auto_json json_t *groups = find_groups(cli, err);
	auto_json json_t *jobs = json_array();
	json_t *row, *job;
	size_t i;

	if (groups == NULL)
		return -1;
	json_array_foreach (groups, i, row) {
		json_t *op = json_copy(json_unconst(template));

		json_object_set(op, "group_name", json_array_get(row, 0));
		json_array_append_new(jobs, json_make("[o]", op));
	}
	if (cli_given(cli, &OPT_PLAN))
		return cli_plan(cli, steal(&jobs), err);
	json_array_foreach (jobs, i, job)
		if (cli_submit(cli, json_incref(json_array_get(job, 0)), NULL,
			       err) < 0)
			return -1;
	return CLI_OK;
}

/* Mode and link for the NICs: those that were given, otherwise the
 * cluster's. */
static json_t *nic_params(struct cli *cli, struct error *err)
{
	auto_json json_t *info =
		cli_call(cli, "QueryClusterInfo", json_array(), err);
	const json_t *preset = json_get(json_get(info, "nicparams"), "default");

	if (info == NULL)
		return NULL;
	return json_overlay(preset, cli_value(cli, &OPT_NICPARAMS));
}

static int connect_network(struct cli *cli, struct error *err)
{
	static const char *const keys[] = {"mode", "link", "vlan"};
	auto_json json_t *op = network_op(cli, &op_class_network_connect);
	auto_json json_t *nic = nic_params(cli, err);

	if (nic == NULL)
		return -1;
	cli_op_unless(cli, op, "conflicts_check", &OPT_NO_CONFLICTS_CHECK);
	for (size_t i = 0; i < 3; i++) {
		auto_free char *param = xprintf("network_%s", keys[i]);

		json_set_str(op, param, json_str(nic, keys[i], ""));
	}
	return for_groups(cli, op, err);
}

static int disconnect_network(struct cli *cli, struct error *err)
{
	auto_json json_t *op = network_op(cli, &op_class_network_disconnect);

	return for_groups(cli, op, err);
}

const struct cli_command network_add = {
	.name = "add",
	.args = "<network-name>",
	.help = "Add an IP network",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_NETWORK, &OPT_GATEWAY, &OPT_ADD_RESERVED_IPS,
		    &OPT_MAC_PREFIX, &OPT_NETWORK6, &OPT_GATEWAY6,
		    &OPT_NO_CONFLICTS_CHECK, &OPT_TAGS, OPTS_JOB},
	.run = add,
};

const struct cli_command network_modify = {
	.name = "modify",
	.args = "<network-name>",
	.help = "Change the parameters of a network",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_ADD_RESERVED_IPS, &OPT_REMOVE_RESERVED_IPS,
		    &OPT_GATEWAY, &OPT_MAC_PREFIX, &OPT_NETWORK6, &OPT_GATEWAY6,
		    OPTS_JOB},
	.run = modify,
};

const struct cli_command network_remove = {
	.name = "remove",
	.args = "<network-name>",
	.help = "Remove a network that no group is connected to",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE_NOTHING, OPTS_JOB},
	.run = remove_network,
};

const struct cli_command network_rename = {
	.name = "rename",
	.args = "<network-name> <new-name>",
	.help = "Give a network another name",
	.min_args = 2,
	.max_args = 2,
	.options = {OPTS_JOB},
	.run = rename_network,
};

const struct cli_command network_connect = {
	.name = "connect",
	.args = "<network-name> [<group-name>...]",
	.help = "Connect a network to node groups (all when none is named)",
	.min_args = 1,
	.max_args = -1,
	.options = {&OPT_NICPARAMS, &OPT_NO_CONFLICTS_CHECK, OPTS_SUBMIT},
	.run = connect_network,
};

const struct cli_command network_disconnect = {
	.name = "disconnect",
	.args = "<network-name> [<group-name>...]",
	.help = "Disconnect a network from node groups (all when none is "
		"named)",
	.min_args = 1,
	.max_args = -1,
	.options = {OPTS_SUBMIT},
	.run = disconnect_network,
};
