/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of an instance's disks on nodes that are not its own: made by a move
 * that is under way, or whose master has died.  A name proves nothing, as a
 * folder may be on a network file system.  So each copy that was made is noted,
 * and only what is noted is removed. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

int disks_note_copy(struct lu *lu, const json_t *inst, const char *node_uuid,
		    struct error *err)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);

	for (size_t i = 0; i < json_array_size(disks); i++) {
		json_t *disk = config_edit(json_array_get(disks, i));
		auto_json json_t *nodes =
			json_copy(json_unconst(disk_nodes(disk)));

		json_array_append_new(nodes, json_string(node_uuid));
		disk_set_nodes(disk, json_ref(nodes));
		config_put(lu->m->config, CONFIG_DISK, disk);
	}
	return config_commit(lu->m->config, err);
}

int disks_record_move(struct lu *lu, const json_t *inst, const char *node_uuid,
		      struct error *err)
{
	struct config *c = lu->m->config;
	auto_json json_t *disks = config_instance_disks(c, inst);
	json_t *changed =
		config_edit(config_get(c, CONFIG_INSTANCE, inst_uuid(inst)));

	for (size_t i = 0; i < json_array_size(disks); i++) {
		json_t *disk = config_edit(json_array_get(disks, i));

		disk_set_nodes(disk, json_make("[s, s]", node_uuid,
					       inst_primary_node(inst)));
		config_put(c, CONFIG_DISK, disk);
	}
	inst_set_primary_node(changed, node_uuid);
	config_put(c, CONFIG_INSTANCE, changed);
	return config_commit(c, err);
}

static bool is_mirrored(const json_t *disk)
{
	return template_is_pair(disk_dev_type(disk));
}

void disks_copy_nodes(const json_t *inst, const json_t *disks, struct strv *ret)
{
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		const json_t *nodes = disk_nodes(disk);

		for (size_t k = 0; k < json_array_size(nodes); k++) {
			const char *node =
				json_string_value(json_array_get(nodes, k));

			if (!is_mirrored(disk) && node != NULL &&
			    !str_eq(node, inst_primary_node(inst)))
				strv_add_unique(ret, node);
		}
	}
}

/* The disks that have a copy on the node, in the form of node calls. */
static json_t *copies_on(struct lu *lu, const json_t *inst, const json_t *disks,
			 const char *node)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		if (!is_mirrored(disk) &&
		    json_array_has_str(disk_nodes(disk), node))
			json_array_append_new(list,
					      inst_rpc_disk(lu, inst, disk));
	}
	return list;
}

static void forget_node(struct lu *lu, const json_t *copies, const char *node)
{
	for (size_t i = 0; i < json_array_size(copies); i++) {
		json_t *disk = config_edit(
			config_get(lu->m->config, CONFIG_DISK,
				   disk_uuid(json_array_get(copies, i))));
		const json_t *nodes = disk_nodes(disk);
		json_t *left = json_array();

		for (size_t k = 0; k < json_array_size(nodes); k++)
			if (!str_eq(json_string_value(json_array_get(nodes, k)),
				    node))
				json_array_append(left,
						  json_array_get(nodes, k));
		disk_set_nodes(disk, left);
		config_put(lu->m->config, CONFIG_DISK, disk);
	}
}

bool disks_copy_is_gone(struct lu *lu, const char *node_uuid)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);

	return node == NULL || node_offline(node);
}

static WAITS int check_copy(struct lu *lu, const json_t *inst, const char *node,
			    bool may_be_silent, struct error *err)
{
	struct error silence;
	bool runs = false;
	int rc = inst_is_running(lu, inst, node, &runs, &silence);

	if (rc == 0 && runs)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance %s runs on node %s, where a move "
				 "that was cut off has brought it; "
				 "gnt-instance activate-disks %s records that",
				 inst_name(inst), lu_node_name(lu, node),
				 inst_name(inst));
	if (rc < 0 && !may_be_silent)
		return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				 "Instance %s has a copy of its disks on node "
				 "%s, where a move that was cut off may have "
				 "brought it, and which does not say whether "
				 "it runs there (%s); gnt-node modify "
				 "--offline yes %s says that it is off, and "
				 "--force does not ask",
				 inst_name(inst), lu_node_name(lu, node),
				 silence.text, lu_node_name(lu, node));
	return 0;
}

int disks_check_copies(struct lu *lu, const json_t *inst, bool may_be_silent,
		       struct error *err)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	auto_strv struct strv nodes = {0};

	disks_copy_nodes(inst, disks, &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		if (!disks_copy_is_gone(lu, nodes.items[i]) &&
		    check_copy(lu, inst, nodes.items[i], may_be_silent, err) <
			    0)
			return -1;
	return 0;
}

/* Its disks are not taken from an instance that runs, or may. */
static WAITS bool may_run_on(struct lu *lu, const json_t *inst,
			     const char *node)
{
	struct error err;
	bool runs = true;

	if (inst_is_running(lu, inst, node, &runs, &err) < 0)
		lu_warn(lu, "The copy of the disks on node %s stays: %s",
			lu_node_name(lu, node), err.text);
	else if (runs)
		lu_warn(lu,
			"The copy of the disks on node %s stays, as instance "
			"%s runs there",
			lu_node_name(lu, node), inst_name(inst));
	return runs;
}

void disks_drop_copies(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	auto_strv struct strv nodes = {0};
	struct error err;

	disks_copy_nodes(inst, disks, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		auto_json json_t *copies =
			copies_on(lu, inst, disks, nodes.items[i]);

		if (may_run_on(lu, inst, nodes.items[i]))
			continue;
		lu_info(lu, "Removing an unused copy of the disks on node %s",
			lu_node_name(lu, nodes.items[i]));
		if (disks_remove_on(lu, copies, nodes.items[i]) == 0)
			forget_node(lu, copies, nodes.items[i]);
	}
	if (nodes.n > 0 && config_commit(lu->m->config, &err) < 0)
		lu_warn(lu, "%s", err.text);
}
