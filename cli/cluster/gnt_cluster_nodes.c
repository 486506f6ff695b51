/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster command and copyfile: the same on many nodes, one after the
 * other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/ssh.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"

/* What is asked of each node. */
enum { COL_NAME, COL_OFFLINE, COL_MASTER, COL_SECONDARY, COL_PORT };
#define COLUMNS                                                                \
	"[s, s, s, s, s]", "name", "offline", "master", "sip", "ndp/ssh_port"

/* The filter of -n and -g: JSON null without either; to be freed. */
static json_t *filter(const struct cli *cli)
{
	auto_json json_t *all = json_make("[s]", "&"), *names = NULL;
	const char *group = cli_text(cli, &OPT_GROUP);
	const json_t *name;
	size_t i;

	if (cli_given(cli, &OPT_ON_NODES)) {
		names = json_make("[s]", "|");
		json_array_foreach (cli_value(cli, &OPT_ON_NODES), i, name)
			json_array_append_new(names, json_make("[s, s, O]", "=",
							       "name", name));
		json_array_append(all, names);
	}
	if (group != NULL)
		json_array_append_new(all,
				      json_make("[s, [s, s, s], [s, s, s]]",
						"|", "=", "group", group, "=",
						"group.uuid", group));
	return json_array_size(all) == 1 ? json_null() : steal(&all);
}

static const json_t *cell(const json_t *row, size_t column)
{
	return json_array_get(json_array_get(row, column), 1);
}

static bool is_master(const json_t *row)
{
	return json_is_true(cell(row, COL_MASTER));
}

/* The rows of the nodes that are online, the master's last. */
static json_t *online_nodes(struct cli *cli, struct error *err)
{
	auto_json json_t *answer = cli_call(
		cli, "Query",
		json_make("[s, o, o]", "node", json_make(COLUMNS), filter(cli)),
		err);
	auto_json json_t *rows = json_array(), *last = json_array();
	auto_strv struct strv offline = {0};
	auto_free char *names = NULL;
	json_t *row;
	size_t i;

	if (answer == NULL ||
	    tool_check_choice(cli, json_get(answer, "data"),
			      cli_value(cli, &OPT_ON_NODES),
			      cli_text(cli, &OPT_GROUP), err) < 0)
		return NULL;
	json_array_foreach (json_get(answer, "data"), i, row) {
		if (json_is_true(cell(row, COL_OFFLINE)))
			strv_add(&offline,
				 json_string_value(cell(row, COL_NAME)));
		else
			json_array_append(is_master(row) ? last : rows, row);
	}
	names = strv_join(&offline, ", ");
	if (offline.n > 0)
		fprintf(stderr, "Note: skipping offline node(s): %s\n", names);
	json_array_extend(rows, last);
	if (json_array_size(rows) > 0)
		return steal(&rows);
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "None of the nodes that are meant is online");
	return NULL;
}

/* The values for all connections; `values` keeps the strings. */
static int open_ssh(struct cli *cli, struct ssh *ret, json_t **ret_info,
		    struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	json_t *info = p == NULL ? NULL
				 : cli_call(cli, "QueryClusterInfo",
					    json_array(), err);

	if (info == NULL)
		return -1;
	*ret_info = info;
	*ret = (struct ssh){.paths = p,
			    .cluster = json_str(info, "name", ""),
			    .ipv6 = json_int(info, "primary_ip_version", 4) ==
				    6};
	return 0;
}

static struct ssh_node node_of(const json_t *row, bool secondary)
{
	const char *name = json_string_value(cell(row, COL_NAME));

	return (struct ssh_node){
		.name = name,
		.address = secondary
				   ? json_string_value(cell(row, COL_SECONDARY))
				   : name,
		.port = (int)json_integer_value(cell(row, COL_PORT))};
}

/* --- command --- */

static void print_output(const struct cli *cli, const char *node, char *output)
{
	char *rest = output, *line;

	if (!cli_given(cli, &OPT_MACHINE_NAMES)) {
		printf("node: %s\n%s\n", node, output);
		return;
	}
	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0' || rest != NULL)
			printf("%s: %s\n", node, line);
}

static int command(struct cli *cli, struct error *err)
{
	auto_json json_t *info = NULL, *rows = NULL;
	auto_strv struct strv words = {0};
	auto_free char *line = NULL;
	struct ssh ssh;
	const json_t *row;
	size_t i;

	for (int k = 0; k < cli->n_args; k++)
		strv_add(&words, cli->args[k]);
	line = strv_join(&words, " ");
	if (open_ssh(cli, &ssh, &info, err) < 0)
		return -1;
	rows = online_nodes(cli, err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		struct ssh_node node = node_of(row, false);
		auto_free char *output = NULL;
		int status = ssh_run(&ssh, &node, line, &output, err);

		if (status < 0)
			return -1;
		if (status == 0 && cli_given(cli, &OPT_FAILURE_ONLY))
			continue;
		printf("------------------------------------------------\n");
		print_output(cli, node.name, output);
		printf("return code = %d\n", status);
	}
	return CLI_OK;
}

/* --- copyfile --- */

static int copyfile(struct cli *cli, struct error *err)
{
	auto_free char *file = realpath(cli->args[0], NULL);
	auto_json json_t *info = NULL, *rows = NULL;
	struct ssh ssh;
	const json_t *row;
	size_t i;

	if (file == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No such filename '%s'", cli->args[0]);
	if (open_ssh(cli, &ssh, &info, err) < 0)
		return -1;
	rows = online_nodes(cli, err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		struct ssh_node node =
			node_of(row, cli_given(cli, &OPT_REPLICATION_NET));
		struct error why;

		if (!is_master(row) && ssh_copy(&ssh, &node, file, &why) < 0)
			fprintf(stderr,
				"Copy of file %s to node %s:%d failed: %s\n",
				file, node.name, node.port, why.text);
	}
	return CLI_OK;
}

const struct cli_command cluster_command = {
	.name = "command",
	.args = "[-n <node>...] <command>",
	.help = "Run a command on all or some nodes",
	.min_args = 1,
	.max_args = -1,
	.ends_options = true,
	.options = {&OPT_ON_NODES, &OPT_GROUP, &OPT_MACHINE_NAMES,
		    &OPT_FAILURE_ONLY},
	.run = command,
};

const struct cli_command cluster_copyfile = {
	.name = "copyfile",
	.args = "[-n <node>...] <file>",
	.help = "Copy a file to all or some other nodes",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_ON_NODES, &OPT_GROUP, &OPT_REPLICATION_NET},
	.run = copyfile,
};
