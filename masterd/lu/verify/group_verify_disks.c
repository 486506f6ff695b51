/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_GROUP_VERIFY_DISKS: which instances of a group have volumes that are not
 * active or not there.  The result is [{node UUID: error}, [instances to
 * activate], {instance: [[node UUID, "vg/volume"], ...]}]; files have no such
 * states, so only plain and mirrored disks are looked at.
 *
 * All nodes are asked at the same time, once about volumes and once about
 * mirrors, so that a node that hangs costs one time limit for all instances.
 *
 * Of the instances' locks it takes those that are free, and leaves the other
 * instances out: the watcher runs it every few minutes, and a long job on one
 * instance must hold up neither it nor, behind it, everybody else. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/volumes.h"

/* In what lv_list says of a volume: [size, inactive, online]. */
#define LV_ONLINE 2

struct verify_disks {
	struct lu lu;
	struct strv nodes; /* UUIDs that have volumes in question */
	json_t *volumes;   /* {node: {"vg/volume": instance's name}} */
	json_t *mirrors;   /* {node: [disk as in node calls, ...]} */
	json_t *owners;	   /* {mirror's UUID: instance's name} */
	json_t *errors, *inactive, *missing;
};

static struct verify_disks *verify_of(struct lu *lu)
{
	return container_of(lu, struct verify_disks, lu);
}

static bool of_group(struct lu *lu, const json_t *inst, const char *group)
{
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary_node(inst));

	return strcmp(node_group(node), group) == 0;
}

static int verify_expand(struct lu *lu, struct error *err)
{
	const struct op_group_verify_disks *op = lu->op;
	const json_t *group = lu_group(lu, op->group_name, err);
	auto_strv struct strv nodes = {0};
	const char *uuid;
	unsigned n = 0;
	json_t *inst;

	if (group == NULL)
		return -1;
	lu_want(lu, LOCK_NODEGROUP, group_uuid(group), false);
	config_group_nodes(lu->m->config, group_uuid(group), &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		lu_want(lu, LOCK_NODE, nodes.items[i], false);
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst)
		if (of_group(lu, inst, group_uuid(group)) &&
		    !inst_forthcoming(inst))
			lu_want_free(lu, LOCK_INSTANCE, inst_name(inst), false,
				     ++n);
	return 0;
}

/* --- what there should be --- */

static void add_mirror(struct lu *lu, const json_t *inst, const json_t *disk)
{
	const json_t *id = disk_logical_id(disk);
	struct verify_disks *v = verify_of(lu);

	if (!template_is_pair(disk_dev_type(disk)))
		return;
	json_set_str(v->owners, disk_uuid(disk), inst_name(inst));
	for (size_t n = 0; n < 2; n++) {
		const char *node = json_string_value(json_array_get(id, n));

		json_array_append_new(
			volumes_member(v->mirrors, node, json_array()),
			inst_rpc_disk(lu, inst, disk));
	}
}

static void collect(struct lu *lu, const char *group)
{
	const char *uuid;
	json_t *inst;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst) {
		auto_json json_t *disks = NULL;

		if (!of_group(lu, inst, group) || !inst_disks_active(inst) ||
		    !lu_has(lu, LOCK_INSTANCE, inst_name(inst)))
			continue;
		disks = config_instance_disks(lu->m->config, inst);
		for (size_t i = 0; i < json_array_size(disks); i++) {
			const json_t *disk = json_array_get(disks, i);

			volumes_add(verify_of(lu)->volumes, inst, disk);
			add_mirror(lu, inst, disk);
		}
	}
	json_object_foreach (verify_of(lu)->volumes, uuid, inst)
		strv_add(&verify_of(lu)->nodes, uuid);
}

/* --- what there is --- */

static void note_inactive(struct verify_disks *v, const char *name)
{
	if (!json_array_has_str(v->inactive, name))
		json_array_append_new(v->inactive, json_string(name));
}

