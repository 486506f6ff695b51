/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_RENEW_CRYPTO: new certificates and secrets for all nodes, while
 * the nodes go on working (doc/design/renewal.md).
 *
 * Certificates change in steps; all nodes finish a step before the next begins:
 * stage the new ones, tell all nodes the new digests, switch, forget the old
 * ones. A failure before the switch is undone; after it the cluster accepts
 * both until a later renewal completes this one.  The other secrets are files
 * that gnt-cluster has put into the renewal folder of this node; SSH keys are
 * in cluster_ssh.c. */
#include <stdio.h>
#include <string.h>

#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"
#include "masterd/core/ssh_keys.h"
#include "masterd/distribute/distribute.h"
#include "masterd/lu/parts/cluster_files.h"
#include "masterd/lu/parts/cluster_ssh.h"

struct renewal {
	struct lu lu;
	struct strv uuids;	   /* the nodes that are not offline */
	struct node_result *nodes; /* their answers to the last step */
	size_t n_nodes;
};

static struct renewal *renewal_of(struct lu *lu)
{
	return container_of(lu, struct renewal, lu);
}

static int renew_expand(struct lu *lu, struct error *err)
{
	(void)err;
	lu_want_all(lu, LOCK_NODE, true);
	return 0;
}

static const char *name_of(const struct node_result *r)
{
	return node_name(r->node);
}

static bool wants_certificates(const struct op_cluster_renew_crypto *op)
{
	return op->node_certificates || op->cluster_certificate;
}

/* --- prerequisites --- */

static void find_nodes(struct lu *lu, struct strv *ret_offline)
{
	struct renewal *r = renewal_of(lu);
	auto_strv struct strv all = {0};

	strv_done(&r->uuids);
	config_sorted(lu->m->config, CONFIG_NODE, &all);
	for (size_t i = 0; i < all.n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, all.items[i]);

		if (node_offline(node))
			strv_add(ret_offline, node_name(node));
		else
			strv_add(&r->uuids, all.items[i]);
	}
}

static void say_offline(struct lu *lu, const struct strv *offline)
{
	auto_free char *names = strv_join(offline, ", ");

	if (offline->n > 0)
		lu_warn(lu,
			"Nodes that are offline keep what they have: %s. They "
			"come back with gnt-node add --readd",
			names);
}

static WAITS int check_reachable(struct lu *lu, struct error *err)
{
	struct renewal *r = renewal_of(lu);
	size_t n;
	struct node_result *results =
		lu_call_nodes(lu, &r->uuids, rpc_version(), &n);
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		if (results[i].err != NULL)
			rc = error_set(
				err, ERR_PREREQ, ECODE_ENVIRON,
				"Node %s does not answer: %s. Nothing was "
				"changed; repair it, or mark it offline (gnt-"
				"node modify -O yes) and take it in again "
				"later (gnt-node add --readd)",
				name_of(&results[i]), results[i].err->text);
	node_results_free(results, n);
	return rc;
}

static int check_files(const json_t *files, struct error *err)
{
	for (size_t i = 0; i < json_array_size(files); i++) {
		const char *name = json_string_value(json_array_get(files, i));

		if (secret_file_shared(name) == NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "'%.100s' is no file that all nodes "
					 "share",
					 name);
	}
	return 0;
}

static WAITS int renew_check(struct lu *lu, struct error *err)
{
	const struct op_cluster_renew_crypto *op = lu->op;
	const char *type = op->ssh_key_type;
	int64_t bits = op->ssh_key_bits;
	auto_strv struct strv offline = {0};

	if (op->renew_ssh_keys && cluster_ssh_check(lu, &type, &bits, err) < 0)
		return -1;
	if (check_files(op->files, err) < 0)
		return -1;
	find_nodes(lu, &offline);
	say_offline(lu, &offline);
	return check_reachable(lu, err);
}

/* --- steps --- */

/* Make this call to all nodes at once; returns how many failed. */
static WAITS size_t step(struct lu *lu, const char *what, const char *pem)
{
	struct renewal *r = renewal_of(lu);
	size_t failed = 0;

	/* A job that is killed while it waits leaves through here, too. */
	node_results_free(steal(&r->nodes), r->n_nodes);
	r->n_nodes = 0;
	r->nodes = lu_call_nodes(lu, &r->uuids, rpc_crypto_renewal(what, pem),
				 &r->n_nodes);
	for (size_t i = 0; i < r->n_nodes; i++)
		failed += r->nodes[i].err != NULL;
	return failed;
}

