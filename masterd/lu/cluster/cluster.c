/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster as a whole: the end of its creation, its destruction, its
 * parameters. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/params/params.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/failover/address.h"
#include "masterd/lu/cluster/cluster_params.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/group/communication.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/node/node_pool.h"
#include "masterd/lu/node/node_refresh.h"
#include "masterd/lu/node/node_state.h"
#include "masterd/lu/parts/cluster_files.h"
#include "masterd/lu/parts/cluster_ssh.h"
#include "masterd/query/query.h"

static void cluster_env(struct lu *lu, json_t *ret_env)
{
	json_set_str(ret_env, "OP_TARGET",
		     cluster_name(config_cluster(lu->m->config)));
}

static const char *master_uuid(struct lu *lu)
{
	return node_uuid(config_master(lu->m->config));
}

static void master_after(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	(void)ret_pre;
	strv_add(ret_post, master_uuid(lu));
}

static void master_both(struct lu *lu, struct strv *ret_pre,
			struct strv *ret_post)
{
	strv_add(ret_pre, master_uuid(lu));
	strv_add(ret_post, master_uuid(lu));
}

/* --- post init: the hooks of a new cluster; its first node is recorded and
 * gets SSH keys --- */

static WAITS json_t *post_init_exec(struct lu *lu, struct error *err)
{
	json_t *master = config_edit(config_master(lu->m->config));
	struct error why;
	auto_json json_t *changes = node_record(lu, master, &why);

	cluster_ssh_sync(lu);
	if (changes == NULL) {
		lu_warn(lu,
			"The resources of the first node are not recorded: %s "
			"(gnt-node refresh-state does it later)",
			why.text);
		json_decref(master);
		return json_true();
	}
	config_put(lu->m->config, CONFIG_NODE, master);
	return config_commit(lu->m->config, err) < 0 ? NULL : json_true();
}

const struct lu_class lu_cluster_post_init = {
	.op = &op_class_cluster_post_init,
	.size = sizeof(struct lu),
	.hook_path = "cluster-init",
	.object_type = "CLUSTER",
	.exclusive_bgl = true,
	.check = cluster_os_check_first,
	.hook_env = cluster_env,
	.hook_nodes = master_after,
	.exec = post_init_exec,
};

/* --- destroy: the client then stops the daemons --- */

static int destroy_check(struct lu *lu, struct error *err)
{
	size_t nodes = json_object_size(config_all(lu->m->config, CONFIG_NODE));
	size_t instances =
		json_object_size(config_all(lu->m->config, CONFIG_INSTANCE));

	if (nodes > 1)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There are still %zu node(s) in this cluster "
				 "besides the master; remove them first "
				 "(gnt-node remove)",
				 nodes - 1);
	if (instances > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There are still %zu instance(s) in this "
				 "cluster; remove them first (gnt-instance "
				 "remove)",
				 instances);
	return 0;
}

/* A failure is a warning: the cluster ends all the same. */
static WAITS void leave_address(struct lu *lu)
{
	struct error err;
	auto_json json_t *done =
		lu_call(lu, master_uuid(lu),
			address_down(config_cluster(lu->m->config)), &err);

	if (done == NULL)
		lu_warn(lu,
			"Could not turn the cluster's address down (ip address "
			"delete does it): %s",
			err.text);
}

/* The daemons are taken down by the client. */
static WAITS json_t *destroy_exec(struct lu *lu, struct error *err)
{
	(void)err;
	cluster_ssh_leave(lu, config_master(lu->m->config));
	leave_address(lu);
	return json_string(master_uuid(lu));
}

const struct lu_class lu_cluster_destroy = {
	.op = &op_class_cluster_destroy,
	.size = sizeof(struct lu),
	.hook_path = "cluster-destroy",
	.object_type = "CLUSTER",
	.exclusive_bgl = true,
	.check = destroy_check,
	.hook_env = cluster_env,
	.hook_nodes = master_after,
	.exec = destroy_exec,
};

