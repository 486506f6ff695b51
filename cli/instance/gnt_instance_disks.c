/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance activate-disks, deactivate-disks, grow-disk, recreate-disks,
 * replace-disks. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

static json_t *instance_op(struct cli *cli, const struct op_class *class)
{
	json_t *op = cli_op(cli, class);

	json_set_str(op, "instance_name", cli->args[0]);
	return op;
}

/* node:disk:device of each. */
static int activate(struct cli *cli, struct error *err)
{
	json_t *op = instance_op(cli, &op_class_instance_activate_disks);
	auto_json json_t *disks = NULL;
	const json_t *disk;
	size_t i;
	int code;

	cli_op_flag(cli, op, "ignore_size", &OPT_IGNORE_SIZE);
	cli_op_flag(cli, op, "wait_for_sync", &OPT_WAIT_FOR_SYNC);
	code = cli_submit(cli, op, &disks, err);
	json_array_foreach (disks, i, disk) {
		auto_free char *text = cli_join(disk, ":");

		puts(text);
	}
	return code;
}

static int deactivate(struct cli *cli, struct error *err)
{
	json_t *op = instance_op(cli, &op_class_instance_deactivate_disks);

	cli_op_flag(cli, op, "force", &OPT_FORCE);
	return cli_submit(cli, op, NULL, err);
}

static int grow(struct cli *cli, struct error *err)
{
	auto_json json_t *op = NULL;
	int64_t disk, amount;

	if (!str_to_int64(cli->args[1], &disk) || disk < 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid disk index: '%s' is no number",
				 cli->args[1]);
	if (params_parse_size(cli->args[2], &amount, err) < 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Can't parse the given amount '%s'",
				 cli->args[2]);
	op = instance_op(cli, &op_class_instance_grow_disk);
	json_set_int(op, "disk", disk);
	json_set_int(op, "amount", amount);
	cli_op_unless(cli, op, "wait_for_sync", &OPT_NO_WAIT_FOR_SYNC);
	cli_op_flag(cli, op, "absolute", &OPT_ABSOLUTE);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	return cli_submit(cli, steal(&op), NULL, err);
}

/* --disk N or N:size=...: [index, parameters]. */
static int add_disk(json_t *disks, const json_t *pair, struct error *err)
{
	const char *ident = json_string_value(json_array_get(pair, 0));
	auto_json json_t *params = json_deep_copy(json_array_get(pair, 1));
	const char *size = json_str(params, "size", NULL);
	int64_t index, mib, spindles;

	if (!str_to_int64(ident, &index) || index < 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid disk index: '%s' is no number",
				 ident);
	if (size != NULL) {
		if (params_parse_size(size, &mib, err) < 0)
			return -1;
		json_set_int(params, "size", mib);
	}
	if (str_to_int64(json_str(params, "spindles", ""), &spindles))
		json_set_int(params, "spindles", spindles);
	return json_array_append_new(
		disks, json_make("[I, O]", (json_int_t)index, params));
}

static int recreate(struct cli *cli, struct error *err)
{
	auto_json json_t *op =
		instance_op(cli, &op_class_instance_recreate_disks);
	auto_json json_t *disks = json_array();
	const json_t *pair;
	size_t i;

	if (cli_given(cli, &OPT_NODE) && cli_given(cli, &OPT_IALLOCATOR))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "At most one of either --nodes or "
				 "--iallocator can be passed");
	json_array_foreach (cli_value(cli, &OPT_DISK), i, pair)
		if (add_disk(disks, pair, err) < 0)
			return -1;
	json_object_set(op, "disks", disks);
	if (cli_given(cli, &OPT_NODE)) {
		auto_strv struct strv nodes = {0};

		str_split(&nodes, cli_text(cli, &OPT_NODE), ':');
		json_object_set_new(op, "nodes", json_from_strv(&nodes));
	}
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	return cli_submit(cli, steal(&op), NULL, err);
}

