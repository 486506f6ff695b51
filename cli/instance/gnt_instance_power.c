/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance startup, shutdown, reboot: one job for each instance that the
 * options select. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* Parameters for one start go as they were typed: the master gives them
 * types. */
static json_t *startup_op(const struct cli *cli)
{
	json_t *op = cli_op(cli, &op_class_instance_startup);

	cli_op_flag(cli, op, "force", &OPT_FORCE);
	cli_op_flag(cli, op, "ignore_offline_nodes", &OPT_IGNORE_OFFLINE);
	cli_op_flag(cli, op, "no_remember", &OPT_NO_REMEMBER);
	cli_op_flag(cli, op, "startup_paused", &OPT_PAUSED);
	json_object_set_new(op, "hvparams", json_object());
	json_object_set_new(op, "beparams", json_object());
	cli_op_set(cli, op, "hvparams", &OPT_HVPARAMS);
	cli_op_set(cli, op, "beparams", &OPT_BEPARAMS);
	return op;
}

static json_t *shutdown_op(const struct cli *cli)
{
	json_t *op = cli_op(cli, &op_class_instance_shutdown);

	cli_op_flag(cli, op, "force", &OPT_FORCE);
	cli_op_flag(cli, op, "ignore_offline_nodes", &OPT_IGNORE_OFFLINE);
	cli_op_flag(cli, op, "no_remember", &OPT_NO_REMEMBER);
	cli_op_set(cli, op, "timeout", &OPT_TIMEOUT);
	return op;
}

static json_t *reboot_op(const struct cli *cli)
{
	json_t *op = cli_op(cli, &op_class_instance_reboot);

	json_set_str(op, "reboot_type", "hard");
	cli_op_set(cli, op, "reboot_type", &OPT_REBOOT_TYPE);
	cli_op_flag(cli, op, "ignore_secondaries", &OPT_IGNORE_SECONDARIES);
	cli_op_set(cli, op, "shutdown_timeout", &OPT_SHUTDOWN_TIMEOUT);
	return op;
}

static int startup(struct cli *cli, struct error *err)
{
	return tool_each_instance(cli, startup_op, NULL, err);
}

static int shutdown(struct cli *cli, struct error *err)
{
	return tool_each_instance(cli, shutdown_op, NULL, err);
}

static int reboot(struct cli *cli, struct error *err)
{
	return tool_each_instance(cli, reboot_op, NULL, err);
}

const struct cli_command instance_startup = {
	.name = "startup",
	.alias = "start",
	.args = "<instance>...",
	.help = "Start instances",
	.max_args = -1,
	.options = {&OPT_FORCE_UP, OPTS_SELECT, &OPT_HVPARAMS, &OPT_BEPARAMS,
		    &OPT_IGNORE_OFFLINE, &OPT_NO_REMEMBER, &OPT_PAUSED,
		    OPTS_JOB},
	.run = startup,
};

const struct cli_command instance_shutdown = {
	.name = "shutdown",
	.alias = "stop",
	.args = "<instance>...",
	.help = "Stop instances",
	.max_args = -1,
	.options = {&OPT_FORCE_DOWN, OPTS_SELECT, &OPT_TIMEOUT,
		    &OPT_IGNORE_OFFLINE, &OPT_NO_REMEMBER, OPTS_JOB},
	.run = shutdown,
};

const struct cli_command instance_reboot = {
	.name = "reboot",
	.args = "<instance>...",
	.help = "Reboot instances",
	.max_args = -1,
	.options = {&OPT_REBOOT_TYPE, OPTS_SELECT, &OPT_IGNORE_SECONDARIES,
		    &OPT_SHUTDOWN_TIMEOUT, OPTS_JOB},
	.run = reboot,
};
