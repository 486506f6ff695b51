/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance console: opens the console of an instance, or shows how to reach
 * it; the node with the hypervisor knows how. */
#include <stdio.h>

#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/remote.h"
#include "cli/remote/run.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/ssh/ssh.h"

static int run(const json_t *console, const struct strv *argv,
	       struct error *err)
{
	pid_t pid = run_start((const char *const *)argv->items, NULL, err);
	int status = pid < 0 ? -1 : run_wait(pid);

	if (status == 0)
		return CLI_OK;
	return error_set(err, ERR_EXEC, NULL,
			 "Connection to console of instance %s failed, please "
			 "check cluster configuration",
			 json_str(console, "instance", "?"));
}

static int session(struct cli *cli, const json_t *console, const char *cluster,
		   struct error *err)
{
	const struct remote remote = {.paths = cli_paths(cli, err),
				      .cluster = cluster};
	const char *host = json_str(console, "host", "");
	const struct remote_node node = {
		.name = host,
		.address = host,
		.port = (int)json_int(console, "port", 22)};
	const json_t *given = json_get(console, "command");
	auto_strv struct strv command = {0}, argv = {0};
	auto_free char *text = NULL;

	if (remote.paths == NULL)
		return -1;
	if (json_is_string(given))
		str_split(&command, json_string_value(given), ' ');
	else
		json_to_strv(given, &command);
	remote_session(&remote, &node, json_str(console, "user", "root"),
		       &command, &argv);
	if (!cli_given(cli, &OPT_SHOW_CMD))
		return run(console, &argv, err);
	text = ssh_quote(&argv);
	printf("%s\n", text);
	return CLI_OK;
}

static int show(struct cli *cli, const json_t *console, const char *cluster,
		struct error *err)
{
	const char *kind = json_str(console, "kind", "?");
	const char *instance = json_str(console, "instance", "?");
	const char *host = json_str(console, "host", "?");
	long long port = (long long)json_int(console, "port", 0);

	if (str_eq(kind, "ssh"))
		return session(cli, console, cluster, err);
	if (str_eq(kind, "msg"))
		printf("%s\n", json_str(console, "message", ""));
	else if (str_eq(kind, "vnc"))
		printf("Instance %s has VNC listening on %s:%lld (display "
		       "%lld), URL <vnc://%s:%lld/>\n",
		       instance, host, port,
		       (long long)json_int(console, "display", 0), host, port);
	else if (str_eq(kind, "spice"))
		printf("Instance %s has SPICE listening on %s:%lld\n", instance,
		       host, port);
	else
		return error_set(err, ERR_EXEC, NULL,
				 "Unknown console type '%s'", kind);
	return CLI_OK;
}

/* Its node does not answer. */
static int unknown(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = cli_call(
		cli, "QueryInstances",
		json_make("[[s], [s], b]", cli->args[0], "pnode", 0), err);

	if (rows == NULL)
		return -1;
	return error_set(
		err, ERR_EXEC, NULL,
		"Node %s does not answer, so it is not known whether "
		"instance %s runs there: try again, or see gnt-node "
		"list and gnt-cluster verify",
		json_string_value(json_array_get(json_array_get(rows, 0), 0))
			?: "(unknown)",
		cli->args[0]);
}

static int console(struct cli *cli, struct error *err)
{
	auto_json json_t *values =
		cli_call(cli, "QueryConfigValues",
			 json_make("[[s]]", "cluster_name"), err);
	auto_json json_t *rows =
		values == NULL
			? NULL
			: cli_call(cli, "QueryInstances",
				   json_make("[[s], [s, s], b]", cli->args[0],
					     "console", "oper_state", 0),
				   err);
	const json_t *row, *runs;

	if (rows == NULL)
		return -1;
	row = json_array_get(rows, 0);
	runs = json_array_get(row, 1);
	if (json_is_object(json_array_get(row, 0)))
		return show(cli, json_array_get(row, 0),
			    json_string_value(json_array_get(values, 0)), err);
	if (json_is_null(runs))
		return unknown(cli, err);
	return error_set(err, ERR_EXEC, NULL,
			 json_is_true(runs)
				 ? "Console information for instance %s is "
				   "unavailable"
				 : "Instance %s is not running, can't get "
				   "console",
			 cli->args[0]);
}

const struct cli_command instance_console = {
	.name = "console",
	.args = "[--show-cmd] <instance-name>",
	.help = "Connect to the console of an instance",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_SHOW_CMD, &OPT_PRIORITY},
	.run = console,
};
