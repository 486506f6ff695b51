/* SPDX-License-Identifier: BSD-2-Clause */
/* Works in two phases.  Everything that can be refused is checked first and
 * kept in a draft: names, lists, parameters, policy, states.  Then the document
 * is composed from the request and the draft, which cannot fail. */
#include "lib/model/config/cluster.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/state.h"
#include "lib/model/constants.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

#define COLLECTOR_INTERVAL_US 5000000

/* What is worked out before the document is put together. */
struct draft {
	const struct cluster_init *init;
	json_t *hypervisors, *templates;
	json_t *hvparams, *beparams, *nicparams, *ndparams, *diskparams;
	json_t *ipolicy;
	json_t *states; /* hv_state_static, disk_state_static */
	char cluster_uuid[37], node_uuid[37], group_uuid[37];
	double now;
};

static void draft_done(struct draft *d)
{
	json_t *const owned[] = {d->hypervisors, d->templates, d->hvparams,
				 d->beparams,	 d->nicparams, d->ndparams,
				 d->diskparams,	 d->ipolicy,   d->states};

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		json_decref(owned[i]);
}

static const char *or_else(const char *given, const char *preset)
{
	return given != NULL ? given : preset;
}

static int64_t or_number(int64_t given, int64_t preset)
{
	return given != 0 ? given : preset;
}

static json_t *or_json(const json_t *given, json_t *preset STEALS)
{
	if (given == NULL)
		return preset;
	json_decref(preset);
	return json_deep_copy(given);
}

/* --- checks --- */

/* Three bytes in hex, the first of a unicast address. */
static bool is_mac_prefix(const char *s)
{
	static const char *const form = "xx:xx:xx";

	if (strlen(s) != strlen(form))
		return false;
	for (size_t i = 0; form[i] != '\0'; i++)
		if (form[i] == ':' ? s[i] != ':'
				   : !isxdigit((unsigned char)s[i]))
			return false;
	return strtol(s, NULL, 16) % 2 == 0;
}

int cluster_check_count(const char *what, int64_t n, struct error *err)
{
	if (n <= INT32_MAX)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%s is too large (%jd), it can be %d at most", what,
			 (intmax_t)n, INT32_MAX);
}

static int check_counts(const struct cluster_init *init, struct error *err)
{
	if (cluster_check_count("candidate_pool_size",
				init->candidate_pool_size, err) < 0 ||
	    cluster_check_count("max_running_jobs", init->max_running_jobs,
				err) < 0)
		return -1;
	return cluster_check_count("max_tracked_jobs", init->max_tracked_jobs,
				   err);
}

static int check_names(const struct cluster_init *init, struct error *err)
{
	const char *prefix = or_else(init->mac_prefix, "aa:00:00");

	if (init->cluster_name == NULL ||
	    !str_valid_hostname(init->cluster_name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%.100s' cannot be the name of a cluster: "
				 "give a host name",
				 or_else(init->cluster_name, ""));
	if (init->master_name == NULL || !str_valid_hostname(init->master_name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%.100s' cannot be the name of a node",
				 or_else(init->master_name, ""));
	if (init->primary_ip == NULL || init->master_ip == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A cluster needs an address of its own and "
				 "one of its first node");
	if (!is_mac_prefix(prefix))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%.100s' is not a MAC prefix such as "
				 "aa:00:00 (the first byte even)",
				 prefix);
	return 0;
}

/* The list as JSON if each is known and there once. */
static json_t *checked_list(const char *const *names, const char *what,
			    bool (*known)(const char *), struct error *err)
{
	auto_json json_t *list = json_array();

	for (; *names != NULL; names++) {
		if (!known(*names) || json_array_has_str(list, *names)) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "%s '%.100s' is %s", what, *names,
				  known(*names) ? "named twice" : "unknown");
			return NULL;
		}
		json_array_append_new(list, json_string(*names));
	}
	if (json_array_size(list) == 0) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "A cluster needs at least one %s", what);
		return NULL;
	}
	return steal(&list);
}

static bool is_hypervisor(const char *name)
{
	return hypervisor_find(name) != NULL;
}

static bool is_template(const char *name)
{
	return template_find(name) != NULL;
}

