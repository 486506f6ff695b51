/* SPDX-License-Identifier: BSD-2-Clause */
/* How a node of the simulation becomes master: the protocol of
 * doc/design/failover.md at its shortest.  It asks, has a term promised, and
 * fetches what others have newer: whole, not by difference. */
#include <stdlib.h>
#include <string.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/term.h"
#include "tests/sim/sim.h"

#define ASK_MS 10000u

struct attempt {
	struct sim_node *node;
	bool failover;
	json_t *doc; /* the configuration */
	struct noderpc *rpc;
	struct node_result *results;
	size_t n;
	uint64_t term;
};

static json_t *own_config(struct sim_node *n)
{
	const char *text =
		fake_disk_text(&n->disk, path(n->paths, PATH_CONFIG_DATA));
	struct error err;

	return text == NULL ? NULL : json_parse(text, strlen(text), &err);
}

static const char *master_uuid(const json_t *doc)
{
	return json_str(json_get(doc, "cluster"), "master_node", "");
}

bool sim_is_home(struct sim_node *n)
{
	auto_json json_t *doc = own_config(n);

	return str_eq(master_uuid(doc), n->uuid);
}

/* Ask all nodes; how many answered. */
static WAITS size_t ask(struct attempt *a, const char *procedure,
			json_t *args STEALS)
{
	const json_t *nodes = json_get(a->doc, "nodes");
	size_t answered = 0;
	const char *uuid;
	json_t *node;

	node_results_free(a->results, a->n);
	a->results = node_results_new(json_object_size(nodes));
	a->n = 0;
	json_object_foreach ((json_t *)nodes, uuid, node)
		a->results[a->n++].node = json_incref(node);
	noderpc_call_many_for(a->rpc, a->results, a->n, procedure, args,
			      ASK_MS);
	for (size_t i = 0; i < a->n; i++)
		answered += a->results[i].payload != NULL;
	return answered;
}

static bool is_majority(const struct attempt *a, size_t n)
{
	return n >= a->n / 2 + 1;
}

static size_t n_naming(const struct attempt *a, const char *master)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		n += str_eq(json_str(a->results[i].payload, "master", ""),
			    master);
	return n;
}

static uint64_t highest_term(const struct attempt *a)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < a->n; i++) {
		uint64_t term =
			(uint64_t)json_int(a->results[i].payload, "term", 0);

		if (term > highest)
			highest = term;
	}
	return highest;
}

static int64_t part(const json_t *state, const char *what, size_t i)
{
	return json_integer_value(json_array_get(json_get(state, what), i));
}

static bool is_newer(const json_t *state, const json_t *than, const char *what)
{
	int64_t term = part(state, what, 0), other = part(than, what, 0);

	return term > other ||
	       (term == other && part(state, what, 1) > part(than, what, 1));
}

static const struct node_result *own_result(const struct attempt *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(json_str(a->results[i].payload, "node", ""),
			   a->node->name))
			return &a->results[i];
	return NULL;
}

/* Who promised and has the newest; ourselves if nobody has newer. */
static const struct node_result *newest(const struct attempt *a,
					const char *what)
{
	const struct node_result *best = own_result(a);

	for (size_t i = 0; best != NULL && i < a->n; i++)
		if (a->results[i].payload != NULL &&
		    is_newer(a->results[i].payload, best->payload, what))
			best = &a->results[i];
	return best;
}

static WAITS json_t *call(struct attempt *a, const struct node_result *to,
			  const char *procedure, json_t *args STEALS)
{
	auto_json json_t *node = json_incref(to->node);
	struct error err;

	return noderpc_call_for(a->rpc, node, procedure, args, ASK_MS, &err);
}

static WAITS int pull_config(struct attempt *a, const struct node_result *from)
{
	struct disk *disk = &a->node->disk.disk;
	auto_json json_t *text = call(a, from, "config_read", json_array());
	const char *s = json_string_value(text);
	struct error err;

	return s == NULL ? -1
			 : disk->write_atomic(
				   disk, path(a->node->paths, PATH_CONFIG_DATA),
				   s, strlen(s), 0640, &err);
}

static void add_file(json_t *files, const char *name, const char *text)
{
	auto_free char *file = xprintf("/var/lib/ganeti/queue/%s", name);

	json_array_append_new(
		files, text == NULL ? json_make("[s, n]", file)
				    : json_make("[s, [i, s]]", file, 0, text));
}

/* What the other has, and that what only we have is gone. */
static json_t *difference(const json_t *theirs, const json_t *ours)
{
	json_t *files = json_array(), *text;
	const char *name;

	json_object_foreach ((json_t *)ours, name, text)
		if (json_get(theirs, name) == NULL && strchr(name, '/') == NULL)
			add_file(files, name, NULL);
	json_object_foreach ((json_t *)theirs, name, text)
		add_file(files, name, json_string_value(text));
	return files;
}

