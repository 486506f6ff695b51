/* SPDX-License-Identifier: BSD-2-Clause */
/* capacity_show() of capacity.h.  A group is bad if it was marked so before,
 * has a node that fails N+1, or could not lose one of its nodes.  "Left" lists
 * single nodes; "Right" lists each node with those of its group that can be its
 * peer. */
#include <string.h>

#include "iallocators/capacity/capacity.h"
#include "iallocators/model/hformat.h"
#include "iallocators/nplus1/redundancy.h"

/* A list of names, as the reference shows strings. */
struct names {
	struct buf text;
	int n;
};

static void add_name(struct names *list, const char *name)
{
	buf_adds(&list->text, list->n++ > 0 ? "," : "");
	hf_show_string(&list->text, name, strlen(name));
}

static void show_names(struct buf *b, const char *title, struct names *list)
{
	if (list->n > 0)
		buf_addf(b, "%s: [%s]\n", title, list->text.data);
	buf_done(&list->text);
}

static bool is_bad(const struct node *n)
{
	return !n->offline && n->s.fails_n1;
}

static bool has_bad_node(const struct cluster *c, int group)
{
	for (int i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].group == group && is_bad(&c->nodes[i]))
			return true;
	return false;
}

/* Whether each node of the group could be emptied. */
static bool could_lose_any(const struct capacity *k, int group)
{
	struct nodeset nodes = cluster_group_nodes(k->c, group);

	return redundancy_holds(k->c, &nodes, &k->place);
}

static void show_bad(const struct capacity *k, struct buf *b)
{
	const struct cluster *c = k->c;
	struct names nodes = {0}, groups = {0};

	for (int i = 0; i < c->n_nodes; i++)
		if (is_bad(&c->nodes[i]))
			add_name(&nodes, c->nodes[i].name);
	for (int g = 0; g < c->n_groups; g++)
		if (k->bad_groups[g] || has_bad_node(c, g) ||
		    !could_lose_any(k, g))
			add_name(&groups, c->groups[g].name);
	show_names(b, "Bad nodes", &nodes);
	show_names(b, "Bad groups", &groups);
}

/* "(1,[2,3])": what can stand beside a node; nothing where nothing can. */
static bool show_peers(const struct capacity *k, int first, int node,
		       const char *comma, struct buf *b)
{
	const struct cluster *c = k->c;
	int n = 0;

	for (int i = 0; i < k->candidates.n; i++) {
		int peer = k->candidates.items[i];

		if (peer == node ||
		    c->nodes[peer].group != c->nodes[node].group)
			continue;
		if (n++ == 0)
			buf_addf(b, "%s(%d,[", comma, first + node);
		else
			buf_addc(b, ',');
		buf_addf(b, "%d", first + peer);
	}
	if (n > 0)
		buf_adds(b, "])");
	return n > 0;
}

void capacity_show(const struct capacity *k, int first, struct buf *b)
{
	bool pairs = k->required_nodes > 1, any = false;

	show_bad(k, b);
	buf_addf(b, "Allocatable nodes: %s [", pairs ? "Right" : "Left");
	for (int i = 0; i < k->candidates.n; i++) {
		int node = k->candidates.items[i];

		if (pairs) {
			any |= show_peers(k, first, node, any ? "," : "", b);
			continue;
		}
		buf_addf(b, "%s%d", i > 0 ? "," : "", first + node);
	}
	buf_adds(b, "]\n");
}
