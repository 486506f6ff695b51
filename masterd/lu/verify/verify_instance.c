/* SPDX-License-Identifier: BSD-2-Clause */
/* The instances of a group: where they should be and run, and their disks. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/verify/verify_group.h"
#include "masterd/resources/resources.h"

#define EXCLUSION_TAG "htools:iextags:"

/* --- what runs --- */

static bool should_run(const json_t *inst)
{
	return strcmp(inst_admin_state(inst), "up") == 0;
}

static const json_t *find_any(const struct verify_group *g, const char *name)
{
	return config_find(g->live->config, CONFIG_INSTANCE, name)
		       ?: config_find(g->lu.m->config, CONFIG_INSTANCE, name);
}

void verify_running(struct verify_group *g, const struct node_result *r)
{
	const char *uuid = node_uuid(r->node);
	const char *node = node_name(r->node);
	const json_t *running = json_get(r->payload, "instancelist");

	for (size_t i = 0; i < json_array_size(running); i++) {
		const char *name =
			json_string_value(json_array_get(running, i));
		const json_t *inst = name == NULL ? NULL : find_any(g, name);

		verify_if(&g->v, inst == NULL, "ENODEORPHANINSTANCE", node,
			  "node is running unknown instance %s",
			  name == NULL ? "" : name);
		verify_if(&g->v,
			  inst != NULL &&
				  !str_eq(inst_primary_node(inst), uuid),
			  "EINSTANCEWRONGNODE", name == NULL ? "" : name,
			  "instance should not run on node %s", node);
	}
}

/* A job that copies holds the instance, so one that verify has waited for was
 * cut off. */
static void check_copies(struct verify_group *g, const json_t *inst,
			 const struct node_result *r)
{
	verify_if(
		&g->v,
		json_array_has_str(json_get(r->payload, "open-copies"),
				   inst_name(inst)),
		"EINSTANCEFAULTYDISK", inst_name(inst),
		"a copy of its disks that was begun while it ran has not been "
		"ended (gnt-instance activate-disks %s ends it)",
		inst_name(inst));
}

/* On its primary node, which is one of the group. */
static void check_state(struct verify_group *g, const json_t *inst,
			const struct node_result *r)
{
	const char *node = node_name(r->node);
	const json_t *running = json_get(r->payload, "instancelist");

	check_copies(g, inst, r);
	verify_if(&g->v, r->err != NULL && !r->offline, "ENODERPC", node,
		  "instance %s, connection to primary node failed",
		  inst_name(inst));
	if (!should_run(inst))
		return;
	verify_if(&g->v, r->offline, "EINSTANCEBADNODE", inst_name(inst),
		  "instance is marked as running and lives on offline node %s "
		  "(gnt-node failover moves it)",
		  node);
	verify_if(&g->v,
		  json_is_array(running) &&
			  !json_array_has_str(running, inst_name(inst)),
		  "EINSTANCEDOWN", inst_name(inst),
		  "instance not running on its primary node %s", node);
}

/* --- where its disks are --- */

static void check_policy(struct verify_group *g, const json_t *inst)
{
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(g->lu.m->config), g->group);
	auto_strv struct strv sentences = {0};
	auto_free char *list = NULL;

	group_violations_with_disk(&g->lu, inst, policy, SIZE_MAX, 0,
				   &sentences);
	list = strv_join(&sentences, ", ");
	verify_warn_if(&g->v, sentences.n > 0, "EINSTANCEPOLICY",
		       inst_name(inst), "%s", list);
}

static bool has_exclusive(struct verify_group *g, const char *node_uuid)
{
	struct config *c = g->lu.m->config;
	const json_t *node = config_get(c, CONFIG_NODE, node_uuid);
	auto_json json_t *nd = params_fill_nd(
		config_cluster(c),
		config_get(c, CONFIG_GROUP, node_group(node)), node);

	return nd_exclusive_storage(nd);
}

