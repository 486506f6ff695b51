/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance modify. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

/* --- devices --- */

static const char *const actions[] = {"add", "attach", "remove", "detach",
				      "modify"};

#define N_ACTIONS ARRAY_SIZE(actions)

static bool comes(const char *action)
{
	return strcmp(action, "add") == 0 || strcmp(action, "attach") == 0;
}

static bool goes(const char *action)
{
	return strcmp(action, "remove") == 0 || strcmp(action, "detach") == 0;
}

/* The action among the values of a device, which is taken out of them. */
static int take_action(json_t *values, const char **ret, struct error *err)
{
	size_t n = 0;

	*ret = "modify";
	for (size_t i = 0; i < N_ACTIONS; i++) {
		if (json_object_get(values, actions[i]) == NULL)
			continue;
		*ret = actions[i];
		json_object_del(values, actions[i]);
		n++;
	}
	if (n <= 1)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Cannot do more than one of the following operations "
			 "at the same time: add, attach, remove, detach, "
			 "modify");
}

static bool is_action(const char *ident)
{
	for (size_t i = 0; i < N_ACTIONS - 1; i++)
		if (strcmp(actions[i], ident) == 0)
			return true;
	return false;
}

/* Devices come to a number. */
static int check_index(const char *action, const char *ident, struct error *err)
{
	int64_t index;

	if (!comes(action) || str_to_int64(ident, &index))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Invalid index '%s' of a new device: only positive "
			 "integer or -1 is accepted",
			 ident);
}

/* no_0 or -0, which take parameters away elsewhere; given is false or null. */
static int no_device(const char *ident, const json_t *given, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "'%s%s' names no change of a device (INDEX:remove "
			 "takes one away)",
			 json_is_false(given) ? "no_" : "-", ident);
}

/* ["add", {...}], ["2:add", ...], ["1", {"remove": true}] and so on become
 * [action, index or name, {...}]. */
static json_t *device_change(const json_t *pair, struct error *err)
{
	const char *ident = json_string_value(json_array_get(pair, 0));
	json_t *given = json_array_get(pair, 1);
	auto_json json_t *values = json_copy(given);
	bool last = is_action(ident);
	const char *action = ident;

	if (!json_is_object(given)) {
		no_device(ident, given, err);
		return NULL;
	}
	if (!last && (take_action(values, &action, err) < 0 ||
		      check_index(action, ident, err) < 0))
		return NULL;
	if (goes(action) && json_object_size(values) > 0) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Not accepting parameters on removal/detach");
		return NULL;
	}
	return last ? json_make("[s, i, O]", action, -1, values)
		    : json_make("[s, s, O]", action, ident, values);
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

static int type_number(json_t *values, const char *key, struct error *err)
{
	const char *text = json_str(values, key, NULL);
	int64_t number;

	if (text == NULL)
		return 0;
	if (!str_to_int64(text, &number))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk parameter '%s' must be a number, not "
				 "'%s'",
				 key, text);
	json_set_int(values, key, number);
	return 0;
}

