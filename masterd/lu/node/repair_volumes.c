/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_REPAIR_VOLUMES: the self-repair of volume groups.
 *
 * It looks whether the volume groups of all nodes are whole.  If exactly one
 * node misses physical volumes, and did not when this ran last (`known`), jobs
 * take them out of the group (OP_REPAIR_NODE_STORAGE) and give the mirrors that
 * had a side there new storage.  Of more nodes it is rather something else that
 * is broken, and nothing is done.  Nor is it where that would remove what may
 * be the only copy: a drive may come back. */
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/volumes.h"

struct repair {
	struct lu lu;
	json_t *partial; /* {node's UUID: {group: [lost volume, ...]}} */
	json_t *silent;	 /* names of nodes that did not answer */
};

static struct repair *repair_of(struct lu *lu)
{
	return container_of(lu, struct repair, lu);
}

/* Instances that others work on are left out: a job may take days.  What they
 * have lost is not decided then. */
static int repair_expand(struct lu *lu, struct error *err)
{
	const char *uuid;
	unsigned n = 0;
	json_t *inst;

	(void)err;
	lu_want_all(lu, LOCK_NODE, false);
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst)
		if (!inst_forthcoming(inst))
			lu_want_free(lu, LOCK_INSTANCE, inst_name(inst), false,
				     ++n);
	return 0;
}

/* --- what is broken --- */

/* Groups of others than this cluster are not its business. */
static json_t *own_groups(struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *vg = cluster_volume_group_name_or(cluster, NULL);
	json_t *own = json_object(), *disk;
	const char *uuid;

	if (vg != NULL)
		json_set_bool(own, vg, true);
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_DISK)), uuid,
		disk) {
		const json_t *children = disk_children(disk);
		auto_json json_t *parts =
			json_array_size(children) > 0
				? json_ref(json_unconst(children))
				: json_make("[O]", disk);

		for (size_t i = 0; i < json_array_size(parts); i++) {
			const json_t *part = json_array_get(parts, i);
			const char *group = json_string_value(
				json_array_get(disk_logical_id(part), 0));

			if (template_is_volume(disk_dev_type(part)) &&
			    group != NULL)
				json_set_bool(own, group, true);
		}
	}
	return own;
}

static void note_answer(struct lu *lu, const struct node_result *r,
			const json_t *own)
{
	struct repair *p = repair_of(lu);
	const json_t *groups = json_get(r->payload, "partial-vgs");
	auto_json json_t *partial = json_object();
	const char *group;
	json_t *lost;

	if (r->payload == NULL || json_is_string(groups)) {
		json_array_append_new(p->silent,
				      json_string(node_name(r->node)));
		lu_warn(lu, "Cannot see the volume groups of node %s: %s",
			node_name(r->node),
			r->payload == NULL ? r->err->text
					   : json_string_value(groups));
		return;
	}
	json_object_foreach (json_unconst(groups), group, lost)
		if (json_get(own, group) != NULL)
			json_object_set(partial, group, lost);
	if (json_object_size(partial) == 0)
		return;
	lu_feedback(lu, "Node %s misses physical volumes", node_name(r->node));
	json_object_set(p->partial, node_uuid(r->node), partial);
}

static WAITS void look(struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	auto_json json_t *own = own_groups(lu);
	auto_strv struct strv all = {0}, asked = {0};
	struct node_result *results;
	size_t n;

	config_sorted(lu->m->config, CONFIG_NODE, &all);
	for (size_t i = 0; i < all.n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, all.items[i]);

		if (!node_offline(node) && node_vm_capable(node))
			strv_add(&asked, all.items[i]);
	}
	results = lu_call_nodes(
		lu, &asked,
		rpc_node_verify(json_make("{s:n}", "partial-vgs"),
				cluster_name(cluster),
				json_ref(cluster_hvparams(cluster))),
		&n);
	for (size_t i = 0; i < n; i++)
		note_answer(lu, &results[i], own);
	node_results_free(results, n);
}

/* --- what is done --- */

/* {"vg/volume": instance's name} of the node, to be freed. */
static json_t *owners(struct lu *lu, const char *node)
{
	auto_json json_t *all = json_object();
	json_t *inst, *disk;
	const char *uuid;
	size_t i;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst) {
		auto_json json_t *disks =
			config_instance_disks(lu->m->config, inst);

		json_array_foreach (disks, i, disk)
			volumes_add(all, inst, disk);
	}
	return json_ref(volumes_member(all, node, json_object()));
}

/* -1 with err unless the volume of this owner (NULL: nobody) has another copy
 * in use. */
static int check_copy(struct lu *lu, const char *node, const char *volume,
		      const char *owner, struct error *err)
{
	const struct config *c = lu->m->config;
	const json_t *inst =
		owner == NULL ? NULL : config_find(c, CONFIG_INSTANCE, owner);

	if (inst != NULL && !lu_has(lu, LOCK_INSTANCE, owner))
		return error_set(err, ERR_EXEC, NULL,
				 "Volume %s on node %s is of instance %s, "
				 "which somebody works on; nothing is done",
				 volume, config_name(c, CONFIG_NODE, node),
				 owner);
	/* Mirrors that are down may be old on the other side. */
	if (inst != NULL && inst_disks_active(inst) &&
	    template_is_pair(config_instance_template(c, inst)))
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "Volume %s of %s%s on node %s has no other copy in "
			 "use, and its physical volume may come back; nothing "
			 "is done. gnt-node repair-storage gives it up",
			 volume, owner == NULL ? "nobody" : "instance ",
			 owner == NULL ? "" : owner,
			 config_name(c, CONFIG_NODE, node));
}

