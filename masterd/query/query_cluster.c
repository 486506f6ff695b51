/* SPDX-License-Identifier: BSD-2-Clause */
/* QueryClusterInfo and QueryConfigValues. */
#include <string.h>
#include <sys/utsname.h>

#include "gantry-config.h"
#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/constants.h"
#include "lib/model/files/paths.h"
#include "lib/model/params/params.h"
#include "masterd/query/query_private.h"
#include "queue/queue.h"

#define PAUSE_FILE_MAX 64

static json_t *architecture(void)
{
	struct utsname u;

	uname(&u);
	return json_make("[s, s]", sizeof(void *) == 8 ? "64bits" : "32bits",
			 u.machine);
}

/* {name: member} of each data collector. */
static json_t *collectors(const json_t *cluster, const char *member)
{
	json_t *result = json_object();
	const char *name;
	json_t *collector;

	json_object_foreach (json_unconst(cluster_data_collectors(cluster)),
			     name, collector)
		json_object_set(result, name,
				json_object_get(collector, member));
	return result;
}

/* Members that go out as they stand in the configuration, null if missing. */
static void copy_members(json_t *info, const json_t *cluster)
{
	static const char *const keys[] = {"enabled_hypervisors",
					   "hvparams",
					   "os_hvp",
					   "beparams",
					   "osparams",
					   "ipolicy",
					   "nicparams",
					   "ndparams",
					   "diskparams",
					   "candidate_pool_size",
					   "max_running_jobs",
					   "max_tracked_jobs",
					   "mac_prefix",
					   "master_netdev",
					   "master_netmask",
					   "use_external_mip_script",
					   "volume_group_name",
					   "drbd_usermode_helper",
					   "file_storage_dir",
					   "shared_file_storage_dir",
					   "gluster_storage_dir",
					   "maintain_node_health",
					   "ctime",
					   "mtime",
					   "uuid",
					   "tags",
					   "uid_pool",
					   "default_iallocator",
					   "default_iallocator_params",
					   "reserved_lvs",
					   "prealloc_wipe_disks",
					   "hidden_os",
					   "blacklisted_os",
					   "enabled_disk_templates",
					   "install_image",
					   "instance_communication_network",
					   "zeroing_image",
					   "compression_tools",
					   "enabled_user_shutdown",
					   "modify_ssh_setup",
					   "ssh_key_type",
					   "ssh_key_bits"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(cluster, keys[i]);

		json_object_set_new(info, keys[i],
				    value == NULL ? json_null()
						  : json_incref(value));
	}
}

/* Values that Ganeti does not have: shown if somebody has set them. */
static void add_own(const json_t *cluster, json_t *info)
{
	static const char *const switches[] = {"memory_growth", "auto_offline",
					       "auto_readmit",
					       "auto_repair_volumes"};
	int64_t interval = state_own(cluster, "watcher_interval", -1);
	int64_t failover = state_own(cluster, STATE_MASTER_FAILOVER, -1);

	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		int64_t value = state_own(cluster, switches[i], -1);

		if (value >= 0)
			json_set_bool(info, switches[i], value > 0);
	}
	if (interval >= 0)
		json_set_int(info, "watcher_interval", interval);
	if (failover >= 0)
		json_set_str(info, "master_failover",
			     failover > 0 ? "automatic" : "manual");
}

/* Ganeti's programs refuse members of the policy that they do not know. */
static void split_policy(json_t *info)
{
	json_t *policy = json_object_get(info, "ipolicy");
	json_t *extra = params_ipolicy_extra(policy);

	json_object_set_new(info, "ipolicy",
			    params_ipolicy_known(json_incref(policy)));
	if (json_object_size(extra) > 0)
		json_object_set(info, "ipolicy_extra", extra);
	json_decref(extra);
}

json_t *query_cluster_info(struct master *m)
{
	const json_t *cluster = config_cluster(m->config);
	const json_t *hypervisors = cluster_enabled_hypervisors(cluster);
	json_t *info = json_make(
		"{s:s, s:i, s:i, s:i, s:i, s:s, s:o, s:s, s:s}",
		"software_version", GANETI_RELEASE, "protocol_version",
		PROTOCOL_VERSION, "config_version", CONFIG_VERSION,
		"os_api_version", OS_API_VERSION, "export_version",
		EXPORT_VERSION, "vcs_version",
		"(gantry) version " GANTRY_VERSION, "architecture",
		architecture(), "name", cluster_name(cluster), "master",
		node_name(config_master(m->config)));

	json_set_str(info, "default_hypervisor",
		     json_string_value(json_array_get(hypervisors, 0)));
	copy_members(info, cluster);
	json_set_int(info, "primary_ip_version",
		     cluster_primary_ip_family(cluster) == AF_IPV4 ? 4 : 6);
	json_object_set_new(info, "enabled_data_collectors",
			    collectors(cluster, "active"));
	json_object_set_new(info, "data_collector_interval",
			    collectors(cluster, "interval"));
	add_own(cluster, info);
	split_policy(info);
	return info;
}

/* Until when the watcher pauses, in seconds since 1970; null: it does not. */
static json_t *watcher_pause(struct master *m)
{
	const char *file = path(m->paths, PATH_WATCHER_PAUSE);
	struct error ignored;
	size_t len;
	int64_t until;
	auto_free char *text = NULL;

	if (!m->disk->exists(m->disk, file))
		return json_null();
	text = m->disk->read(m->disk, file, PAUSE_FILE_MAX, &len, &ignored);
	if (text == NULL)
		return json_null();
	text[strcspn(text, " \n")] = '\0';
	return str_to_int64(text, &until) ? json_integer(until) : json_null();
}

static json_t *config_value(struct master *m, const char *name)
{
	static const char *const members[] = {"cluster_name",
					      "modify_ssh_setup",
					      "ssh_key_type", "ssh_key_bits"};
	const json_t *cluster = config_cluster(m->config);

	if (strcmp(name, "master_node") == 0)
		return json_string(node_name(config_master(m->config)));
	if (strcmp(name, "drain_flag") == 0)
		return json_boolean(queue_drained(m->queue));
	if (strcmp(name, "watcher_pause") == 0)
		return watcher_pause(m);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_t *value = json_object_get(cluster, members[i]);

		if (strcmp(members[i], name) == 0 && value != NULL)
			return json_incref(value);
	}
	return json_null();
}

json_t *query_config_values(struct master *m, const json_t *fields)
{
	json_t *values = json_array();

	for (size_t i = 0; i < json_array_size(fields); i++) {
		const char *name = json_string_value(json_array_get(fields, i));

		json_array_append_new(values, name == NULL
						      ? json_null()
						      : config_value(m, name));
	}
	return values;
}
