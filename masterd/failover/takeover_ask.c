/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking the nodes what they have, and for their promise. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/copy_position.h"
#include "lib/model/files/queue_files.h"
#include "lib/model/files/term.h"
#include "lib/store/store.h"
#include "masterd/failover/takeover_private.h"

#define SMALL_FILE_MAX 100

/* The same order for all who try: by name. */
static void sorted_uuids(const json_t *nodes, struct strv *ret)
{
	auto_strv struct strv names = {0};
	const char *uuid;
	json_t *node;

	json_object_foreach (json_unconst(nodes), uuid, node)
		strv_add(&names, node_name(node));
	strv_sort_nice(&names);
	for (size_t i = 0; i < names.n; i++)
		json_object_foreach (json_unconst(nodes), uuid, node)
			if (str_eq(node_name(node), names.items[i]))
				strv_add(ret, uuid);
}

void takeover_list_nodes(struct candidacy *c)
{
	const json_t *nodes = document_nodes(c->document);
	auto_strv struct strv uuids = {0};
	size_t n;

	sorted_uuids(nodes, &uuids);
	n = uuids.n;
	c->vote = (struct vote){
		.n = n, .self = n, .ignore_offline = c->t->ignore_offline};
	c->vote.nodes = xcalloc(n + 1, sizeof(*c->vote.nodes));
	c->states = xcalloc(n + 1, sizeof(json_t *));
	c->objects = xcalloc(n + 1, sizeof(json_t *));
	for (size_t i = 0; i < n; i++) {
		const json_t *node = json_get(nodes, uuids.items[i]);
		bool offline = node_offline(node);

		c->objects[i] = json_ref(node);
		c->vote.nodes[i] = (struct vote_node){
			.name = node_name(node),
			.offline = offline,
			.candidate = !offline && node_master_candidate(node),
		};
		if (strcmp(c->vote.nodes[i].name, c->t->paths->hostname) == 0)
			c->vote.self = i;
	}
}

void takeover_forget(struct candidacy *c)
{
	for (size_t i = 0; i < c->vote.n; i++) {
		json_decref(c->states[i]);
		json_decref(c->objects[i]);
	}
	free(steal(&c->states));
	free(steal(&c->objects));
	free(steal(&c->vote.nodes));
	c->vote.n = 0;
}

/* --- without a node daemon of our own --- */

static WAITS uint64_t highest_id(struct store *s)
{
	auto_strv struct strv names = {0};
	auto_free char *serial = NULL;
	struct error ignored;
	uint64_t highest = 0, id;
	size_t len;

	serial = store_read(s, "serial", SMALL_FILE_MAX, &len, &ignored);
	if (serial != NULL)
		queue_file_read_serial(serial, &highest);
	if (store_list(s, "", &names, &ignored) < 0)
		return highest;
	for (size_t i = 0; i < names.n; i++)
		if (queue_file_job_id(names.items[i], &id) && id > highest)
			highest = id;
	return highest;
}

static WAITS int own_queue(const struct takeover *t,
			   struct copy_position *ret_at, uint64_t *ret_job_id,
			   struct error *err)
{
	struct store *s =
		store_peek(t->disk, path(t->paths, PATH_QUEUE_DIR), err);
	auto_free char *text = NULL;
	struct error ignored;
	size_t len;

	if (s == NULL)
		return -1;
	text = store_read(s, STORE_POSITION, SMALL_FILE_MAX, &len, &ignored);
	*ret_job_id = highest_id(s);
	store_close(s);
	*ret_at = copy_position_read(text);
	return 0;
}

/* As a node daemon would answer master_state. */
static WAITS json_t *own_state(struct candidacy *c, struct error *err)
{
	const struct takeover *t = c->t;
	auto_term struct term promise = {0};
	auto_free char *master = NULL;
	struct config_term config_term;
	struct copy_position queue;
	int64_t serial = c->own_serial;
	uint64_t job_id = 0;

	if (term_load(t->disk, t->paths, &promise, err) < 0 ||
	    term_load_config(t->disk, t->paths, &config_term, err) < 0)
		return NULL;
	if (own_queue(t, &queue, &job_id, err) < 0)
		return NULL;
	master = ssconf_read_on(t->disk, t->paths, "master_node");
	return json_make("{s:s, s:s?, s:I, s:s, s:b, s:[I, I], s:o, s:o, s:I}",
			 "node", t->paths->hostname, "master", master, "term",
			 (json_int_t)promise.number, "promised", promise.master,
			 "running", 1, "config",
			 (json_int_t)term_of_config(&config_term, serial),
			 (json_int_t)serial, "queue", copy_position_now(&queue),
			 "queue_had", copy_position_had(&queue), "job_id",
			 (json_int_t)job_id);
}

static WAITS json_t *own_promise(struct candidacy *c, uint64_t number,
				 struct error *err)
{
	const struct takeover *t = c->t;
	auto_term struct term term = {.number = number,
				      .master = xstrdup(t->paths->hostname)};
	int rc;

