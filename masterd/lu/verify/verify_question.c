/* SPDX-License-Identifier: BSD-2-Clause */
/* What each node of a group is asked. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/core/ssh_keys.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/verify/verify_group.h"

static void add_hvparams(json_t *list, const char *source, const char *hv,
			 json_t *filled STEALS)
{
	json_array_append_new(list, json_make("[s, s, o]", source, hv, filled));
}

/* [[where they are from, hypervisor, parameters], ...] */
static json_t *all_hvparams(struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const json_t *enabled = cluster_enabled_hypervisors(cluster);
	json_t *list = json_array(), *inst;
	const char *uuid;

	for (size_t i = 0; i < json_array_size(enabled); i++) {
		const char *hv = json_string_value(json_array_get(enabled, i));

		add_hvparams(list, "cluster", hv,
			     params_fill_hv(cluster, hv, NULL, NULL));
	}
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst) {
		auto_free char *source =
			xprintf("instance %s", inst_name(inst));

		if (json_object_size(inst_hvparams(inst)) > 0)
			add_hvparams(list, source, inst_hypervisor(inst),
				     inst_filled_hv(lu, inst));
	}
	return list;
}

/* [[name, primary, secondary], ...] of the group's nodes that are online, and
 * the candidates among all. */
static void add_net_checks(struct verify_group *g, json_t *checks)
{
	struct config *c = g->lu.m->config;
	json_t *addresses = json_array(), *names = json_array();
	json_t *candidates = json_array();
	const json_t *cluster = config_cluster(c);

	for (size_t i = 0; i < g->n; i++) {
		const json_t *node = g->results[i].node;
		const char *name = node_name(node);

		if (node_offline(node))
			continue;
		json_array_append_new(names, json_string(name));
		json_array_append_new(addresses,
				      json_make("[s, s, s]", name,
						node_primary_ip(node),
						node_secondary_ip(node)));
		if (node_master_candidate(node))
			json_array_append_new(candidates, json_string(name));
	}
	if (!ssh_keys_managed(g->lu.m->config)) /* then nobody has to log in */
		json_array_clear(names);
	json_object_set_new(checks, "nodelist",
			    json_make("[o, {}, O]", names, candidates));
	json_object_set_new(checks, "node-net-test",
			    json_make("[o, O]", addresses, candidates));
	json_object_set_new(checks, "master-ip",
			    json_make("[s, s, o]", node_name(config_master(c)),
				      cluster_master_ip(cluster), candidates));
}

static void add_bridge(struct lu *lu, const json_t *nicparams, struct strv *ret)
{
	auto_json json_t *filled =
		params_fill_nic(config_cluster(lu->m->config), nicparams);

	if (str_eq(nicparams_mode(filled), "bridged"))
		strv_add_unique(ret, nicparams_link(filled));
}

static void add_bridges(struct verify_group *g, json_t *checks)
{
	struct lu *lu = &g->lu;
	auto_strv struct strv bridges = {0};

	add_bridge(lu, NULL, &bridges);
	for (size_t i = 0; i < g->nodes.n; i++) {
		auto_strv struct strv uuids = {0};

		config_node_primaries(lu->m->config, g->nodes.items[i], &uuids);
		for (size_t j = 0; j < uuids.n; j++) {
			const json_t *nics = inst_nics(
				config_get(lu->m->config, CONFIG_INSTANCE,
					   uuids.items[j]));

			for (size_t k = 0; k < json_array_size(nics); k++)
				add_bridge(
					lu,
					nic_nicparams(json_array_get(nics, k)),
					&bridges);
		}
	}
	if (bridges.n > 0)
		json_object_set_new(checks, "bridges",
				    json_from_strv(&bridges));
}

/* All nodes', as the master is where the helpers run. */
static void add_oob(struct lu *lu, json_t *checks)
{
	struct config *c = lu->m->config;
	auto_strv struct strv helpers = {0};
	const char *uuid;
	json_t *node;

	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     node) {
		auto_json json_t *nd = params_fill_nd(
			config_cluster(c),
			config_get(c, CONFIG_GROUP, node_group(node)), node);
		const char *helper = nd_oob_program(nd);

		if (*helper != '\0')
			strv_add_unique(&helpers, helper);
	}
	if (helpers.n > 0)
		json_object_set_new(checks, "oob-paths",
				    json_from_strv(&helpers));
}

