/* SPDX-License-Identifier: BSD-2-Clause */
/* A round has three steps: ask each node for its keys, decide from the
 * configuration which keys to authorize and which to withdraw, and give the
 * result to the nodes that answered.  A node that did not answer counts with
 * the keys it had before, and is asked from time to time until it answers: then
 * there is another round. */
#include "masterd/core/ssh_keys.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/paths.h"
#include "lib/model/files/ssh_keys.h"
#include "masterd/config/config.h"
#include "masterd/rpc/noderpc.h"

#define FILE_MAX (4u * 1024 * 1024)
#define REPAIR "gnt-cluster redist-conf does it again"
/* A node that was away has what it missed so soon after it is back. */
#define AGAIN_US 3000000

struct ssh_keys {
	struct disk *disk;
	const struct paths *paths;
	struct config *config;
	struct noderpc *rpc;
	bool busy; /* a round is on its way: one at a time */
	bool ended;
	struct cond freed;
	struct task *first; /* the round at start, while it runs */

	struct strv missed; /* names of the nodes that did not get the last */
	bool waits;	    /* a task waits for these */
	struct task *waiter;
	struct cond kick;
};

struct ssh_keys *ssh_keys_create(struct disk *disk, const struct paths *paths,
				 struct config *config, struct noderpc *rpc)
{
	struct ssh_keys *k = xalloc(sizeof(*k));

	*k = (struct ssh_keys){
		.disk = disk, .paths = paths, .config = config, .rpc = rpc};
	cond_init(&k->freed);
	cond_init(&k->kick);
	return k;
}

void ssh_keys_destroy(struct ssh_keys *k)
{
	if (k != NULL)
		strv_done(&k->missed);
	free(k);
}

bool ssh_keys_managed(const struct config *config)
{
	return cluster_modify_ssh_setup(config_cluster(config));
}

static WAITS char *read_file(struct ssh_keys *k, enum path_id id)
{
	const char *file = path(k->paths, id);
	struct disk *disk = k->disk;
	struct error ignored;
	char *text;

	task_leave();
	text = disk->read(disk, file, FILE_MAX, NULL, &ignored);
	task_enter();
	return text != NULL ? text : xstrdup("");
}

json_t *ssh_keys_public(struct ssh_keys *k)
{
	auto_free char *text = read_file(k, PATH_SSH_PUB_KEYS);

	return ssh_keys_read_public(text);
}

/* --- what there is --- */

/* The state of one round. */
struct round {
	struct ssh_keys *k;
	struct strv *problems;
	struct node_result *nodes; /* the nodes that are not offline */
	size_t n;
	json_t *before; /* ganeti_pub_keys */
	char *hosts_before;
	json_t *keys;	      /* the new ganeti_pub_keys */
	json_t *hosts;	      /* {name: [identity]} */
	struct strv names;    /* of all nodes */
	struct strv let_in;   /* lines */
	struct strv shut_out; /* identities */
	bool complete;	      /* every candidate's key is known */
};

static void round_done(struct round *r)
{
	node_results_free(r->nodes, r->n);
	json_decref(r->before);
	json_decref(r->keys);
	json_decref(r->hosts);
	free(r->hosts_before);
	strv_done(&r->names);
	strv_done(&r->let_in);
	strv_done(&r->shut_out);
}

static bool is_capable(const json_t *node)
{
	return node_master_capable(node);
}

static const char *uuid_of(const json_t *node)
{
	return node_uuid(node);
}

static const char *name_of(const json_t *node)
{
	return node_name(node);
}

static void choose_nodes(struct round *r)
{
	const struct config *c = r->k->config;
	auto_strv struct strv uuids = {0};

	config_sorted(c, CONFIG_NODE, &uuids);
	r->nodes = node_results_new(uuids.n);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *node = config_get(c, CONFIG_NODE, uuids.items[i]);

		strv_add(&r->names, name_of(node));
		if (!node_offline(node))
			r->nodes[r->n++].node = json_ref(node);
	}
}

static struct rpc_request question(const struct ssh_keys *k, const char *verb)
{
	const json_t *cluster = config_cluster(k->config);

	return rpc_ssh_keys(
		verb,
		json_make("{s:s, s:I}", "type", cluster_ssh_key_type(cluster),
			  "bits", (json_int_t)cluster_ssh_key_bits(cluster)));
}

/* That a node is not reached, other than that it refuses, may pass. */
static void note_missed(struct ssh_keys *k, const struct node_result *result)
{
	if (result->err != NULL && result->err->kind == ERR_RPC)
		strv_add_unique(&k->missed, name_of(result->node));
}

/* Ask each node for its keys; a node that may become master makes one if it has
 * none. */