static void check_exclusive(struct verify_group *g, const json_t *inst,
			    const struct strv *nodes)
{
	auto_json json_t *disks = config_instance_disks(g->lu.m->config, inst);
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;

	for (size_t i = 0; i < nodes->n; i++)
		if (has_exclusive(g, nodes->items[i]))
			strv_add(&names, lu_node_name(&g->lu, nodes->items[i]));
	list = strv_join(&names, ", ");
	for (size_t i = 0; i < json_array_size(disks) && names.n > 0; i++) {
		const json_t *disk = json_array_get(disks, i);
		const char *type = disk_dev_type(disk);

		verify_if(&g->v, !template_get(type)->exclusive,
			  "EINSTANCEUNSUITABLENODE", inst_name(inst),
			  "disk/%zu is of type %s, which nodes with exclusive "
			  "storage do not support: %s",
			  i, type, list);
		verify_if(
			&g->v, !disk_has_spindles(disk),
			"EINSTANCEMISSINGCFGPARAMETER", inst_name(inst),
			"number of spindles not configured for disk %zu while "
			"exclusive storage is enabled, try running "
			"gnt-cluster repair-disk-sizes",
			i);
	}
}

static const char *group_name_of(struct verify_group *g, const char *node_uuid)
{
	struct config *c = g->lu.m->config;

	return config_name(c, CONFIG_GROUP,
			   node_group(config_get(c, CONFIG_NODE, node_uuid)));
}

static void check_layout(struct verify_group *g, const json_t *inst,
			 const struct strv *secondaries)
{
	auto_strv struct strv names = {0}, split = {0};
	auto_free char *list = NULL, *split_list = NULL;
	const char *home = group_name_of(g, inst_primary_node(inst));

	for (size_t i = 0; i < secondaries->n; i++) {
		const char *node = secondaries->items[i];
		const char *group = group_name_of(g, node);

		strv_add(&names, lu_node_name(&g->lu, node));
		if (!str_eq(group, home))
			strv_addf(&split, "%s (group %s)",
				  lu_node_name(&g->lu, node), group);
	}
	list = strv_join(&names, ", ");
	split_list = strv_join(&split, ", ");
	verify_warn_if(&g->v, names.n > 1, "EINSTANCELAYOUT", inst_name(inst),
		       "instance has multiple secondary nodes: %s", list);
	verify_warn_if(&g->v, split.n > 0, "EINSTANCESPLITGROUPS",
		       inst_name(inst),
		       "instance has primary and secondary nodes in "
		       "different groups: %s (group %s), %s",
		       lu_node_name(&g->lu, inst_primary_node(inst)), home,
		       split_list);
}

static void check_secondaries(struct verify_group *g, const json_t *inst,
			      const struct strv *secondaries)
{
	auto_strv struct strv offline = {0};
	auto_free char *list = NULL;

	for (size_t i = 0; i < secondaries->n; i++) {
		const char *uuid = secondaries->items[i];
		const struct node_result *r = verify_find(g, uuid);
		const json_t *node =
			config_get(g->lu.m->config, CONFIG_NODE, uuid);

		verify_if(&g->v, r != NULL && r->err != NULL && !r->offline,
			  "ENODERPC", lu_node_name(&g->lu, uuid),
			  "instance %s, connection to secondary node failed",
			  inst_name(inst));
		if (node_offline(node))
			strv_add(&offline, lu_node_name(&g->lu, uuid));
	}
	list = strv_join(&offline, ", ");
	verify_if(&g->v, offline.n > 0, "EINSTANCEBADNODE", inst_name(inst),
		  "instance has offline secondary node(s) %s", list);
}

static void check_nodes(struct verify_group *g, const json_t *inst,
			const struct strv *nodes)
{
	for (size_t i = 0; i < nodes->n; i++) {
		const json_t *node = config_get(g->lu.m->config, CONFIG_NODE,
						nodes->items[i]);

		verify_if(&g->v, node == NULL, "EINSTANCEBADNODE",
			  inst_name(inst), "instance lives on ghost node %s",
			  nodes->items[i]);
		verify_if(&g->v, node != NULL && !node_vm_capable(node),
			  "EINSTANCEBADNODE", inst_name(inst),
			  "instance lives on non-vm_capable node %s",
			  node_name_or(node, nodes->items[i]));
	}
}