	task_leave(); /* the term is ours alone, the paths never change */
	rc = term_save(t->disk, t->paths, &term, err);
	task_enter();
	return rc < 0 ? NULL : own_state(c, err);
}

/* --- the nodes --- */

static void note_state(struct candidacy *c, size_t i, json_t *state STEALS)
{
	struct error err;

	json_decref(c->states[i]);
	c->states[i] = state;
	c->vote.nodes[i].answered = false;
	if (state != NULL && vote_read(&c->vote.nodes[i], state, &err) < 0)
		log_warning("node %s: %s", c->vote.nodes[i].name, err.text);
}

static bool is_refused(const struct error *err)
{
	return err != NULL && str_eq(err->ecode, ECODE_REFUSED);
}

/* Call those that are wanted, and note their answers.  Our own files answer
 * when our node daemon does not run. */
static WAITS int call_nodes(struct candidacy *c, const bool *wanted,
			    const char *procedure, json_t *args STEALS,
			    uint64_t term, struct error *err)
{
	size_t n = c->vote.n, k = 0;
	struct node_result *results = node_results_new(n);
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (wanted[i])
			results[k++].node = json_incref(c->objects[i]);
	noderpc_call_many(
		c->rpc, results, k,
		rpc_within(rpc_unchecked(procedure, args), TAKEOVER_ASK_MS));
	k = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct node_result *r = &results[k];
		json_t *own;

		if (!wanted[i])
			continue;
		k++;
		if (i != c->vote.self || !is_refused(r->err)) {
			note_state(c, i, json_incref(r->payload));
			continue;
		}
		own = term > 0 ? own_promise(c, term, err) : own_state(c, err);
		rc = own == NULL ? -1 : 0;
		note_state(c, i, own);
	}
	node_results_free(results, n);
	return rc;
}

/* Who did not answer because Ganeti's node daemon runs there, which knows no
 * such call. */
static WAITS void find_ganetis(struct candidacy *c)
{
	struct node_result *results = node_results_new(c->vote.n);
	auto_free size_t *which = xcalloc(c->vote.n + 1, sizeof(*which));
	size_t n = 0;

	for (size_t i = 0; i < c->vote.n; i++) {
		c->vote.nodes[i].ganetis = false;
		if (c->vote.nodes[i].answered || i == c->vote.self)
			continue;
		which[n] = i;
		results[n++].node = json_incref(c->objects[i]);
	}
	noderpc_ask_whose(c->rpc, results, n);
	for (size_t k = 0; k < n; k++)
		c->vote.nodes[which[k]].ganetis =
			json_is_integer(results[k].payload);
	node_results_free(results, c->vote.n);
}

int takeover_ask(struct candidacy *c, struct error *err)
{
	auto_free bool *wanted = xcalloc(c->vote.n + 1, sizeof(*wanted));

	memset(wanted, true, c->vote.n);
	if (call_nodes(c, wanted, "master_state", json_array(), 0, err) < 0)
		return -1;
	find_ganetis(c);
	return 0;
}

/* The first candidate that has answered, c->vote.n when none has. */
static size_t anchor(const struct candidacy *c)
{
	for (size_t i = 0; i < c->vote.n; i++)
		if (c->vote.nodes[i].candidate && c->vote.nodes[i].answered)
			return i;
	return c->vote.n;
}

static bool has_promised(const struct candidacy *c, size_t i, uint64_t term)
{
	const struct vote_node *node = &c->vote.nodes[i];

	return node->answered && node->term == term &&
	       str_eq(node->promised, c->vote.nodes[c->vote.self].name);
}

static WAITS int ask_some(struct candidacy *c, const bool *wanted,
			  uint64_t term, struct error *err)
{
	const char *self = c->vote.nodes[c->vote.self].name;
	auto_free bool *silent = xcalloc(c->vote.n + 1, sizeof(*silent));
	bool any = false;

	if (call_nodes(c, wanted, "master_promise",
		       json_make("[I, s]", (json_int_t)term, self), term,
		       err) < 0)
		return -1;
	/* Who did not promise may say to whom it did. */
	for (size_t i = 0; i < c->vote.n; i++) {
		silent[i] = wanted[i] && !c->vote.nodes[i].answered;
		any |= silent[i];
	}
	return any ? call_nodes(c, silent, "master_state", json_array(), 0, err)
		   : 0;
}

int takeover_ask_promise(struct candidacy *c, uint64_t term, struct error *err)
{
	auto_free bool *wanted = xcalloc(c->vote.n + 1, sizeof(*wanted));
	size_t first = anchor(c);

	if (first < c->vote.n) {
		wanted[first] = true;
		if (ask_some(c, wanted, term, err) < 0)
			return -1;
		if (c->vote.nodes[first].answered &&
		    !has_promised(c, first, term))
			return 0; /* the others need not be asked */
	}
	for (size_t i = 0; i < c->vote.n; i++)
		wanted[i] = i != first && !c->vote.nodes[i].ganetis;
	return ask_some(c, wanted, term, err);
}
