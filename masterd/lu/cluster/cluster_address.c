/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_ACTIVATE_MASTER_IP, OP_CLUSTER_DEACTIVATE_MASTER_IP: the master's
 * address up or down on the master node; and how it follows the parameters that
 * OP_CLUSTER_SET_PARAMS changes. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/failover/address.h"
#include "masterd/lu/cluster/cluster_params.h"
#include "masterd/lu/frame/lu.h"

static WAITS json_t *turn(struct lu *lu, struct rpc_request request,
			  struct error *err)
{
	const char *node = node_uuid(config_master(lu->m->config));
	auto_json json_t *done = lu_call(lu, node, request, err);

	return done == NULL ? NULL : json_null();
}

static WAITS json_t *activate_exec(struct lu *lu, struct error *err)
{
	json_t *done = turn(lu, address_up(config_cluster(lu->m->config)), err);

	if (done == NULL)
		error_wrap(err, "Could not activate the master IP");
	return done;
}

static WAITS json_t *deactivate_exec(struct lu *lu, struct error *err)
{
	json_t *done =
		turn(lu, address_down(config_cluster(lu->m->config)), err);

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

/* --- another device, another netmask --- */

static WAITS int leave_device(struct lu *lu, const char *netdev, bool *ret_down,
			      struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	auto_free char *old =
		xstrdup(cluster_master_netdev(config_cluster(lu->m->config)));
	json_t *done;

	lu_info(lu, "Shutting down master ip on the current netdev (%s)", old);
	done = turn(lu, address_down(config_cluster(lu->m->config)), err);
	if (done == NULL && !op->force)
		return error_wrap(err, "Could not disable the master ip");
	if (done == NULL)
		lu_info(lu,
			"Could not disable the master ip (continuing "
			"anyway): %s",
			err->text);
	json_decref(done);
	*ret_down = true;
	lu_info(lu, "Changing master_netdev from %s to %s", old, netdev);
	return 0;
}

static WAITS void change_netmask(struct lu *lu, op_number netmask)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *node = node_uuid(config_master(lu->m->config));
	auto_json json_t *done = NULL;
	struct error err;

	done = lu_call(lu, node,
		       rpc_node_change_master_netmask(
			       cluster_master_netmask_or(cluster, netmask),
			       netmask, cluster_master_ip(cluster),
			       cluster_master_netdev(cluster)),
		       &err);
	if (done == NULL)
		lu_warn(lu, "Could not change the master IP netmask: %s",
			err.text);
}

int cluster_address_leave(struct lu *lu, bool *ret_down, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;

	if (op->master_netdev != NULL &&
	    leave_device(lu, op->master_netdev, ret_down, err) < 0)
		return -1;
	if (op->master_netmask == OP_UNSET)
		return 0;
	lu_info(lu, "Changing master IP netmask to %jd",
		(intmax_t)op->master_netmask);
	if (!*ret_down)
		change_netmask(lu, op->master_netmask);
	return 0;
}

void cluster_address_return(struct lu *lu, bool *is_down)
{
	json_t *done;
	struct error err;

	if (!*is_down)
		return;
	*is_down = false;
	lu_info(lu, "Starting the master ip on the new master netdev (%s)",
		cluster_master_netdev(config_cluster(lu->m->config)));
	done = turn(lu, address_up(config_cluster(lu->m->config)), &err);
	if (done == NULL)
		lu_warn(lu,
			"Could not re-enable the master ip on the master, "
			"please restart manually: %s",
			err.text);
	json_decref(done);
}
