/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_RENAME: another name, and the address that it stands for.
 *
 * The address goes down first and comes up at the end, so that it is never up
 * twice; when the change fails the old one comes up again. */
#include <string.h>
#include <sys/socket.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"
#include "masterd/core/ssh_keys.h"
#include "masterd/failover/address.h"
#include "masterd/lu/parts/cluster_files.h"
#include "masterd/lu/parts/cluster_ssh.h"
#include "masterd/rpc/resolve.h"

#define KNOWN_HOSTS_MODE 0644

struct cluster_renaming {
	struct lu lu;
	struct resolved found;
	bool is_down; /* the address, by us */
};

static struct cluster_renaming *renaming_of(struct lu *lu)
{
	return container_of(lu, struct cluster_renaming, lu);
}

static WAITS int rename_check(struct lu *lu, struct error *err)
{
	const struct op_cluster_rename *op = lu->op;
	struct cluster_renaming *r = renaming_of(lu);
	int family =
		(int)cluster_primary_ip_family(config_cluster(lu->m->config));
	bool same_ip;

	if (resolve_host(op->name, family == AF_IPV6 ? AF_INET6 : AF_INET,
			 &r->found, err) < 0)
		return -1;
	if (!str_valid_hostname(r->found.name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%.100s' cannot be the name of a cluster",
				 r->found.name);
	same_ip = strcmp(r->found.ip,
			 cluster_master_ip(config_cluster(lu->m->config))) == 0;
	if (same_ip && strcmp(r->found.name,
			      cluster_name(config_cluster(lu->m->config))) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Neither the name nor the IP address of the "
				 "cluster has changed");
	if (!same_ip && resolve_answers(lu->m->paths, r->found.ip))
		return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
				 "The given cluster IP address (%s) is "
				 "reachable on the network; somebody has it",
				 r->found.ip);
	return 0;
}

static void rename_env(struct lu *lu, json_t *ret_env)
{
	json_set_str(ret_env, "OP_TARGET",
		     cluster_name(config_cluster(lu->m->config)));
	json_set_str(ret_env, "NEW_NAME", renaming_of(lu)->found.name);
}

static const char *master_uuid(struct lu *lu)
{
	return node_uuid(config_master(lu->m->config));
}

static void rename_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	strv_add(ret_pre, master_uuid(lu));
	config_sorted(lu->m->config, CONFIG_NODE, ret_post);
}

/* --- exec --- */

/* The cluster's host keys under its name, as ssh reads them; to be freed. */
static char *known_hosts(const json_t *cluster)
{
	static const char *const keys[][2] = {{"rsahostkeypub", "ssh-rsa"},
					      {"dsahostkeypub", "ssh-dss"}};
	struct buf text = {0};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *key = json_str(cluster, keys[i][0], "");

		if (*key != '\0')
			buf_addf(&text, "%s %s %s\n", cluster_name(cluster),
				 keys[i][1], key);
	}
	return text.data;
}

/* A failure is a warning: the keys themselves do not change. */
static WAITS void give_known_hosts(struct lu *lu)
{
	auto_free char *text = known_hosts(config_cluster(lu->m->config));

	if (ssh_keys_managed(lu->m->config))
		cluster_ssh_sync(lu);
	else if (text != NULL)
		cluster_files_give(lu, PATH_KNOWN_HOSTS, KNOWN_HOSTS_MODE, text,
				   strlen(text));
}

static WAITS int turn(struct lu *lu, struct rpc_request request,
		      struct error *err)
{
	auto_json json_t *done = lu_call(lu, master_uuid(lu), request, err);

	return done == NULL ? -1 : 0;
}

static WAITS void turn_on(struct lu *lu)
{
	struct error err;

	renaming_of(lu)->is_down = false;
	if (turn(lu, address_up(config_cluster(lu->m->config)), &err) < 0)
		lu_warn(lu,
			"Could not turn the master's address up again (gnt-"
			"cluster activate-master-ip does it): %s",
			err.text);
}

static WAITS json_t *rename_exec(struct lu *lu, struct error *err)
{
	struct cluster_renaming *r = renaming_of(lu);
	json_t *cluster;

	if (turn(lu, address_down(config_cluster(lu->m->config)), err) < 0) {
		error_wrap(err, "Could not disable the master role");
		return NULL;
	}
	r->is_down = true;
	cluster = config_edit(config_cluster(lu->m->config));
	cluster_set_name(cluster, r->found.name);
	cluster_set_master_ip(cluster, r->found.ip);
	config_put_cluster(lu->m->config, cluster);
	if (config_commit(lu->m->config, err) < 0)
		return NULL;
	give_known_hosts(lu);
	turn_on(lu);
	return json_string(r->found.name);
}

static WAITS void rename_undo(struct lu *lu)
{
	if (renaming_of(lu)->is_down)
		turn_on(lu);
}

static void rename_done(struct lu *lu)
{
	resolve_done(&renaming_of(lu)->found);
}

const struct lu_class lu_cluster_rename = {
	.op = &op_class_cluster_rename,
	.size = sizeof(struct cluster_renaming),
	.hook_path = "cluster-rename",
	.object_type = "CLUSTER",
	.exclusive_bgl = true,
	.check = rename_check,
	.hook_env = rename_env,
	.hook_nodes = rename_nodes,
	.exec = rename_exec,
	.undo = rename_undo,
	.done = rename_done,
};
