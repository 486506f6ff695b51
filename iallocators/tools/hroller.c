/* SPDX-License-Identifier: BSD-2-Clause */
/* hroller: which nodes can be rebooted at the same time. */
#include <stdio.h>
#include <string.h>

#include "iallocators/balance/clearing.h"
#include "iallocators/balance/coloring.h"
#include "iallocators/model/hformat.h"
#include "iallocators/options/save.h"
#include "iallocators/options/tool.h"
#include "lib/base/mem.h"

struct rounds {
	struct round *items;
	int n;
};

static bool has_loose(const struct cluster *c, const struct node *n)
{
	for (int i = 0; i < n->primaries.n; i++)
		if (clearing_is_loose(&c->instances[n->primaries.items[i]]))
			return true;
	return false;
}

static bool has_tag(const struct node *n, const struct strv *tags)
{
	for (size_t i = 0; i < n->n_tags; i++)
		if (strv_has(tags, n->tags[i]))
			return true;
	return false;
}

/* Which nodes are to be rebooted. */
static bool *select_nodes(const struct cluster *c, const struct hroller_opts *o,
			  int group)
{
	bool *kept = xcalloc((size_t)c->n_nodes + 1, sizeof(*kept));

	for (int i = 0; i < c->n_nodes; i++) {
		const struct node *n = &c->nodes[i];

		kept[i] = !n->offline &&
			  (group == NO_INDEX || n->group == group) &&
			  (!o->has_node_tags || has_tag(n, &o->node_tags)) &&
			  (!o->skip_non_redundant || !has_loose(c, n));
	}
	return kept;
}

/* The graph with its edges in the order in which they came. */
struct edges {
	struct edge {
		int from, to;
	} * items;
	size_t n, cap;
};

static void add_edge(struct edges *e, struct graph *g, int from, int to)
{
	if (e->n == e->cap) {
		e->cap = e->cap == 0 ? 64 : 2 * e->cap;
		e->items = xrealloc(e->items, e->cap * sizeof(*e->items));
	}
	e->items[e->n++] = (struct edge){from, to};
	g->edges[from * g->n + to]++;
}

/* Primaries of instances with the same secondary must not go down together:
 * the secondary could not take over both. */
static void add_shared_secondaries(const struct cluster *c, const bool *kept,
				   struct graph *g, struct edges *e)
{
	for (int s = 0; s < c->n_nodes; s++) {
		const struct ilist *l = &c->nodes[s].secondaries;

		/* The newest stands last. */
		for (int i = l->n * l->n - 1; i >= 0; i--) {
			int a = c->instances[l->items[i / l->n]].primary;
			int b = c->instances[l->items[i % l->n]].primary;

			if (kept[a] && kept[b] && g->edges[a * g->n + b] == 0)
				add_edge(e, g, a, b);
		}
	}
}

static struct graph make_graph(const struct cluster *c, const bool *kept,
			       const struct hroller_opts *o, struct edges *e)
{
	size_t n = (size_t)c->n_nodes;
	struct graph g = {.n = c->n_nodes,
			  .edges = xcalloc(n * n + 1, sizeof(int))};

	for (int i = 0; i < c->n_instances; i++) {
		int p = c->instances[i].primary, s = c->instances[i].secondary;

		if (c->instances[i].template != TEMPLATE_DRBD ||
		    s == NO_INDEX || !kept[p] || !kept[s])
			continue;
		add_edge(e, &g, p, s);
		add_edge(e, &g, s, p);
	}
	if (!o->offline_maintenance)
		add_shared_secondaries(c, kept, &g, e);
	return g;
}

/* Each node in the range with those at the other ends, the last edge first. */
static void print_graph(const struct edges *e, const bool *range, int n)
{
	auto_buf struct buf b = {0};
	int first = 0, last = n - 1;

	while (first < n && !range[first])
		first++;
	while (last > first && !range[last])
		last--;
	buf_addf(&b, "Node Graph: array (%d,%d) [", first, last);
	for (int v = first; v <= last; v++) {
		const char *comma = "";

		buf_addf(&b, "%s(%d,[", v > first ? "," : "", v);
		for (size_t i = e->n; i-- > 0;)
			if (e->items[i].from == v) {
				buf_addf(&b, "%s%d", comma, e->items[i].to);
				comma = ",";
			}
		buf_adds(&b, "])");
	}
	printf("%s]\n", b.data);
}

/* "LF: 4 (3,3,1,1)" */
static void add_coloring(struct buf *b, enum coloring how, const int *colors,
			 int n_colors, const bool *kept, int n)
{
	buf_addf(b, "%s: %d (", coloring_names[how], n_colors);
	for (int color = 0; color < n_colors; color++) {
		int size = 0;

		for (int i = 0; i < n; i++)
			size += kept[i] && colors[i] == color;
		buf_addf(b, "%s%d", color > 0 ? "," : "", size);
	}
	buf_addc(b, ')');
}

