/* SPDX-License-Identifier: BSD-2-Clause */
/* The address family is taken from the form of the address, not from the
 * cluster's parameters.  The call has a long timeout, as a script of the site
 * may do the work; it runs in a task of its own, so that the master starts
 * without it. */
#include "masterd/failover/address.h"

#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/rpc/noderpc.h"

/* A site's own script may do it. */
#define TURN_UP_MS 30000u

#define FAMILY_IPV4 2
#define FAMILY_IPV6 10

static json_t *parameters(const json_t *cluster)
{
	const char *ip = cluster_master_ip(cluster);

	return json_make("{s:s, s:s, s:I, s:i}", "ip", ip, "netdev",
			 cluster_master_netdev(cluster), "netmask",
			 (json_int_t)cluster_master_netmask(cluster),
			 "ip_family",
			 strchr(ip, ':') == NULL ? FAMILY_IPV4 : FAMILY_IPV6);
}

static bool has_own_script(const json_t *cluster)
{
	return cluster_use_external_mip_script(cluster);
}

struct rpc_request address_up(const json_t *cluster)
{
	return rpc_node_activate_master_ip(parameters(cluster),
					   has_own_script(cluster));
}

struct rpc_request address_down(const json_t *cluster)
{
	return rpc_node_deactivate_master_ip(parameters(cluster),
					     has_own_script(cluster));
}

struct turn_up {
	const struct config *config;
	struct noderpc *rpc;
};

static WAITS void turn_up(void *arg)
{
	auto_free struct turn_up *t = arg;
	auto_json json_t *node = json_ref(config_master(t->config));
	auto_json json_t *done = NULL;
	struct error err;

	done = noderpc_call(
		t->rpc, node,
		rpc_within(address_up(config_cluster(t->config)), TURN_UP_MS),
		&err);
	if (done == NULL)
		log_warning("The master's address is not up: %s, ignoring",
			    err.text);
}

void address_turn_up(const struct config *config, struct noderpc *rpc)
{
	struct turn_up *t = xalloc(sizeof(*t));

	*t = (struct turn_up){.config = config, .rpc = rpc};
	task_spawn("address", turn_up, t);
}