/* --- redist-conf and query --- */

static int all_nodes_expand(struct lu *lu, struct error *err)
{
	(void)err;
	lu_want_all(lu, LOCK_NODE, false);
	return 0;
}

static WAITS json_t *redist_conf_exec(struct lu *lu, struct error *err)
{
	if (config_redistribute(lu->m->config, err) < 0)
		return NULL;
	cluster_files_give_shared(lu);
	cluster_ssh_sync(lu);
	return json_null();
}

const struct lu_class lu_cluster_redist_conf = {
	.op = &op_class_cluster_redist_conf,
	.size = sizeof(struct lu),
	.expand = all_nodes_expand,
	.exec = redist_conf_exec,
};

static json_t *cluster_query_exec(struct lu *lu, struct error *err)
{
	(void)err;
	return query_cluster_info(lu->m);
}

const struct lu_class lu_cluster_query = {
	.op = &op_class_cluster_query,
	.size = sizeof(struct lu),
	.exec = cluster_query_exec,
};

/* --- set params --- */

struct set_params {
	struct lu lu;
	json_t *cluster;   /* the new one, built by check */
	bool address_down; /* the master's, by us */
};

static struct set_params *set_params_of(struct lu *lu)
{
	return container_of(lu, struct set_params, lu);
}

static int set_params_expand(struct lu *lu, struct error *err)
{
	(void)err;
	lu_want_all(lu, LOCK_NODE, false);
	lu_want_all(lu, LOCK_INSTANCE, false);
	lu_want_all(lu, LOCK_NODEGROUP, false);
	return 0;
}

/* Members that are stored as they are given. */
static void set_plain(const struct op_cluster_set_params *op, json_t *cluster)
{
	const struct {
		const char *key;
		op_string value;
	} strings[] = {
		{"default_iallocator", op->default_iallocator},
		{"master_netdev", op->master_netdev},
		{"file_storage_dir", op->file_storage_dir},
		{"shared_file_storage_dir", op->shared_file_storage_dir},
		{"gluster_storage_dir", op->gluster_storage_dir},
		{"install_image", op->install_image},
		{"instance_communication_network",
		 op->instance_communication_network},
		{"zeroing_image", op->zeroing_image},
		{"volume_group_name", op->vg_name},
		{"drbd_usermode_helper", op->drbd_helper},
	};
	const struct {
		const char *key;
		op_number value;
	} numbers[] = {
		{"candidate_pool_size", op->candidate_pool_size},
		{"max_running_jobs", op->max_running_jobs},
		{"max_tracked_jobs", op->max_tracked_jobs},
		{"master_netmask", op->master_netmask},
	};
	const struct {
		const char *key;
		op_tri value;
	} flags[] = {
		{"maintain_node_health", op->maintain_node_health},
		{"prealloc_wipe_disks", op->prealloc_wipe_disks},
		{"use_external_mip_script", op->use_external_mip_script},
		{"modify_etc_hosts", op->modify_etc_hosts},
		{"enabled_user_shutdown", op->enabled_user_shutdown},
	};
	const struct {
		const char *key;
		op_json value;
	} lists[] = {
		{"default_iallocator_params", op->default_iallocator_params},
		{"enabled_hypervisors", op->enabled_hypervisors},
		{"enabled_disk_templates", op->enabled_disk_templates},
		{"reserved_lvs", op->reserved_lvs},
		{"compression_tools", op->compression_tools},
	};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		if (strings[i].value != NULL)
			json_set_str(cluster, strings[i].key, strings[i].value);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].value != OP_UNSET)
			json_set_int(cluster, numbers[i].key, numbers[i].value);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (flags[i].value >= 0)
			json_set_bool(cluster, flags[i].key, flags[i].value);
	if (op->memory_growth >= 0)
		state_set_own(cluster, "memory_growth", op->memory_growth);
	if (op->master_failover != NULL)
		state_set_own(cluster, STATE_MASTER_FAILOVER,
			      str_eq(op->master_failover, "automatic"));
	if (op->watcher_interval != OP_UNSET)
		state_set_own(cluster, "watcher_interval",
			      op->watcher_interval);
	if (op->auto_offline >= 0)
		state_set_own(cluster, "auto_offline", op->auto_offline);
	if (op->auto_readmit >= 0)
		state_set_own(cluster, "auto_readmit", op->auto_readmit);
	if (op->auto_repair_volumes >= 0)
		state_set_own(cluster, "auto_repair_volumes",
			      op->auto_repair_volumes);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (lists[i].value != NULL)
			json_object_set(cluster, lists[i].key,
					json_unconst(lists[i].value));
}