/* All colourings by their number of colours; the names decide ties. */
static void add_colorings(struct buf *b, const struct graph *g,
			  const bool *kept, int *const colors[],
			  const int *n_colors)
{
	static const enum coloring order[] = {COLOR_DCOLOR, COLOR_DSATUR,
					      COLOR_LF};
	int before = -1;

	for (int n = 0; n <= g->n; n++)
		for (int i = 0; i < COLORINGS; i++) {
			enum coloring how = order[i];

			if (n_colors[how] != n)
				continue;
			if (before >= 0)
				buf_adds(b, before == n ? " TIE " : " LOOSE ");
			add_coloring(b, how, colors[how], n, kept, g->n);
			before = n;
		}
	buf_addc(b, '\n');
}

/* The colours that need the fewest rounds. */
static int *best_coloring(const struct graph *g, const bool *kept,
			  const struct hroller_opts *o, struct buf *ret_text)
{
	int *colors[COLORINGS], n[COLORINGS];
	enum coloring best = COLOR_LF;

	for (int i = 0; i < COLORINGS; i++) {
		colors[i] = xcalloc((size_t)g->n + 1, sizeof(int));
		n[i] = coloring_run(g, (enum coloring)i, colors[i]);
		if (n[i] < n[best])
			best = (enum coloring)i;
	}
	if (o->verbose > 1)
		add_colorings(ret_text, g, kept, colors, n);
	for (int i = 0; i < COLORINGS; i++)
		if (i != (int)best)
			free(colors[i]);
	return colors[best];
}

/* Divide the nodes of one colour into rounds.  Those between the ones that
 * were selected take part, and drop out afterwards. */
static int add_rounds(struct cluster *c, const bool *range, const int *colors,
		      int color, enum clearing what, struct rounds *ret,
		      struct error *err)
{
	auto_free int *nodes = xcalloc((size_t)c->n_nodes + 1, sizeof(int));
	int n = 0;

	for (int i = 0; i < c->n_nodes; i++)
		if (range[i] && colors[i] == color)
			nodes[n++] = i;
	return clearing_divide(c, nodes, n, what, ret->items, &ret->n, err);
}

/* The biggest first; of equal ones as before.  The round with the master goes
 * last, and the master last in it. */
static void order_rounds(const struct cluster *c, struct rounds *rounds)
{
	for (int i = 0; i < rounds->n; i++) {
		struct round r = rounds->items[i];
		int at = i;

		for (int j = 0; j + 1 < r.n; j++)
			if (c->nodes[r.nodes[j]].master) {
				int master = r.nodes[j];

				memmove(&r.nodes[j], &r.nodes[j + 1],
					(size_t)(r.n - j - 1) * sizeof(int));
				r.nodes[r.n - 1] = master;
			}
		r.has_master = r.n > 0 && c->nodes[r.nodes[r.n - 1]].master;
		while (at > 0 &&
		       (rounds->items[at - 1].has_master ||
			(!r.has_master && rounds->items[at - 1].n < r.n))) {
			rounds->items[at] = rounds->items[at - 1];
			at--;
		}
		rounds->items[at] = r;
	}
}

static void print_moves(const struct cluster *c, const struct round *r)
{
	for (int i = 0; i < c->n_instances; i++) {
		const struct instance *inst = &c->instances[i];
		const struct place *p = &r->places[i];

		if (p->primary == inst->primary &&
		    p->secondary == inst->secondary)
			continue;
		printf("  %s %s", inst->name, c->nodes[p->primary].name);
		if (inst->template == TEMPLATE_DRBD && p->secondary != NO_INDEX)
			printf(" %s", c->nodes[p->secondary].name);
		printf("\n");
	}
}

static void print_rounds(const struct cluster *c, const struct rounds *rounds,
			 const struct hroller_opts *o)
{
	const char *separator = o->one_step_only ? "\n" : ",";

	if (!o->no_headers)
		puts(o->one_step_only ? "'First Reboot Group'"
				      : "'Node Reboot Groups'");
	for (int i = 0; i < rounds->n; i++) {
		const struct round *r = &rounds->items[i];

		for (int j = 0; j < r->n; j++)
			printf("%s%s", j > 0 ? separator : "",
			       c->nodes[r->nodes[j]].name);
		printf("\n");
		if (o->print_moves)
			print_moves(c, r);
		if (o->one_step_only)
			return;
	}
}

static int check_master(const struct cluster *c, const struct hroller_opts *o,
			struct error *err)
{
	static const char text[] =
		"No master node found (maybe not supported by backend).";
	auto_buf struct buf names = {0};
	int n = 0;

