/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node modify and refresh-state. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/json/json.h"

/* --- modify --- */

static const struct {
	const char *param;
	const struct opt *option;
} modifiable[] = {
	{"master_candidate", &OPT_MC}, {"offline", &OPT_OFFLINE},
	{"drained", &OPT_DRAINED},     {"master_capable", &OPT_CAPAB_MASTER},
	{"vm_capable", &OPT_CAPAB_VM}, {"secondary_ip", &OPT_SECONDARY_IP},
	{"powered", &OPT_POWERED},
};

#define N_MODIFIABLE ARRAY_SIZE(modifiable)

/* A node that was away may hold instances and data of before: --readd takes it
 * in safely. */
static bool may_go_online(struct cli *cli)
{
	const json_t *offline = cli_value(cli, &OPT_OFFLINE);

	return offline == NULL || json_is_true(offline) ||
	       cli_ask(cli, NULL,
		       "The node is set online as it is; where its "
		       "configuration is old, that can harm the cluster, and "
		       "gnt-node add --readd is the safe way. Continue?");
}

static int modify(struct cli *cli, struct error *err)
{
	auto_json json_t *op = NULL, *changes = NULL;
	bool something = cli_given(cli, &OPT_NDPARAMS) ||
			 cli_given(cli, &OPT_HV_STATE) ||
			 cli_given(cli, &OPT_DISK_STATE);
	size_t i;
	int code;

	for (i = 0; i < N_MODIFIABLE; i++)
		something |= cli_given(cli, modifiable[i].option);
	if (!something) {
		fprintf(stderr, "Please give at least one of the "
				"parameters.\n");
		return CLI_FAILURE;
	}
	if (!may_go_online(cli))
		return CLI_FAILURE;
	op = cli_op(cli, &op_class_node_set_params);
	json_set_str(op, "node_name", cli->args[0]);
	for (i = 0; i < N_MODIFIABLE; i++)
		cli_op_set(cli, op, modifiable[i].param, modifiable[i].option);
	/* As they were typed: the master gives them types. */
	cli_op_set(cli, op, "ndparams", &OPT_NDPARAMS);
	cli_op_flag(cli, op, "force", &OPT_FORCE);
	cli_op_flag(cli, op, "auto_promote", &OPT_AUTO_PROMOTE);
	if (tool_set_states(cli, op, err) < 0)
		return -1;
	code = cli_submit(cli, steal(&op), &changes, err);
	if (code != CLI_OK)
		return code;
	tool_print_changes("node", cli->args[0], changes);
	return CLI_OK;
}

const struct cli_command node_modify = {
	.name = "modify",
	.args = "<node-name>",
	.help = "Change the parameters of a node",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE_NODE, &OPT_MC, &OPT_DRAINED, &OPT_OFFLINE,
		    &OPT_CAPAB_MASTER, &OPT_CAPAB_VM, &OPT_SECONDARY_IP,
		    &OPT_AUTO_PROMOTE, &OPT_NDPARAMS, &OPT_POWERED,
		    &OPT_HV_STATE, &OPT_DISK_STATE, OPTS_JOB},
	.run = modify,
};

/* --- refresh-state --- */

static void print_changes(const json_t *pair)
{
	const json_t *changes = json_array_get(pair, 1), *change;
	size_t i;

	printf("%s:%s\n", json_string_value(json_array_get(pair, 0)),
	       json_array_size(changes) == 0 ? " as recorded" : "");
	json_array_foreach (changes, i, change) {
		const json_t *old = json_array_get(change, 1);
		auto_free char *what = cli_str(json_array_get(change, 0));
		auto_free char *before = json_is_null(old)
						 ? xstrdup("not recorded")
						 : cli_str(old);
		auto_free char *now = cli_str(json_array_get(change, 2));

		printf(" - %s: %s -> %s\n", what, before, now);
	}
}

static int refresh_state(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_node_refresh_state);
	auto_json json_t *result = NULL;
	json_t *names = cli_args(cli, 0), *pair;
	size_t i;
	int code;

	json_object_set_new(op, "node_names", names);
	code = cli_submit(cli, op, &result, err);
	if (code != CLI_OK)
		return code;
	json_array_foreach (result, i, pair)
		print_changes(pair);
	return CLI_OK;
}

const struct cli_command node_refresh_state = {
	.name = "refresh-state",
	.args = "[<node-name>...]",
	.help = "Record what the nodes report of their resources, and show "
		"what is new. Totals are always taken over; mem_node and "
		"disk_overhead, which are estimates, where nobody set them.",
	.max_args = -1,
	.options = {OPTS_JOB},
	.run = refresh_state,
};