/* An empty name removes the member. */
static void set_none(json_t *cluster, const char *key)
{
	if (str_eq(json_str(cluster, key, NULL), ""))
		json_set_str(cluster, key, NULL);
}

/* A member that was reset gets the default that a new cluster has. */
static void complete(json_t *values, json_t *presets STEALS)
{
	json_object_update_missing(values, presets);
	json_decref(presets);
}

static int set_hvparams(const struct op_cluster_set_params *op, json_t *cluster,
			struct error *err)
{
	auto_json json_t *all =
		json_copy(json_unconst(cluster_hvparams(cluster)));
	const char *hv;
	json_t *changes;

	if (op->hvparams == NULL)
		return 0;
	json_object_foreach (json_unconst(op->hvparams), hv, changes) {
		json_t *updated;

		if (!hypervisor_find(hv))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Unknown hypervisor '%s'", hv);
		if (params_update_hv(hv, json_get(all, hv), changes, &updated,
				     err) < 0)
			return -1;
		complete(updated, params_default_hv(hv));
		json_object_set_new(all, hv, updated);
	}
	cluster_set_hvparams(cluster, json_ref(all));
	return 0;
}

static int set_default(json_t *cluster, const char *key, const json_t *changes,
		       json_t *(*presets)(void),
		       int (*update)(const json_t *base, const json_t *changes,
				     json_t **ret, struct error *err),
		       struct error *err)
{
	json_t *updated;

	if (changes == NULL || json_object_size(changes) == 0)
		return 0;
	if (update(json_get(json_get(cluster, key), "default"), changes,
		   &updated, err) < 0)
		return -1;
	complete(updated, presets());
	json_object_set_new(cluster, key,
			    json_make("{s:o}", "default", updated));
	return 0;
}

static int set_ndparams(const struct op_cluster_set_params *op, json_t *cluster,
			struct error *err)
{
	if (json_object_size(op->ndparams) == 0)
		return 0;
	if (node_state_set_ndparams(cluster, op->ndparams, err) < 0)
		return -1;
	complete(cluster_own_ndparams(cluster), params_default_nd());
	return 0;
}

/* Values that must fit together may be partly the group's and partly the
 * cluster's. */
static int check_diskparams(struct lu *lu, const json_t *cluster,
			    struct error *err)
{
	auto_strv struct strv uuids = {0};

	if (params_check_disk(cluster, NULL, err) < 0)
		return -1;
	config_sorted(lu->m->config, CONFIG_GROUP, &uuids);
	for (size_t i = 0; i < uuids.n; i++)
		if (params_check_disk(cluster,
				      config_get(lu->m->config, CONFIG_GROUP,
						 uuids.items[i]),
				      err) < 0)
			return -1;
	return 0;
}

static int set_diskparams(struct lu *lu, const struct op_cluster_set_params *op,
			  json_t *cluster, struct error *err)
{
	auto_json json_t *all =
		json_copy(json_unconst(cluster_diskparams(cluster)));
	auto_json json_t *presets = params_default_diskparams();
	const char *template;
	json_t *changes;

	if (op->diskparams == NULL)
		return 0;
	json_object_foreach (json_unconst(op->diskparams), template, changes) {
		json_t *updated;

		if (params_update_disk(template, json_get(all, template),
				       changes, &updated, err) < 0)
			return -1;
		json_object_update_missing(updated,
					   json_object_get(presets, template));
		json_object_set_new(all, template, updated);
	}
	cluster_set_diskparams(cluster, json_ref(all));
	return check_diskparams(lu, cluster, err);
}

