/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance modify. */
#include <stdio.h>
#include <string.h>

#include "cli/cli_job.h"
#include "cli/cli_opts.h"
#include "cli/cli_text.h"
#include "cli/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params.h"

/* --- devices --- */

/* ["add", {...}], ["2:add", ...], ["1", {"remove": true}] and so on become
 * [action, index, {...}]. */
static json_t *device_change(const json_t *pair, struct error *err)
{
	const char *ident = json_string_value(json_array_get(pair, 0));
	const json_t *given = json_array_get(pair, 1);
	auto_json json_t *values = json_is_object(given)
					   ? json_copy((json_t *)given)
					   : json_object();
	const char *action = "modify";
	int64_t index;

	if (strcmp(ident, "add") == 0)
		return json_make("[s, i, O]", "add", -1, values);
	if (strcmp(ident, "remove") == 0)
		return json_make("[s, i, O]", "remove", -1, values);
	for (size_t i = 0; i < 2; i++) {
		const char *word = i == 0 ? "add" : "remove";

		if (json_is_true(json_object_get(values, word))) {
			action = word;
			json_object_del(values, word);
		}
	}
	if (strcmp(action, "add") == 0) {
		if (!str_to_int64(ident, &index)) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "Invalid index '%s' of a new device", ident);
			return NULL;
		}
		return json_make("[s, I, O]", action, (json_int_t)index,
				 values);
	}
	return json_make("[s, s, O]", action, ident, values);
}

static json_t *device_changes(const json_t *given, struct error *err)
{
	auto_json json_t *list = json_array();
	const json_t *pair;
	size_t i;

	json_array_foreach (given, i, pair) {
		json_t *one = device_change(pair, err);

		if (one == NULL)
			return NULL;
		json_array_append_new(list, one);
	}
	return steal(&list);
}

/* New disks have sizes with units. */
static int type_disks(json_t *changes, struct error *err)
{
	const json_t *change;
	size_t i;

	json_array_foreach (changes, i, change) {
		json_t *values = json_array_get(change, 2);
		const char *size = json_str(values, "size", NULL);
		int64_t mib;

		if (size == NULL)
			continue;
		if (params_parse_size(size, &mib, err) < 0)
			return -1;
		json_set_int(values, "size", mib);
	}
	return 0;
}

/* --- the opcode --- */

static const struct {
	const char *param;
	const struct cli_option *option;
} plain[] = {
	{"disk_template", &OPT_DISK_TEMPLATE},
	{"remote_node", &OPT_MODIFY_NODE},
	{"iallocator", &OPT_IALLOCATOR},
	{"os_name", &OPT_OS_TYPE},
	{"runtime_mem", &OPT_RUNTIME_MEM},
	{"pnode", &OPT_NEW_PRIMARY},
	{"instance_communication", &OPT_COMMUNICATION},
	{"file_driver", &OPT_FILE_DRIVER},
	{"file_storage_dir", &OPT_FILE_DIR},
};

static const struct {
	const char *param;
	const struct cli_option *option;
} objects[] = {
	{"beparams", &OPT_BEPARAMS},
	{"hvparams", &OPT_HVPARAMS},
	{"osparams", &OPT_OSPARAMS},
	{"osparams_private", &OPT_OSPARAMS_PRIVATE},
	{"ext_params", &OPT_EXT_PARAMS},
};

#define COUNT(table) (sizeof(table) / sizeof(table[0]))

static bool asks_for_nothing(const struct cli *cli)
{
	for (size_t i = 0; i < COUNT(plain); i++)
		if (cli_given(cli, plain[i].option))
			return false;
	for (size_t i = 0; i < COUNT(objects); i++)
		if (cli_given(cli, objects[i].option))
			return false;
	return !cli_given(cli, &OPT_DISK) && !cli_given(cli, &OPT_NET) &&
	       !cli_given(cli, &OPT_OFFLINE_INST) &&
	       !cli_given(cli, &OPT_ONLINE_INST);
}

static int set_devices(const struct cli *cli, json_t *op, struct error *err)
{
	json_t *nics = device_changes(cli_value(cli, &OPT_NET), err);
	json_t *disks;

	if (nics == NULL)
		return -1;
	json_object_set_new(op, "nics", nics);
	disks = device_changes(cli_value(cli, &OPT_DISK), err);
	if (disks == NULL)
		return -1;
	json_object_set_new(op, "disks", disks);
	return type_disks(disks, err);
}

