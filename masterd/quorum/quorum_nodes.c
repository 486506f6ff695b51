/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes behind the numbers of servers.  A node that has no configuration
 * yet knows them from its ssconf files. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/config/state.h"
#include "masterd/quorum/quorum_private.h"

uint64_t quorum_node_hash(const char *node_name)
{
	uint64_t hash = bytes_hash(node_name, strlen(node_name));

	hash = (hash ^ hash >> 40) & ((UINT64_C(1) << 40) - 1);
	return hash == 0 ? 1 : hash;
}

bool quorum_ids_have_node(const struct raft_ids *ids, const json_t *node)
{
	uint64_t hash = quorum_node_hash(node_name(node));

	for (size_t i = 0; i < ids->n; i++)
		if (ids->ids[i] >> QUORUM_LIFE_BITS == hash)
			return true;
	return false;
}

const char *quorum_candidate_name(const struct quorum_candidate *c)
{
	return node_name(c->node);
}

void quorum_nodes_done(struct quorum *q)
{
	for (size_t i = 0; i < q->n_candidates; i++)
		json_decref(q->candidates[i].node);
	free(q->candidates);
	q->candidates = NULL;
	q->n_candidates = 0;
}

static json_t *contact(const char *name, const char *address)
{
	return json_make("{s:s, s:s}", "name", name, "primary_ip", address);
}

static void add_node(void *arg, const char *uuid, const char *text)
{
	struct quorum *q = arg;
	struct error ignored;
	auto_json json_t *node = json_parse(text, strlen(text), &ignored);

	(void)uuid;
	if (node == NULL || !node_master_candidate(node))
		return;
	q->candidates = xrealloc(q->candidates, (q->n_candidates + 1) *
							sizeof(*q->candidates));
	q->candidates[q->n_candidates++] = (struct quorum_candidate){
		.hash = quorum_node_hash(node_name(node)),
		.node = contact(node_name(node), node_primary_ip(node)),
		.online = !node_offline(node),
	};
}

static bool read_automatic(const struct quorum *q)
{
	const char *text = config_image_get(state_config(q->state), "cluster");
	struct error ignored;
	auto_json json_t *cluster =
		text == NULL ? NULL : json_parse(text, strlen(text), &ignored);

	return cluster != NULL &&
	       state_own(cluster, STATE_MASTER_FAILOVER, 0) > 0;
}

/* What the leader knows of a candidate stays known. */
static void keep(struct quorum *q, const struct quorum_candidate *old, size_t n)
{
	for (size_t i = 0; i < q->n_candidates; i++)
		for (size_t k = 0; k < n; k++)
			if (q->candidates[i].hash == old[k].hash) {
				q->candidates[i].minted = old[k].minted;
				q->candidates[i].asked_us = old[k].asked_us;
				q->candidates[i].asked = old[k].asked;
				q->candidates[i].unheard = old[k].unheard;
				q->candidates[i].turned_away =
					old[k].turned_away;
				q->candidates[i].away = old[k].away;
				q->candidates[i].refuses = old[k].refuses;
				q->candidates[i].ganetis = old[k].ganetis;
			}
}

void quorum_nodes_refresh(struct quorum *q)
{
	struct quorum_candidate *old = q->candidates;
	size_t n = q->n_candidates;

	if (!q->nodes_stale)
		return;
	q->nodes_stale = false;
	q->candidates = NULL;
	q->n_candidates = 0;
	config_image_each(state_config(q->state), "nodes", add_node, q);
	q->automatic = read_automatic(q);
	keep(q, old, n);
	for (size_t i = 0; i < n; i++)
		json_decref(old[i].node);
	free(old);
}

bool quorum_is_automatic(struct quorum *q)
{
	quorum_nodes_refresh(q);
	return q->log != NULL && q->automatic;
}

struct quorum_candidate *quorum_candidate_of(struct quorum *q, uint64_t id)
{
	quorum_nodes_refresh(q);
	for (size_t i = 0; i < q->n_candidates; i++)
		if (q->candidates[i].hash == id >> QUORUM_LIFE_BITS)
			return &q->candidates[i];
	return NULL;
}

/* By the file ssconf_node_primary_ips: "name address" in each line. */
static json_t *node_of_ssconf(const struct quorum *q, uint64_t hash)
{
	auto_free char *text = ssconf_read_on(q->config.disk, q->config.paths,
					      "node_primary_ips");
	auto_strv struct strv lines = {0};

	str_split(&lines, text == NULL ? "" : text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		char *space = strchr(lines.items[i], ' ');

		if (space == NULL)
			continue;
		*space = '\0';
		if (quorum_node_hash(lines.items[i]) == hash)
			return contact(lines.items[i], space + 1);
	}
	return NULL;
}

struct search {
	uint64_t hash;
	json_t *found;
};

/* One that is no candidate any more may still be a member. */
static void match_node(void *arg, const char *uuid, const char *text)
{
	struct search *search = arg;
	struct error ignored;
	auto_json json_t *node = NULL;

	(void)uuid;
	if (search->found != NULL)
		return;
	node = json_parse(text, strlen(text), &ignored);
	if (node != NULL && quorum_node_hash(node_name(node)) == search->hash)
		search->found = steal(&node);
}

json_t *quorum_configured(struct quorum *q, uint64_t id)
{
	struct search search = {.hash = id >> QUORUM_LIFE_BITS};

	config_image_each(state_config(q->state), "nodes", match_node, &search);
	return search.found;
}

json_t *quorum_node_of(struct quorum *q, uint64_t id)
{
	const struct quorum_candidate *c = quorum_candidate_of(q, id);
	auto_json json_t *node = NULL;

	if (c != NULL)
		return json_incref(c->node);
	node = quorum_configured(q, id);
	if (node != NULL)
		return contact(node_name(node), node_primary_ip(node));
	return node_of_ssconf(q, id >> QUORUM_LIFE_BITS);
}
