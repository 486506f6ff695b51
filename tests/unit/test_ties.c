/* SPDX-License-Identifier: BSD-2-Clause */
/* The scores of many states at once are, to the last bit, those of each. */
#include "iallocators/place/ties.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define NODES 60
#define KINDS 3

/* What an online node has no value for. */
static bool is_void(int m)
{
	return metrics[m].kind == METRIC_OFFLINE ||
	       metrics[m].kind == METRIC_MAP;
}

/* Nodes of few kinds, as in a cluster that fills up evenly. */
static void fill_sheet(struct score_sheet *s, double rows[KINDS][METRIC_COUNT])
{
	for (int k = 0; k < KINDS; k++)
		for (int m = 0; m < METRIC_COUNT; m++)
			rows[k][m] = is_void(m)	  ? 0
				     : rand() % 3 ? (double)(rand() % 1000) / 7
						  : (double)(rand() % 4);
	for (int i = 0; i < s->online; i++)
		memcpy(s->values[i], rows[rand() % KINDS], sizeof(*s->values));
}

static void compare(unsigned seed, int wanted)
{
	struct cluster c = {.n_nodes = NODES};
	struct node nodes[NODES] = {{.total_mem = 1}};
	struct nodeset all = {.group = NO_INDEX};
	double rows[KINDS][METRIC_COUNT], with[KINDS][METRIC_COUNT];
	double scores[NODES];
	struct tie ties[NODES];
	struct score_sheet sheet;
	int items[NODES], n = 0;

	srand(seed);
	c.nodes = nodes;
	all.items = items;
	for (int i = 0; i < NODES; i++)
		items[all.n++] = i;
	score_sheet_init(&sheet, &c, &all);
	fill_sheet(&sheet, rows);
	for (int k = 0; k < KINDS; k++)
		for (int m = 0; m < METRIC_COUNT; m++)
			with[k][m] = rows[k][m] + (m % 4 ? rand() % 5 * .1 : 0);
	for (int k = 0; k < KINDS; k++)
		for (int m = 0; m < METRIC_COUNT; m++)
			if (is_void(m))
				with[k][m] = 0;
	for (int i = 0; i < NODES && n < wanted; i++)
		if (rand() % 4)
			ties[n++] = (struct tie){i, with[rand() % KINDS]};
	ties_scores(&sheet, ties, n, scores);
	for (int i = 0; i < n; i++) {
		struct stats stats;

		score_sheet_with(&sheet, ties[i].node, ties[i].values, &stats);
		cr_assert_eq(scores[i], score_total(&stats),
			     "seed %u, %d of %d", seed, i, n);
	}
	score_sheet_done(&sheet);
}

Test(ties, every_score_is_exact)
{
	for (unsigned seed = 0; seed < 100; seed++)
		compare(seed, NODES);
}

Test(ties, few_are_exact_too)
{
	for (unsigned seed = 0; seed < 20; seed++)
		for (int n = 0; n < 5; n++)
			compare(seed, n);
}