/* "0,2" as a list of numbers. */
static json_t *disk_numbers(const char *text, struct error *err)
{
	auto_strv struct strv words = {0};
	auto_json json_t *list = json_array();

	str_split(&words, text, ',');
	for (size_t i = 0; i < words.n; i++) {
		int64_t n;

		if (!str_to_int64(words.items[i], &n) || n < 0) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "Invalid disk index passed to --disks: '%s'",
				  words.items[i]);
			return NULL;
		}
		json_array_append_new(list, json_integer(n));
	}
	return steal(&list);
}

/* The mode that the options choose: exactly one does; NULL with err. */
static const char *replace_mode(const struct cli *cli, struct error *err)
{
	const struct {
		const struct opt *option;
		const char *mode;
	} choices[] = {
		{&OPT_ON_PRIMARY, "replace_on_primary"},
		{&OPT_ON_SECONDARY, "replace_on_secondary"},
		{&OPT_AUTO_REPLACE, "replace_auto"},
		{&OPT_NEW_SECONDARY, "replace_new_secondary"},
		{&OPT_IALLOCATOR, "replace_new_secondary"},
	};
	const char *mode = NULL;
	int given = 0;

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		if (cli_given(cli, choices[i].option)) {
			mode = choices[i].mode;
			given++;
		}
	if (given == 1)
		return mode;
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "One and only one of the -p, -s, -a, -n and -I options must "
		  "be passed");
	return NULL;
}

static int replace(struct cli *cli, struct error *err)
{
	const char *text = cli_text(cli, &OPT_DISK_NUMBERS);
	auto_json json_t *op = NULL;
	json_t *disks = text == NULL ? json_array() : disk_numbers(text, err);
	const char *mode;

	if (disks == NULL)
		return -1;
	op = instance_op(cli, &op_class_instance_replace_disks);
	json_object_set_new(op, "disks", disks);
	mode = replace_mode(cli, err);
	if (mode == NULL)
		return -1;
	json_set_str(op, "mode", mode);
	cli_op_set(cli, op, "remote_node", &OPT_NEW_SECONDARY);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	cli_op_flag(cli, op, "early_release", &OPT_EARLY_RELEASE);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	return cli_submit(cli, steal(&op), NULL, err);
}

const struct cli_command instance_activate_disks = {
	.name = "activate-disks",
	.args = "<instance-name>",
	.help = "Make an instance's disks usable on its primary node",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_IGNORE_SIZE, &OPT_WAIT_FOR_SYNC, OPTS_SUBMIT},
	.run = activate,
};

const struct cli_command instance_deactivate_disks = {
	.name = "deactivate-disks",
	.args = "<instance-name>",
	.help = "Undo activate-disks",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE_DISKS, OPTS_JOB},
	.run = deactivate,
};

const struct cli_command instance_grow_disk = {
	.name = "grow-disk",
	.args = "<instance-name> <disk> <size>",
	.help = "Make a disk larger",
	.min_args = 3,
	.max_args = 3,
	.options = {&OPT_NO_WAIT_FOR_SYNC, &OPT_ABSOLUTE, &OPT_IGNORE_IPOLICY,
		    OPTS_JOB},
	.run = grow,
};

const struct cli_command instance_recreate_disks = {
	.name = "recreate-disks",
	.args = "<instance-name>",
	.help = "Make disks anew that were lost",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_DISK, &OPT_NODE, &OPT_IALLOCATOR, OPTS_JOB},
	.run = recreate,
};

const struct cli_command instance_replace_disks = {
	.name = "replace-disks",
	.args = "{-s|-p|-a|-n NODE|-I NAME} <instance-name>",
	.help = "Give mirrored disks new storage, on one of their nodes or on "
		"another secondary node",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_AUTO_REPLACE, &OPT_DISK_NUMBERS, &OPT_IALLOCATOR,
		    &OPT_EARLY_RELEASE, &OPT_NEW_SECONDARY, &OPT_ON_PRIMARY,
		    &OPT_ON_SECONDARY, &OPT_IGNORE_IPOLICY, OPTS_JOB},
	.run = replace,
};
