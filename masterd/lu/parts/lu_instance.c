/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects for node calls and hooks are built as copies: parameters are filled
 * from the defaults above them, and members that Ganeti's node daemon does not
 * know are removed.  The recorded instance changes only in inst_mark(). */
#include "masterd/lu/parts/lu_instance.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/parts/lu_balloon.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/parts/lu_net.h"

const char *lu_node_name(struct lu *lu, const char *uuid)
{
	return config_name(lu->m->config, CONFIG_NODE, uuid);
}

json_t *inst_filled_be(struct lu *lu, const json_t *inst)
{
	return params_fill_be(config_cluster(lu->m->config),
			      inst_beparams(inst));
}

json_t *inst_filled_hv(struct lu *lu, const json_t *inst)
{
	return params_fill_hv(config_cluster(lu->m->config),
			      inst_hypervisor(inst), inst_os(inst),
			      inst_hvparams(inst));
}

json_t *inst_rpc_nic(struct lu *lu, const json_t *nic)
{
	const char *uuid = nic_network(nic);
	const json_t *network =
		uuid == NULL ? NULL
			     : config_get(lu->m->config, CONFIG_NETWORK, uuid);
	json_t *copy = json_copy(json_unconst(nic));

	json_object_set_new(copy, "nicparams",
			    params_fill_nic(config_cluster(lu->m->config),
					    nic_nicparams(nic)));
	if (network != NULL)
		json_object_set(copy, "netinfo", json_unconst(network));
	return copy;
}

static json_t *filled_nics(struct lu *lu, const json_t *inst)
{
	const json_t *nics = inst_nics(inst);
	json_t *result = json_array();

	for (size_t i = 0; i < json_array_size(nics); i++) {
		json_array_append_new(
			result, inst_rpc_nic(lu, json_array_get(nics, i)));
	}
	return result;
}

json_t *inst_rpc_disk(struct lu *lu, const json_t *inst, const json_t *disk)
{
	struct config *c = lu->m->config;
	const json_t *node =
		config_get(c, CONFIG_NODE, inst_primary_node(inst));
	const json_t *group = config_get(c, CONFIG_GROUP, node_group(node));
	json_t *copy = params_device(config_cluster(c), group, disk);

	json_object_del(copy, "reserved_by_job"); /* as in instances */
	json_object_set_new(copy, "dynamic_params", json_object());
	return copy;
}

json_t *inst_rpc_disks(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	json_t *result = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++)
		json_array_append_new(
			result,
			inst_rpc_disk(lu, inst, json_array_get(disks, i)));
	return result;
}

json_t *inst_rpc(struct lu *lu, const json_t *inst, const json_t *hv,
		 const json_t *be)
{
	const json_t *cluster = config_cluster(lu->m->config);
	auto_json json_t *filled_hv = inst_filled_hv(lu, inst);
	auto_json json_t *filled_be = inst_filled_be(lu, inst);
	auto_strv struct strv secondaries = {0};
	const char *os = inst_os(inst);
	json_t *copy = json_copy(json_unconst(inst));

	/* Ganeti's node daemon refuses objects that contain members of ours. */
	json_object_del(copy, "reserved_by_job");
	config_instance_secondaries(lu->m->config, inst, &secondaries);
	json_object_set_new(copy, "hvparams", json_overlay(filled_hv, hv));
	json_object_set_new(copy, "beparams", json_overlay(filled_be, be));
	json_object_set_new(copy, "osparams",
			    params_fill_os(cluster, os, inst_osparams(inst)));
	json_object_set_new(copy, "osparams_private",
			    params_fill_os_private(
				    cluster, os, inst_osparams_private(inst)));
	json_object_set_new(copy, "nics", filled_nics(lu, inst));
	json_object_set_new(copy, "secondary_nodes",
			    json_from_strv(&secondaries));
	json_object_set_new(copy, "disks_info", inst_rpc_disks(lu, inst));
	return copy;
}

json_t *inst_rpc_os(struct lu *lu, const json_t *inst,
		    const struct params_os *own)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *os = inst_os(inst);
	json_t *carried = inst_rpc(lu, inst, NULL, NULL);
	auto_json json_t *public = params_fill_os(cluster, os, own->public);

	inst_set_osparams(carried, json_overlay(public, own->secret));
	inst_set_osparams_private(
		carried, params_fill_os_private(cluster, os, own->private));
	return carried;
}