static int draft_lists(struct draft *d, struct error *err)
{
	static const char *const kvm[] = {"kvm", NULL};
	static const char *const plain[] = {"plain", NULL};
	static const char *const file[] = {"file", NULL};
	const struct cluster_init *init = d->init;
	const char *const *templates = init->disk_templates;

	if (templates == NULL)
		templates = init->volume_group_name != NULL ? plain : file;
	d->hypervisors =
		checked_list(init->hypervisors ? init->hypervisors : kvm,
			     "hypervisor", is_hypervisor, err);
	if (d->hypervisors == NULL)
		return -1;
	d->templates =
		checked_list(templates, "disk template", is_template, err);
	return d->templates == NULL ? -1 : 0;
}

/* --- parameters, policy, states --- */

typedef int update_fn(const char *name, const json_t *base,
		      const json_t *changes, json_t **ret, struct error *err);

/* Change the sets of parameters in all, {name: {...}}, by those in changes, of
 * the same form. */
static int update_all(json_t *all, const json_t *changes, update_fn *update,
		      struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(changes), name, value) {
		json_t *updated = NULL;

		if (update(name, json_object_get(all, name), value, &updated,
			   err) < 0)
			return -1;
		json_object_set_new(all, name, updated);
	}
	return 0;
}

static int check_diskparams(const struct draft *d, struct error *err)
{
	auto_json json_t *cluster =
		json_make("{s:O}", "diskparams", d->diskparams);

	return params_check_disk(cluster, NULL, err);
}

/* Unless the request says otherwise, DRBD's metadata volumes lie in the
 * cluster's volume group. */
static void preset_metavg(json_t *diskparams, const char *group)
{
	if (group != NULL)
		json_set_str(json_object_get(diskparams, "drbd"), "metavg",
			     group);
}

static int draft_params(struct draft *d, struct error *err)
{
	const struct cluster_init *init = d->init;
	auto_json json_t *be = params_default_be();
	auto_json json_t *nic = params_default_nic();
	auto_json json_t *nd = params_default_nd();

	d->hvparams = params_default_hvparams();
	d->diskparams = params_default_diskparams();
	preset_metavg(d->diskparams, init->volume_group_name);
	if (update_all(d->hvparams, init->hvparams, params_update_hv, err) <
		    0 ||
	    update_all(d->diskparams, init->diskparams, params_update_disk,
		       err) < 0 ||
	    params_update_be(be, init->beparams, &d->beparams, err) < 0 ||
	    params_update_nic(nic, init->nicparams, &d->nicparams, err) < 0)
		return -1;
	if (params_update_nd(nd, init->ndparams, &d->ndparams, err) < 0)
		return -1;
	return check_diskparams(d, err);
}

static int draft_ipolicy(struct draft *d, struct error *err)
{
	auto_json json_t *preset = params_default_ipolicy();

	json_object_set(preset, "disk-templates", d->templates);
	d->ipolicy = params_overlay_ipolicy(preset, d->init->ipolicy);
	if (params_check_ipolicy(d->ipolicy, true, err) < 0)
		return -1;
	return params_check_ipolicy_enabled(d->ipolicy, d->templates, err);
}

static int draft_states(struct draft *d, struct error *err)
{
	d->states = json_object();
	if (state_set_hv(d->states, d->init->hv_state, err) < 0)
		return -1;
	return state_set_disk(d->states, d->init->disk_state, err);
}

/* The recorded resources of each enabled hypervisor, always with all five
 * numbers. */
static json_t *hv_state(const struct draft *d)
{
	json_t *states = json_object();

	for (size_t i = 0; i < json_array_size(d->hypervisors); i++) {
		const char *name =
			json_string_value(json_array_get(d->hypervisors, i));

		json_object_set_new(states, name,
				    state_fill_hv(d->states, NULL, NULL, name));
	}
	return states;
}

static json_t *data_collectors(void)
{
	static const char *const names[] = {"cpu-avg-load", "diskstats",
					    "drbd",	    "inst-status-xen",
					    "lv",	    "xen-cpu-avg-load"};
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_object_set_new(all, names[i],
				    json_make("{s:b, s:i}", "active", 1,
					      "interval",
					      COLLECTOR_INTERVAL_US));
	return all;
}

/* --- the objects --- */

static void set_common(json_t *object, const struct draft *d, const char *uuid)
{
	json_object_set_new(object, "ctime", json_real(d->now));
	json_object_set_new(object, "mtime", json_real(d->now));
	json_set_str(object, "uuid", uuid);
	json_set_int(object, "serial_no", 1);
	json_object_set_new(object, "tags", json_array());
}