static int first_failure(const struct renewal *r, const char *what,
			 struct error *err)
{
	for (size_t i = 0; i < r->n_nodes; i++)
		if (r->nodes[i].err != NULL)
			return error_set(err, ERR_EXEC, NULL, "%s: node %s: %s",
					 what, name_of(&r->nodes[i]),
					 r->nodes[i].err->text);
	return 0;
}

static const char *said(const struct node_result *r, const char *key)
{
	return json_str(r->payload, key, NULL);
}

/* Tell the nodes which client certificates to accept: the present ones, and
 * with `both` also the next ones.  Returns when all nodes know. */
static WAITS int let_in(struct lu *lu, bool both, struct error *err)
{
	struct renewal *r = renewal_of(lu);
	auto_strv struct strv candidates = {0}, others = {0};
	json_t *certs = json_object();
	json_t *cluster = config_edit(config_cluster(lu->m->config));
	const json_t *old = cluster_candidate_certs(cluster);

	for (size_t i = 0; i < r->n_nodes; i++) {
		const struct node_result *one = &r->nodes[i];
		const char *uuid = node_uuid(one->node);
		const char *now = said(one, "client");
		auto_free char *next = xprintf("%s" CERT_NEW_SUFFIX, uuid);

		if (!node_master_candidate(one->node))
			continue;
		json_set_str(certs, uuid,
			     now != NULL ? now : json_str(old, uuid, ""));
		if (both && said(one, "new_client") != NULL)
			json_set_str(certs, next, said(one, "new_client"));
	}
	cluster_set_candidate_certs(cluster, certs);
	config_put_cluster(lu->m->config, cluster);
	if (config_commit(lu->m->config, err) < 0)
		return -1;
	distribute_failing(lu->m->distribute, &candidates, &others);
	if (candidates.n == 0 && others.n == 0)
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "Node %s does not take the digests of the new "
			 "certificates",
			 candidates.n > 0 ? candidates.items[0]
					  : others.items[0]);
}

/* From now on our own calls show and trust the present files. */
static int reload(struct lu *lu, struct error *err)
{
	if (lu_plans(lu) || lu->m->renewed == NULL)
		return 0;
	return lu->m->renewed(lu->m, err);
}

/* --- what an unfinished renewal has left --- */

/* The cluster certificate to which an earlier renewal has switched only some
 * nodes; NULL: all have the same. */
static const char *half_way(const struct renewal *r)
{
	const char *target = NULL;
	bool differ = false;

	for (size_t i = 0; i < r->n_nodes; i++) {
		const struct node_result *one = &r->nodes[i];

		if (json_bool(one->payload, "both", false) &&
		    said(one, "new_server") == NULL)
			target = said(one, "server");
		differ |= !str_eq(said(one, "server"),
				  said(&r->nodes[0], "server"));
	}
	return differ ? target : NULL;
}

/* Every node has it, or has it staged. */
static int can_complete(const struct renewal *r, const char *target,
			struct error *err)
{
	for (size_t i = 0; i < r->n_nodes; i++)
		if (!str_eq(said(&r->nodes[i], "server"), target) &&
		    !str_eq(said(&r->nodes[i], "new_server"), target))
			return error_set(
				err, ERR_EXEC, NULL,
				"Node %s knows nothing of the certificate that "
				"other nodes have switched to. Mark it offline "
				"(gnt-node modify -O yes) and run this again; "
				"then take it in again (gnt-node add --readd)",
				name_of(&r->nodes[i]));
	return 0;
}

/* --- certificates --- */

static WAITS int stage(struct lu *lu, bool cluster, struct error *err)
{
	char *pem = NULL;

	lu_feedback(lu, "Giving new certificates to all nodes");
	if (cluster && lu_plans(lu))
		pem = xstrdup("(planned)");
	else if (cluster && (pem = tls_ca_text(CERT_COMMON_NAME, err)) == NULL)
		return -1;
	step(lu, "stage", pem);
	cluster_files_free(pem, pem == NULL ? 0 : strlen(pem));
	return first_failure(renewal_of(lu), "Cannot stage new certificates",
			     err);
}

/* Undo: the old certificates stay. */
static WAITS void take_back(struct lu *lu)
{
	struct error err;

	if (step(lu, "finish", NULL) > 0 || reload(lu, &err) < 0 ||
	    let_in(lu, false, &err) < 0)
		lu_warn(lu, "Not all nodes could be told to forget the new "
			    "certificates; the next renewal does it");
}

