/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node restricted-command, list-drbd. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define CONFIG_MAX (1024 * 1024 * 1024)

/* --- restricted-command --- */

/* Of those named that are in the group, if one is given. */
static json_t *node_filter(const struct cli *cli)
{
	const char *group = cli_text(cli, &OPT_GROUP);
	json_t *names, *in_group;

	names = json_make("[s]", "|");
	for (int i = 1; i < cli->n_args; i++)
		json_array_append_new(names, json_make("[s, s, s]", "==",
						       "name", cli->args[i]));
	if (group == NULL)
		return names;
	in_group = json_make("[s, [s, s, s], [s, s, s]]", "|", "==", "group",
			     group, "==", "group.uuid", group);
	if (cli->n_args > 1)
		return json_make("[s, o, o]", "&", names, in_group);
	json_decref(names);
	return in_group;
}

/* The names of those that are online, to be freed; NULL with err. */
static json_t *online_nodes(struct cli *cli, struct error *err)
{
	auto_json json_t *answer =
		cli_call(cli, "Query",
			 json_make("[s, [s, s, s], o]", "node", "name",
				   "offline", "sip", node_filter(cli)),
			 err);
	const json_t *rows = json_get(answer, "data");
	auto_json json_t *given = cli_args(cli, 1);
	auto_strv struct strv offline = {0};
	json_t *names;

	if (answer == NULL ||
	    tool_check_choice(cli, rows, given, cli_text(cli, &OPT_GROUP),
			      err) < 0)
		return NULL;
	names = json_array();
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		json_t *name = json_array_get(json_array_get(row, 0), 1);

		if (json_is_true(json_array_get(json_array_get(row, 1), 1)))
			strv_add(&offline, json_string_value(name));
		else
			json_array_append(names, name);
	}
	if (offline.n > 0) {
		auto_free char *list = strv_join(&offline, ", ");

		fprintf(stderr, "Note: skipping offline node(s): %s\n", list);
	}
	if (json_array_size(names) > 0)
		return names;
	json_decref(names);
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "None of the nodes that are meant is online");
	return NULL;
}

/* Each line with the node's name before it. */
static void print_named(const char *node, const char *text)
{
	auto_strv struct strv lines = {0};
	size_t n;

	str_split(&lines, text, '\n');
	n = lines.n > 0 && *lines.items[lines.n - 1] == '\0' ? lines.n - 1
							     : lines.n;
	for (size_t i = 0; i < n; i++)
		printf("%s: %s\n", node, lines.items[i]);
}

static int print_outputs(const struct cli *cli, const json_t *nodes,
			 const json_t *result)
{
	int code = CLI_OK;

	for (size_t i = 0; i < json_array_size(result); i++) {
		const char *node = json_string_value(json_array_get(nodes, i));
		const json_t *one = json_array_get(result, i);
		const char *text = json_string_value(json_array_get(one, 1));
		bool good = json_is_true(json_array_get(one, 0));

		puts("------------------------------------------------");
		if (good && cli_given(cli, &OPT_SHOW_MACHINES))
			print_named(node, text);
		else if (good)
			printf("Node: %s\n%s\n", node, text);
		else
			puts(text);
		if (!good)
			code = CLI_FAILURE;
	}
	return code;
}

static int restricted_command(struct cli *cli, struct error *err)
{
	auto_json json_t *nodes = NULL, *result = NULL;
	json_t *op;
	int code;

	if (cli->n_args < 2 && !cli_given(cli, &OPT_GROUP))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Node group or node names must be given");
	nodes = online_nodes(cli, err);
	if (nodes == NULL)
		return -1;
	op = cli_op(cli, &op_class_restricted_command);
	json_set_str(op, "command", cli->args[0]);
	json_object_set(op, "nodes", nodes);
	cli_op_flag(cli, op, "use_locking", &OPT_SYNC);
	code = cli_submit(cli, op, &result, err);
	if (code != CLI_OK || result == NULL)
		return code;
	return print_outputs(cli, nodes, result);
}

/* --- list-drbd --- */

static const char *name_of(const json_t *config, const char *kind,
			   const char *uuid)
{
	return json_str(json_get(json_get(config, kind), uuid), "name", "");
}

/* {disk's UUID: its instance}; to be freed. */
static json_t *owners_of(const json_t *config)
{
	const json_t *all = json_get(config, "instances");
	json_t *owners = json_object(), *inst;
	const char *uuid;

	json_object_foreach (json_unconst(all), uuid, inst) {
		const json_t *disks = json_get(inst, "disks");

		for (size_t i = 0; i < json_array_size(disks); i++)
			json_object_set(
				owners,
				json_string_value(json_array_get(disks, i)),
				inst);
	}
	return owners;
}