bool inst_communicates(const json_t *inst)
{
	const json_t *nic;
	size_t i;

	json_array_foreach (inst_nics(inst), i, nic)
		if (str_starts(nic_name_or(nic, ""), COMMUNICATION_NIC_PREFIX))
			return true;
	return false;
}

int inst_feed_metadata(struct lu *lu, const json_t *inst,
		       const struct params_os *own, struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *os = inst_os(inst);
	json_t *carried = inst_rpc(lu, inst, NULL, NULL);
	auto_json json_t *done = NULL;

	if (own != NULL) {
		inst_set_osparams(carried,
				  params_fill_os(cluster, os, own->public));
		inst_set_osparams_private(
			carried,
			params_fill_os_private(cluster, os, own->private));
		json_object_set(carried, "osparams_secret",
				json_unconst(own->secret));
	}
	done = lu_call(lu, inst_primary_node(inst),
		       rpc_instance_metadata_modify(carried), err);
	return done != NULL
		       ? 0
		       : error_wrap(err,
				    "Could not update the metadata of "
				    "instance %s on node %s",
				    inst_name(inst),
				    lu_node_name(lu, inst_primary_node(inst)));
}

/* --- hook variables --- */

char *inst_env_text(const json_t *value)
{
	if (value == NULL || json_is_null(value))
		return xstrdup("");
	if (json_is_boolean(value))
		return xstrdup(json_is_true(value) ? "True" : "False");
	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	return json_text(value);
}

static void env_set(json_t *env, const char *key, const char *value)
{
	json_set_str(env, key, value == NULL ? "" : value);
}

static void env_dict(json_t *env, const char *prefix, const json_t *dict)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(dict), key, value) {
		auto_free char *name = xprintf("%s%s", prefix, key);
		auto_free char *text = inst_env_text(value);

		env_set(env, name, text);
	}
}

static void env_nic(struct lu *lu, json_t *env, size_t i, const json_t *nic)
{
	static const char *const own[] = {"ip", "mac", "name", "uuid"};
	static const char *const filled_keys[] = {"mode", "link", "vlan"};
	auto_json json_t *filled = params_fill_nic(
		config_cluster(lu->m->config), nic_nicparams(nic));
	auto_free char *bridge = xprintf("INSTANCE_NIC%zu_BRIDGE", i);
	auto_free char *prefix = xprintf("INSTANCE_NIC%zu_", i);
	const json_t *network = config_get(lu->m->config, CONFIG_NETWORK,
					   nic_network_or(nic, ""));

	for (size_t k = 0; k < 7; k++) {
		const char *key = k < 4 ? own[k] : filled_keys[k - 4];
		const char *value = json_str(k < 4 ? nic : filled, key, NULL);
		auto_free char *name = xprintf("INSTANCE_NIC%zu_%s", i, key);

		if (value == NULL && strcmp(key, "name") == 0)
			continue;
		for (char *p = name; *p != '\0'; p++)
			*p = (char)toupper((unsigned char)*p);
		env_set(env, name, value);
	}
	if (strcmp(nicparams_mode(filled), "bridged") == 0 ||
	    strcmp(nicparams_mode(filled), "openvswitch") == 0)
		env_set(env, bridge, nicparams_link(filled));
	if (network != NULL)
		lu_net_env(network, prefix, env);
}

void inst_env_disk(size_t i, const json_t *disk, json_t *ret_env)
{
	auto_free char *size = xprintf("%jd", (intmax_t)disk_size_mib(disk));
	const struct {
		const char *key, *value;
	} items[] = {
		{"NAME", disk_name(disk)},
		{"UUID", disk_uuid(disk)},
		{"SIZE", size},
		{"MODE", disk_mode(disk)},
	};

	for (size_t k = 0; k < ARRAY_SIZE(items); k++) {
		auto_free char *key =
			xprintf("INSTANCE_DISK%zu_%s", i, items[k].key);

		if (items[k].value != NULL)
			env_set(ret_env, key, items[k].value);
	}
}

/* What the logical id of a disk says, in its order; what follows is told to
 * nobody, as it is a mirror's secret. */
#define ID_PARTS_MAX 5
static const char *const mirror_id_parts[ID_PARTS_MAX] = {
	"PNODE", "SNODE", "PORT", "PMINOR", "SMINOR"};
