/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes to promote are chosen at random from those that are capable, online and
 * not drained.  A node is promoted only after it has reported the digest of its
 * certificate.  That call waits, so the node is looked up again afterwards. */
#include "masterd/lu/node/node_pool.h"

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/quorum/quorum.h"

/* A new candidate starts a daemon and gets the files in less. */
#define SETTLE_MS 10000u

static bool could_be_candidate(const json_t *node)
{
	return node_master_capable(node) && !node_offline(node) &&
	       !node_drained(node);
}

struct node_pool node_pool_stats(const struct config *c, const char *except)
{
	size_t size = (size_t)cluster_candidate_pool_size(config_cluster(c));
	struct node_pool pool = {0};
	const char *uuid;
	json_t *node;

	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     node) {
		if (str_eq(uuid, except))
			continue;
		pool.now += node_master_candidate(node);
		pool.should += could_be_candidate(node);
	}
	if (pool.should > size)
		pool.should = size;
	return pool;
}

bool node_pool_has_room(const struct config *c, const char *node_uuid)
{
	size_t size = (size_t)cluster_candidate_pool_size(config_cluster(c));

	return node_pool_stats(c, node_uuid).now < size;
}

char *node_pool_digest(struct lu *lu, const json_t *node, struct error *err)
{
	auto_json json_t *tokens = noderpc_call(
		lu->m->rpc, node,
		rpc_node_crypto_tokens(json_make("[[s, s, {}]]", "ssl", "get")),
		err);
	const json_t *token = json_array_get(tokens, 0);
	const char *digest = json_string_value(json_array_get(token, 1));

	if (tokens == NULL)
		return NULL;
	if (digest != NULL && *digest != '\0')
		return xstrdup(digest);
	error_set(err, ERR_EXEC, NULL,
		  "Node '%s' gave no digest of its client certificate",
		  node_name(node));
	return NULL;
}

void node_pool_set_digest(struct lu *lu, const char *node_uuid,
			  const char *digest)
{
	const json_t *old = config_cluster(lu->m->config);
	json_t *certs = json_overlay(cluster_candidate_certs(old), NULL);
	json_t *cluster = config_edit(old);

	if (digest != NULL)
		json_set_str(certs, node_uuid, digest);
	else
		json_object_del(certs, node_uuid);
	cluster_set_candidate_certs(cluster, certs);
	config_put_cluster(lu->m->config, cluster);
}

void node_pool_tell_demoted(struct lu *lu, const json_t *node)
{
	struct error err;
	json_t *payload;

	if (lu->m->quorum != NULL && !lu_plans(lu) &&
	    quorum_dismiss(lu->m->quorum, node_name(node))) {
		lu_info(lu,
			"Node %s keeps what it has of the cluster until "
			"other master candidates have it",
			node_name(node));
		return;
	}
	payload =
		noderpc_call(lu->m->rpc, node, rpc_node_demote_from_mc(), &err);
	if (payload == NULL)
		lu_warn(lu, "Node failed to demote itself: %s", err.text);
	json_decref(payload);
}

static bool is_promotable(const json_t *node)
{
	return node != NULL && could_be_candidate(node) &&
	       !node_master_candidate(node);
}

/* Promote the node; true if it is a candidate now. */
static WAITS bool promote(struct lu *lu, const char *uuid)
{
	const json_t *node =
		lu_keep(lu, config_get(lu->m->config, CONFIG_NODE, uuid));
	struct error err;
	auto_free char *digest = node_pool_digest(lu, node, &err);
	json_t *changed;

	if (digest == NULL) {
		lu_warn(lu, "Can't promote node %s to master candidate: %s",
			node_name(node), err.text);
		return false;
	}
	node = config_get(lu->m->config, CONFIG_NODE, uuid);
	if (!is_promotable(node))
		return false;
	changed = config_edit(node);
	node_set_master_candidate(changed, true);
	config_put(lu->m->config, CONFIG_NODE, changed);
	node_pool_set_digest(lu, uuid, digest);
	return true;
}

static void add_promotable(struct lu *lu, const char *except, struct strv *ret)
{
	const char *uuid;
	json_t *node;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_NODE)), uuid,
		node)
		if (!str_eq(uuid, except) && is_promotable(node))
			strv_add(ret, uuid);
}

/* Take out one, any. */
static char *draw(struct strv *v)
{
	size_t i = random_below(v->n);
	char *drawn = v->items[i];

	v->items[i] = v->items[--v->n];
	v->items[v->n] = NULL;
	return drawn;
}

void node_pool_fill(struct lu *lu, const char *except)
{
	auto_strv struct strv left = {0}, promoted = {0};
	auto_free char *names = NULL;
	struct node_pool pool = node_pool_stats(lu->m->config, except);

	add_promotable(lu, except, &left);
	while (pool.now < pool.should && left.n > 0) {
		auto_free char *uuid = draw(&left);

		if (config_get(lu->m->config, CONFIG_NODE, uuid) != NULL &&
		    promote(lu, uuid))
			strv_add(&promoted,
				 config_name(lu->m->config, CONFIG_NODE, uuid));
		pool = node_pool_stats(lu->m->config, except);
	}
	names = strv_join(&promoted, ", ");
	if (promoted.n > 0)
		lu_info(lu, "Promoted nodes to master candidate role: %s",
			names);
	if (pool.now > pool.should)
		lu_info(lu,
			"Note: more nodes are candidates (%zu) than desired "
			"(%zu)",
			pool.now, pool.should);
}

int node_pool_commit(struct lu *lu, struct error *err)
{
	if (config_commit(lu->m->config, err) < 0)
		return -1;
	if (lu->m->quorum != NULL && !lu_plans(lu))
		quorum_settle(lu->m->quorum, SETTLE_MS);
	return 0;
}

static bool has_vote(const struct lu *lu, const json_t *node)
{
	return lu->m->quorum != NULL && !lu_plans(lu) &&
	       quorum_has_member(lu->m->quorum, node_name(node));
}

/* Also where it does not take part in the log: it might begin to. */
static WAITS int demote(struct lu *lu, const json_t *node, struct error *err)
{
	json_t *changed = config_edit(
		config_get(lu->m->config, CONFIG_NODE, object_uuid(node)));

	node_set_master_candidate(changed, false);
	config_put(lu->m->config, CONFIG_NODE, changed);
	return node_pool_commit(lu, err);
}

/* Another job may have promoted it meanwhile, to fill the pool. */
static bool is_candidate(const struct lu *lu, const json_t *node)
{
	const json_t *now =
		config_get(lu->m->config, CONFIG_NODE, object_uuid(node));

	return now != NULL && node_master_candidate(now);
}

int node_pool_resign(struct lu *lu, const json_t *node, struct error *err)
{
	if (is_candidate(lu, node)) {
		node_pool_fill(lu, object_uuid(node));
		if (!lu_plans(lu) && demote(lu, node, err) < 0)
			return -1;
	} else if (has_vote(lu, node)) {
		quorum_settle(lu->m->quorum, SETTLE_MS);
	}
	if (lu_plans(lu) || (!is_candidate(lu, node) && !has_vote(lu, node)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Node %s has a vote in the log of the cluster, and no "
			 "other master candidate has taken it yet. Try again; "
			 "if the node is lost for good, say so first (gnt-node "
			 "modify --offline=yes)",
			 node_name(node));
}

int node_pool_shut_out(struct lu *lu, const json_t *node, struct error *err)
{
	if (is_candidate(lu, node) || has_vote(lu, node))
		return 0;
	node_pool_set_digest(lu, object_uuid(node), NULL);
	return config_commit(lu->m->config, err);
}