static json_t *modify_op(const struct cli *cli, struct error *err)
{
	auto_json json_t *op = cli_op(cli, &op_class_instance_set_params);

	json_set_str(op, "instance_name", cli->args[0]);
	for (size_t i = 0; i < COUNT(objects); i++) {
		json_object_set_new(op, objects[i].param, json_object());
		cli_op_set(cli, op, objects[i].param, objects[i].option);
	}
	for (size_t i = 0; i < COUNT(plain); i++)
		cli_op_set(cli, op, plain[i].param, plain[i].option);
	cli_op_flag(cli, op, "force", &OPT_FORCE);
	cli_op_flag(cli, op, "force_variant", &OPT_FORCE_VARIANT);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	cli_op_flag(cli, op, "hotplug", &OPT_HOTPLUG);
	cli_op_flag(cli, op, "hotplug_if_possible", &OPT_HOTPLUG_IF);
	cli_op_unless(cli, op, "wait_for_sync", &OPT_NO_WAIT_FOR_SYNC);
	cli_op_unless(cli, op, "conflicts_check", &OPT_NO_CONFLICTS_CHECK);
	if (cli_given(cli, &OPT_OFFLINE_INST) ||
	    cli_given(cli, &OPT_ONLINE_INST))
		json_set_bool(op, "offline", cli_given(cli, &OPT_OFFLINE_INST));
	if (set_devices(cli, op, err) < 0 ||
	    tool_type_be(json_object_get(op, "beparams"), true, err) < 0 ||
	    tool_type_hv(json_object_get(op, "hvparams"), NULL, true, err) < 0)
		return NULL;
	return steal(&op);
}

static int modify(struct cli *cli, struct error *err)
{
	auto_json json_t *changes = NULL;
	const json_t *change;
	json_t *op;
	size_t i;
	int code;

	if (asks_for_nothing(cli)) {
		fprintf(stderr, "Please give at least one of the "
				"parameters.\n");
		return CLI_FAILURE;
	}
	op = modify_op(cli, err);
	if (op == NULL)
		return -1;
	code = cli_submit(cli, op, &changes, err);
	if (code != CLI_OK || json_array_size(changes) == 0 ||
	    cli_given(cli, &OPT_DRY_RUN))
		return code;
	printf("Modified instance %s\n", cli->args[0]);
	json_array_foreach (changes, i, change) {
		auto_free char *name = cli_str(json_array_get(change, 0));
		auto_free char *value = cli_str(json_array_get(change, 1));

		printf(" - %-5s -> %s\n", name, value);
	}
	printf("Please don't forget that most parameters take effect only at "
	       "the next (re)start of the instance initiated by ganeti; "
	       "restarting from within the instance will not be enough.\n");
	return CLI_OK;
}

const struct cli_command instance_modify = {
	.name = "modify",
	.args = "<instance-name>",
	.help = "Change the parameters of an instance",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_BEPARAMS,
		    &OPT_DISK,
		    &OPT_FORCE,
		    &OPT_HVPARAMS,
		    &OPT_NET,
		    &OPT_DISK_TEMPLATE,
		    &OPT_MODIFY_NODE,
		    &OPT_IALLOCATOR,
		    &OPT_OS_TYPE,
		    &OPT_FORCE_VARIANT,
		    &OPT_OSPARAMS,
		    &OPT_OSPARAMS_PRIVATE,
		    &OPT_NO_WAIT_FOR_SYNC,
		    &OPT_OFFLINE_INST,
		    &OPT_ONLINE_INST,
		    &OPT_IGNORE_IPOLICY,
		    &OPT_RUNTIME_MEM,
		    &OPT_NO_CONFLICTS_CHECK,
		    &OPT_NEW_PRIMARY,
		    &OPT_HOTPLUG,
		    &OPT_HOTPLUG_IF,
		    &OPT_COMMUNICATION,
		    &OPT_EXT_PARAMS,
		    &OPT_FILE_DRIVER,
		    &OPT_FILE_DIR,
		    OPTS_JOB},
	.run = modify,
};
