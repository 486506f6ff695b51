/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_ACTIVATE_MASTER_IP, OP_CLUSTER_DEACTIVATE_MASTER_IP: the master's
 * address up or down on the master node. */
#include "lib/json/json.h"
#include "masterd/address.h"
#include "masterd/lu.h"

static WAITS json_t *turn(struct lu *lu, const char *procedure,
			  struct error *err)
{
	const char *node = json_str(config_master(lu->m->config), "uuid", "");
	auto_json json_t *done =
		lu_call(lu, node, procedure,
			address_args(config_cluster(lu->m->config)), err);

	return done == NULL ? NULL : json_null();
}

static WAITS json_t *activate_exec(struct lu *lu, struct error *err)
{
	json_t *done = turn(lu, "node_activate_master_ip", err);

	if (done == NULL)
		error_wrap(err, "Could not activate the master IP");
	return done;
}

static WAITS json_t *deactivate_exec(struct lu *lu, struct error *err)
{
	json_t *done = turn(lu, "node_deactivate_master_ip", err);

	if (done == NULL)
		error_wrap(err, "Could not deactivate the master IP");
	return done;
}

const struct lu_class lu_cluster_activate_master_ip = {
	.op = &op_class_cluster_activate_master_ip,
	.size = sizeof(struct lu),
	.exclusive_bgl = true,
	.exec = activate_exec,
};

const struct lu_class lu_cluster_deactivate_master_ip = {
	.op = &op_class_cluster_deactivate_master_ip,
	.size = sizeof(struct lu),
	.exclusive_bgl = true,
	.exec = deactivate_exec,
};