static void compare(struct verify_disks *v, const struct node_result *r)
{
	const char *node = node_uuid(r->node), *volume;
	json_t *name;

	if (r->offline)
		return;
	if (r->payload == NULL) {
		json_set_str(v->errors, node, r->err->text);
		return;
	}
	json_object_foreach (json_object_get(v->volumes, node), volume, name) {
		const json_t *row = json_object_get(r->payload, volume);
		const char *instance = json_string_value(name);

		if (row == NULL)
			json_array_append_new(
				volumes_member(v->missing, instance,
					       json_array()),
				json_make("[s, s]", node, volume));
		else if (!json_is_true(json_array_get(row, LV_ONLINE)))
			note_inactive(v, instance);
	}
}

static WAITS void look_at_volumes(struct lu *lu)
{
	struct verify_disks *v = verify_of(lu);
	struct node_result *results = node_results_new(v->nodes.n);

	for (size_t i = 0; i < v->nodes.n; i++)
		results[i].node = json_ref(config_get(
			lu->m->config, CONFIG_NODE, v->nodes.items[i]));
	noderpc_call_many(lu->m->rpc, results, v->nodes.n,
			  rpc_lv_list(json_array()));
	for (size_t i = 0; i < v->nodes.n; i++)
		compare(v, &results[i]);
	node_results_free(results, v->nodes.n);
}

static void note_broken(struct verify_disks *v, const struct node_result *r)
{
	json_t *uuid;
	size_t i;

	if (r->payload == NULL && !r->offline)
		json_set_str(v->errors, node_uuid(r->node), r->err->text);
	json_array_foreach (r->payload, i, uuid) {
		const char *name =
			json_str(v->owners, json_string_value(uuid), NULL);

		if (name != NULL)
			note_inactive(v, name);
	}
}

/* Which mirrors have to be reconnected.  A node that could not list its volumes
 * is not asked again. */
static WAITS void look_at_mirrors(struct lu *lu)
{
	struct verify_disks *v = verify_of(lu);
	size_t most = json_object_size(v->mirrors), n = 0;
	struct node_result *results = node_results_new(most);
	const char *node;
	json_t *disks;

	json_object_foreach (v->mirrors, node, disks) {
		if (json_get(v->errors, node) != NULL)
			continue;
		results[n].node =
			json_ref(config_get(lu->m->config, CONFIG_NODE, node));
		results[n++].own = rpc_drbd_needs_activation(json_ref(disks));
	}
	noderpc_look_each(lu->m->rpc, results, n);
	for (size_t i = 0; i < n; i++)
		note_broken(v, &results[i]);
	node_results_free(results, most);
}

static WAITS json_t *verify_exec(struct lu *lu, struct error *err)
{
	const struct op_group_verify_disks *op = lu->op;
	const json_t *group = lu_group(lu, op->group_name, err);
	struct verify_disks *v = verify_of(lu);

	if (group == NULL)
		return NULL;
	v->volumes = json_object();
	v->mirrors = json_object();
	v->owners = json_object();
	v->errors = json_object();
	v->inactive = json_array();
	v->missing = json_object();
	collect(lu, group_uuid(group));
	if (v->nodes.n > 0)
		look_at_volumes(lu);
	look_at_mirrors(lu);
	return json_make("[O, O, O]", v->errors, v->inactive, v->missing);
}

static void verify_done(struct lu *lu)
{
	struct verify_disks *v = verify_of(lu);
	json_t *const owned[] = {v->volumes, v->mirrors,  v->owners,
				 v->errors,  v->inactive, v->missing};

	strv_done(&v->nodes);
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		json_decref(owned[i]);
}

const struct lu_class lu_group_verify_disks = {
	.op = &op_class_group_verify_disks,
	.size = sizeof(struct verify_disks),
	.expand = verify_expand,
	.exec = verify_exec,
	.done = verify_done,
};
