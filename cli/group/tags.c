/* SPDX-License-Identifier: BSD-2-Clause */
/* list-tags, add-tags and remove-tags of clusters, groups, nodes, instances and
 * networks. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define TAGS_FILE_MAX (1024 * 1024)
#define BLANKS " \t\r\v\f"

/* What the master calls the kind of object of each tool. */
static const char *tag_kind(const struct cli *cli)
{
	const char *kind = cli->tool->name + strlen("gnt-");

	return strcmp(kind, "group") == 0 ? "nodegroup" : kind;
}

/* The object's name; "" for the cluster. */
static const char *object_name(const struct cli *cli)
{
	return cli->command->min_args == 0 ? "" : cli->args[0];
}

static int compare_tags(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_tags(struct cli *cli, struct error *err)
{
	auto_json json_t *tags = cli_call(
		cli, "QueryTags",
		json_make("[s, s]", tag_kind(cli), object_name(cli)), err);
	auto_strv struct strv names = {0};

	if (tags == NULL)
		return -1;
	json_to_strv(tags, &names);
	if (names.n > 1)
		qsort(names.items, names.n, sizeof(*names.items), compare_tags);
	if (cli_wants_data(cli)) {
		auto_json json_t *sorted = json_from_strv(&names);

		cli_print_data(cli, sorted);
		return CLI_OK;
	}
	for (size_t i = 0; i < names.n; i++)
		printf("%s\n", names.items[i]);
	return CLI_OK;
}

/* Without the blanks around it, where it stands. */
static char *stripped(char *line)
{
	size_t n;

	line += strspn(line, BLANKS);
	n = strlen(line);
	while (n > 0 && strchr(BLANKS, line[n - 1]) != NULL)
		line[--n] = '\0';
	return line;
}

static int tags_from_file(const char *path, struct strv *ret, struct error *err)
{
	bool standard = strcmp(path, "-") == 0;
	auto_free char *text = fs_read(standard ? "/dev/stdin" : path,
				       TAGS_FILE_MAX, NULL, err);
	auto_strv struct strv lines = {0};

	if (text == NULL)
		return -1;
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		const char *tag = stripped(lines.items[i]);

		if (*tag != '\0')
			strv_add(ret, tag);
	}
	return 0;
}

static int change(struct cli *cli, const struct op_class *class,
		  struct error *err)
{
	const char *file = cli_text(cli, &OPT_TAGS_FROM);
	auto_strv struct strv tags = {0};
	json_t *op;

	for (int i = cli->command->min_args; i < cli->n_args; i++)
		strv_add(&tags, cli->args[i]);
	if (file != NULL && tags_from_file(file, &tags, err) < 0)
		return -1;
	if (tags.n == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No tags given (as arguments or with --from)");
	op = cli_op(cli, class);
	json_set_str(op, "kind", tag_kind(cli));
	json_set_str(op, "name", object_name(cli));
	json_object_set_new(op, "tags", json_from_strv(&tags));
	return cli_submit(cli, op, NULL, err);
}

static int add_tags(struct cli *cli, struct error *err)
{
	return change(cli, &op_class_tags_set, err);
}

static int remove_tags(struct cli *cli, struct error *err)
{
	return change(cli, &op_class_tags_del, err);
}

#define TAG_COMMANDS(symbol, object, n)                                        \
	const struct cli_command symbol[] = {                                  \
		{                                                              \
			.name = "list-tags",                                   \
			.args = object,                                        \
			.help = "List the tags",                               \
			.min_args = n,                                         \
			.max_args = n,                                         \
			.options = {OPTS_INFO},                                \
			.run = list_tags,                                      \
		},                                                             \
		{                                                              \
			.name = "add-tags",                                    \
			.args = object " <tag>...",                            \
			.help = "Add tags",                                    \
			.min_args = n,                                         \
			.max_args = -1,                                        \
			.options = {&OPT_TAGS_FROM, OPTS_SUBMIT},              \
			.run = add_tags,                                       \
		},                                                             \
		{                                                              \
			.name = "remove-tags",                                 \
			.args = object " <tag>...",                            \
			.help = "Remove tags",                                 \
			.min_args = n,                                         \
			.max_args = -1,                                        \
			.options = {&OPT_TAGS_FROM, OPTS_SUBMIT},              \
			.run = remove_tags,                                    \
		},                                                             \
	}

TAG_COMMANDS(cluster_tags, "", 0);
TAG_COMMANDS(node_tags, "<node-name>", 1);
TAG_COMMANDS(instance_tags, "<instance-name>", 1);
TAG_COMMANDS(group_tags, "<group>", 1);
TAG_COMMANDS(network_tags, "<network>", 1);
