/* SPDX-License-Identifier: BSD-2-Clause */
/* Colouring a graph so that no edge joins two vertices of a colour. */
#ifndef IALLOCATORS_BALANCE_COLORING_H
#define IALLOCATORS_BALANCE_COLORING_H

#include <stdbool.h>

/* edges[a * n + b] says how often the edge from a to b is there; a loop is an
 * edge of a vertex with itself. */
struct graph {
	int n;
	int *edges;
};

/* In which order vertices get the smallest colour that is free. */
enum coloring {
	COLOR_LF,     /* most edges first */
	COLOR_DSATUR, /* most colours around it first */
	COLOR_DCOLOR, /* most coloured neighbours first */
	COLORINGS
};

extern const char *const coloring_names[COLORINGS];

/* The colour of each vertex; how many colours there are is returned. */
int coloring_run(const struct graph *g, enum coloring how, int *ret_colors);

#endif