static WAITS void ask(struct round *r)
{
	for (size_t i = 0; i < r->n; i++)
		r->nodes[i].own = question(
			r->k, is_capable(r->nodes[i].node) ? "make" : "look");
	noderpc_call_each(r->k->rpc, r->nodes, r->n);
	for (size_t i = 0; i < r->n; i++)
		note_missed(r->k, &r->nodes[i]);
	for (size_t i = 0; i < r->n; i++)
		if (r->nodes[i].err != NULL)
			strv_addf(r->problems,
				  "SSH keys of node %s cannot be looked at: %s "
				  "(" REPAIR ")",
				  name_of(r->nodes[i].node),
				  r->nodes[i].err->text);
}

static const json_t *answer_of(const struct round *r, const char *uuid)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(uuid_of(r->nodes[i].node), uuid) == 0)
			return r->nodes[i].payload;
	return NULL;
}

/* --- what to authorize --- */

static void add_line(json_t *lines, const char *line, const char *name)
{
	auto_free char *id =
		line == NULL ? NULL : ssh_keys_id(line, strlen(line));
	auto_free char *own = id == NULL ? NULL : ssh_keys_line(id, name);

	if (own != NULL && !json_array_has_str(lines, own))
		json_array_append_new(lines, json_string(own));
}

/* The lines of a node's keys: those it has just told, or, if it did not answer,
 * those it had before. */
static json_t *lines_of(const struct round *r, const json_t *node)
{
	const json_t *answer = answer_of(r, uuid_of(node));
	const json_t *list = answer != NULL
				     ? json_get(answer, "keys")
				     : json_get(r->before, uuid_of(node));
	json_t *lines = json_array();

	for (size_t i = 0; i < json_array_size(list); i++)
		add_line(lines, json_string_value(json_array_get(list, i)),
			 name_of(node));
	add_line(lines, json_str(answer, "staged", NULL), name_of(node));
	return lines;
}

static void add_node(struct round *r, const json_t *node)
{
	const json_t *answer = answer_of(r, uuid_of(node));
	json_t *lines;

	if (answer != NULL)
		json_object_set(r->hosts, name_of(node),
				json_object_get(answer, "host_keys"));
	if (!is_capable(node))
		return;
	lines = lines_of(r, node);
	json_object_set_new(r->keys, uuid_of(node), lines);
	if (!node_master_candidate(node))
		return;
	r->complete = r->complete && json_array_size(lines) > 0;
	json_to_strv(lines, &r->let_in);
}

static bool is_let_in(const struct round *r, const char *id)
{
	size_t len = strlen(id);

	for (size_t i = 0; i < r->let_in.n; i++)
		if (strncmp(r->let_in.items[i], id, len) == 0 &&
		    r->let_in.items[i][len] == ' ')
			return true;
	return false;
}

/* Keys that are or were the cluster's and belong to no candidate. */
static void shut_out(struct round *r, const json_t *keys)
{
	const char *uuid;
	json_t *lines;

	json_object_foreach (json_unconst(keys), uuid, lines)
		for (size_t i = 0; i < json_array_size(lines); i++) {
			const char *line =
				json_string_value(json_array_get(lines, i));
			auto_free char *id = ssh_keys_id(line, strlen(line));

			if (id != NULL && !is_let_in(r, id))
				strv_add_unique(&r->shut_out, id);
		}
}

/* A copied machine has the same key as another node; withdrawing the key would
 * shut out both. */
static void warn_of_shared(struct round *r)
{
	auto_strv struct strv seen = {0};
	const char *uuid;
	json_t *lines;

	json_object_foreach (r->keys, uuid, lines)
		for (size_t i = 0; i < json_array_size(lines); i++) {
			const char *line =
				json_string_value(json_array_get(lines, i));
			auto_free char *id = ssh_keys_id(line, strlen(line));

			if (strv_has(&seen, id))
				strv_addf(r->problems,
					  "Node %s has the same SSH key as "
					  "another node (gnt-cluster "
					  "renew-crypto --new-ssh-keys gives "
					  "each its own)",
					  config_name(r->k->config, CONFIG_NODE,
						      uuid));
			strv_add_unique(&seen, id);
		}
}

static void decide(struct round *r)
{
	const struct config *c = r->k->config;
	auto_strv struct strv uuids = {0};

	r->keys = json_object();
	r->hosts = json_object();
	r->complete = true;
	config_sorted(c, CONFIG_NODE, &uuids);
	for (size_t i = 0; i < uuids.n; i++)
		add_node(r, config_get(c, CONFIG_NODE, uuids.items[i]));
	shut_out(r, r->before);
	shut_out(r, r->keys);
	warn_of_shared(r);
}

/* --- giving the result to the nodes --- */

static struct rpc_request gift(const struct round *r, bool capable)
{
	auto_free char *hosts = ssh_keys_known_hosts(
		r->hosts_before, cluster_name(config_cluster(r->k->config)),
		r->hosts, &r->names);

