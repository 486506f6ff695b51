/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirrors of which another node gets one side: what changes of their objects.
 * Their logical id is [node, node, port, minor, minor, secret]. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

enum { NODE_A, PORT = 2, MINOR_A, MINOR_B, SECRET };

static const json_t *part(const json_t *disk, size_t i)
{
	return json_array_get(disk_logical_id(disk), i);
}

static json_t *paired(struct lu *lu, const json_t *inst, const json_t *disk,
		      const struct disks_pair *pair, int64_t minor)
{
	bool first = str_eq(json_string_value(part(disk, NODE_A)), pair->stays);
	json_t *copy = inst_rpc_disk(lu, inst, disk);

	disk_set_logical_id(
		copy, json_make("[s, s, o, O, I, O]", pair->stays, pair->comes,
				pair->connected ? json_ref(part(disk, PORT))
						: json_null(),
				part(disk, first ? MINOR_A : MINOR_B),
				(json_int_t)minor, part(disk, SECRET)));
	disk_set_nodes(copy, json_make("[s, s]", pair->stays, pair->comes));
	return copy;
}

json_t *disks_paired(struct lu *lu, const json_t *inst, const json_t *disks,
		     const struct disks_pair *pair)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++)
		json_array_append_new(list,
				      paired(lu, inst, json_array_get(disks, i),
					     pair, pair->minors[i]));
	return list;
}

void disks_put_pairs(struct lu *lu, const json_t *disks)
{
	struct config *c = lu->m->config;

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		const json_t *now = config_get(c, CONFIG_DISK, disk_uuid(disk));
		json_t *changed = config_edit(now);

		disk_set_logical_id(
			changed, json_ref(json_unconst(disk_logical_id(disk))));
		disk_set_nodes(changed,
			       json_ref(json_unconst(disk_nodes(disk))));
		config_put(c, CONFIG_DISK, changed);
	}
}
