/* SPDX-License-Identifier: BSD-2-Clause */
/* Greedy colouring: the most urgent vertex without a colour gets the smallest
 * colour that none of its neighbours has.  The methods differ only in what
 * urgency() counts. */
#include "iallocators/balance/coloring.h"

#include <string.h>

#include "lib/base/mem.h"

#define NONE (-1)

const char *const coloring_names[COLORINGS] = {
	[COLOR_LF] = "LF",
	[COLOR_DSATUR] = "Dsatur",
	[COLOR_DCOLOR] = "Dcolor",
};

static int degree(const struct graph *g, int v)
{
	int d = 0;

	for (int i = 0; i < g->n; i++)
		d += g->edges[v * g->n + i];
	return d;
}

/* What decides first which vertex is next. */
static int urgency(const struct graph *g, enum coloring how, int v,
		   const int *colors, bool *seen)
{
	int n = 0;

	if (how == COLOR_LF)
		return 0;
	memset(seen, 0, (size_t)g->n * sizeof(*seen));
	for (int i = 0; i < g->n; i++) {
		int times = g->edges[v * g->n + i];

		if (times == 0 || colors[i] == NONE)
			continue;
		if (how == COLOR_DCOLOR)
			n += times;
		else if (!seen[colors[i]])
			n++;
		seen[colors[i]] = true;
	}
	return n;
}

/* The most urgent vertex without a colour; of equal ones the one with more
 * edges, then the later. */
static int next_vertex(const struct graph *g, enum coloring how,
		       const int *colors, bool *seen)
{
	int best = NONE, best_urgency = 0, best_degree = 0;

	for (int v = 0; v < g->n; v++) {
		int u, d;

		if (colors[v] != NONE)
			continue;
		u = urgency(g, how, v, colors, seen);
		d = degree(g, v);
		if (best != NONE && (u < best_urgency ||
				     (u == best_urgency && d < best_degree)))
			continue;
		best = v;
		best_urgency = u;
		best_degree = d;
	}
	return best;
}

static int free_color(const struct graph *g, int v, const int *colors,
		      bool *seen)
{
	int color = 0;

	memset(seen, 0, (size_t)g->n * sizeof(*seen));
	for (int i = 0; i < g->n; i++)
		if (g->edges[v * g->n + i] > 0 && colors[i] != NONE)
			seen[colors[i]] = true;
	while (seen[color])
		color++;
	return color;
}

int coloring_run(const struct graph *g, enum coloring how, int *ret_colors)
{
	auto_free bool *seen = xcalloc((size_t)g->n + 1, sizeof(*seen));
	int n = 0;

	for (int i = 0; i < g->n; i++)
		ret_colors[i] = NONE;
	for (int i = 0; i < g->n; i++) {
		int v = next_vertex(g, how, ret_colors, seen);
		int color = free_color(g, v, ret_colors, seen);

		ret_colors[v] = color;
		n = color + 1 > n ? color + 1 : n;
	}
	return n;
}