static void set_identity(json_t *c, const struct draft *d)
{
	const struct cluster_init *init = d->init;
	int family = (int)or_number(init->primary_ip_family, AF_IPV4);
	auto_free char *mac_prefix =
		str_lower(or_else(init->mac_prefix, "aa:00:00"));

	json_set_str(c, "cluster_name", init->cluster_name);
	json_set_str(c, "master_node", d->node_uuid);
	json_set_str(c, "master_ip", init->master_ip);
	json_set_str(c, "master_netdev",
		     or_else(init->master_netdev, CLUSTER_NETDEV));
	json_set_int(
		c, "master_netmask",
		or_number(init->master_netmask, family == AF_IPV4 ? 32 : 128));
	json_set_bool(c, "use_external_mip_script",
		      init->use_external_mip_script);
	json_set_int(c, "primary_ip_family", family);
	json_set_str(c, "rsahostkeypub", or_else(init->rsahostkeypub, ""));
	json_set_str(c, "dsahostkeypub", or_else(init->dsahostkeypub, ""));
	json_set_str(c, "ssh_key_type", or_else(init->ssh_key_type, "rsa"));
	json_set_int(c, "ssh_key_bits", or_number(init->ssh_key_bits, 2048));
	json_set_bool(c, "modify_etc_hosts", init->modify_etc_hosts);
	json_set_bool(c, "modify_ssh_setup", init->modify_ssh_setup);
	json_set_int(c, "highest_used_port", FIRST_DRBD_PORT - 1);
	json_object_set_new(c, "tcpudp_port_pool", json_array());
	json_set_str(c, "mac_prefix", mac_prefix);
}

static void set_storage(json_t *c, const struct draft *d)
{
	const struct cluster_init *init = d->init;

	/* Members that are left out when they are not set, as Ganeti does. */
	if (init->volume_group_name != NULL)
		json_set_str(c, "volume_group_name", init->volume_group_name);
	json_object_set_new(c, "reserved_lvs",
			    or_json(init->reserved_lvs, json_array()));
	if (init->drbd_usermode_helper != NULL)
		json_set_str(c, "drbd_usermode_helper",
			     init->drbd_usermode_helper);
	json_set_str(
		c, "file_storage_dir",
		or_else(init->file_storage_dir, "/srv/ganeti/file-storage"));
	json_set_str(c, "shared_file_storage_dir",
		     or_else(init->shared_file_storage_dir,
			     "/srv/ganeti/shared-file-storage"));
	json_set_str(
		c, "gluster_storage_dir",
		or_else(init->gluster_storage_dir, "/var/run/ganeti/gluster"));
}

static void set_params(json_t *c, const struct draft *d)
{
	json_object_set(c, "enabled_hypervisors", d->hypervisors);
	json_object_set(c, "enabled_disk_templates", d->templates);
	json_object_set(c, "hvparams", d->hvparams);
	json_object_set_new(c, "os_hvp", json_object());
	json_object_set_new(c, "beparams",
			    json_make("{s:O}", "default", d->beparams));
	json_object_set_new(c, "osparams", json_object());
	json_object_set_new(c, "osparams_private_cluster", json_object());
	json_object_set_new(c, "nicparams",
			    json_make("{s:O}", "default", d->nicparams));
	json_object_set(c, "ndparams", d->ndparams);
	json_object_set(c, "diskparams", d->diskparams);
	json_object_set(c, "ipolicy", d->ipolicy);
}

static void set_operation(json_t *c, const struct draft *d)
{
	const struct cluster_init *init = d->init;

	json_set_int(c, "candidate_pool_size",
		     or_number(init->candidate_pool_size, 10));
	json_set_int(c, "max_running_jobs",
		     or_number(init->max_running_jobs, 20));
	json_set_int(c, "max_tracked_jobs",
		     or_number(init->max_tracked_jobs, 25));
	json_set_bool(c, "maintain_node_health", init->maintain_node_health);
	json_object_set_new(c, "uid_pool",
			    or_json(init->uid_pool, json_array()));
	json_set_str(c, "default_iallocator",
		     or_else(init->default_iallocator, "hail"));
	json_object_set_new(
		c, "default_iallocator_params",
		or_json(init->default_iallocator_params, json_object()));
	json_object_set_new(c, "hidden_os", json_array());
	json_object_set_new(c, "blacklisted_os", json_array());
	json_set_bool(c, "prealloc_wipe_disks", init->prealloc_wipe_disks);
	json_object_set_new(c, "hv_state_static", hv_state(d));
	json_object_set_new(c, "disk_state_static",
			    or_json(json_get(d->states, "disk_state_static"),
				    json_object()));
}

