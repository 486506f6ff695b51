/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster master-failover: this node becomes the master.  The master daemon
 * does the work (doc/design/log.md) and reports on stderr; this file has
 * the question to the user, and the checks that need no daemon. */
#include <stdio.h>

#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/bootstrap.h"
#include "cli/remote/run.h"
#include "lib/base/mem.h"
#include "lib/client/luxi.h"

static bool may_skip_vote(const struct cli *cli)
{
	return !cli_given(cli, &OPT_NO_VOTING) ||
	       cli_ask(cli, &OPT_YES_DO_IT,
		       "Without a vote this node becomes master with the data "
		       "that it has, and gives them\nto all others. If another "
		       "master runs, or somebody has newer data, they are "
		       "lost.\nContinue?");
}

static int take_over(const struct cli *cli, struct error *err)
{
	auto_free char *program = run_find("gantry-masterd");
	const char *argv[6] = {program, "--failover"};
	size_t n = 2;
	pid_t pid;

	if (cli_given(cli, &OPT_NO_VOTING)) {
		argv[n++] = "--no-voting";
		argv[n++] = "--yes-do-it"; /* we have asked already */
	}
	if (cli_given(cli, &OPT_IGNORE_OFFLINE_NODES))
		argv[n++] = "--ignore-offline-nodes";
	pid = run_start(argv, NULL, err);
	if (pid < 0)
		return -1;
	/* The daemon has told the user already. */
	return run_wait(pid) == 0 ? CLI_OK : CLI_FAILURE;
}

/* Whether the master daemon here is the master: one that stands by has no
 * clients. */
static bool serves(const struct paths *p)
{
	struct error ignored;
	struct luxi *luxi = luxi_connect(path(p, PATH_QUERY_SOCKET), &ignored);

	luxi_close(luxi);
	return luxi != NULL;
}

static int master_failover(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);

	if (p == NULL)
		return -1;
	if (serves(p))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "The master daemon runs on this node, %s, "
				 "already; run this on the node that shall "
				 "become master",
				 p->hostname);
	if (!may_skip_vote(cli))
		return CLI_FAILURE;
	return take_over(cli, err);
}

const struct cli_command cluster_failover = {
	.name = "master-failover",
	.args = "[--no-voting [--yes-do-it]] [--ignore-offline-nodes]",
	.help = "Make this node the master",
	.options = {&OPT_NO_VOTING, &OPT_YES_DO_IT, &OPT_IGNORE_OFFLINE_NODES},
	.run = master_failover,
};
