/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes are added and removed.
 *
 * The daemon of a new node already runs and has the cluster's certificate: the
 * command (or gnt-vcluster) has seen to that.  The LU asks it who it is and
 * records it; distributing the configuration makes it a member. */
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/constants.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/node/node_pool.h"
#include "masterd/lu/node/node_refresh.h"
#include "masterd/lu/node/node_state.h"
#include "masterd/lu/parts/cluster_files.h"
#include "masterd/lu/parts/cluster_ssh.h"

#define ADDRESS_MAX 64

static void all_nodes_but(struct lu *lu, const char *except, struct strv *ret)
{
	const char *uuid;
	json_t *node;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_NODE)), uuid,
		node)
		if (!str_eq(uuid, except))
			strv_add(ret, uuid);
}

/* Where the cluster keeps /etc/hosts, the master's gets the node or loses it
 * (ip: NULL), and the nodes get a copy of that. */
static WAITS void update_hosts(struct lu *lu, const char *mode,
			       const json_t *node, const char *ip)
{
	const struct config *c = lu->m->config;
	const json_t *cluster = config_cluster(c);
	struct error err;
	json_t *done;

	if (!cluster_modify_etc_hosts(cluster))
		return;
	done = noderpc_call(
		lu->m->rpc,
		config_get(c, CONFIG_NODE, cluster_master_node(cluster)),
		rpc_etc_hosts_modify(mode, node_name(node), ip), &err);
	if (done == NULL)
		lu_warn(lu, "Cannot change the master's /etc/hosts: %s",
			err.text);
	else
		cluster_files_give_hosts(lu);
	json_decref(done);
}

/* --- add --- */

struct node_add {
	struct lu lu;
	char uuid[37];
	json_t *node; /* the object that will be */
};

static struct node_add *add_of(struct lu *lu)
{
	return container_of(lu, struct node_add, lu);
}

/* The node that has exactly this name already. */
static const json_t *existing(struct lu *lu)
{
	const struct op_node_add *op = lu->op;
	const json_t *node =
		config_find(lu->m->config, CONFIG_NODE, op->node_name);

	if (op->readd || str_eq(node_name_or(node, NULL), op->node_name))
		return node;
	return NULL;
}

static const json_t *choose_group(struct lu *lu, struct error *err)
{
	const struct op_node_add *op = lu->op;
	const json_t *all = config_all(lu->m->config, CONFIG_GROUP);

	if (op->group != NULL)
		return config_expect(lu->m->config, CONFIG_GROUP, op->group,
				     err);
	if (json_object_size(all) == 1)
		return json_object_iter_value(
			json_object_iter(json_unconst(all)));
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "There are %zu node groups; name the one that node %s shall "
		  "be in",
		  json_object_size(all), op->node_name);
	return NULL;
}

/* It must not go while it counts as empty. */
static int want_group(struct lu *lu, struct error *err)
{
	const json_t *group = choose_group(lu, err);

	if (group == NULL)
		return -1;
	lu_want(lu, LOCK_NODEGROUP, group_uuid(group), false);
	return 0;
}

static int add_expand(struct lu *lu, struct error *err)
{
	struct node_add *a = add_of(lu);
	const struct op_node_add *op = lu->op;
	const json_t *old = existing(lu);

	if (op->readd && old == NULL)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "Node %s is not in the configuration, so it "
				 "can't be added again; add it without --readd",
				 op->node_name);
	if (!op->readd && old != NULL)
		return error_set(err, ERR_PREREQ, ECODE_EXISTS,
				 "Node %s is already in the configuration",
				 op->node_name);
	if (op->readd)
		strcpy(a->uuid, node_uuid(old));
	else if (a->uuid[0] == '\0')
		uuid_new(a->uuid);
	lu_want(lu, LOCK_NODE, a->uuid, true);
	lu_want(lu, LOCK_NODE_RES, a->uuid, true);
	return op->readd ? 0 : want_group(lu, err);
}