static void check_instance(struct verify_group *g, const json_t *inst)
{
	auto_strv struct strv nodes = {0}, secondaries = {0};
	const struct node_result *r = verify_find(g, inst_primary_node(inst));

	config_instance_secondaries(g->lu.m->config, inst, &secondaries);
	strv_add(&nodes, inst_primary_node(inst));
	for (size_t i = 0; i < secondaries.n; i++)
		strv_add(&nodes, secondaries.items[i]);
	check_policy(g, inst);
	verify_missing_volumes(g, inst);
	if (r != NULL)
		check_state(g, inst, r);
	check_exclusive(g, inst, &nodes);
	check_layout(g, inst, &secondaries);
	check_secondaries(g, inst, &secondaries);
	check_nodes(g, inst, &nodes);
}

/* --- the state of disks, as nodes say --- */

/* The disks that one node is asked about. */
struct disk_list {
	json_t *disks;			 /* as node calls carry them */
	struct strv names;		 /* of their instances */
	json_t *numbers;		 /* in these */
	const struct node_result *asked; /* NULL: it was not */
	const struct node_result *told;	 /* what to do, if something is wrong */
};

static void disk_list_done(struct disk_list *l)
{
	json_decref(l->disks);
	json_decref(l->numbers);
	strv_done(&l->names);
}

static void add_disks(struct verify_group *g, const json_t *inst,
		      const char *node_uuid, struct disk_list *ret)
{
	auto_json json_t *disks = config_instance_disks(g->lu.m->config, inst);

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		auto_strv struct strv others = {0};

		config_disk_secondaries(disk, inst_primary_node(inst), &others);
		if (!str_eq(inst_primary_node(inst), node_uuid) &&
		    !strv_has(&others, node_uuid))
			continue;
		json_array_append_new(ret->disks,
				      inst_rpc_disk(&g->lu, inst, disk));
		json_array_append_new(ret->numbers,
				      json_integer((json_int_t)i));
		strv_add(&ret->names, inst_name(inst));
	}
}

/* The disks of its instances that should be usable. */
static void collect_disks(struct verify_group *g, const char *node_uuid,
			  struct disk_list *ret)
{
	struct config *c = g->lu.m->config;
	auto_strv struct strv uuids = {0};

	*ret = (struct disk_list){.disks = json_array(),
				  .numbers = json_array()};
	config_node_primaries(c, node_uuid, &uuids);
	config_node_secondaries(c, node_uuid, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, uuids.items[i]);

		if (table_get(&g->instances, uuids.items[i]) != NULL &&
		    inst_disks_active(inst))
			add_disks(g, inst, node_uuid, ret);
	}
}

static void check_degraded(struct verify_group *g, const char *name,
			   const char *what, const json_t *status,
			   const char *advice)
{
	/* As Ganeti numbers them, from 1 on. */
	static const char *const states[] = {"unknown", "ok", "sync", "unknown",
					     "faulty"};
	int64_t local = json_int(status, "ldisk_status", 0);
	const char *text = local > 0 && local < (int64_t)ARRAY_SIZE(states)
				   ? states[local]
				   : states[0];
	auto_free char *all = xprintf(
		"%s is degraded; local disk state is '%s'%s%s", what, text,
		advice == NULL ? "" : "; ", advice == NULL ? "" : advice);

	if (!json_bool(status, "is_degraded", false))
		return;
	if (local == 1 || local == 2)
		verify_warning(&g->v, "EINSTANCEFAULTYDISK", name, "%s", all);
	else
		verify_error(&g->v, "EINSTANCEFAULTYDISK", name, "%s", all);
}

static const char *advice_of(const struct disk_list *l, size_t i)
{
	return l->told == NULL
		       ? NULL
		       : json_string_value(json_array_get(l->told->payload, i));
}

static void check_statuses(struct verify_group *g, const struct disk_list *l,
			   const char *node, const json_t *answer)
{
	for (size_t i = 0; i < l->names.n; i++) {
		const json_t *one = json_array_get(answer, i);
		const json_t *status = json_array_get(one, 1);
		bool ok = json_is_true(json_array_get(one, 0));
		auto_free char *what =
			xprintf("disk/%jd on %s",
				(intmax_t)json_integer_value(
					json_array_get(l->numbers, i)),
				node);

		verify_if(&g->v, !ok, "EINSTANCEFAULTYDISK", l->names.items[i],
			  "couldn't retrieve status for %s: %s", what,
			  json_is_string(status) ? json_string_value(status)
						 : "no answer");
		if (ok)
			check_degraded(g, l->names.items[i], what, status,
				       advice_of(l, i));
	}
}

