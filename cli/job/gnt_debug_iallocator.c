/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-debug iallocator: what an allocator is told, or answers. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

/* What is not given. */
#define MEMORY_MIB 128
#define DISKS "4096,4096"
#define NICS "00:11:22:33:44:55"

static json_t *disks(const char *text, struct error *err)
{
	auto_json json_t *list = json_array();
	auto_strv struct strv sizes = {0};

	str_split(&sizes, text, ',');
	for (size_t i = 0; i < sizes.n; i++) {
		int64_t size;

		if (params_parse_size(sizes.items[i], &size, err) < 0) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "Invalid disks parameter '%s': '%s' is no "
				  "size (like 10g or 512m)",
				  text, sizes.items[i]);
			return NULL;
		}
		json_array_append_new(list, json_make("{s:I, s:s}", "size",
						      (json_int_t)size, "mode",
						      "rw"));
	}
	return steal(&list);
}

/* "MAC/IP/BRIDGE", null for what is empty or left out. */
static json_t *nic(const char *text)
{
	static const char *const keys[] = {"mac", "ip", "bridge"};
	auto_strv struct strv parts = {0};
	json_t *nic = json_object();

	str_split(&parts, text, '/');
	for (size_t i = 0; i < 3; i++) {
		bool given = i < parts.n && *parts.items[i] != '\0';

		json_set_str(nic, keys[i], given ? parts.items[i] : NULL);
	}
	return nic;
}

static json_t *nics(const char *text)
{
	json_t *list = json_array();
	auto_strv struct strv words = {0};

	str_split(&words, text, ',');
	for (size_t i = 0; i < words.n; i++)
		json_array_append_new(list, nic(words.items[i]));
	return list;
}

static const char *text_or(const struct cli *cli, const struct opt *o,
			   const char *fallback)
{
	return cli_given(cli, o) ? cli_text(cli, o) : fallback;
}

static int64_t count_or(const struct cli *cli, const struct opt *o,
			int64_t fallback)
{
	return cli_given(cli, o) ? cli_count(cli, o) : fallback;
}

static json_t *names(const struct cli *cli)
{
	json_t *list = cli_args(cli, 0);

	return list;
}

static json_t *make_op(const struct cli *cli, struct error *err)
{
	auto_json json_t *op = cli_op(cli, &op_class_test_allocator);
	json_t *list = disks(text_or(cli, &OPT_ALLOC_DISKS, DISKS), err);

	if (list == NULL)
		return NULL;
	json_object_set_new(op, "disks", list);
	json_object_set_new(op, "nics",
			    nics(text_or(cli, &OPT_ALLOC_NICS, NICS)));
	json_object_set_new(op, "tags", tool_tags(cli));
	json_object_set_new(op, "instances", names(cli));
	json_object_set_new(op, "target_groups", json_array());
	cli_op_set(cli, op, "target_groups", &OPT_ALLOC_GROUPS);
	json_set_str(op, "direction", text_or(cli, &OPT_ALLOC_DIRECTION, "in"));
	json_set_str(op, "mode", text_or(cli, &OPT_ALLOC_MODE, "relocate"));
	json_set_str(op, "name", cli->args[0]);
	json_set_str(op, "evac_mode", text_or(cli, &OPT_EVAC_MODE, "all"));
	json_set_int(op, "memory",
		     count_or(cli, &OPT_ALLOC_MEMORY, MEMORY_MIB));
	json_set_int(op, "vcpus", count_or(cli, &OPT_ALLOC_VCPUS, 1));
	json_set_int(op, "spindle_use", count_or(cli, &OPT_ALLOC_SPINDLES, 1));
	json_set_int(op, "count", count_or(cli, &OPT_ALLOC_COUNT, 2));
	cli_op_set(cli, op, "os", &OPT_OS_TYPE);
	cli_op_set(cli, op, "disk_template", &OPT_DISK_TEMPLATE);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	if (cli_given(cli, &OPT_EXPLAIN_ANSWER))
		json_set_bool(op, "explain", true);
	return steal(&op);
}

static int print_explained(const struct cli *cli, const char *answer,
			   struct error *err)
{
	auto_json json_t *value = json_parse(answer, strlen(answer), err);

	if (value == NULL || json_get(value, "explanation") == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The allocator explains nothing: %.300s",
				 answer);
	tool_print_explanation(cli, json_object_get(value, "explanation"));
	return CLI_OK;
}

static int run(struct cli *cli, struct error *err)
{
	json_t *op = make_op(cli, err);
	auto_json json_t *result = NULL;

	if (op == NULL)
		return -1;
	result = cli_run_op(cli, op, err);
	if (result == NULL)
		return -1;
	if (cli_given(cli, &OPT_EXPLAIN_ANSWER) && json_is_string(result))
		return print_explained(cli, json_string_value(result), err);
	printf("%s\n",
	       json_is_string(result) ? json_string_value(result) : "None");
	return CLI_OK;
}

void tool_print_explanation(const struct cli *cli, const json_t *explanation)
{
	if (cli_wants_data(cli))
		cli_print_data(cli, explanation);
	else
		fputs(json_str(explanation, "text", ""), stdout);
}

const struct cli_command debug_iallocator = {
	.name = "iallocator",
	.alias = "allocator",
	.args = "{<opts>...} <instance-name>",
	.help = "Ask an allocator, and do nothing of what it answers",
	.min_args = 1,
	.max_args = -1,
	.options = {&OPT_ALLOC_DIRECTION, &OPT_IALLOCATOR, &OPT_ALLOC_MODE,
		    &OPT_ALLOC_MEMORY, &OPT_ALLOC_DISKS, &OPT_DISK_TEMPLATE,
		    &OPT_ALLOC_NICS, &OPT_OS_TYPE, &OPT_ALLOC_VCPUS, &OPT_TAGS,
		    &OPT_EVAC_MODE, &OPT_ALLOC_GROUPS, &OPT_ALLOC_SPINDLES,
		    &OPT_ALLOC_COUNT, &OPT_EXPLAIN_ANSWER, &OPT_FORMAT,
		    &OPT_DRY_RUN, &OPT_PRIORITY, OPTS_PLAN},
	.run = run,
};
