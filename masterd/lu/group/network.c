/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks: add, change, rename, remove. */
#include <arpa/inet.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ippool.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/lu_net.h"
#include "masterd/lu/parts/tags.h"

struct network_lu {
	struct lu lu;
	const json_t *network; /* as it was; NULL for a new one */
	json_t *changed;
	char uuid[37];
};

static struct network_lu *network_of(struct lu *lu)
{
	return container_of(lu, struct network_lu, lu);
}

static void network_done(struct lu *lu)
{
	json_decref(network_of(lu)->changed);
}

static void master_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	const char *master = node_uuid(config_master(lu->m->config));

	strv_add(ret_pre, master);
	strv_add(ret_post, master);
}

static void changed_env(struct lu *lu, json_t *env)
{
	const struct network_lu *n = network_of(lu);

	lu_net_env(n->changed != NULL ? n->changed : n->network, "", env);
}

static int want_network(struct lu *lu, const char *name, struct error *err)
{
	struct network_lu *n = network_of(lu);

	n->network = lu_net_find(lu, name, err);
	if (n->network == NULL)
		return -1;
	lu_want(lu, LOCK_NETWORK, network_uuid(n->network), true);
	return 0;
}

static int check_name_is_free(struct lu *lu, const char *name,
			      struct error *err)
{
	const json_t *other = config_find(lu->m->config, CONFIG_NETWORK, name);

	if (other == NULL)
		return config_check_new_name(name, err);
	return error_set(
		err, ERR_PREREQ, ECODE_EXISTS,
		"Desired network name '%s' already exists as a network "
		"(UUID: %s)",
		name, network_uuid(other));
}

static WAITS json_t *put_changed(struct lu *lu, struct error *err)
{
	config_put(lu->m->config, CONFIG_NETWORK,
		   json_copy(network_of(lu)->changed));
	return config_commit(lu->m->config, err) < 0 ? NULL : json_null();
}

/* --- values --- */

static bool is_none(const char *value)
{
	return str_eq(value, "none");
}

static int set_mac_prefix(json_t *network, const char *prefix,
			  struct error *err)
{
	auto_free char *lower = NULL;

	if (prefix == NULL)
		return 0;
	if (is_none(prefix)) {
		network_set_mac_prefix(network, NULL);
		return 0;
	}
	lower = str_lower(prefix);
	if (!str_valid_mac_prefix(lower))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid MAC address prefix '%s': three bytes "
				 "like aa:00:00 are needed",
				 prefix);
	network_set_mac_prefix(network, lower);
	return 0;
}

#define BITS6 128

static bool parse6(const char *network6, struct in6_addr *ret, int64_t *ret_len)
{
	auto_free char *base = xstrndup(network6, strcspn(network6, "/"));
	size_t n = strlen(base);

	return network6[n] == '/' && str_to_int64(network6 + n + 1, ret_len) &&
	       *ret_len >= 0 && *ret_len <= BITS6 &&
	       inet_pton(AF_INET6, base, ret) == 1;
}

static bool bit6(const struct in6_addr *address, int64_t i)
{
	return (address->s6_addr[i / 8] & (0x80 >> (i % 8))) != 0;
}

static bool has_host_bits6(const char *network6)
{
	struct in6_addr net;
	int64_t len;

	if (!parse6(network6, &net, &len))
		return true;
	for (int64_t i = len; i < BITS6; i++)
		if (bit6(&net, i))
			return true;
	return false;
}

static bool is_in6(const char *network6, const char *address)
{
	struct in6_addr net, one;
	int64_t len;

	if (!parse6(network6, &net, &len) ||
	    inet_pton(AF_INET6, address, &one) != 1)
		return false;
	for (int64_t i = 0; i < len; i++)
		if (bit6(&net, i) != bit6(&one, i))
			return false;
	return true;
}

/* Routers often announce themselves with such an address. */
static bool is_link_local6(const char *address)
{
	return is_in6("fe80::/10", address);
}