	for (int i = 0; i < c->n_nodes; i++) {
		const struct node *node = &c->nodes[i];

		if (!node->master)
			continue;
		buf_adds(&names, n++ > 0 ? "," : "");
		hf_show_string(&names, node->name, strlen(node->name));
	}
	if (n > 1)
		return error_set(err, ERR_PREREQ, NULL,
				 "Found more than one master node: [%s]",
				 names.data);
	if (n == 0 && !o->force)
		return error_set(err, ERR_PREREQ, NULL, "%s", text);
	if (n == 0)
		fprintf(stderr, "Warning: %s\n", text);
	return 0;
}

static int find_group(const struct cluster *c, const char *name)
{
	for (int g = 0; g < c->n_groups; g++)
		if (strcmp(c->groups[g].name, name) == 0 ||
		    strcmp(c->groups[g].uuid, name) == 0)
			return g;
	return NO_INDEX;
}

/* All from the first to the last one kept. */
static bool *range_of(const bool *kept, int n)
{
	bool *range = xcalloc((size_t)n + 1, sizeof(*range));
	int last = n - 1;

	while (last >= 0 && !kept[last])
		last--;
	for (int i = 0; i <= last; i++)
		range[i] = kept[i] || (i > 0 && range[i - 1]);
	return range;
}

/* Only the nodes kept stay in the rounds; one that has none left is shown all
 * the same, with its moves. */
static void filter_rounds(struct rounds *rounds, const bool *kept)
{
	for (int i = 0; i < rounds->n; i++) {
		struct round *r = &rounds->items[i];
		int n = 0;

		for (int j = 0; j < r->n; j++)
			if (kept[r->nodes[j]])
				r->nodes[n++] = r->nodes[j];
		r->n = n;
	}
}

/* Divide the rounds again, so that secondaries can leave, too. */
static int clear_fully(struct cluster *c, struct rounds *rounds,
		       struct error *err)
{
	struct rounds all = {.items = arena_calloc(&c->arena,
						   (size_t)c->n_nodes + 1,
						   sizeof(*all.items))};

	for (int i = 0; i < rounds->n; i++)
		if (clearing_divide_fully(c, &rounds->items[i], all.items,
					  &all.n, err) < 0)
			return -1;
	*rounds = all;
	return 0;
}

static int make_rounds(struct cluster *c, const bool *kept,
		       const struct hroller_opts *o, struct rounds *ret,
		       struct buf *ret_text, struct error *err)
{
	struct edges edges = {0};
	struct graph g = make_graph(c, kept, o, &edges);
	auto_free bool *range = range_of(kept, c->n_nodes);
	auto_free int *colors = NULL;
	enum clearing what =
		o->ignore_non_redundant ? CLEAR_NOTHING : CLEAR_LOOSE;
	int rc = 0;

	if (o->verbose > 2)
		print_graph(&edges, range, c->n_nodes);
	colors = best_coloring(&g, range, o, ret_text);
	free(g.edges);
	free(edges.items);
	for (int color = 0; color < c->n_nodes && rc == 0; color++)
		rc = add_rounds(c, range, colors, color, what, ret, err);
	if (rc == 0 && o->full_evacuation)
		rc = clear_fully(c, ret, err);
	filter_rounds(ret, kept);
	return rc;
}

static int run(struct tool *t, struct cluster *c, struct error *err)
{
	const struct hroller_opts *o = tool_options(t, &hroller_program);
	auto_free bool *kept = NULL;
	auto_buf struct buf colorings = {0};
	struct rounds rounds = {0};
	int group = NO_INDEX;

	if (tool_read(t, c, err) < 0 || check_master(c, o, err) < 0 ||
	    tool_set_offline(t, c, err) < 0 ||
	    save_original(c, o->save, "before hroller run", err) < 0)
		return -1;
	if (o->group != NULL) {
		group = find_group(c, o->group);
		if (group == NO_INDEX)
			return error_set(err, ERR_PREREQ, NULL,
					 "Cannot find target group.");
	}
	kept = select_nodes(c, o, group);
	if (memchr(kept, true, (size_t)c->n_nodes) == NULL)
		return error_set(err, ERR_PREREQ, NULL,
				 "Cannot create node graph");
	rounds.items = arena_calloc(&c->arena, (size_t)c->n_nodes + 1,
				    sizeof(*rounds.items));
	if (make_rounds(c, kept, o, &rounds, &colorings, err) < 0)
		return -1;
	if (colorings.len > 0)
		fputs(colorings.data, stdout);
	order_rounds(c, &rounds);
	print_rounds(c, &rounds, o);
	return 0;
}

int main(int argc, char **argv)
{
	return tool_main(&hroller_program, argc, argv, run);
}