/* Until here nothing is lost, and everybody accepts both. */
static WAITS int prepare(struct lu *lu, bool cluster, struct error *err)
{
	if (stage(lu, cluster, err) == 0 && reload(lu, err) == 0 &&
	    let_in(lu, true, err) == 0)
		return 0;
	take_back(lu);
	return error_wrap(err, "The certificates are as they were");
}

static WAITS int switch_all(struct lu *lu, struct error *err)
{
	struct renewal *r = renewal_of(lu);

	lu_feedback(lu, "Switching to the new certificates");
	step(lu, "switch", NULL);
	if (reload(lu, err) < 0)
		return -1;
	if (first_failure(r, "Cannot switch", err) == 0)
		return 0;
	return error_wrap(
		err,
		"The renewal is not complete: until it is, old and new "
		"certificates are both good. Run this again when the node "
		"answers, or after marking it offline (it then needs gnt-node "
		"add --readd)");
}

static WAITS int forget_old(struct lu *lu, struct error *err)
{
	if (let_in(lu, false, err) < 0)
		return -1;
	step(lu, "finish", NULL);
	if (reload(lu, err) < 0)
		return -1;
	return first_failure(renewal_of(lu),
			     "The old certificates are still good on a node, "
			     "run this again",
			     err);
}

static WAITS int renew_certificates(struct lu *lu, bool cluster,
				    struct error *err)
{
	struct renewal *r = renewal_of(lu);
	const char *target;

	step(lu, "look", NULL);
	if (first_failure(r, "Cannot look at certificates", err) < 0)
		return -1;
	target = half_way(r);
	if (target != NULL) {
		lu_feedback(lu, "Completing the renewal that was begun before");
		if (can_complete(r, target, err) < 0 ||
		    let_in(lu, true, err) < 0)
			return -1;
	} else if (prepare(lu, cluster, err) < 0) {
		return -1;
	}
	return switch_all(lu, err) < 0 ? -1 : forget_old(lu, err);
}

/* --- files --- */

static WAITS int renew_file(struct lu *lu, const char *name, struct error *err)
{
	const struct secret_file *file = secret_file_shared(name);
	struct disk *disk = lu->m->disk;
	auto_free char *staged =
		xprintf("%s/%s", path(lu->m->paths, PATH_RENEWAL_DIR), name);
	size_t len, failed;
	char *text;

	lu_feedback(lu, "Giving a new %s to all nodes", name);
	text = cluster_files_read(lu, staged, &len, err);
	if (text == NULL)
		return -1;
	failed = cluster_files_give(lu, file->id, file->mode, text, len);
	cluster_files_free(text, len);
	if (failed == 0)
		return lu_plans(lu) ? 0 : disk->remove(disk, staged, err);
	return error_set(err, ERR_EXEC, NULL,
			 "Not all nodes have the new %s; gnt-cluster "
			 "redist-conf gives them what the master has",
			 name);
}

/* --- SSH keys --- */

static WAITS int renew_ssh(struct lu *lu, struct error *err)
{
	const struct op_cluster_renew_crypto *op = lu->op;
	const char *type = op->ssh_key_type;
	int64_t bits = op->ssh_key_bits;

	if (!op->renew_ssh_keys)
		return 0;
	if (ssh_keys_managed(lu->m->config))
		return cluster_ssh_check(lu, &type, &bits, err) < 0
			       ? -1
			       : cluster_ssh_renew(lu, type, bits, err);
	lu_feedback(lu, "SSH keys stay: the cluster is configured not to "
			"modify the SSH setup");
	return 0;
}

static WAITS json_t *renew_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_renew_crypto *op = lu->op;

	if (wants_certificates(op) &&
	    renew_certificates(lu, op->cluster_certificate, err) < 0)
		return NULL;
	for (size_t i = 0; i < json_array_size(op->files); i++)
		if (renew_file(lu,
			       json_string_value(json_array_get(op->files, i)),
			       err) < 0)
			return NULL;
	return renew_ssh(lu, err) < 0 ? NULL : json_null();
}

static void renew_done(struct lu *lu)
{
	struct renewal *r = renewal_of(lu);

	strv_done(&r->uuids);
	node_results_free(r->nodes, r->n_nodes);
}

const struct lu_class lu_cluster_renew_crypto = {
	.op = &op_class_cluster_renew_crypto,
	.size = sizeof(struct renewal),
	.expand = renew_expand,
	.check = renew_check,
	.exec = renew_exec,
	.done = renew_done,
};