/* Ask the resolver; it may take its time. */
static WAITS int resolve(struct lu *lu, const char *name, char *ret_address,
			 struct error *err)
{
	bool ip6 = cluster_primary_ip_family(config_cluster(lu->m->config)) ==
		   AF_IPV6;
	const struct addrinfo hints = {.ai_family = ip6 ? AF_INET6 : AF_INET,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int rc;

	task_leave();
	rc = getaddrinfo(name, NULL, &hints, &found);
	if (rc == 0)
		rc = getnameinfo(found->ai_addr, found->ai_addrlen, ret_address,
				 ADDRESS_MAX, NULL, 0, NI_NUMERICHOST);
	if (found != NULL)
		freeaddrinfo(found);
	task_enter();
	if (rc == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_RESOLVER,
			 "The given name (%s) does not resolve: %s", name,
			 gai_strerror(rc));
}

/* The object of a node that is new. */
static json_t *new_node(const struct node_add *a, const char *name,
			const char *group)
{
	return json_make("{s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:b, s:b, s:{}, "
			 "s:b, s:s, s:[]}",
			 "name", name, "primary_ip", "", "secondary_ip", "",
			 "master_candidate", 0, "offline", 0, "drained", 0,
			 "group", group, "master_capable", 1, "vm_capable", 1,
			 "ndparams", "powered", 1, "uuid", a->uuid, "tags");
}

/* A node that is added again keeps its values, but is online. */
static json_t *old_node(struct lu *lu, struct error *err)
{
	const struct op_node_add *op = lu->op;
	const json_t *old = existing(lu);
	json_t *node;

	if (op->group != NULL) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Cannot pass a node group when a node is being "
			  "readded");
		return NULL;
	}
	if (config_is_master(lu->m->config, node_uuid(old))) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Cannot readd the master node");
		return NULL;
	}
	node = config_edit(old);
	node_set_offline(node, false);
	node_set_drained(node, false);
	node_set_powered(node, true);
	node_set_master_candidate(node, false);
	node_state_drop_watcher_tag(node);
	return node;
}

static json_t *start_node(struct lu *lu, struct error *err)
{
	const struct op_node_add *op = lu->op;
	const json_t *group;

	if (op->readd)
		return old_node(lu, err);
	if (!str_valid_hostname(op->node_name)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "'%.255s' is not a valid node name", op->node_name);
		return NULL;
	}
	group = choose_group(lu, err);
	if (group == NULL)
		return NULL;
	return new_node(add_of(lu), op->node_name, group_uuid(group));
}

static WAITS int set_addresses(struct lu *lu, struct error *err)
{
	struct node_add *a = add_of(lu);
	const struct op_node_add *op = lu->op;
	char resolved[ADDRESS_MAX];
	const char *ip = op->primary_ip, *sip = op->secondary_ip;

	if (ip == NULL && op->readd)
		ip = node_primary_ip_or(a->node, NULL);
	if (ip == NULL) {
		if (resolve(lu, op->node_name, resolved, err) < 0)
			return -1;
		ip = resolved;
	}
	if (sip == NULL)
		sip = op->readd ? node_secondary_ip_or(a->node, ip) : ip;
	if (op->readd && (!str_eq(node_primary_ip(a->node), ip) ||
			  !str_eq(node_secondary_ip(a->node), sip)))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Readded node doesn't have the same IP "
				 "address configuration as before");
	if (node_check_primary(lu->m->config, a->uuid, ip, err) < 0 ||
	    node_check_secondary(lu->m->config, a->uuid, sip, err) < 0 ||
	    node_check_homing(lu->m->config, ip, sip, err) < 0)
		return -1;
	node_set_primary_ip(a->node, ip);
	node_set_secondary_ip(a->node, sip);
	return 0;
}

static int set_abilities(struct lu *lu, struct error *err)
{
	struct node_add *a = add_of(lu);
	const struct op_node_add *op = lu->op;

	if (op->master_capable >= 0)
		node_set_master_capable(a->node, op->master_capable);
	if (op->vm_capable >= 0)
		node_set_vm_capable(a->node, op->vm_capable);
	if (node_change_ndparams(a->node, op->ndparams, err) < 0 ||
	    state_set_hv(a->node, op->hv_state, err) < 0 ||
	    state_set_disk(a->node, op->disk_state, err) < 0)
		return -1;
	return 0;
}

/* In a virtual cluster every node has all loopback addresses. */
static bool is_everywhere(struct lu *lu, const char *address)
{
	return *lu->m->paths->root != '\0' && str_starts(address, "127.");
}