/* Whether the folders of disks are there and may be used. */
static void add_folders(const struct lu *lu, json_t *checks)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *master = node_name(config_master(lu->m->config));

	for (size_t i = 0; i < STORAGE_COUNT; i++) {
		const struct storage_info *s = &storage_table[i];

		if (s->verify == NULL || !verify_has_storage(lu, s))
			continue;
		json_set_str(checks, s->verify,
			     json_str(cluster, s->place, ""));
		if (s->guarded)
			json_set_str(checks, "allowed-file-storage-paths",
				     master);
		if (s == template_storage(template_get("file")))
			json_set_str(checks, "file-storage-files",
				     json_str(cluster, s->place, ""));
	}
}

static void add_storage(struct verify_group *g, json_t *checks)
{
	struct lu *lu = &g->lu;
	const json_t *cluster = config_cluster(lu->m->config);
	const char *vg = cluster_volume_group_name_or(cluster, NULL);
	const char *helper = cluster_drbd_usermode_helper(cluster);

	if (vg != NULL) {
		json_object_set_new(checks, "vglist", json_null());
		json_set_str(checks, "lvlist", vg);
		json_object_set_new(checks, "pvlist", json_make("[s]", vg));
		if (g->exclusive)
			json_set_bool(checks, "exclusive-pvs", true);
	}
	if (verify_has_template(lu, "drbd") && *helper != '\0') {
		json_object_set_new(checks, "drbd-version", json_null());
		json_object_set_new(checks, "drbd-list", json_null());
		json_set_str(checks, "drbd-helper", helper);
	}
	add_folders(lu, checks);
}

static json_t *non_vm_nodes(struct lu *lu)
{
	json_t *names = json_array(), *node;
	const char *uuid;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_NODE)), uuid,
		node)
		if (!node_vm_capable(node))
			json_array_append_new(names,
					      json_string(node_name(node)));
	return names;
}

static json_t *user_scripts(const json_t *cluster)
{
	return cluster_use_external_mip_script(cluster)
		       ? json_make("[s]", "/etc/ganeti/scripts/master-ip-setup")
		       : json_array();
}

static struct rpc_request request(struct lu *lu, json_t *checks STEALS)
{
	const json_t *cluster = config_cluster(lu->m->config);

	return rpc_node_verify(checks, cluster_name(cluster),
			       json_ref(cluster_hvparams(cluster)));
}

/* All nodes': [[uuid, name, candidate, capable, online], ...] */
static json_t *ssh_nodes(struct lu *lu)
{
	auto_strv struct strv uuids = {0};
	json_t *rows = json_array();

	config_sorted(lu->m->config, CONFIG_NODE, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, uuids.items[i]);

		json_array_append_new(
			rows, json_make("[s, s, b, b, b]", uuids.items[i],
					node_name(node),
					(int)node_master_candidate(node),
					(int)node_master_capable(node),
					(int)!node_offline(node)));
	}
	return rows;
}

static WAITS void add_ssh(struct verify_group *g, json_t *checks)
{
	const struct op_cluster_verify_group *op = g->lu.op;
	struct master *m = g->lu.m;

	if (!ssh_keys_managed(m->config))
		return;
	json_object_set_new(
		checks, "ssh-setup",
		json_make("[o, s]", ssh_nodes(&g->lu),
			  cluster_ssh_key_type(config_cluster(m->config))));
	/* Not a third value of that: Ganeti's node daemon takes two, and passes
	 * over checks that it does not know. */
	json_object_set_new(checks, "ssh-public-keys",
			    ssh_keys_public(m->ssh_keys));
	if (op->verify_clutter)
		json_set_bool(checks, "ssh-clutter", true);
}

struct rpc_request verify_question(struct verify_group *g)
{
	struct lu *lu = &g->lu;
	const json_t *cluster = config_cluster(lu->m->config);
	const json_t *hypervisors = cluster_enabled_hypervisors(cluster);
	json_t *checks = json_make(
		"{s:o, s:O, s:o, s:O, s:O, s:O, s:n, s:n, s:n, s:n, s:n, s:n, "
		"s:o, s:o}",
		"filelist", verify_file_list(lu), "hypervisor", hypervisors,
		"hvparms", all_hvparams(lu), "instancelist", hypervisors,
		"open-copies", hypervisors, "hvinfo",
		json_array_get(hypervisors, 0), "version", "nodesetup", "time",
		"oslist", "client-cert", "renewal", "nonvmnodes",
		non_vm_nodes(lu), "user-scripts", user_scripts(cluster));

	add_net_checks(g, checks);
	add_bridges(g, checks);
	add_oob(lu, checks);
	add_storage(g, checks);
	add_ssh(g, checks);
	return request(lu, checks);
}

struct rpc_request verify_file_question(struct verify_group *g)
{
	return request(&g->lu, json_make("{s:o}", "filelist",
					 verify_file_list(&g->lu)));
}
