/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_POWERCYCLE: reboot a node the hard way.  Takes no locks, since it is
 * for nodes that hang and jobs that wait for them. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/frame/lu.h"

struct powercycle {
	struct lu lu;
	const json_t *node;
};

static struct powercycle *powercycle_of(struct lu *lu)
{
	return container_of(lu, struct powercycle, lu);
}

static int powercycle_expand(struct lu *lu, struct error *err)
{
	const struct op_node_powercycle *op = lu->op;
	struct powercycle *p = powercycle_of(lu);

	p->node = lu_node(lu, op->node_name, err);
	if (p->node == NULL)
		return -1;
	if (!op->force && config_is_master(lu->m->config, node_uuid(p->node)))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The node is the master and the force "
				 "parameter was not set");
	return 0;
}

static WAITS json_t *powercycle_exec(struct lu *lu, struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *hypervisor = json_string_value(
		json_array_get(cluster_enabled_hypervisors(cluster), 0));
	json_t *done =
		lu_call(lu, node_uuid(powercycle_of(lu)->node),
			rpc_node_powercycle(hypervisor,
					    params_fill_hv(cluster, hypervisor,
							   NULL, NULL)),
			err);

	if (done == NULL)
		error_wrap(err, "Failed to schedule the reboot");
	return done;
}

const struct lu_class lu_node_powercycle = {
	.op = &op_class_node_powercycle,
	.size = sizeof(struct powercycle),
	.expand = powercycle_expand,
	.exec = powercycle_exec,
};