static WAITS int write_own(struct attempt *a, json_t *files STEALS)
{
	auto_json json_t *done = call(a, own_result(a), "jobqueue_update_many",
				      json_make("[o]", files));

	return done == NULL ? -1 : 0;
}

static WAITS int pull_queue(struct attempt *a, const struct node_result *from)
{
	const struct node_result *own = own_result(a);
	auto_json json_t *theirs = NULL, *ours = NULL, *list = NULL;
	auto_json json_t *names = json_array();
	const char *name;
	json_t *hash;

	/* It is not whole from now on; this opens our copy, too. */
	if (write_own(a, json_make("[[s, [i, s]]]",
				   "/var/lib/ganeti/queue/position", 0,
				   "0 0\n")) < 0)
		return -1;
	list = call(a, from, "jobqueue_list", json_make("[s]", ""));
	ours = call(a, own, "jobqueue_list", json_make("[s]", ""));
	json_object_foreach (list, name, hash)
		if (strchr(name, '/') == NULL)
			json_array_append_new(names, json_string(name));
	theirs = call(a, from, "jobqueue_read", json_make("[O]", names));
	if (list == NULL || ours == NULL || theirs == NULL)
		return -1;
	return write_own(a, difference(theirs, ours));
}

/* Fetch what is newer elsewhere; -1 when that fails. */
static WAITS int pull(struct attempt *a)
{
	const struct node_result *own = own_result(a);
	const struct node_result *config = newest(a, "config");
	const struct node_result *queue = newest(a, "queue");
	auto_json json_t *again = NULL;

	if (own == NULL || (config != own && pull_config(a, config) < 0))
		return -1;
	if (queue == own)
		return 0;
	if (pull_queue(a, queue) < 0)
		return -1;
	/* The node daemon has opened the queue once more. */
	again = call(a, own, "master_promise",
		     json_make("[I, s]", (json_int_t)a->term, a->node->name));
	return again == NULL ? -1 : 0;
}

/* The configuration names this node from now on. */
static int become_home(struct attempt *a, struct error *err)
{
	struct disk *disk = &a->node->disk.disk;
	const struct paths *paths = a->node->paths;
	int64_t serial = json_int(a->doc, "serial_no", 0) + 1;
	struct config_term t = {.term = a->term, .serial = serial};
	auto_term struct term promise = {0};
	auto_free char *text = NULL;

	/* Another one was quicker. */
	if (term_load(disk, paths, &promise, err) < 0 ||
	    promise.number > a->term)
		return -1;
	json_object_set_new(json_object_get(a->doc, "cluster"), "master_node",
			    json_string(a->node->uuid));
	json_object_set_new(a->doc, "serial_no", json_integer(serial));
	text = json_text(a->doc);
	if (disk->write_atomic(disk, path(paths, PATH_CONFIG_DATA), text,
			       strlen(text), 0640, err) < 0)
		return -1;
	return config_term_save(disk, paths, &t, err);
}

/* 0 when this node may be master of a->term. */
static WAITS int win(struct attempt *a)
{
	struct error err;
	size_t n = ask(a, "master_state", json_array());

	if (!is_majority(a, n) ||
	    (!a->failover && !is_majority(a, n_naming(a, a->node->name))))
		return -1;
	a->term = highest_term(a) + 1;
	n = ask(a, "master_promise",
		json_make("[I, s]", (json_int_t)a->term, a->node->name));
	if (!is_majority(a, n) || pull(a) < 0)
		return -1;
	json_decref(a->doc);
	a->doc = own_config(a->node);
	if (a->doc == NULL)
		return -1;
	return str_eq(master_uuid(a->doc), a->node->uuid)
		       ? 0
		       : become_home(a, &err);
}

static void attempt_task(void *arg)
{
	struct attempt *a = arg;
	struct noderpc_transport transport = sim_transport(a->node);
	struct error err;

	a->rpc = noderpc_create(&transport);
	if (win(a) < 0 || sim_create_master(a->node, a->term, &err) < 0)
		a->node->masterd.ending = true;
	noderpc_destroy(a->rpc);
	node_results_free(a->results, a->n);
	json_decref(a->doc);
	free(a);
}

void sim_take_over(struct sim_node *n, bool failover)
{
	struct attempt *a;

	if (n->down || n->masterd.alive || !n->daemon.alive)
		return;
	a = xalloc(sizeof(*a));
	a->node = n;
	a->failover = failover;
	a->doc = own_config(n);
	if (a->doc == NULL)
		return free(a);
	sim_start_proc(&n->masterd);
	task_set_owner(&n->masterd);
	task_spawn("masterd", attempt_task, a);
	task_set_owner(NULL);
}