static bool is_degraded(const struct disk_list *l)
{
	const json_t *one;
	size_t i;

	json_array_foreach (l->asked == NULL ? NULL : l->asked->payload, i,
			    one) {
		const json_t *status = json_array_get(one, 1);

		if (json_bool(status, "is_degraded", false))
			return true;
	}
	return false;
}

/* Nodes whose disks are not well say what to do.  Node daemons of Ganeti's do
 * not know the call. */
static WAITS void gather_advice(struct verify_group *g)
{
	struct node_result *asked = node_results_new(g->n);
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		struct disk_list *l = &g->disk_lists[i];

		if (!is_degraded(l))
			continue;
		asked[n].node = json_ref(l->asked->node);
		asked[n].own = rpc_drbd_advice(json_ref(l->disks));
		l->told = &asked[n++];
	}
	g->disk_advice = asked;
	noderpc_call_each(g->lu.m->rpc, asked, n);
}

void verify_gather_disks(struct verify_group *g)
{
	struct node_result *asked = node_results_new(g->n);
	size_t n = 0;

	g->disk_lists = xcalloc(g->n, sizeof(*g->disk_lists));
	for (size_t i = 0; i < g->n; i++) {
		struct disk_list *l = &g->disk_lists[i];
		const struct node_result *r = &g->results[i];

		collect_disks(g, node_uuid(r->node), l);
		if (l->names.n == 0 || r->payload == NULL)
			continue;
		asked[n].node = json_incref(r->node);
		asked[n].own =
			rpc_blockdev_getmirrorstatus_multi(json_ref(l->disks));
		l->asked = &asked[n++];
	}
	g->disk_results = asked;
	noderpc_call_each(g->lu.m->rpc, asked, n);
	gather_advice(g);
}

void verify_disks_done(struct verify_group *g)
{
	for (size_t i = 0; g->disk_lists != NULL && i < g->n; i++)
		disk_list_done(&g->disk_lists[i]);
	free(g->disk_lists);
	if (g->disk_results != NULL)
		node_results_free(g->disk_results, g->n);
	if (g->disk_advice != NULL)
		node_results_free(g->disk_advice, g->n);
}

static void check_disks(struct verify_group *g, const struct disk_list *l)
{
	const struct node_result *r = l->asked;
	const char *name = r == NULL ? "" : node_name(r->node);

	if (r == NULL)
		return;
	verify_if(&g->v, r->err != NULL, "ENODERPC", name,
		  "while getting disk information: %s",
		  r->err == NULL ? "" : r->err->text);
	if (r->err == NULL)
		check_statuses(g, l, name, r->payload);
}

/* --- tags that exclude each other --- */

static bool excludes(const json_t *cluster_tags, const char *tag)
{
	for (size_t i = 0; i < json_array_size(cluster_tags); i++) {
		const char *one =
			json_string_value(json_array_get(cluster_tags, i));

		if (one != NULL && str_starts(one, EXCLUSION_TAG) &&
		    str_starts(tag, one + strlen(EXCLUSION_TAG)))
			return true;
	}
	return false;
}

static void check_exclusion(struct verify_group *g, const json_t *node)
{
	struct config *c = g->lu.m->config;
	const json_t *of_cluster = cluster_tags(config_cluster(c));
	auto_strv struct strv uuids = {0}, seen = {0}, twice = {0};
	auto_free char *list = NULL;

	config_node_primaries(c, node_uuid(node), &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *tags = inst_tags(
			config_get(c, CONFIG_INSTANCE, uuids.items[i]));

		for (size_t k = 0; k < json_array_size(tags); k++) {
			const char *tag =
				json_string_value(json_array_get(tags, k));

			if (tag == NULL || !excludes(of_cluster, tag))
				continue;
			strv_add_unique(strv_has(&seen, tag) ? &twice : &seen,
					tag);
		}
	}
	list = strv_join(&twice, ", ");
	verify_warn_if(&g->v, twice.n > 0, "EEXTAGS", node_name(node),
		       "Tags where there is more than one instance: %s", list);
}