static int set_network6(json_t *network, const char *network6,
			const char *gateway6, struct error *err)
{
	if (network6 != NULL)
		network_set_network6(network,
				     is_none(network6) ? NULL : network6);
	if (gateway6 != NULL)
		network_set_gateway6(network,
				     is_none(gateway6) ? NULL : gateway6);
	gateway6 = network_gateway6(network);
	network6 = network_network6(network);
	if (network6 == NULL)
		return 0;
	if (has_host_bits6(network6))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s has host bits set: not the address of a "
				 "network",
				 network6);
	if (gateway6 == NULL || is_in6(network6, gateway6) ||
	    is_link_local6(gateway6))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "IPv6 gateway %s is not in the IPv6 network (%s)",
			 gateway6, network6);
}

/* The gateway's address is kept from instances, and none may have it. */
static int take_gateway(json_t *network, const char *gateway, struct error *err)
{
	if (ippool_is_used(network, gateway))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "IP address %s is an instance's in network %s",
				 gateway, network_name(network));
	return ippool_take(network, gateway, true, err);
}

static int set_gateway(json_t *network, const char *gateway, struct error *err)
{
	const char *before = network_gateway(network);
	struct error ignored;

	if (gateway == NULL)
		return 0;
	if (before != NULL)
		ippool_give(network, before, true, &ignored);
	if (is_none(gateway)) {
		network_set_gateway(network, NULL);
		return 0;
	}
	if (take_gateway(network, gateway, err) < 0)
		return -1;
	network_set_gateway(network, gateway);
	return 0;
}

/* --- add --- */

static int add_expand(struct lu *lu, struct error *err)
{
	struct network_lu *n = network_of(lu);
	const struct op_network_add *op = lu->op;

	(void)err;
	if (n->uuid[0] == '\0')
		uuid_new(n->uuid);
	lu_want(lu, LOCK_NETWORK, n->uuid, true);
	if (op->conflicts_check)
		lu_want_all(lu, LOCK_NODE, false);
	return 0;
}

/* Addresses that are in use already are reserved as external ones. */
static void keep_from_all(struct lu *lu, json_t *network, const char *ip,
			  const char *whose)
{
	struct error ignored;

	if (ip != NULL && !ippool_is_taken(network, ip) &&
	    ippool_take(network, ip, true, &ignored) == 0)
		lu_info(lu, "Reserved IP address %s of %s", ip, whose);
}

static void keep_known(struct lu *lu, json_t *network)
{
	const char *uuid;
	json_t *node;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_NODE)), uuid,
		node) {
		auto_free char *whose = xprintf("node '%s'", node_name(node));

		keep_from_all(lu, network, node_primary_ip_or(node, NULL),
			      whose);
		keep_from_all(lu, network, node_secondary_ip_or(node, NULL),
			      whose);
	}
	keep_from_all(lu, network,
		      cluster_master_ip_or(config_cluster(lu->m->config), NULL),
		      "the cluster's master");
}

static int take_all(json_t *network, const json_t *ips, struct error *err)
{
	for (size_t i = 0; i < json_array_size(ips); i++)
		if (ippool_take(network,
				json_string_value(json_array_get(ips, i)), true,
				err) < 0)
			return -1;
	return 0;
}

static int add_check(struct lu *lu, struct error *err)
{
	struct network_lu *n = network_of(lu);
	const struct op_network_add *op = lu->op;

	if (check_name_is_free(lu, op->network_name, err) < 0 ||
	    tags_check(op->tags, err) < 0)
		return -1;
	n->changed = json_make("{s:s, s:s, s:s, s:O}", "uuid", n->uuid, "name",
			       op->network_name, "network", op->network, "tags",
			       op->tags);
	if (ippool_begin(n->changed, err) < 0 ||
	    set_gateway(n->changed, op->gateway, err) < 0 ||
	    set_mac_prefix(n->changed, op->mac_prefix, err) < 0 ||
	    set_network6(n->changed, op->network6, op->gateway6, err) < 0)
		return -1;
	if (op->conflicts_check)
		keep_known(lu, n->changed);
	return take_all(n->changed, op->add_reserved_ips, err);
}

static WAITS json_t *add_exec(struct lu *lu, struct error *err)
{
	const struct op_network_add *op = lu->op;

	/* Check again: another job may have added a network of this name. */
	if (check_name_is_free(lu, op->network_name, err) < 0)
		return NULL;
	return put_changed(lu, err);
}