/* "default" means the value of new clusters, or none. */
static void reset_defaults(json_t *ipolicy, const json_t *enabled)
{
	auto_json json_t *presets = params_default_ipolicy();
	const char *key;
	json_t *value;
	void *tmp;

	json_object_set(presets, "disk-templates", json_unconst(enabled));
	json_object_foreach_safe(ipolicy, tmp, key, value)
	{
		json_t *preset = json_object_get(presets, key);

		if (!params_ipolicy_is_default(value))
			continue;
		if (preset != NULL)
			json_object_set(ipolicy, key, preset);
		else
			json_object_del(ipolicy, key);
	}
}

static int set_ipolicy(const struct op_cluster_set_params *op, json_t *cluster,
		       struct error *err)
{
	json_t *updated;

	if (op->ipolicy == NULL || json_object_size(op->ipolicy) == 0)
		return 0;
	updated = params_overlay_ipolicy(cluster_ipolicy(cluster), op->ipolicy);
	cluster_set_ipolicy(cluster, updated);
	reset_defaults(updated, cluster_enabled_disk_templates(cluster));
	return params_check_ipolicy(updated, true, err);
}

/* A template that is disabled is removed from the policy's allowed ones. */
static int check_allowed(const struct op_cluster_set_params *op,
			 const json_t *cluster, struct error *err)
{
	if (op->enabled_disk_templates == NULL &&
	    ipolicy_disk_templates(op->ipolicy) == NULL)
		return 0;
	return params_check_ipolicy_enabled(
		cluster_ipolicy(cluster),
		cluster_enabled_disk_templates(cluster), err);
}

/* Hints about what this change does not do by itself. */
static void warn_of_effects(struct lu *lu)
{
	const struct op_cluster_set_params *op = lu->op;
	auto_strv struct strv names = {0};
	const char *uuid;
	json_t *group;

	if (json_object_size(json_object_get(op->diskparams, "drbd")) > 0)
		lu_warn(lu, "DRBD parameters hold for devices that are made "
			    "from now on; instances take them over when they "
			    "are stopped and started, or get another "
			    "secondary node with replace-disks");
	cluster_in_use_warn(lu, set_params_of(lu)->cluster);
	if (json_object_size(op->ipolicy) == 0)
		return;
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_GROUP)), uuid,
		group)
		group_new_violations(lu, set_params_of(lu)->cluster, group,
				     group, &names);
	group_warn_violations(lu, &names);
}

static int check_values(const struct op_cluster_set_params *op,
			const json_t *cluster, struct error *err)
{
	if (op->enabled_hypervisors != NULL &&
	    json_array_size(op->enabled_hypervisors) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The list of enabled hypervisors must contain "
				 "at least one");
	if (op->enabled_disk_templates != NULL &&
	    json_array_size(op->enabled_disk_templates) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The list of enabled disk templates must "
				 "contain at least one");
	return cluster_values_check(op, cluster, err);
}