/* Whether the node has the secondary address that it was given. */
static WAITS int check_secondary(struct lu *lu, const json_t *node,
				 struct error *err)
{
	auto_free char *sip = xstrdup(node_secondary_ip(node));
	auto_json json_t *has = NULL;

	if (str_eq(sip, node_primary_ip(node)) || is_everywhere(lu, sip))
		return 0;
	has = noderpc_call(lu->m->rpc, node, rpc_node_has_ip_address(sip), err);
	if (has == NULL) {
		error_as(err, ERR_PREREQ, ECODE_ENVIRON);
		return error_wrap(err, "Can't check the addresses of node %s",
				  node_name(node));
	}
	if (json_is_true(has))
		return 0;
	return error_set(
		err, ERR_PREREQ, ECODE_ENVIRON,
		"Node %s does not have the secondary address %s; bring "
		"it up there, or give the one that the node has",
		node_name(node), sip);
}

/* Record its resources if it reports them; otherwise it is asked each time. */
static WAITS void record(struct lu *lu, json_t *node)
{
	struct error err;
	json_t *changes;

	if (!node_vm_capable(node))
		return;
	changes = node_record(lu, node, &err);
	if (changes == NULL)
		lu_warn(lu,
			"The resources of node %s are not recorded: %s "
			"(gnt-node refresh-state does it later)",
			node_name(node), err.text);
	json_decref(changes);
}

static WAITS int add_check(struct lu *lu, struct error *err)
{
	struct node_add *a = add_of(lu);

	a->node = start_node(lu, err);
	if (a->node == NULL || set_addresses(lu, err) < 0 ||
	    set_abilities(lu, err) < 0)
		return -1;
	if (node_check_version(lu, a->node, err) < 0 ||
	    check_secondary(lu, a->node, err) < 0)
		return -1;
	record(lu, a->node);
	return 0;
}

static void add_hook_env(struct lu *lu, json_t *env)
{
	const struct op_node_add *op = lu->op;
	const json_t *node = add_of(lu)->node;

	json_set_str(env, "OP_TARGET", op->node_name);
	json_set_str(env, "NODE_NAME", op->node_name);
	json_set_str(env, "NODE_PIP", node_primary_ip(node));
	json_set_str(env, "NODE_SIP", node_secondary_ip(node));
	json_set_str(env, "MASTER_CAPABLE",
		     node_master_capable(node) ? "True" : "False");
	json_set_str(env, "VM_CAPABLE",
		     node_vm_capable(node) ? "True" : "False");
}

static void add_hook_nodes(struct lu *lu, struct strv *ret_pre,
			   struct strv *ret_post)
{
	all_nodes_but(lu, add_of(lu)->uuid, ret_pre);
	all_nodes_but(lu, add_of(lu)->uuid, ret_post);
	strv_add(ret_post, add_of(lu)->uuid);
}

/* Another job may have been quicker while the nodes were asked. */
static int check_again(struct lu *lu, struct error *err)
{
	struct node_add *a = add_of(lu);
	const struct op_node_add *op = lu->op;

	if (!op->readd && existing(lu) != NULL)
		return error_set(err, ERR_PREREQ, ECODE_EXISTS,
				 "Node %s is already in the configuration",
				 op->node_name);
	return node_check_primary(lu->m->config, a->uuid,
				  node_primary_ip(a->node), err);
}

static WAITS json_t *add_exec(struct lu *lu, struct error *err)
{
	struct node_add *a = add_of(lu);
	const struct op_node_add *op = lu->op;
	auto_free char *digest = node_pool_digest(lu, a->node, err);
	bool candidate;

	if (digest == NULL || check_again(lu, err) < 0)
		return NULL;
	candidate = node_master_capable(a->node) &&
		    node_pool_has_room(lu->m->config, a->uuid);
	node_set_master_candidate(a->node, candidate);
	if (op->readd)
		lu_info(lu, "Readding a node, the offline/drained flags were "
			    "reset");
	if (candidate)
		lu_info(lu, "Node will be a master candidate");
	config_put(lu->m->config, CONFIG_NODE, json_copy(a->node));
	node_pool_set_digest(lu, a->uuid, candidate ? digest : NULL);
	if (node_pool_commit(lu, err) < 0)
		return NULL;
	/* It may have been a candidate before, and missed the end of that
	 * role. */
	if (op->readd && !candidate)
		node_pool_tell_demoted(lu, a->node);
	cluster_ssh_sync(lu);
	cluster_files_give_users(lu);
	update_hosts(lu, "add", a->node, node_primary_ip(a->node));
	return json_null();
}