/* The mirrors that have lost a side.  -1 with err when data have no other
 * copy. */
static int find_affected(struct lu *lu, const char *node, struct strv *ret,
			 struct error *err)
{
	auto_json json_t *own = owners(lu, node);
	const char *group;
	json_t *lost, *volume;
	size_t i;

	json_object_foreach (json_object_get(repair_of(lu)->partial, node),
			     group, lost)
		json_array_foreach (lost, i, volume) {
			auto_free char *name =
				xprintf("%s/%s", group,
					json_string_value(volume) ?: "");
			const char *owner = json_str(own, name, NULL);

			if (check_copy(lu, node, name, owner, err) < 0)
				return -1;
			strv_add_unique(ret, owner);
		}
	return 0;
}

/* [[op], ...]: one job that repairs each group, then one for each mirror, which
 * waits for those. */
static json_t *make_jobs(struct lu *lu, const char *node,
			 const struct strv *affected)
{
	const json_t *groups = json_object_get(repair_of(lu)->partial, node);
	const char *name = config_name(lu->m->config, CONFIG_NODE, node);
	json_t *jobs = json_array(), *lost;
	json_t *repair = json_array();
	const char *group;

	json_object_foreach (json_unconst(groups), group, lost)
		json_array_append_new(
			repair,
			json_make("{s:s, s:s, s:s, s:s}", "OP_ID",
				  "OP_REPAIR_NODE_STORAGE", "node_name", name,
				  "storage_type", "lvm-vg", "name", group));
	json_array_append_new(jobs, repair);
	for (size_t i = 0; i < affected->n; i++)
		json_array_append_new(
			jobs,
			json_make("[{s:s, s:s, s:s, s:[[i, [s]]]}]", "OP_ID",
				  "OP_INSTANCE_REPLACE_DISKS", "instance_name",
				  affected->items[i], "mode", "replace_auto",
				  "depends", -(int)(i + 1), "success"));
	return jobs;
}

/* A line that monitoring can look for. */
static void tell(struct lu *lu, const char *node, const struct strv *affected)
{
	auto_free char *groups =
		json_text(json_object_get(repair_of(lu)->partial, node));
	auto_free char *instances = strv_join(affected, ",");
	const char *name = config_name(lu->m->config, CONFIG_NODE, node);

	log_warning("storage-repair node=%s lost=%s instances=%s", name, groups,
		    instances);
	lu_feedback(lu,
		    "Repairing the volume groups of node %s; then mirrors get "
		    "new storage: %s",
		    name, affected->n == 0 ? "none" : instances);
}

/* The node to repair; NULL: none. */
static const char *choose(struct lu *lu)
{
	const struct op_cluster_repair_volumes *op = lu->op;
	struct repair *p = repair_of(lu);
	size_t n = json_object_size(p->partial);

	if (!op->repair || n == 0)
		return NULL;
	if (n == 1 && json_array_size(p->silent) == 0 &&
	    json_array_size(op->known) == 0)
		return json_object_iter_key(json_object_iter(p->partial));
	if (json_array_size(p->silent) > 0)
		lu_feedback(lu, "Nothing is repaired, as not all nodes answer");
	else if (n > 1)
		lu_feedback(lu, "Nothing is repaired, as more than one node "
				"misses some (gnt-node repair-storage)");
	else
		lu_feedback(lu, "Nothing is repaired, as that was so before "
				"(gnt-node repair-storage)");
	return NULL;
}

/* {"inconsistent": [node's name, ...], "silent": [...]} */
static json_t *findings(struct lu *lu)
{
	struct repair *p = repair_of(lu);
	json_t *names = json_array(), *groups;
	const char *uuid;

	json_object_foreach (p->partial, uuid, groups)
		json_array_append_new(
			names, json_string(config_name(lu->m->config,
						       CONFIG_NODE, uuid)));
	return json_make("{s:o, s:O}", "inconsistent", names, "silent",
			 p->silent);
}

static WAITS json_t *repair_exec(struct lu *lu, struct error *err)
{
	struct repair *p = repair_of(lu);
	auto_strv struct strv affected = {0};
	const char *node;

	p->partial = json_object();
	p->silent = json_array();
	look(lu);
	node = choose(lu);
	if (node == NULL)
		return lu_submit_jobs(lu, json_array(), findings(lu), err);
	if (find_affected(lu, node, &affected, err) < 0)
		return NULL;
	tell(lu, node, &affected);
	return lu_submit_jobs(lu, make_jobs(lu, node, &affected), findings(lu),
			      err);
}

static void repair_done(struct lu *lu)
{
	struct repair *p = repair_of(lu);

	json_decref(p->partial);
	json_decref(p->silent);
}

const struct lu_class lu_cluster_repair_volumes = {
	.op = &op_class_cluster_repair_volumes,
	.size = sizeof(struct repair),
	.spares_disks = true,
	.expand = repair_expand,
	.exec = repair_exec,
	.done = repair_done,
};
