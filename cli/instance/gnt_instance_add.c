/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance add. */
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

/* More devices of one kind than any policy allows. */
#define DEVICES_MAX 64

/* --- devices --- */

/* [[ident, {...}], ...] of --disk or --net as a list of objects, by number. */
static json_t *device_list(const json_t *given, const char *what,
			   struct error *err)
{
	auto_json json_t *list = json_array();
	const json_t *pair;
	size_t i;

	json_array_foreach (given, i, pair) {
		const char *ident = json_string_value(json_array_get(pair, 0));
		json_t *values = json_array_get(pair, 1);
		int64_t index;

		if (!str_to_int64(ident, &index) || index < 0 ||
		    index >= DEVICES_MAX) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "Invalid %s index '%s' (0, 1, ...)", what,
				  ident);
			return NULL;
		}
		if (!json_is_object(values)) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "Invalid %s specification for %s %s", what,
				  what, ident);
			return NULL;
		}
		while ((int64_t)json_array_size(list) <= index)
			json_array_append_new(list, json_object());
		json_array_set(list, (size_t)index, values);
	}
	return steal(&list);
}

/* size=1g,spindles=2: numbers.  Without a size, or with "auto", the master
 * takes the standard one. */
static int type_disk(json_t *disk, size_t index, struct error *err)
{
	const char *size = json_str(disk, "size", NULL);
	const char *spindles = json_str(disk, "spindles", NULL);
	int64_t value;

	if (size != NULL && json_get(disk, "adopt") != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Only one of 'size' and 'adopt' allowed (disk "
				 "%zu)",
				 index);
	if (str_eq(size, "auto")) {
		json_object_del(disk, "size");
	} else if (size != NULL) {
		if (params_parse_size(size, &value, err) < 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Invalid size '%s' for disk %zu (like "
					 "10g or 512m)",
					 size, index);
		json_set_int(disk, "size", value);
	} else if (json_get(disk, "adopt") != NULL) {
		json_set_int(disk, "size", 0);
	}
	if (spindles == NULL)
		return 0;
	if (!str_to_int64(spindles, &value))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid number of spindles '%s' for disk %zu",
				 spindles, index);
	json_set_int(disk, "spindles", value);
	return 0;
}

static json_t *disks(const struct cli *cli, bool import, struct error *err)
{
	const json_t *given = cli_value(cli, &OPT_DISK);
	const json_t *size = cli_value(cli, &OPT_OS_SIZE);
	auto_json json_t *list = NULL;
	json_t *disk;
	size_t i;

	if (template_get(cli_text(cli, &OPT_DISK_TEMPLATE))->no_disks) {
		if (given == NULL && size == NULL)
			return json_array();
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Diskless instance but disk information passed");
		return NULL;
	}
	if (given == NULL && size == NULL) /* as exported; the standard ones */
		return import ? json_array() : json_null();
	if (given != NULL && size != NULL) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Please use either the '--disk' or '-s' option");
		return NULL;
	}
	if (size != NULL)
		return json_make("[{s: O}]", "size", size);
	list = device_list(given, "disk", err);
	if (list == NULL)
		return NULL;
	json_array_foreach (list, i, disk)
		if (type_disk(disk, i, err) < 0)
			return NULL;
	return steal(&list);
}

static int check_nic(const json_t *nic, struct error *err)
{
	static const char *const known[] = {"mac",  "ip",   "name", "network",
					    "mode", "link", "vlan", "bridge"};
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(nic), key, value) {
		size_t k = 0;

		while (k < ARRAY_SIZE(known) && strcmp(known[k], key) != 0)
			k++;
		if (k == ARRAY_SIZE(known))
			return error_set(err, ERR_TYPE, NULL,
					 "Unknown parameter '%s'", key);
	}
	return 0;
}

static json_t *nic_list(const json_t *given, struct error *err)
{
	auto_json json_t *list = device_list(given, "network interface", err);

	for (size_t i = 0; i < json_array_size(list); i++)
		if (check_nic(json_array_get(list, i), err) < 0)
			return NULL;
	return steal(&list);
}

static json_t *nics(const struct cli *cli, bool import, struct error *err)
{
	const json_t *given = cli_value(cli, &OPT_NET);

	if (given != NULL)
		return nic_list(given, err);
	return import || cli_given(cli, &OPT_NO_NICS) ? json_array()
						      : json_null();
}

/* --- add --- */

static void set_nodes(json_t *op, const char *nodes)
{
	const char *colon;
	auto_free char *primary = NULL;

	if (nodes == NULL)
		return;
	colon = strchr(nodes, ':');
	primary = colon == NULL ? xstrdup(nodes)
				: xstrndup(nodes, (size_t)(colon - nodes));
	json_set_str(op, "pnode", primary);
	if (colon != NULL)
		json_set_str(op, "snode", colon + 1);
}

