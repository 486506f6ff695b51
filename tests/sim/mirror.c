/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances with mirrored disks, which nodes without DRBD cannot make. */
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "tests/sim/sim.h"

#define SIZE_MIB 64
#define META_MIB 128
#define FIRST_PORT 11000

static json_t *volume(const char *name, int disk, const char *kind, int size)
{
	auto_free char *full = xprintf("%s%d_%s", name, disk, kind);

	return json_make("{s:s, s:[s, s], s:[], s:i}", "dev_type", "plain",
			 "logical_id", "xenvg", full, "children", "size", size);
}

json_t *sim_mirror(const char *name, int i, const char *a, const char *b)
{
	auto_free char *uuid = xprintf("0000000%d-%s", i, name);
	auto_free char *iv = xprintf("disk/%d", i);

	return json_make(
		"{s:s, s:s, s:[s, s, i, i, i, s], s:[o, o], s:[s, s], s:s, "
		"s:i, s:s, s:{}}",
		"uuid", uuid, "dev_type", "drbd", "logical_id", a, b,
		FIRST_PORT + i, i, i, "secret", "children",
		volume(name, i, "data", SIZE_MIB),
		volume(name, i, "meta", META_MIB), "nodes", a, b, "iv_name", iv,
		"size", SIZE_MIB, "mode", "rw", "params");
}

static void put_volumes(struct sim *s, const json_t *disk, const char *node)
{
	const json_t *children = json_get(disk, "children");

	for (size_t i = 0; i < json_array_size(children); i++) {
		auto_free char *name =
			sim_volume(node, json_array_get(children, i));

		table_put(&s->files, name, s);
	}
}

void sim_make_mirrored(struct sim *s, const char *instance,
		       const struct sim_node *a, const struct sim_node *b,
		       int first, int n)
{
	struct config *c = s->master->config;
	json_t *inst = config_edit(config_find(c, CONFIG_INSTANCE, instance));
	json_t *uuids = json_array();

	for (int i = first; i < first + n; i++) {
		json_t *disk = sim_mirror(instance, i, a->uuid, b->uuid);
		auto_free char *place = xprintf("disk/%d", i - first);

		json_set_str(disk, "iv_name", place);
		put_volumes(s, disk, a->uuid);
		put_volumes(s, disk, b->uuid);
		json_array_append(uuids, json_object_get(disk, "uuid"));
		config_put(c, CONFIG_DISK, disk);
	}
	json_object_set_new(inst, "disks", uuids);
	json_set_str(inst, "disk_template", "drbd");
	config_put(c, CONFIG_INSTANCE, inst);
}
