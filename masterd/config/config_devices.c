/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node is told of a mirrored disk depends on the node: which of the two
 * it is, its own address and minor, and those of its peer.  So this is put into
 * the arguments of a call when they are sent (noderpc_set_fill()). */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/config/config.h"
#include "masterd/config/config_private.h"

/* The parts of a mirror's logical id. */
enum { NODE_A, NODE_B, PORT, MINOR_A };

static const char *address_of(const struct config *c, const char *uuid)
{
	const json_t *node = config_get(c, CONFIG_NODE, uuid);

	return node != NULL ? node_secondary_ip(node) : NULL;
}

/* Empty for a node that is not one of the two. */
static json_t *dynamic_of(const struct config *c, const json_t *disk,
			  const char *uuid)
{
	const json_t *id = json_get(disk, "logical_id");
	json_t *dynamic = json_object();
	const char *nodes[2];
	size_t own;

	for (size_t i = 0; i < 2; i++)
		nodes[i] = json_string_value(json_array_get(id, NODE_A + i));
	if (!str_eq(nodes[0], uuid) && !str_eq(nodes[1], uuid))
		return dynamic;
	own = str_eq(nodes[0], uuid) ? 0 : 1;
	json_set_str(dynamic, "local-ip", address_of(c, nodes[own]));
	json_set_str(dynamic, "remote-ip", address_of(c, nodes[1 - own]));
	json_object_set(dynamic, "local-minor",
			json_array_get(id, MINOR_A + own));
	json_object_set(dynamic, "remote-minor",
			json_array_get(id, MINOR_A + 1 - own));
	return dynamic;
}

/* Only copies for calls have this member, which is replaced. */
static void fill_disk(const struct config *c, json_t *disk, const char *uuid)
{
	if (json_object_get(disk, "dynamic_params") != NULL &&
	    template_is_pair(json_str(disk, "dev_type", NULL)))
		json_object_set_new(disk, "dynamic_params",
				    dynamic_of(c, disk, uuid));
}

static void fill(const struct config *c, json_t *value, const char *uuid)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_object(value))
		fill_disk(c, value, uuid);
	json_object_foreach (value, key, item)
		fill(c, item, uuid);
	json_array_foreach (value, i, item)
		fill(c, item, uuid);
}

void config_fill_devices(void *config, const json_t *node, json_t *args)
{
	fill(config, args, node_uuid(node));
}

/* --- the volumes below a mirror --- */

static bool is_stamped(const json_t *volume)
{
	return disk_has_serial_no(volume) && disk_has_ctime(volume) &&
	       disk_has_mtime(volume);
}

bool config_has_stamps(const json_t *disk)
{
	const json_t *children = disk_children(disk);

	for (size_t i = 0; i < json_array_size(children); i++)
		if (!is_stamped(json_array_get(children, i)))
			return false;
	return true;
}

void config_stamp_volumes(json_t *disk, double now)
{
	const json_t *children = disk_children(disk);
	json_t *list;

	if (config_has_stamps(disk))
		return;
	list = json_array();
	for (size_t i = 0; i < json_array_size(children); i++) {
		json_t *volume =
			json_copy(json_unconst(json_array_get(children, i)));

		if (!disk_has_serial_no(volume))
			disk_set_serial_no(volume, 1);
		if (!disk_has_ctime(volume))
			disk_set_ctime(volume, now);
		if (!disk_has_mtime(volume))
			disk_set_mtime(volume, now);
		json_array_append_new(list, volume);
	}
	disk_set_children(disk, list);
}