/* --- all of them --- */

void verify_instances(struct verify_group *g)
{
	const struct op_cluster_verify_group *op = g->lu.op;
	struct config *c = g->lu.m->config;

	for (size_t i = 0; i < g->n; i++) {
		const struct node_result *r = &g->results[i];
		auto_strv struct strv uuids = {0};

		config_node_primaries(c, node_uuid(r->node), &uuids);
		for (size_t k = 0; k < uuids.n; k++) {
			const json_t *inst =
				config_get(c, CONFIG_INSTANCE, uuids.items[k]);

			/* An instance that was added after the nodes were
			 * asked. */
			if (table_get(&g->instances, uuids.items[k]) == NULL ||
			    inst_forthcoming(inst))
				continue;
			if (op->verbose)
				lu_feedback(&g->lu, "* Verifying instance %s",
					    inst_name(inst));
			check_instance(g, inst);
		}
		check_exclusion(g, r->node);
	}
	for (size_t i = 0; i < g->n; i++)
		check_disks(g, &g->disk_lists[i]);
}

/* --- N+1 --- */

/* The memory for instances that fail over to the node; false: unknown. */
static bool room_for_failovers(struct verify_group *g,
			       const struct node_result *r, int64_t *ret)
{
	const json_t *live =
		json_get(json_get(r->payload, "hvinfo"), "memory_free");
	struct node_memory m;

	resources_memory(g->lu.m->config, node_uuid(r->node), NULL, &m);
	*ret = m.recorded ? resources_mem_available(&m)
			  : json_integer_value(live);
	return m.recorded || json_is_integer(live);
}

static void check_n1(struct verify_group *g, const struct node_result *r)
{
	struct config *c = g->lu.m->config;
	const char *uuid = node_uuid(r->node);
	auto_strv struct strv secondaries = {0}, primaries = {0};
	int64_t there;

	if (!room_for_failovers(g, r, &there))
		return;
	config_node_secondaries(c, uuid, &secondaries);
	for (size_t i = 0; i < secondaries.n; i++)
		strv_add_unique(&primaries, inst_primary_node(config_get(
						    c, CONFIG_INSTANCE,
						    secondaries.items[i])));
	for (size_t i = 0; i < primaries.n; i++) {
		int64_t wanted =
			resources_failover_memory(c, uuid, primaries.items[i]);

		verify_if(&g->v, there < wanted, "ENODEN1", node_name(r->node),
			  "not enough memory to accomodate instance failovers "
			  "should node %s fail (%jdMiB needed, %jdMiB "
			  "available)",
			  lu_node_name(&g->lu, primaries.items[i]),
			  (intmax_t)wanted, (intmax_t)(there > 0 ? there : 0));
	}
}

void verify_n1(struct verify_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->results[i].offline)
			check_n1(g, &g->results[i]);
}

/* --- notes --- */

static bool is_mirrored(const json_t *disks)
{
	for (size_t i = 0; i < json_array_size(disks); i++)
		if (!template_is_mirrored(
			    disk_dev_type(json_array_get(disks, i))))
			return false;
	return true;
}

static void note(struct verify *v, size_t n, const char *what)
{
	if (n > 0)
		verify_note(v, "%zu %s instance(s) found.", n, what);
}

void verify_instance_notes(struct verify_group *g)
{
	struct config *c = g->lu.m->config;
	size_t single = 0, unbalanced = 0, offline = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		auto_strv struct strv uuids = {0};

		config_node_primaries(c, g->nodes.items[i], &uuids);
		for (size_t k = 0; k < uuids.n; k++) {
			const json_t *inst =
				config_get(c, CONFIG_INSTANCE, uuids.items[k]);
			auto_json json_t *be = inst_filled_be(&g->lu, inst);
			auto_json json_t *disks =
				config_instance_disks(c, inst);

			single += !is_mirrored(disks);
			unbalanced += !be_auto_balance(be);
			offline += str_eq(inst_admin_state(inst), "offline");
		}
	}
	note(&g->v, single, "non-redundant");
	note(&g->v, unbalanced, "non-auto-balanced");
	note(&g->v, offline, "offline");
}