const struct lu_class lu_network_add = {
	.op = &op_class_network_add,
	.size = sizeof(struct network_lu),
	.hook_path = "network-add",
	.object_type = "NETWORK",
	.expand = add_expand,
	.check = add_check,
	.hook_env = changed_env,
	.hook_nodes = master_nodes,
	.exec = add_exec,
	.done = network_done,
};

/* --- set params --- */

static int modify_expand(struct lu *lu, struct error *err)
{
	const struct op_network_set_params *op = lu->op;

	return want_network(lu, op->network_name, err);
}

/* Whether an instance has it. */
static bool has_nic(const struct lu *lu, const json_t *network, const char *ip)
{
	return config_has_address(lu->m->config, network_uuid(network), ip);
}

/* Also for the instance that has it, where that was lost. */
static int reserve(const struct lu *lu, json_t *network, const char *ip,
		   struct error *err)
{
	bool lost = ippool_contains(network, ip) &&
		    !ippool_is_used(network, ip) && has_nic(lu, network, ip);
	int rc = ippool_take(network, ip, true, err);

	return lost ? ippool_take(network, ip, false, err) : rc;
}

/* Also what is still reserved for an instance that does not have it. */
static int release(const struct lu *lu, json_t *network, const char *ip,
		   struct error *err)
{
	struct error ignored;

	if (!ippool_is_used(network, ip) || has_nic(lu, network, ip))
		return ippool_give(network, ip, true, err);
	ippool_give(network, ip, true, &ignored);
	return ippool_give(network, ip, false, err);
}

/* As in Ganeti, an address that cannot be reserved or freed is only a
 * warning. */
static void reserve_more(struct lu *lu, json_t *network, const json_t *ips)
{
	for (size_t i = 0; i < json_array_size(ips); i++) {
		const char *ip = json_string_value(json_array_get(ips, i));
		struct error why;

		if (reserve(lu, network, ip, &why) < 0)
			lu_warn(lu, "Cannot reserve IP address %s: %s", ip,
				why.text);
	}
}

static void reserve_less(struct lu *lu, json_t *network, const json_t *ips)
{
	for (size_t i = 0; i < json_array_size(ips); i++) {
		const char *ip = json_string_value(json_array_get(ips, i));
		struct error why;

		if (str_eq(ip, network_gateway(network)))
			lu_warn(lu,
				"Cannot release IP address %s: it is the "
				"gateway's",
				ip);
		else if (release(lu, network, ip, &why) < 0)
			lu_warn(lu, "Cannot release IP address %s: %s", ip,
				why.text);
	}
}

static int modify_check(struct lu *lu, struct error *err)
{
	struct network_lu *n = network_of(lu);
	const struct op_network_set_params *op = lu->op;

	n->changed = config_edit(n->network);
	if (op->gateway != NULL &&
	    str_eq(op->gateway, network_gateway(n->network)))
		lu_warn(lu, "Gateway is already %s", op->gateway);
	if (set_gateway(n->changed, op->gateway, err) < 0 ||
	    set_mac_prefix(n->changed, op->mac_prefix, err) < 0 ||
	    set_network6(n->changed, op->network6, op->gateway6, err) < 0)
		return -1;
	reserve_more(lu, n->changed, op->add_reserved_ips);
	reserve_less(lu, n->changed, op->remove_reserved_ips);
	return 0;
}

/* Instances take and free addresses without the network's lock.  So apply only
 * this job's changes to the present object. */
static WAITS json_t *modify_exec(struct lu *lu, struct error *err)
{
	struct network_lu *n = network_of(lu);
	const json_t *now = config_get(lu->m->config, CONFIG_NETWORK,
				       network_uuid(n->network));

	if (now != n->network) {
		json_decref(steal(&n->changed));
		n->network = lu_keep(lu, now);
		if (modify_check(lu, err) < 0)
			return NULL;
	}
	return put_changed(lu, err);
}

const struct lu_class lu_network_set_params = {
	.op = &op_class_network_set_params,
	.size = sizeof(struct network_lu),
	.hook_path = "network-modify",
	.object_type = "NETWORK",
	.expand = modify_expand,
	.check = modify_check,
	.hook_env = changed_env,
	.hook_nodes = master_nodes,
	.exec = modify_exec,
	.done = network_done,
};