static void set_extras(json_t *c, const struct draft *d)
{
	const struct cluster_init *init = d->init;
	json_t *certs = json_object();

	if (init->candidate_cert != NULL)
		json_set_str(certs, d->node_uuid, init->candidate_cert);
	json_object_set_new(c, "candidate_certs", certs);
	json_set_str(c, "install_image", or_else(init->install_image, ""));
	json_set_str(c, "zeroing_image", or_else(init->zeroing_image, ""));
	json_set_str(c, "instance_communication_network",
		     or_else(init->instance_communication_network, ""));
	json_object_set_new(c, "compression_tools",
			    or_json(init->compression_tools,
				    json_make("[s, s, s]", "gzip", "gzip-fast",
					      "gzip-slow")));
	json_set_bool(c, "enabled_user_shutdown", init->enabled_user_shutdown);
	json_object_set_new(c, "data_collectors", data_collectors());
}

static json_t *new_cluster(const struct draft *d)
{
	json_t *c = json_object();

	set_identity(c, d);
	set_storage(c, d);
	set_params(c, d);
	set_operation(c, d);
	set_extras(c, d);
	set_common(c, d, d->cluster_uuid);
	return c;
}

static json_t *new_node(const struct draft *d, const char *name,
			const char *primary_ip, const char *secondary_ip)
{
	json_t *node = json_object();

	json_set_str(node, "name", name);
	json_set_str(node, "primary_ip", primary_ip);
	json_set_str(node, "secondary_ip", or_else(secondary_ip, primary_ip));
	json_set_bool(node, "master_candidate", true);
	json_set_bool(node, "offline", false);
	json_set_bool(node, "drained", false);
	json_set_str(node, "group", d->group_uuid);
	json_set_bool(node, "master_capable", true);
	json_set_bool(node, "vm_capable", true);
	json_object_set_new(node, "ndparams", json_object());
	json_set_bool(node, "powered", true);
	return node;
}

static json_t *new_nodes(const struct draft *d)
{
	const struct cluster_init *init = d->init;
	json_t *nodes = json_object();
	json_t *first = new_node(d, init->master_name, init->primary_ip,
				 init->secondary_ip);

	set_common(first, d, d->node_uuid);
	json_object_set_new(nodes, d->node_uuid, first);
	for (size_t i = 0; i < json_array_size(init->more_nodes); i++) {
		const json_t *more = json_array_get(init->more_nodes, i);
		json_t *node = new_node(d, json_str(more, "name", ""),
					json_str(more, "primary_ip", ""), NULL);
		char uuid[37];

		uuid_new(uuid);
		json_set_bool(node, "master_candidate", false);
		set_common(node, d, uuid);
		json_object_set_new(nodes, uuid, node);
	}
	return nodes;
}

static json_t *new_group(const struct draft *d)
{
	json_t *group =
		json_make("{s:s, s:{}, s:s, s:{}, s:{}, s:{}}", "name",
			  "default", "ndparams", "alloc_policy", "preferred",
			  "ipolicy", "diskparams", "networks");

	set_common(group, d, d->group_uuid);
	return group;
}

static json_t *compose(struct draft *d)
{
	json_t *config;

	uuid_new(d->cluster_uuid);
	uuid_new(d->node_uuid);
	uuid_new(d->group_uuid);
	d->now = clock_seconds();
	config = json_make("{s:i, s:o, s:o, s:{s:o}, s:{}, s:{}, s:{}, "
			   "s:{}, s:f, s:f, s:i}",
			   "version", CONFIG_VERSION, "cluster", new_cluster(d),
			   "nodes", new_nodes(d), "nodegroups", d->group_uuid,
			   new_group(d), "instances", "networks", "disks",
			   "filters", "ctime", d->now, "mtime", d->now,
			   "serial_no", 1);
	return config;
}

json_t *cluster_new_config(const struct cluster_init *init, struct error *err)
{
	struct draft d = {.init = init};
	json_t *config = NULL;

	if (check_names(init, err) == 0 && check_counts(init, err) == 0 &&
	    draft_lists(&d, err) == 0 && draft_params(&d, err) == 0 &&
	    draft_ipolicy(&d, err) == 0 && draft_states(&d, err) == 0)
		config = compose(&d);
	draft_done(&d);
	return config;
}
