/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of OS scripts, as Ganeti's: names and values are an interface
 * that the definitions in use rely on. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"
#include "noded/scripts/lent.h"
#include "noded/scripts/osdef.h"
#include "noded/scripts/script.h"

#define DEFAULT_FILE_DRIVER "loop"

static void add_params(struct strv *env, const char *prefix,
		       const json_t *params)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(params), name, value) {
		auto_free char *key = xprintf("%s%s", prefix, name);

		script_env_json(env, key, value);
	}
}

static void add_os_params(struct strv *env, const json_t *params)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(params), name, value) {
		auto_free char *key = xprintf("OSP_%s", name);

		for (char *p = key; *p != '\0'; p++)
			*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
		script_env_json(env, key, value);
	}
}

void osdef_core_env(const struct osdef *def, const char *os,
		    const json_t *params, int64_t debug, struct strv *env)
{
	const char *variant = "";

	if (def->variants.n > 0) {
		variant = osdef_variant(os);
		if (variant == NULL || *variant == '\0')
			variant = def->variants.items[0];
	}
	script_env(env, "PATH", SCRIPT_PATH);
	strv_addf(env, "OS_API_VERSION=%d", def->api_version);
	script_env(env, "OS_NAME", def->name);
	script_env(env, "OS_VARIANT", variant);
	strv_addf(env, "DEBUG_LEVEL=%" PRId64, debug);
	add_os_params(env, params);
}

/* "<kind>_<index>_<name>=<value>" unless the value is missing. */
static void add_item(struct strv *env, const char *kind, size_t index,
		     const char *name, const json_t *value)
{
	auto_free char *key = xprintf("%s_%zu_%s", kind, index, name);

	if (value != NULL && !json_is_null(value))
		script_env_json(env, key, value);
}

static void add_backend(struct strv *env, size_t index, const json_t *disk)
{
	const char *type = json_str(disk, "dev_type", "");
	const json_t *id = json_get(disk, "logical_id");
	const char *driver = json_string_value(json_array_get(id, 0));

	if (template_is_file(type))
		strv_addf(env, "DISK_%zu_BACKEND_TYPE=file:%s", index,
			  driver != NULL ? driver : DEFAULT_FILE_DRIVER);
	else
		strv_addf(env, "DISK_%zu_BACKEND_TYPE=block", index);
}

/* The variable for a file-based disk's path; other disks have a device, whose
 * path only the storage knows. */
static void add_path(const struct paths *p, struct strv *env, size_t index,
		     const json_t *disk)
{
	const json_t *id = json_get(disk, "logical_id");
	const char *file = json_string_value(json_array_get(id, 1));
	auto_free char *local = NULL;

	if (file == NULL || file[0] != '/')
		return;
	local = lent_needed(disk) ? lent_path(p, disk) : paths_local(p, file);
	strv_addf(env, "DISK_%zu_PATH=%s", index, local);
}

static void add_disks(const struct paths *p, struct strv *env,
		      const json_t *instance)
{
	const json_t *disks = json_get(instance, "disks_info"), *disk;
	const json_t *type =
		json_get(json_get(instance, "hvparams"), "disk_type");
	size_t i;

	strv_addf(env, "DISK_COUNT=%zu", json_array_size(disks));
	json_array_foreach (disks, i, disk) {
		add_path(p, env, i, disk);
		add_item(env, "DISK", i, "ACCESS", json_get(disk, "mode"));
		add_item(env, "DISK", i, "UUID", json_get(disk, "uuid"));
		add_item(env, "DISK", i, "SIZE", json_get(disk, "size"));
		add_item(env, "DISK", i, "NAME", json_get(disk, "name"));
		add_item(env, "DISK", i, "FRONTEND_TYPE", type);
		add_backend(env, i, disk);
	}
}

static void add_network(struct strv *env, size_t index, const json_t *nic)
{
	const json_t *net = json_get(nic, "netinfo");
	auto_strv struct strv tags = {0};
	auto_free char *prefix = xprintf("NIC_%zu_", index), *text = NULL;

	if (net == NULL)
		return;
	script_env_network(env, prefix, net);
	json_to_strv(json_get(net, "tags"), &tags);
	text = strv_join(&tags, " ");
	strv_addf(env, "NIC_%zu_NETWORK_TAGS=%s", index, text);
}

static void add_nics(struct strv *env, const json_t *instance)
{
	const json_t *nics = json_get(instance, "nics"), *nic;
	const json_t *type =
		json_get(json_get(instance, "hvparams"), "nic_type");
	size_t i;

	strv_addf(env, "NIC_COUNT=%zu", json_array_size(nics));
	json_array_foreach (nics, i, nic) {
		const json_t *params = json_get(nic, "nicparams");
		const json_t *link = json_get(params, "link");

		add_item(env, "NIC", i, "MAC", json_get(nic, "mac"));
		add_item(env, "NIC", i, "UUID", json_get(nic, "uuid"));
		add_item(env, "NIC", i, "NAME", json_get(nic, "name"));
		add_item(env, "NIC", i, "IP", json_get(nic, "ip"));
		add_item(env, "NIC", i, "MODE", json_get(params, "mode"));
		if (strcmp(json_str(params, "mode", ""), "bridged") == 0)
			add_item(env, "NIC", i, "BRIDGE", link);
		add_item(env, "NIC", i, "LINK", link);
		add_item(env, "NIC", i, "FRONTEND_TYPE", type);
		add_network(env, i, nic);
	}
}

/* All OS parameters: each class overrides the one before. */
static json_t *os_params(const json_t *instance)
{
	auto_json json_t *params =
		json_overlay(json_get(instance, "osparams"),
			     json_get(instance, "osparams_private"));

	return json_overlay(params, json_get(instance, "osparams_secret"));
}

void osdef_instance_env(const struct paths *p, const struct osdef *def,
			const json_t *instance, int64_t debug, struct strv *env)
{
	static const char *const members[][2] = {
		{"INSTANCE_NAME", "name"},
		{"INSTANCE_OS", "os"},
		{"INSTANCE_UUID", "uuid"},
		{"INSTANCE_CTIME", "ctime"},
		{"INSTANCE_MTIME", "mtime"},
		{"INSTANCE_PRIMARY_NODE", "primary_node"},
		{"HYPERVISOR", "hypervisor"},
	};
	auto_json json_t *params = os_params(instance);
	auto_strv struct strv secondaries = {0};
	auto_free char *text = NULL;

	osdef_core_env(def, json_str(instance, "os", ""), params, debug, env);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		script_env_json(env, members[i][0],
				json_object_get(instance, members[i][1]));
	json_to_strv(json_get(instance, "secondary_nodes"), &secondaries);
	text = strv_join(&secondaries, " ");
	script_env(env, "INSTANCE_SECONDARY_NODES", text);
	add_disks(p, env, instance);
	add_nics(env, instance);
	add_params(env, "INSTANCE_BE_", json_get(instance, "beparams"));
	add_params(env, "INSTANCE_HV_", json_get(instance, "hvparams"));
}