/* --- remove --- */

static int remove_expand(struct lu *lu, struct error *err)
{
	const struct op_network_remove *op = lu->op;

	lu_want_all(lu, LOCK_NODEGROUP, false);
	return want_network(lu, op->network_name, err);
}

static bool has_nic_in(const json_t *inst, const char *network)
{
	const json_t *nic;
	size_t i;

	json_array_foreach (inst_nics(inst), i, nic)
		if (str_eq(nic_network(nic), network))
			return true;
	return false;
}

/* Such instances are where it is not connected any more: on nodes that went to
 * another group. */
static int check_unused(struct lu *lu, const json_t *network, struct error *err)
{
	auto_strv struct strv names = {0};
	auto_free char *text = NULL;
	const char *uuid;
	json_t *inst;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst)
		if (has_nic_in(inst, network_uuid(network)))
			strv_add(&names, inst_name(inst));
	if (names.n == 0)
		return 0;
	strv_sort(&names);
	text = strv_join(&names, ", ");
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instances have NICs in it: %s. Take network '%s' "
			 "from them first (gnt-instance modify --net "
			 "N:network=none)",
			 text, network_name(network));
}

static int remove_check(struct lu *lu, struct error *err)
{
	const json_t *network = network_of(lu)->network;
	auto_strv struct strv groups = {0};
	auto_free char *text = NULL;
	const char *uuid;
	json_t *group;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_GROUP)), uuid,
		group)
		if (json_get(group_networks(group), network_uuid(network)) !=
		    NULL)
			strv_add(&groups, group_name(group));
	if (groups.n == 0)
		return check_unused(lu, network, err);
	strv_sort(&groups);
	text = strv_join(&groups, ", ");
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Network '%s' is still connected to these groups: %s; "
			 "disconnect it first",
			 network_name(network), text);
}

static WAITS json_t *remove_exec(struct lu *lu, struct error *err)
{
	config_remove(lu->m->config, CONFIG_NETWORK,
		      network_uuid(network_of(lu)->network));
	return config_commit(lu->m->config, err) < 0 ? NULL : json_null();
}

const struct lu_class lu_network_remove = {
	.op = &op_class_network_remove,
	.size = sizeof(struct network_lu),
	.hook_path = "network-remove",
	.object_type = "NETWORK",
	.expand = remove_expand,
	.check = remove_check,
	.hook_env = changed_env,
	.hook_nodes = master_nodes,
	.exec = remove_exec,
	.done = network_done,
};

/* --- rename (3.1) --- */

static int rename_expand(struct lu *lu, struct error *err)
{
	const struct op_network_rename *op = lu->op;

	return want_network(lu, op->network_name, err);
}

static int rename_check(struct lu *lu, struct error *err)
{
	const struct op_network_rename *op = lu->op;

	return check_name_is_free(lu, op->new_name, err);
}

static void rename_env(struct lu *lu, json_t *env)
{
	const struct op_network_rename *op = lu->op;

	json_set_str(env, "OLD_NAME", op->network_name);
	json_set_str(env, "NEW_NAME", op->new_name);
}

static WAITS json_t *rename_exec(struct lu *lu, struct error *err)
{
	const struct op_network_rename *op = lu->op;
	json_t *changed;

	if (check_name_is_free(lu, op->new_name, err) < 0)
		return NULL;
	changed =
		config_edit(config_get(lu->m->config, CONFIG_NETWORK,
				       network_uuid(network_of(lu)->network)));
	network_set_name(changed, op->new_name);
	config_put(lu->m->config, CONFIG_NETWORK, changed);
	return config_commit(lu->m->config, err) < 0
		       ? NULL
		       : json_string(op->new_name);
}

const struct lu_class lu_network_rename = {
	.op = &op_class_network_rename,
	.size = sizeof(struct network_lu),
	.hook_path = "network-rename",
	.object_type = "NETWORK",
	.expand = rename_expand,
	.check = rename_check,
	.hook_env = rename_env,
	.hook_nodes = master_nodes,
	.exec = rename_exec,
	.done = network_done,
};
