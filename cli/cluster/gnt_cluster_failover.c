/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster master-failover and recover: this node becomes the master, by the
 * vote of the candidates, or without those that are lost.  The master daemon
 * does the work (doc/design/failover.md) and reports on stderr; this file has
 * the questions to the user, and the checks that need no daemon. */
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

/* The daemon tells the user by itself what it does and what went wrong. */
static int run_daemon(const char *const *argv, struct error *err)
{
	pid_t pid = run_start(argv, NULL, err);

	if (pid < 0)
		return -1;
	return run_wait(pid) == 0 ? CLI_OK : CLI_FAILURE;
}

static int take_over(const struct cli *cli, struct error *err)
{
	auto_free char *program = run_find("gantry-masterd");
	const char *argv[6] = {program, "--failover"};
	size_t n = 2;

	if (cli_given(cli, &OPT_NO_VOTING)) {
		argv[n++] = "--no-voting";
		argv[n++] = "--yes-do-it"; /* we have asked already */
	}
	if (cli_given(cli, &OPT_IGNORE_OFFLINE_NODES))
		argv[n++] = "--ignore-offline-nodes";
	return run_daemon(argv, err);
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
	.alias = "masterfailover",
	.args = "[--no-voting [--yes-do-it]] [--ignore-offline-nodes]",
	.help = "Make this node the master",
	.options = {&OPT_NO_VOTING, &OPT_YES_DO_IT, &OPT_IGNORE_OFFLINE_NODES},
	.run = master_failover,
};

/* --- recover --- */

static bool may_drop(const struct cli *cli, const char *self, const char *names)
{
	auto_free char *first = xprintf(
		"%s goes on as the master without %s: what only they have is "
		"lost, and\nthey come back as new candidates. Continue?",
		self, names);
	auto_free char *second = xprintf(
		"Is it certain that nothing runs on %s any more, and that no "
		"other master\nleads there?",
		names);

	return cli_ask(cli, &OPT_YES_DO_IT, "%s", first) &&
	       cli_ask(cli, &OPT_YES_DO_IT, "%s", second);
}

static int recover(struct cli *cli, struct error *err)
{
	const json_t *drop = cli_value(cli, &OPT_DROP);
	auto_free char *program = run_find("gantry-masterd");
	const struct paths *p = cli_paths(cli, err);
	auto_strv struct strv argv = {0}, lost = {0};
	auto_free char *names = NULL;
	const json_t *name;
	size_t i;

	if (p == NULL)
		return -1;
	json_array_foreach (drop, i, name)
		strv_add_unique(&lost, json_string_value(name));
	if (lost.n == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Say with --drop NODE which master candidates "
				 "are lost");
	names = strv_join(&lost, ", ");
	if (!may_drop(cli, p->hostname, names))
		return CLI_FAILURE;
	strv_add(&argv, program);
	strv_add(&argv, "--failover");
	strv_add(&argv, "--yes-do-it");
	for (i = 0; i < lost.n; i++) {
		strv_add(&argv, "--drop");
		strv_add(&argv, lost.items[i]);
	}
	return run_daemon((const char *const *)argv.items, err);
}

const struct cli_command cluster_recover = {
	.name = "recover",
	.args = "--drop <node> [--drop <node>...] [--yes-do-it]",
	.help = "Go on without master candidates that are lost",
	.options = {&OPT_DROP, &OPT_YES_DO_IT},
	.run = recover,
};