/* A row if the disk has a minor on the node.  Its logical_id is [node, node,
 * port, minor, minor, secret]. */
static void add_minor(const json_t *config, const json_t *owners,
		      const json_t *disk, const char *node, json_t *rows)
{
	const json_t *id = json_get(disk, "logical_id");
	const json_t *inst = json_get(owners, json_str(disk, "uuid", ""));
	bool primary = str_eq(json_str(inst, "primary_node", NULL), node);

	for (size_t side = 0; side < 2; side++) {
		const char *peer =
			json_string_value(json_array_get(id, 1 - side));

		if (!str_eq(json_string_value(json_array_get(id, side)), node))
			continue;
		json_array_append_new(
			rows,
			json_make("[[i, s], [i, O], [i, s], [i, s], [i, s], "
				  "[i, s]]",
				  0, name_of(config, "nodes", node), 0,
				  json_array_get(id, 3 + side), 0,
				  json_str(inst, "name", ""), 0,
				  json_str(disk, "iv_name", ""), 0,
				  primary ? "primary" : "secondary", 0,
				  name_of(config, "nodes",
					  peer == NULL ? "" : peer)));
	}
}

/* The UUID of a node by its name, also a short one; NULL with err. */
static const char *find_node(const json_t *config, const char *name,
			     struct error *err)
{
	const char *uuid;
	json_t *node;
	size_t n = strlen(name);

	json_object_foreach (json_unconst(json_get(config, "nodes")), uuid,
			     node) {
		const char *full = json_str(node, "name", "");

		if (strncmp(full, name, n) == 0 &&
		    (full[n] == '\0' || full[n] == '.'))
			return uuid;
	}
	tool_unknown("Node", name, err);
	return NULL;
}

static void print_minors(const struct cli *cli, const json_t *rows)
{
	static const char *const names[] = {"node", "minor", "instance",
					    "disk", "role",  "peer_node"};
	static const char *const titles[] = {"Node", "Minor", "Instance",
					     "Disk", "Role",  "PeerNode"};
	auto_json json_t *fields = json_array();
	auto_buf struct buf text = {0};
	struct cli_table_style style;

	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		json_array_append_new(
			fields, json_make("{s:s, s:s, s:s}", "name", names[i],
					  "title", titles[i], "kind",
					  i == 1 ? "number" : "text"));
	if (cli_wants_data(cli)) {
		auto_json json_t *objects = cli_table_json(fields, rows);

		cli_print_data(cli, objects);
		return;
	}
	cli_table_style(cli, &style);
	style.pad_titles = true;
	cli_table(&text, &style, fields, rows);
	fwrite(text.data, 1, text.len, stdout);
}

/* From the master's configuration, since no call of the master tells it. */
static int list_drbd(struct cli *cli, struct error *err)
{
	const struct paths *paths = cli_paths(cli, err);
	auto_json json_t *config =
		paths == NULL ? NULL
			      : json_read_file(path(paths, PATH_CONFIG_DATA),
					       CONFIG_MAX, err);
	const char *node =
		config == NULL ? NULL : find_node(config, cli->args[0], err);
	auto_json json_t *rows = json_array(), *owners = NULL;
	const char *uuid;
	json_t *disk;

	if (node == NULL)
		return -1;
	owners = owners_of(config);
	json_object_foreach (json_unconst(json_get(config, "disks")), uuid,
			     disk)
		if (strcmp(json_str(disk, "dev_type", ""), "drbd") == 0)
			add_minor(config, owners, disk, node, rows);
	print_minors(cli, rows);
	return CLI_OK;
}

const struct cli_command node_restricted_command = {
	.name = "restricted-command",
	.args = "<command> <node-name>...",
	.help = "Run a command of /etc/ganeti/restricted-commands on nodes",
	.min_args = 1,
	.max_args = -1,
	.options = {&OPT_SYNC, OPTS_SUBMIT, &OPT_SHOW_MACHINES, &OPT_GROUP},
	.run = restricted_command,
};

const struct cli_command node_list_drbd = {
	.name = "list-drbd",
	.args = "<node>",
	.help = "List the DRBD minors that are used on a node",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_TABLE, &OPT_FORMAT},
	.run = list_drbd,
};