static void add_done(struct lu *lu)
{
	json_decref(add_of(lu)->node);
}

const struct lu_class lu_node_add = {
	.op = &op_class_node_add,
	.size = sizeof(struct node_add),
	.hook_path = "node-add",
	.object_type = "NODE",
	.expand = add_expand,
	.check = add_check,
	.hook_env = add_hook_env,
	.hook_nodes = add_hook_nodes,
	.exec = add_exec,
	.done = add_done,
};

/* --- remove --- */

struct node_remove {
	struct lu lu;
	const json_t *node;
};

static const json_t *removed(struct lu *lu)
{
	return container_of(lu, struct node_remove, lu)->node;
}

static int remove_expand(struct lu *lu, struct error *err)
{
	struct node_remove *r = container_of(lu, struct node_remove, lu);
	const struct op_node_remove *op = lu->op;

	r->node = lu_node(lu, op->node_name, err);
	if (r->node == NULL)
		return -1;
	lu_want(lu, LOCK_NODE, node_uuid(r->node), true);
	lu_want(lu, LOCK_NODE_RES, node_uuid(r->node), true);
	return 0;
}

static int check_unused(struct lu *lu, struct error *err)
{
	const char *uuid = inst_uuid(removed(lu));
	auto_strv struct strv instances = {0};

	config_node_primaries(lu->m->config, uuid, &instances);
	config_node_secondaries(lu->m->config, uuid, &instances);
	if (instances.n == 0)
		return 0;
	return error_set(
		err, ERR_PREREQ, ECODE_INVAL,
		"Instance %s is still on node %s (%zu in all); remove "
		"it or move it away first (gnt-node evacuate)",
		config_name(lu->m->config, CONFIG_INSTANCE, instances.items[0]),
		node_name(removed(lu)), instances.n);
}

static int remove_check(struct lu *lu, struct error *err)
{
	if (config_is_master(lu->m->config, inst_uuid(removed(lu))))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Node is the master node, failover to another "
				 "node is required");
	return check_unused(lu, err);
}

static void remove_hook_env(struct lu *lu, json_t *env)
{
	json_set_str(env, "OP_TARGET", node_name(removed(lu)));
	json_set_str(env, "NODE_NAME", node_name(removed(lu)));
}

static void remove_hook_nodes(struct lu *lu, struct strv *ret_pre,
			      struct strv *ret_post)
{
	const char *uuid = inst_uuid(removed(lu));

	all_nodes_but(lu, uuid, ret_pre);
	all_nodes_but(lu, uuid, ret_post);
}

/* Tell the node to forget the cluster; its daemon then ends. */
static WAITS void tell_to_leave(struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	struct error err;
	json_t *left;

	left = noderpc_call(
		lu->m->rpc, removed(lu),
		rpc_node_leave_cluster(cluster_modify_ssh_setup(cluster)),
		&err);
	if (left == NULL)
		lu_warn(lu,
			"Errors encountered on the remote node while "
			"leaving the cluster: %s",
			err.text);
	json_decref(left);
}

static WAITS json_t *remove_exec(struct lu *lu, struct error *err)
{
	const char *uuid = inst_uuid(removed(lu));

	if (node_pool_resign(lu, removed(lu), err) < 0 ||
	    check_unused(lu, err) < 0)
		return NULL;
	config_remove(lu->m->config, CONFIG_NODE, uuid);
	node_pool_set_digest(lu, uuid, NULL);
	if (node_pool_commit(lu, err) < 0)
		return NULL;
	cluster_ssh_sync(lu);
	tell_to_leave(lu);
	update_hosts(lu, "remove", removed(lu), NULL);
	return json_null();
}

const struct lu_class lu_node_remove = {
	.op = &op_class_node_remove,
	.size = sizeof(struct node_remove),
	.hook_path = "node-remove",
	.object_type = "NODE",
	.expand = remove_expand,
	.check = remove_check,
	.hook_env = remove_hook_env,
	.hook_nodes = remove_hook_nodes,
	.exec = remove_exec,
};
