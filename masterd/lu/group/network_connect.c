/* SPDX-License-Identifier: BSD-2-Clause */
/* A network in a node group: which link its NICs have there. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ippool.h"
#include "lib/model/params/params.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/lu_net.h"

struct connection {
	struct lu lu;
	const json_t *network, *group;
	json_t *nicparams; /* of the connection */
	bool nothing_to_do;
};

static struct connection *connection_of(struct lu *lu)
{
	return container_of(lu, struct connection, lu);
}

static const char *uuid_of_network(const struct connection *c)
{
	return network_uuid(c->network);
}

static const char *uuid_of_group(const struct connection *c)
{
	return group_uuid(c->group);
}

static void connection_done(struct lu *lu)
{
	json_decref(connection_of(lu)->nicparams);
}

static int find_both(struct lu *lu, const char *network, const char *group,
		     struct error *err)
{
	struct connection *c = connection_of(lu);

	c->network = lu_net_find(lu, network, err);
	if (c->network == NULL)
		return -1;
	c->group = lu_group(lu, group, err);
	if (c->group == NULL)
		return -1;
	lu_want(lu, LOCK_NODEGROUP, uuid_of_group(c), true);
	return 0;
}

/* The group's instances, by their primary nodes. */
static void want_instances(struct lu *lu)
{
	struct config *config = lu->m->config;
	auto_strv struct strv nodes = {0}, instances = {0};

	config_group_nodes(config, uuid_of_group(connection_of(lu)), &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		config_node_primaries(config, nodes.items[i], &instances);
	for (size_t i = 0; i < instances.n; i++)
		lu_want(lu, LOCK_INSTANCE,
			config_name(config, CONFIG_INSTANCE,
				    instances.items[i]),
			false);
}

typedef bool nic_conflicts(const struct connection *c, const json_t *nic);

/* The group's NICs that conflict, as "web1: nic0/192.0.2.7, ...". */
static char *find_conflicts(struct lu *lu, nic_conflicts *conflicts)
{
	struct connection *c = connection_of(lu);
	struct config *config = lu->m->config;
	auto_strv struct strv nodes = {0}, instances = {0}, found = {0};

	config_group_nodes(config, uuid_of_group(c), &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		config_node_primaries(config, nodes.items[i], &instances);
	for (size_t i = 0; i < instances.n; i++) {
		const json_t *inst =
			config_get(config, CONFIG_INSTANCE, instances.items[i]);
		const json_t *nic;
		size_t k;

		json_array_foreach (inst_nics(inst), k, nic)
			if (conflicts(c, nic))
				strv_addf(&found, "%s: nic%zu/%s",
					  inst_name(inst), k,
					  nic_ip_or(nic, "no address"));
	}
	strv_sort(&found);
	return found.n == 0 ? NULL : strv_join(&found, ", ");
}

static int refuse_conflicts(struct lu *lu, const char *what,
			    nic_conflicts *conflicts, struct error *err)
{
	struct connection *c = connection_of(lu);
	auto_free char *list = find_conflicts(lu, conflicts);

	if (list == NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Network '%s' can't be %s group '%s', these NICs are "
			 "in the way: %s",
			 network_name(c->network), what, group_name(c->group),
			 list);
}

static void connection_env(struct lu *lu, json_t *env)
{
	const struct connection *c = connection_of(lu);

	lu_net_env(c->network, "", env);
	json_set_str(env, "GROUP_NAME", group_name(c->group));
	json_set_str(env, "GROUP_NETWORK_MODE", nicparams_mode(c->nicparams));
	json_set_str(env, "GROUP_NETWORK_LINK", nicparams_link(c->nicparams));
	json_set_str(env, "GROUP_NETWORK_VLAN", nicparams_vlan(c->nicparams));
}

static void connection_nodes(struct lu *lu, struct strv *ret_pre,
			     struct strv *ret_post)
{
	const char *uuid = uuid_of_group(connection_of(lu));

	config_group_nodes(lu->m->config, uuid, ret_pre);
	config_group_nodes(lu->m->config, uuid, ret_post);
}

/* Store the group with this connection; NULL: without one. */
static WAITS json_t *put_connection(struct lu *lu, json_t *nicparams,
				    struct error *err)
{
	struct connection *c = connection_of(lu);
	const json_t *group =
		config_get(lu->m->config, CONFIG_GROUP, uuid_of_group(c));
	json_t *changed = config_edit(group);
	json_t *networks = json_object();

	json_object_update(networks, json_unconst(group_networks(group)));
	if (nicparams != NULL)
		json_object_set(networks, uuid_of_network(c), nicparams);
	else
		json_object_del(networks, uuid_of_network(c));
	group_set_networks(changed, networks);
	config_put(lu->m->config, CONFIG_GROUP, changed);
	return config_commit(lu->m->config, err) < 0 ? NULL : json_null();
}

static bool is_connected(const struct connection *c)
{
	return json_get(group_networks(c->group), uuid_of_network(c)) != NULL;
}

/* --- connect --- */

static int connect_expand(struct lu *lu, struct error *err)
{
	const struct op_network_connect *op = lu->op;
	struct connection *c = connection_of(lu);

	if (find_both(lu, op->network_name, op->group_name, err) < 0)
		return -1;
	if (!op->conflicts_check)
		return 0;
	lu_want(lu, LOCK_NETWORK, uuid_of_network(c), false);
	want_instances(lu);
	return 0;
}

/* The addresses of the network that NICs outside of it have. */
static bool has_stray_address(const struct connection *c, const json_t *nic)
{
	const char *ip = nic_ip(nic);
	struct error ignored;
	struct ippool pool;
	size_t index;

	return nic_network(nic) == NULL && ip != NULL &&
	       ippool_parse(network_network(c->network), &pool, &ignored) ==
		       0 &&
	       ippool_index(&pool, ip, &index);
}

static int refuse_strays(struct lu *lu, struct error *err)
{
	const struct op_network_connect *op = lu->op;

	if (!op->conflicts_check)
		return 0;
	return refuse_conflicts(lu, "connected to", has_stray_address, err);
}

static int connect_check(struct lu *lu, struct error *err)
{
	const struct op_network_connect *op = lu->op;
	struct connection *c = connection_of(lu);
	auto_json json_t *given =
		json_make("{s:s, s:s, s:s}", "mode", op->network_mode, "link",
			  op->network_link, "vlan", op->network_vlan);

	if (params_update_nic(NULL, given, &c->nicparams, err) < 0)
		return -1;
	c->nothing_to_do = is_connected(c);
	if (c->nothing_to_do) {
		lu_warn(lu, "Network '%s' is already mapped to group '%s'",
			op->network_name, op->group_name);
		return 0;
	}
	return refuse_strays(lu, err);
}

static WAITS json_t *connect_exec(struct lu *lu, struct error *err)
{
	struct connection *c = connection_of(lu);

	if (c->nothing_to_do)
		return json_null();
	if (config_get(lu->m->config, CONFIG_NETWORK, uuid_of_network(c)) ==
	    NULL) {
		error_set(err, ERR_PREREQ, ECODE_NOENT,
			  "Network '%s' was removed meanwhile",
			  network_name(c->network));
		return NULL;
	}
	/* Check again: an instance may have been created during the hooks. */
	if (refuse_strays(lu, err) < 0)
		return NULL;
	return put_connection(lu, c->nicparams, err);
}

const struct lu_class lu_network_connect = {
	.op = &op_class_network_connect,
	.size = sizeof(struct connection),
	.hook_path = "network-connect",
	.object_type = "NETWORK",
	.expand = connect_expand,
	.check = connect_check,
	.hook_env = connection_env,
	.hook_nodes = connection_nodes,
	.exec = connect_exec,
	.done = connection_done,
};

/* --- disconnect --- */

static int disconnect_expand(struct lu *lu, struct error *err)
{
	const struct op_network_disconnect *op = lu->op;

	if (find_both(lu, op->network_name, op->group_name, err) < 0)
		return -1;
	want_instances(lu);
	return 0;
}

static bool is_in_network(const struct connection *c, const json_t *nic)
{
	return str_eq(nic_network(nic), uuid_of_network(c));
}

static int disconnect_check(struct lu *lu, struct error *err)
{
	const struct op_network_disconnect *op = lu->op;
	struct connection *c = connection_of(lu);

	c->nicparams = json_ref(
		json_get(group_networks(c->group), uuid_of_network(c)));
	c->nothing_to_do = !is_connected(c);
	if (c->nothing_to_do) {
		lu_warn(lu, "Network '%s' is not mapped to group '%s'",
			op->network_name, op->group_name);
		return 0;
	}
	return refuse_conflicts(lu, "disconnected from", is_in_network, err);
}

static WAITS json_t *disconnect_exec(struct lu *lu, struct error *err)
{
	if (connection_of(lu)->nothing_to_do)
		return json_null();
	/* Check again: an instance may have been created during the hooks. */
	if (refuse_conflicts(lu, "disconnected from", is_in_network, err) < 0)
		return NULL;
	return put_connection(lu, NULL, err);
}

const struct lu_class lu_network_disconnect = {
	.op = &op_class_network_disconnect,
	.size = sizeof(struct connection),
	.hook_path = "network-disconnect",
	.object_type = "NETWORK",
	.expand = disconnect_expand,
	.check = disconnect_check,
	.hook_env = connection_env,
	.hook_nodes = connection_nodes,
	.exec = disconnect_exec,
	.done = connection_done,
};