static const char *const id_parts[NAMED_COUNT][ID_PARTS_MAX] = {
	[NAMED_AS_FILE] = {"DRIVER", "ID"},
	[NAMED_AS_INSTANCE] = {"DRIVER", "ID"},
	[NAMED_AS_VOLUME] = {"VG", "ID"},
	[NAMED_AS_IMAGE] = {"DRIVER", "ID"},
	[NAMED_BY_PROVIDER] = {"PROVIDER", "ID"},
	[NAMED_BY_USER] = {"DRIVER", "ID"},
};

static void env_id(json_t *env, const char *prefix, const json_t *disk)
{
	const char *type = disk_dev_type(disk);
	const char *const *parts =
		template_is_pair(type) ? mirror_id_parts
				       : id_parts[template_get(type)->named];
	const json_t *id = disk_logical_id(disk);

	for (size_t k = 0; k < ID_PARTS_MAX && parts[k] != NULL; k++) {
		auto_free char *key = xprintf("%s%s", prefix, parts[k]);
		auto_free char *text = inst_env_text(json_array_get(id, k));

		env_set(env, key, text);
	}
}

/* Where a disk is: its logical id, and of a mirror its volumes as well. */
static void env_place(json_t *env, size_t i, const json_t *disk)
{
	static const char *const volumes[] = {"DATA_", "META_"};
	auto_free char *prefix = xprintf("INSTANCE_DISK%zu_", i);
	auto_free char *type = xprintf("%sDEV_TYPE", prefix);
	const json_t *children = disk_children(disk);

	env_set(env, type, disk_dev_type(disk));
	env_id(env, prefix, disk);
	for (size_t k = 0; k < ARRAY_SIZE(volumes); k++) {
		auto_free char *below = xprintf("%s%s", prefix, volumes[k]);

		env_id(env, below, json_array_get(children, k));
	}
}

static void env_lists(struct lu *lu, const json_t *inst, json_t *env)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	const json_t *nics = inst_nics(inst);
	auto_free char *n_nics = xprintf("%zu", json_array_size(nics));
	auto_free char *n_disks = xprintf("%zu", json_array_size(disks));

	for (size_t i = 0; i < json_array_size(nics); i++)
		env_nic(lu, env, i, json_array_get(nics, i));
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		inst_env_disk(i, disk, env);
		env_place(env, i, disk);
	}
	env_set(env, "INSTANCE_NIC_COUNT", n_nics);
	env_set(env, "INSTANCE_DISK_COUNT", n_disks);
}

static char *secondary_names(struct lu *lu, const json_t *inst)
{
	auto_strv struct strv uuids = {0}, names = {0};

	config_instance_secondaries(lu->m->config, inst, &uuids);
	for (size_t i = 0; i < uuids.n; i++)
		strv_add(&names, lu_node_name(lu, uuids.items[i]));
	return strv_join(&names, " ");
}

void inst_hook_env(struct lu *lu, const json_t *inst, json_t *ret_env)
{
	auto_json json_t *be = inst_filled_be(lu, inst);
	auto_json json_t *hv = inst_filled_hv(lu, inst);
	auto_free char *secondaries = secondary_names(lu, inst);
	auto_free char *maxmem = xprintf("%" PRId64, be_maxmem(be));
	auto_free char *minmem = xprintf("%" PRId64, be_minmem(be));
	auto_free char *vcpus = xprintf("%" PRId64, be_vcpus(be));
	auto_strv struct strv tags = {0};
	auto_free char *tag_text = NULL;

	json_to_strv(inst_tags(inst), &tags);
	tag_text = strv_join(&tags, " ");
	env_set(ret_env, "OP_TARGET", inst_name(inst));
	env_set(ret_env, "INSTANCE_NAME", inst_name(inst));
	env_set(ret_env, "INSTANCE_PRIMARY",
		lu_node_name(lu, inst_primary_node(inst)));
	env_set(ret_env, "INSTANCE_SECONDARIES", secondaries);
	env_set(ret_env, "INSTANCE_OS_TYPE", inst_os(inst));
	env_set(ret_env, "INSTANCE_STATUS", inst_admin_state(inst));
	env_set(ret_env, "INSTANCE_MINMEM", minmem);
	env_set(ret_env, "INSTANCE_MAXMEM", maxmem);
	env_set(ret_env, "INSTANCE_MEMORY", maxmem);
	env_set(ret_env, "INSTANCE_VCPUS", vcpus);
	env_set(ret_env, "INSTANCE_DISK_TEMPLATE",
		config_instance_template(lu->m->config, inst));
	env_set(ret_env, "INSTANCE_HYPERVISOR", inst_hypervisor(inst));
	env_set(ret_env, "INSTANCE_TAGS", tag_text);
	env_lists(lu, inst, ret_env);
	env_dict(ret_env, "INSTANCE_BE_", be);
	env_dict(ret_env, "INSTANCE_HV_", hv);
}