/* Build the new cluster object from the one there is now. */
static int set_params_build(struct lu *lu, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	json_t *cluster;

	if (check_values(op, config_cluster(lu->m->config), err) < 0 ||
	    (!str_empty(op->default_iallocator) &&
	     iallocator_expect(lu->m, op->default_iallocator, err) < 0))
		return -1;
	cluster = config_edit(config_cluster(lu->m->config));
	json_decref(set_params_of(lu)->cluster);
	set_params_of(lu)->cluster = cluster;
	set_plain(op, cluster);
	set_none(cluster, CONFIG_MEMBER(cluster, volume_group_name));
	set_none(cluster, CONFIG_MEMBER(cluster, drbd_usermode_helper));
	if (cluster_values_check_folders(op, cluster, err) < 0 ||
	    cluster_storage_check(lu, cluster, err) < 0 ||
	    cluster_values_set_mac_prefix(op, cluster, err) < 0 ||
	    cluster_os_set(op, cluster, err) < 0 ||
	    cluster_values_set_uids(op, cluster, err) < 0 ||
	    cluster_values_set_collectors(op, cluster, err) < 0 ||
	    set_hvparams(op, cluster, err) < 0 ||
	    set_default(cluster, CONFIG_MEMBER(cluster, beparams), op->beparams,
			params_default_be, params_update_be, err) < 0 ||
	    set_default(cluster, CONFIG_MEMBER(cluster, nicparams),
			op->nicparams, params_default_nic, params_update_nic,
			err) < 0 ||
	    set_ndparams(op, cluster, err) < 0 ||
	    set_diskparams(lu, op, cluster, err) < 0 ||
	    set_ipolicy(op, cluster, err) < 0 ||
	    state_set_hv(cluster, op->hv_state, err) < 0 ||
	    state_set_disk(cluster, op->disk_state, err) < 0 ||
	    check_allowed(op, cluster, err) < 0)
		return -1;
	cluster_storage_set_metavg(lu, cluster);
	return cluster_in_use_check(lu, cluster, err);
}

static WAITS int set_params_check(struct lu *lu, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	auto_json json_t *cluster = NULL;

	if (set_params_build(lu, err) < 0)
		return -1;
	warn_of_effects(lu);
	communication_warn(lu, op->instance_communication_network);
	cluster = json_incref(set_params_of(lu)->cluster);
	return cluster_storage_ask(lu, cluster, err) < 0
		       ? -1
		       : cluster_os_check(lu, cluster, err);
}

static void set_params_env(struct lu *lu, json_t *ret_env)
{
	const struct op_cluster_set_params *op = lu->op;

	cluster_env(lu, ret_env);
	json_set_str(ret_env, "NEW_VG_NAME",
		     op->vg_name == NULL ? "None" : op->vg_name);
}

static WAITS json_t *set_params_exec(struct lu *lu, struct error *err)
{
	struct set_params *s = set_params_of(lu);
	const struct op_cluster_set_params *op = lu->op;

	const char *network = op->instance_communication_network;

	if (cluster_address_leave(lu, &s->address_down, err) < 0)
		return NULL;
	/* Build it again: during the calls and hooks other jobs may have
	 * changed the cluster. */
	if (set_params_build(lu, err) < 0)
		return NULL;
	if (network != NULL)
		communication_say(lu,
				  cluster_instance_communication_network(
					  config_cluster(lu->m->config)),
				  network);
	config_put_cluster(lu->m->config, steal(&s->cluster));
	if (op->max_running_jobs != OP_UNSET && !lu_plans(lu))
		queue_set_max_running(lu->m->queue,
				      (unsigned)op->max_running_jobs);
	if (op->candidate_pool_size != OP_UNSET)
		node_pool_fill(lu, NULL);
	if (config_commit(lu->m->config, err) < 0)
		return NULL;
	cluster_address_return(lu, &s->address_down);
	if (op->candidate_pool_size != OP_UNSET)
		cluster_ssh_sync(lu);
	return network == NULL ? json_null()
			       : communication_everywhere(lu, network, err);
}

static WAITS void set_params_undo(struct lu *lu)
{
	cluster_address_return(lu, &set_params_of(lu)->address_down);
}

static void set_params_done(struct lu *lu)
{
	json_decref(set_params_of(lu)->cluster);
}

const struct lu_class lu_cluster_set_params = {
	.op = &op_class_cluster_set_params,
	.size = sizeof(struct set_params),
	.hook_path = "cluster-modify",
	.object_type = "CLUSTER",
	.expand = set_params_expand,
	.check = set_params_check,
	.hook_env = set_params_env,
	.hook_nodes = master_both,
	.exec = set_params_exec,
	.undo = set_params_undo,
	.done = set_params_done,
};
