/* SPDX-License-Identifier: BSD-2-Clause */
/* A renewal has steps that all nodes finish before the next begins: stage new
 * keys, authorize them, switch to them, record their type, finish, and withdraw
 * the old keys.  Only a failure before the switch is undone; after it a
 * repetition completes the work. */
#include "masterd/lu/parts/cluster_ssh.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/ssh_keys.h"
#include "masterd/core/ssh_keys.h"

void cluster_ssh_sync(struct lu *lu)
{
	auto_strv struct strv problems = {0};

	if (lu_plans(lu))
		return;
	ssh_keys_sync(lu->m->ssh_keys, &problems);
	for (size_t i = 0; i < problems.n; i++)
		lu_warn(lu, "%s", problems.items[i]);
}

void cluster_ssh_leave(struct lu *lu, const json_t *node)
{
	const json_t *cluster = config_cluster(lu->m->config);
	struct error err;
	auto_json json_t *left = NULL;

	if (!ssh_keys_managed(lu->m->config) || lu_plans(lu))
		return;
	left = noderpc_call(
		lu->m->rpc, node,
		rpc_ssh_keys("leave", json_make("{s:s}", "type",
						cluster_ssh_key_type(cluster))),
		&err);
	if (left == NULL)
		lu_warn(lu, "Node %s keeps SSH keys of the cluster: %s",
			node_name(node), err.text);
}

/* --- renewal --- */

int cluster_ssh_check(struct lu *lu, const char **type, int64_t *bits,
		      struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *now = cluster_ssh_key_type(cluster);

	if (*type == NULL)
		*type = lu_keep_str(lu, xstrdup(now));
	if (*bits == OP_UNSET)
		*bits = strcmp(*type, now) == 0 ? cluster_ssh_key_bits(cluster)
						: 0;
	return ssh_keys_check_size(*type, bits, err);
}

/* The nodes that have keys: those that may become master and are online. */
static void add_nodes(struct lu *lu, struct strv *ret)
{
	auto_strv struct strv all = {0};

	config_sorted(lu->m->config, CONFIG_NODE, &all);
	for (size_t i = 0; i < all.n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, all.items[i]);

		if (!node_offline(node) && node_master_capable(node))
			strv_add(ret, all.items[i]);
	}
}

/* Make the call to all of them at once; -1 with the first failure. */
static WAITS int step(struct lu *lu, const char *what, const char *type,
		      int64_t bits, struct error *err)
{
	auto_strv struct strv uuids = {0};
	struct node_result *results;
	size_t n;
	int rc = 0;

	add_nodes(lu, &uuids);
	results = lu_call_nodes(
		lu, &uuids,
		rpc_ssh_keys(what, json_make("{s:s, s:I}", "type", type, "bits",
					     (json_int_t)bits)),
		&n);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (results[i].err != NULL)
			rc = error_set(err, ERR_EXEC, NULL, "node %s: %s",
				       node_name(results[i].node),
				       results[i].err->text);
	node_results_free(results, n);
	return rc;
}

/* Make all nodes accept the keys that all nodes have; -1 with the first
 * failure. */
static WAITS int let_in(struct lu *lu, struct error *err)
{
	auto_strv struct strv problems = {0};

	if (!lu_plans(lu))
		ssh_keys_sync(lu->m->ssh_keys, &problems);
	if (problems.n == 0)
		return 0;
	return error_set(err, ERR_EXEC, NULL, "%s", problems.items[0]);
}

/* Undo: the next keys are removed; nobody uses them yet. */
static WAITS void take_back(struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	struct error err;

	if (step(lu, "finish", cluster_ssh_key_type(cluster), 0, &err) < 0)
		lu_warn(lu,
			"A node keeps the SSH key that it was to have next "
			"(%s); the next renewal replaces it",
			err.text);
	cluster_ssh_sync(lu);
}

/* Up to here each node logs in with its old key. */
static WAITS int prepare(struct lu *lu, const char *type, int64_t bits,
			 struct error *err)
{
	lu_feedback(lu, "Making new SSH keys on all nodes");
	if (step(lu, "stage", type, bits, err) == 0 && let_in(lu, err) == 0)
		return 0;
	take_back(lu);
	return error_wrap(err, "The SSH keys are as they were");
}

static WAITS int record(struct lu *lu, const char *type, int64_t bits,
			struct error *err)
{
	json_t *cluster = config_edit(config_cluster(lu->m->config));

	cluster_set_ssh_key_type(cluster, type);
	cluster_set_ssh_key_bits(cluster, bits);
	config_put_cluster(lu->m->config, cluster);
	return config_commit(lu->m->config, err);
}

int cluster_ssh_renew(struct lu *lu, const char *type, int64_t bits,
		      struct error *err)
{
	if (prepare(lu, type, bits, err) < 0)
		return -1;
	lu_feedback(lu, "Switching to the new SSH keys");
	if (step(lu, "switch", type, bits, err) < 0)
		return error_wrap(err, "The renewal of SSH keys is not "
				       "complete: until it is, old and new "
				       "keys are both good. Run this again "
				       "when the node answers, or after "
				       "marking it offline");
	if (record(lu, type, bits, err) < 0)
		return -1;
	if (step(lu, "finish", type, bits, err) < 0 || let_in(lu, err) < 0)
		return error_wrap(err, "All nodes have new SSH keys, but old "
				       "ones are still let in somewhere (run "
				       "gnt-cluster redist-conf)");
	return 0;
}
