/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_GROW_INSTANCES: instances that run on the node get memory that has
 * become free, up to their maxmem or the size that somebody chose.  The result
 * lists what has changed, [[instance, from, to], ...], in MiB. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/lu_balloon.h"

struct node_grow {
	struct lu lu;
	const char *uuid;
};

static struct node_grow *grow_of(struct lu *lu)
{
	return container_of(lu, struct node_grow, lu);
}

static int grow_expand(struct lu *lu, struct error *err)
{
	const struct op_node_grow_instances *op = lu->op;
	const json_t *node = lu_node(lu, op->node_name, err);

	if (node == NULL)
		return -1;
	grow_of(lu)->uuid = node_uuid(node);
	lu_want(lu, LOCK_NODE, grow_of(lu)->uuid, false);
	return 0;
}

static WAITS json_t *grow_exec(struct lu *lu, struct error *err)
{
	if (lu_balloon_may_grow(lu))
		return lu_balloon_grow(lu, grow_of(lu)->uuid, err);
	lu_info(lu, "Instances do not grow by themselves in this cluster "
		    "(gnt-cluster modify --memory-growth)");
	return json_array();
}

const struct lu_class lu_node_grow_instances = {
	.op = &op_class_node_grow_instances,
	.size = sizeof(struct node_grow),
	.expand = grow_expand,
	.exec = grow_exec,
};
