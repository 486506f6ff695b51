/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance failover, migrate, move, change-group. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/json/json.h"

static int both_targets(const struct cli *cli, struct error *err)
{
	if (!cli_given(cli, &OPT_DST_NODE) || !cli_given(cli, &OPT_IALLOCATOR))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Give either a target node or an allocator, not both");
}

/* 1: go on; 0: the user said no; -1. */
static int confirm(struct cli *cli, const char *question, struct error *err)
{
	if (cli_given(cli, &OPT_FORCE))
		return 1;
	if (tool_instances_exist(cli, err) < 0)
		return -1;
	return cli_ask(cli, NULL, question, cli->args[0]);
}

static int failover(struct cli *cli, struct error *err)
{
	json_t *op;
	int rc;

	if (both_targets(cli, err) < 0)
		return -1;
	rc = confirm(cli,
		     cli_given(cli, &OPT_CLEANUP)
			     ? "Clean up after the failover of instance %s?"
			     : "Fail over instance %s? It is shut down on the "
			       "way.",
		     err);
	if (rc <= 0)
		return rc < 0 ? -1 : CLI_FAILURE;
	if (cli_given(cli, &OPT_IGNORE_CONSISTENCY) &&
	    !cli_ask(cli, NULL,
		     "Fail over instance %s even if its disks are not in "
		     "sync? Data may be lost.",
		     cli->args[0]))
		return CLI_FAILURE;
	op = cli_op(cli, &op_class_instance_failover);
	json_set_str(op, "instance_name", cli->args[0]);
	cli_op_flag(cli, op, "ignore_consistency", &OPT_IGNORE_CONSISTENCY);
	cli_op_set(cli, op, "shutdown_timeout", &OPT_SHUTDOWN_TIMEOUT);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	cli_op_set(cli, op, "target_node", &OPT_DST_NODE);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	cli_op_flag(cli, op, "cleanup", &OPT_CLEANUP);
	cli_op_set(cli, op, "keep_node", &OPT_KEEP_NODE);
	if (cli_given(cli, &OPT_SYNC_FIRST))
		cli_op_flag(cli, op, "sync_first", &OPT_SYNC_FIRST);
	return cli_submit(cli, op, NULL, err);
}

static int migrate(struct cli *cli, struct error *err)
{
	json_t *op;
	int rc;

	if (both_targets(cli, err) < 0)
		return -1;
	if (cli_given(cli, &OPT_NON_LIVE) &&
	    cli_given(cli, &OPT_MIGRATION_MODE))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Give only one of --non-live and "
				 "--migration-mode");
	rc = confirm(cli,
		     cli_given(cli, &OPT_CLEANUP)
			     ? "Clean up after the migration of instance %s?"
			     : "Migrate instance %s?",
		     err);
	if (rc <= 0)
		return rc < 0 ? -1 : CLI_FAILURE;
	op = cli_op(cli, &op_class_instance_migrate);
	json_set_str(op, "instance_name", cli->args[0]);
	if (cli_given(cli, &OPT_NON_LIVE))
		json_set_str(op, "mode", "non-live");
	cli_op_set(cli, op, "mode", &OPT_MIGRATION_MODE);
	cli_op_flag(cli, op, "cleanup", &OPT_CLEANUP);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	cli_op_set(cli, op, "target_node", &OPT_DST_NODE);
	cli_op_flag(cli, op, "allow_failover", &OPT_ALLOW_FAILOVER);
	cli_op_unless(cli, op, "allow_runtime_changes",
		      &OPT_NO_RUNTIME_CHANGES);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	cli_op_flag(cli, op, "ignore_hvversions", &OPT_IGNORE_HVVERSIONS);
	return cli_submit(cli, op, NULL, err);
}

static int move(struct cli *cli, struct error *err)
{
	json_t *op;

	if (!cli_ask(cli, NULL,
		     cli_given(cli, &OPT_LIVE_MOVE)
			     ? "Move instance %s?"
			     : "Move instance %s? It is shut down while its "
			       "disks are copied.",
		     cli->args[0]))
		return CLI_FAILURE;
	op = cli_op(cli, &op_class_instance_move);
	json_set_str(op, "instance_name", cli->args[0]);
	cli_op_set(cli, op, "target_node", &OPT_MOVE_NODE);
	cli_op_set(cli, op, "compress", &OPT_COMPRESS);
	cli_op_set(cli, op, "bandwidth_limit", &OPT_BANDWIDTH_LIMIT);
	cli_op_set(cli, op, "shutdown_timeout", &OPT_SHUTDOWN_TIMEOUT);
	cli_op_flag(cli, op, "ignore_consistency", &OPT_IGNORE_CONSISTENCY);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	if (cli_given(cli, &OPT_LIVE_MOVE))
		cli_op_flag(cli, op, "live", &OPT_LIVE_MOVE);
	return cli_submit(cli, op, NULL, err);
}

static int change_group(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_instance_change_group);
	auto_free char *good = xprintf(
		"Instance '%s' changed group successfully.", cli->args[0]);
	auto_free char *bad =
		xprintf("while changing group of instance '%s'", cli->args[0]);

	json_set_str(op, "instance_name", cli->args[0]);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	cli_op_set(cli, op, "target_groups", &OPT_TO_GROUP);
	cli_op_flag(cli, op, "early_release", &OPT_EARLY_RELEASE);
	return cli_submit_and_tell(cli, op, good, bad, err);
}

const struct cli_command instance_failover = {
	.name = "failover",
	.args = "[-f] <instance-name>",
	.help = "Stop the instance, and start it on its secondary node, or on "
		"any node; mirrored disks get their other side there",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_IGNORE_CONSISTENCY, &OPT_SHUTDOWN_TIMEOUT,
		    &OPT_DST_NODE, &OPT_IALLOCATOR, &OPT_IGNORE_IPOLICY,
		    &OPT_CLEANUP, &OPT_KEEP_NODE, &OPT_SYNC_FIRST, OPTS_JOB},
	.run = failover,
};

const struct cli_command instance_migrate = {
	.name = "migrate",
	.args = "[-f] <instance-name>",
	.help = "Migrate the instance to its secondary node, or to any node; "
		"mirrored disks get their other side there first",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_NON_LIVE, &OPT_MIGRATION_MODE,
		    &OPT_CLEANUP, &OPT_DST_NODE, &OPT_IALLOCATOR,
		    &OPT_ALLOW_FAILOVER, &OPT_IGNORE_IPOLICY,
		    &OPT_IGNORE_HVVERSIONS, &OPT_NO_RUNTIME_CHANGES, OPTS_JOB},
	.run = migrate,
};

const struct cli_command instance_move = {
	.name = "move",
	.args = "[-f] -n <node> <instance-name>",
	.help = "Stop the instance (unless --live is given), copy its disks to "
		"another node, start it there; for disks that only their node "
		"has (file, plain)",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_MOVE_NODE, &OPT_COMPRESS,
		    &OPT_SHUTDOWN_TIMEOUT, &OPT_IGNORE_CONSISTENCY,
		    &OPT_IGNORE_IPOLICY, &OPT_BANDWIDTH_LIMIT, &OPT_LIVE_MOVE,
		    OPTS_JOB},
	.run = move,
};

const struct cli_command instance_change_group = {
	.name = "change-group",
	.args = "[-I <iallocator>] [--to <group>] <instance-name>",
	.help = "Move the instance to another node group",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_TO_GROUP, &OPT_IALLOCATOR, &OPT_EARLY_RELEASE,
		    OPTS_SUBMIT},
	.run = change_group,
};