static int set_hypervisor(const struct cli *cli, json_t *op, struct error *err)
{
	const json_t *given = cli_value(cli, &OPT_HYPERVISOR);
	json_t *params = json_deep_copy(json_array_get(given, 1));
	const char *name = json_string_value(json_array_get(given, 0));

	if (params == NULL)
		params = json_object();
	json_object_set_new(op, "hvparams", params);
	if (!json_is_object(params))
		return error_set(err, ERR_TYPE, NULL,
				 "--hypervisor-parameters wants "
				 "NAME:KEY=VALUE, not '%s' alone",
				 name);
	json_set_str(op, "hypervisor", name);
	return tool_type_hv(params, name, false, err);
}

/* Options that go into the opcode as they are. */
static void set_plain(const struct cli *cli, json_t *op)
{
	static const struct {
		const char *param;
		const struct opt *option;
	} plain[] = {
		{"disk_template", &OPT_DISK_TEMPLATE},
		{"group_name", &OPT_GROUP},
		{"file_driver", &OPT_FILE_DRIVER},
		{"file_storage_dir", &OPT_FILE_DIR},
		{"iallocator", &OPT_IALLOCATOR},
		{"os_type", &OPT_OS_TYPE},
		{"helper_startup_timeout", &OPT_HELPER_START},
		{"helper_shutdown_timeout", &OPT_HELPER_STOP},
		{"instance_communication", &OPT_COMMUNICATION},
	};
	static const struct {
		const char *param;
		const struct opt *option;
	} flags[] = {
		{"force_variant", &OPT_FORCE_VARIANT},
		{"ignore_ipolicy", &OPT_IGNORE_IPOLICY},
		{"opportunistic_locking", &OPT_OPPORTUNISTIC},
		{"no_install", &OPT_NO_INSTALL},
		{"forthcoming", &OPT_FORTHCOMING},
		{"commit", &OPT_COMMIT},
	};
	static const struct {
		const char *param;
		const struct opt *option;
	} unless[] = {
		{"wait_for_sync", &OPT_NO_WAIT_FOR_SYNC},
		{"name_check", &OPT_NO_NAME_CHECK},
		{"ip_check", &OPT_NO_IP_CHECK},
		{"conflicts_check", &OPT_NO_CONFLICTS_CHECK},
		{"start", &OPT_NO_START},
	};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		cli_op_set(cli, op, plain[i].param, plain[i].option);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		cli_op_flag(cli, op, flags[i].param, flags[i].option);
	for (size_t i = 0; i < ARRAY_SIZE(unless); i++)
		cli_op_unless(cli, op, unless[i].param, unless[i].option);
}

json_t *tool_create_op(const struct cli *cli, const char *mode,
		       struct error *err)
{
	auto_json json_t *op = cli_op(cli, &op_class_instance_create);
	bool import = str_eq(mode, "import");
	json_t *list = disks(cli, import, err);

	if (list == NULL)
		return NULL;
	json_object_set_new(op, "disks", list);
	list = nics(cli, import, err);
	if (list == NULL)
		return NULL;
	json_object_set_new(op, "nics", list);
	json_set_str(op, "instance_name", cli->args[0]);
	json_set_str(op, "mode", mode);
	set_plain(cli, op);
	set_nodes(op, cli_text(cli, &OPT_NODE));
	cli_op_object(cli, op, "beparams", &OPT_BEPARAMS);
	cli_op_object(cli, op, "osparams", &OPT_OSPARAMS);
	cli_op_object(cli, op, "osparams_private", &OPT_OSPARAMS_PRIVATE);
	cli_op_object(cli, op, "osparams_secret", &OPT_OSPARAMS_SECRET);
	json_object_set_new(op, "tags", tool_tags(cli));
	if (set_hypervisor(cli, op, err) < 0 ||
	    tool_type_be(json_object_get(op, "beparams"), false, err) < 0)
		return NULL;
	return steal(&op);
}

static int add(struct cli *cli, struct error *err)
{
	json_t *op = tool_create_op(cli, "create", err);
	auto_json json_t *result = NULL;
	int code;

	if (op == NULL)
		return -1;
	if (cli_given(cli, &OPT_EXPLAIN))
		json_set_bool(op, "explain", true);
	code = cli_submit(cli, op, &result, err);
	if (cli_given(cli, &OPT_EXPLAIN) && result != NULL)
		tool_print_explanation(cli, result);
	return code;
}

const struct cli_command instance_add = {
	.name = "add",
	.args = "[...] -t disk-type -n node[:secondary-node] -o os-type "
		"<instance-name>",
	.help = "Create an instance",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_CREATE, &OPT_EXPLAIN, &OPT_FORTHCOMING, &OPT_COMMIT,
		    &OPT_NO_START, &OPT_OS_TYPE, &OPT_FORCE_VARIANT,
		    &OPT_NO_INSTALL, &OPT_COMMUNICATION, OPTS_JOB},
	.run = add,
};