void inst_hook_nodes(struct lu *lu, const json_t *inst, struct strv *ret)
{
	auto_strv struct strv secondaries = {0};

	config_instance_secondaries(lu->m->config, inst, &secondaries);
	strv_add_unique(ret, node_uuid(config_master(lu->m->config)));
	strv_add_unique(ret, inst_primary_node(inst));
	for (size_t i = 0; i < secondaries.n; i++)
		strv_add_unique(ret, secondaries.items[i]);
}

/* --- locks and checks --- */

int inst_check_node(struct lu *lu, const char *node_uuid, bool for_new,
		    struct error *err)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	const char *name = node_name_or(node, node_uuid);

	if (node == NULL)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "Node '%s' not known", node_uuid);
	if (node_offline(node))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Can't use offline node: %s", name);
	if (for_new && node_drained(node))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Can't use drained node: %s", name);
	if (for_new && !node_vm_capable(node))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Can't use non-vm_capable node: %s", name);
	return 0;
}

int inst_check_name_is_free(const struct lu *lu, const char *name,
			    struct error *err)
{
	const json_t *old = config_find(lu->m->config, CONFIG_INSTANCE, name);

	if (old == NULL || (strcasecmp(inst_name(old), name) != 0 &&
			    strcmp(inst_uuid(old), name) != 0))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_EXISTS,
			 "Instance '%s' is already in the cluster", name);
}

void inst_warn_of_split(struct lu *lu, const char *primary,
			const char *secondary)
{
	const struct config *c = lu->m->config;
	const char *first = node_group(config_get(c, CONFIG_NODE, primary));
	const char *second = node_group(config_get(c, CONFIG_NODE, secondary));

	if (!str_eq(first, second))
		lu_warn(lu,
			"The nodes %s and %s are in two different node groups "
			"(%s and %s); policy and disk parameters are those of "
			"the first",
			lu_node_name(lu, primary), lu_node_name(lu, secondary),
			config_name(c, CONFIG_GROUP, first),
			config_name(c, CONFIG_GROUP, second));
}

/* The state in which a node reports an instance that its user has shut down
 * from inside. */
#define STATE_SHUTDOWN 1

bool inst_info_runs(const json_t *info)
{
	return json_object_size(info) > 0 &&
	       json_int(info, "state", 0) != STATE_SHUTDOWN;
}

int inst_is_running(struct lu *lu, const json_t *inst, const char *node_uuid,
		    bool *ret_running, struct error *err)
{
	const char *node =
		node_uuid == NULL ? inst_primary_node(inst) : node_uuid;
	auto_json json_t *hv =
		params_fill_hv(config_cluster(lu->m->config),
			       inst_hypervisor(inst), NULL, NULL);
	auto_json json_t *info =
		lu_call(lu, node,
			rpc_instance_info(inst_name(inst),
					  inst_hypervisor(inst), json_ref(hv)),
			err);

	if (info == NULL)
		return -1;
	*ret_running = inst_info_runs(info);
	return 0;
}

int inst_mark(struct lu *lu, const char *name, const char *admin_state,
	      int disks_active, struct error *err)
{
	const json_t *inst =
		config_expect(lu->m->config, CONFIG_INSTANCE, name, err);
	json_t *changed;

	if (inst == NULL)
		return -1;
	changed = config_edit(inst);
	if (admin_state != NULL) {
		inst_set_admin_state(changed, admin_state);
		inst_set_admin_state_source(changed, "admin");
	}
	if (disks_active >= 0)
		inst_set_disks_active(changed, disks_active > 0);
	config_put(lu->m->config, CONFIG_INSTANCE, changed);
	return config_commit(lu->m->config, err);
}