/* New disks have sizes with units. */
static int type_disk(const json_t *change, struct error *err)
{
	const char *action = json_string_value(json_array_get(change, 0));
	json_t *values = json_array_get(change, 2);
	const char *size = json_str(values, "size", NULL);
	int64_t mib;

	if (type_number(values, "spindles", err) < 0)
		return -1;
	if (size == NULL && strcmp(action, "add") == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Missing required parameter 'size'");
	if (size == NULL)
		return 0;
	if (params_parse_size(size, &mib, err) < 0)
		return -1;
	json_set_int(values, "size", mib);
	return 0;
}

static int type_disks(json_t *changes, struct error *err)
{
	const json_t *change;
	size_t i;

	json_array_foreach (changes, i, change)
		if (type_disk(change, err) < 0)
			return -1;
	return 0;
}

/* --- the opcode --- */

/* The parameter for an option; details belong to a change that another option
 * asks for. */
static const struct param {
	const char *param;
	const struct opt *option;
	bool is_detail;
} plain[] = {
	{"disk_template", &OPT_DISK_TEMPLATE, false},
	{"remote_node", &OPT_MODIFY_NODE, true},
	{"iallocator", &OPT_IALLOCATOR, true},
	{"os_name", &OPT_OS_TYPE, false},
	{"runtime_mem", &OPT_RUNTIME_MEM, false},
	{"pnode", &OPT_NEW_PRIMARY, false},
	{"instance_communication", &OPT_COMMUNICATION, false},
	{"file_driver", &OPT_FILE_DRIVER, true},
	{"file_storage_dir", &OPT_FILE_DIR, true},
};

static const struct param objects[] = {
	{"beparams", &OPT_BEPARAMS, false},
	{"hvparams", &OPT_HVPARAMS, false},
	{"osparams", &OPT_OSPARAMS, false},
	{"osparams_private", &OPT_OSPARAMS_PRIVATE, false},
	{"ext_params", &OPT_EXT_PARAMS, true},
};

/* Empty texts, empty objects and a size of zero ask for no change. */
static bool asks(const struct cli *cli, const struct param *param)
{
	const json_t *value = cli_value(cli, param->option);

	return !param->is_detail &&
	       (json_is_boolean(value) || json_integer_value(value) != 0 ||
		json_object_size(value) > 0 ||
		!str_empty(json_string_value(value)));
}

static bool asks_for_nothing(const struct cli *cli)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (asks(cli, &plain[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		if (asks(cli, &objects[i]))
			return false;
	return !cli_given(cli, &OPT_DISK) && !cli_given(cli, &OPT_NET) &&
	       !cli_given(cli, &OPT_OFFLINE_INST) &&
	       !cli_given(cli, &OPT_ONLINE_INST);
}

/* An option that does not fit the disk template; NULL if all fit. */
static const char *template_misfit(const struct cli *cli)
{
	const char *to = cli_text(cli, &OPT_DISK_TEMPLATE);
	bool ext = template_get(to)->provider;

	if (cli_given(cli, &OPT_EXT_PARAMS) && !ext)
		return "Specifying ExtStorage parameters requires converting "
		       "to the 'ext' disk template";
	if (ext && !cli_given(cli, &OPT_EXT_PARAMS))
		return "Provider option is missing, use either the "
		       "'--ext-params' or '-e' option";
	if ((cli_given(cli, &OPT_FILE_DRIVER) ||
	     cli_given(cli, &OPT_FILE_DIR)) &&
	    (to == NULL || !template_is_file(to)))
		return "Specifying file-based configuration arguments requires "
		       "converting to a file-based disk template";
	return NULL;
}

static int check_ext_params(const json_t *given, struct error *err)
{
	static const char *const own[] = {"size",   "mode",    "adopt",
					  "vg",	    "metavg",  "name",
					  "access", "spindles"};

	if (json_object_size(given) > 0 && json_get(given, "provider") == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Missing required parameter 'provider' when "
				 "converting to an ExtStorage disk template");
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (json_get(given, own[i]) != NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Invalid parameter '%s' when "
					 "converting to an ExtStorage template",
					 own[i]);
	return 0;
}

static bool changes_a_nic(const json_t *nics)
{
	for (size_t i = 0; i < json_array_size(nics); i++)
		if (str_eq(json_string_value(
				   json_array_get(json_array_get(nics, i), 0)),
			   "modify"))
			return true;
	return false;
}

/* A NIC that changes while the instance runs is taken out and put in again. */
static bool may_replace_nic(const struct cli *cli, const json_t *op)
{
	if (!cli_given(cli, &OPT_HOTPLUG) ||
	    !changes_a_nic(json_get(op, "nics")))
		return true;
	return cli_ask(cli, NULL,
		       "The NIC will be taken out of the running instance and "
		       "put in again, so that its connections may break. "
		       "Continue?");
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
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		cli_op_object(cli, op, objects[i].param, objects[i].option);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		cli_op_set(cli, op, plain[i].param, plain[i].option);
	cli_op_flag(cli, op, "force", &OPT_FORCE);
	cli_op_flag(cli, op, "force_variant", &OPT_FORCE_VARIANT);
	cli_op_flag(cli, op, "ignore_ipolicy", &OPT_IGNORE_IPOLICY);
	cli_op_flag(cli, op, "hotplug", &OPT_HOTPLUG);
	cli_op_flag(cli, op, "hotplug_if_possible", &OPT_HOTPLUG_IF);
	cli_op_unless(cli, op, "wait_for_sync", &OPT_NO_WAIT_FOR_SYNC);
	if (cli_given(cli, &OPT_BANDWIDTH_LIMIT))
		cli_op_set(cli, op, "bandwidth_limit", &OPT_BANDWIDTH_LIMIT);
	cli_op_unless(cli, op, "conflicts_check", &OPT_NO_CONFLICTS_CHECK);
	if (cli_given(cli, &OPT_OFFLINE_INST) ||
	    cli_given(cli, &OPT_ONLINE_INST))
		json_set_bool(op, "offline", cli_given(cli, &OPT_OFFLINE_INST));
	if (set_devices(cli, op, err) < 0 ||
	    check_ext_params(json_get(op, "ext_params"), err) < 0 ||
	    tool_type_be(json_object_get(op, "beparams"), true, err) < 0 ||
	    tool_type_hv(json_object_get(op, "hvparams"), NULL, true, err) < 0)
		return NULL;
	return steal(&op);
}

static int modify(struct cli *cli, struct error *err)
{
	auto_json json_t *changes = NULL;
	const char *misfit = template_misfit(cli);
	const json_t *change;
	json_t *op;
	size_t i;
	int code;

	if (asks_for_nothing(cli))
		misfit = "Please give at least one of the parameters.";
	if (misfit != NULL) {
		fprintf(stderr, "%s\n", misfit);
		return CLI_FAILURE;
	}
	op = modify_op(cli, err);
	if (op == NULL)
		return -1;
	if (!may_replace_nic(cli, op)) {
		json_decref(op);
		return CLI_FAILURE;
	}
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
		    &OPT_FORCE_CHANGE,
		    &OPT_HVPARAMS,
		    &OPT_CDROM,
		    &OPT_NET,
		    &OPT_DISK_TEMPLATE,
		    &OPT_MODIFY_NODE,
		    &OPT_IALLOCATOR,
		    &OPT_OS_TYPE,
		    &OPT_FORCE_VARIANT,
		    &OPT_OSPARAMS,
		    &OPT_OSPARAMS_PRIVATE,
		    &OPT_NO_WAIT_FOR_SYNC,
		    &OPT_BANDWIDTH_LIMIT,
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
