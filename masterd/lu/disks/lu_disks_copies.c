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

void disks_drop_copies(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	auto_strv struct strv nodes = {0};
	struct error err;

	disks_copy_nodes(inst, disks, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		auto_json json_t *copies =
			copies_on(lu, inst, disks, nodes.items[i]);

		lu_info(lu,
			"Removing an unfinished copy of the disks on node "
			"%s",
			lu_node_name(lu, nodes.items[i]));
		if (disks_remove_on(lu, copies, nodes.items[i]) == 0)
			forget_node(lu, copies, nodes.items[i]);
	}
	if (nodes.n > 0 && config_commit(lu->m->config, &err) < 0)
		lu_warn(lu, "%s", err.text);
}