	return rpc_ssh_keys("give",
			    json_make("{s:o, s:o, s:b, s:O?, s:s}",
				      "authorized", json_from_strv(&r->let_in),
				      "withdrawn", json_from_strv(&r->shut_out),
				      "complete", (int)r->complete, "public",
				      capable ? r->keys : NULL, "known_hosts",
				      hosts));
}

/* Nodes that did not answer are left out: they would not answer now. */
static WAITS void give(struct round *r)
{
	struct node_result *to = node_results_new(r->n);
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->nodes[i].payload == NULL)
			continue;
		to[n].node = json_incref(r->nodes[i].node);
		to[n].own = gift(r, is_capable(to[n].node));
		n++;
	}
	noderpc_call_each(r->k->rpc, to, n);
	for (size_t i = 0; i < n; i++)
		note_missed(r->k, &to[i]);
	for (size_t i = 0; i < n; i++)
		if (to[i].err != NULL)
			strv_addf(r->problems,
				  "SSH keys cannot be given to node %s: %s "
				  "(" REPAIR ")",
				  name_of(to[i].node), to[i].err->text);
	node_results_free(to, n);
}

static WAITS void run_round(struct ssh_keys *k, struct strv *ret_problems)
{
	struct round r = {.k = k, .problems = ret_problems};

	r.before = ssh_keys_public(k);
	r.hosts_before = read_file(k, PATH_KNOWN_HOSTS);
	strv_done(&k->missed);
	choose_nodes(&r);
	ask(&r);
	decide(&r);
	give(&r);
	round_done(&r);
}

/* --- who missed it --- */

static void choose_missed(struct round *r)
{
	size_t n = 0;

	choose_nodes(r);
	for (size_t i = 0; i < r->n; i++) {
		json_t *node = r->nodes[i].node;

		r->nodes[i].node = NULL;
		if (strv_has(&r->k->missed, name_of(node)))
			r->nodes[n++].node = node;
		else
			json_decref(node);
	}
	r->n = n;
}

/* Whether one of them answers by now; those that the cluster does not count on
 * any more are forgotten. */
static WAITS bool is_one_back(struct ssh_keys *k)
{
	struct round r = {.k = k};
	bool back = false;

	choose_missed(&r);
	strv_done(&k->missed);
	for (size_t i = 0; i < r.n; i++)
		strv_add(&k->missed, name_of(r.nodes[i].node));
	noderpc_call_many(k->rpc, r.nodes, r.n, question(k, "look"));
	for (size_t i = 0; i < r.n; i++)
		back = back || r.nodes[i].payload != NULL;
	round_done(&r);
	return back;
}

static WAITS void again_task(void *arg)
{
	struct ssh_keys *k = arg;

	k->waiter = task_self();
	while (!k->ended && k->missed.n > 0) {
		auto_strv struct strv problems = {0};

		cond_wait_until(&k->kick, clock_mono_us() + AGAIN_US);
		if (!k->ended && !k->busy && is_one_back(k))
			ssh_keys_sync(k, &problems);
		for (size_t i = 0; i < problems.n; i++)
			log_debug("%s", problems.items[i]);
	}
	k->waits = false;
	k->waiter = NULL;
	cond_signal(&k->freed);
}

void ssh_keys_hurry(struct ssh_keys *k)
{
	cond_signal(&k->kick);
}

static void wait_for_missed(struct ssh_keys *k)
{
	if (k->waits || k->ended || k->missed.n == 0)
		return;
	k->waits = true;
	task_spawn("ssh keys", again_task, k);
}

void ssh_keys_sync(struct ssh_keys *k, struct strv *ret_problems)
{
	if (!ssh_keys_managed(k->config))
		return;
	while (k->busy && !task_interrupted())
		cond_wait(&k->freed);
	if (task_interrupted()) {
		strv_add(ret_problems,
			 "SSH keys were not given to the nodes (" REPAIR ")");
		return;
	}
	k->busy = true;
	run_round(k, ret_problems);
	k->busy = false;
	cond_signal(&k->freed);
	wait_for_missed(k);
}

/* --- at start --- */

void ssh_keys_begin(struct ssh_keys *k)
{
	auto_strv struct strv problems = {0};

	if (k->ended)
		return;
	k->first = task_self();
	ssh_keys_sync(k, &problems);
	k->first = NULL;
	cond_signal(&k->freed);
	for (size_t i = 0; i < problems.n && !k->ended; i++)
		log_warning("%s", problems.items[i]);
}

void ssh_keys_end(struct ssh_keys *k)
{
	k->ended = true;
	if (k->first != NULL)
		task_interrupt(k->first);
	if (k->waiter != NULL)
		task_interrupt(k->waiter);
	cond_signal(&k->kick);
	while (k->first != NULL || k->waits)
		cond_wait(&k->freed);
}
