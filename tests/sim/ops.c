/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/ops.h"

#include "lib/json/json.h"

json_t *op_add(const char *name, const char *node, bool with_disk)
{
	return json_make(
		"{s:s, s:s, s:s, s:o, s:[{}], s:s, s:s, s:b, s:b, s:s?, s:s?}",
		"OP_ID", "OP_INSTANCE_CREATE", "instance_name", name,
		"disk_template", with_disk ? "sharedfile" : "diskless", "disks",
		with_disk ? json_make("[{s:i}]", "size", 64) : json_array(),
		"nics", "mode", "create", "os_type", "noop", "name_check", 0,
		"ip_check", 0, "pnode", node, "iallocator",
		node == NULL ? "any" : NULL);
}

json_t *op_named(const char *op_id, const char *instance)
{
	return json_make("{s:s, s:s}", "OP_ID", op_id, "instance_name",
			 instance);
}

json_t *op_move(const char *op_id, const char *instance, const char *node)
{
	return json_make("{s:s, s:s, s:s}", "OP_ID", op_id, "instance_name",
			 instance, "target_node", node);
}

json_t *op_delay(double seconds, const char *node)
{
	json_t *op = json_make("{s:s, s:f, s:b}", "OP_ID", "OP_TEST_DELAY",
			       "duration", seconds, "on_master", node == NULL);

	if (node != NULL)
		json_object_set_new(op, "on_nodes", json_make("[s]", node));
	return op;
}
