/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of placement: small random clusters that are nearly full, and what
 * it means to empty a node, done in the simplest way. */
#ifndef TESTS_PLACED_H
#define TESTS_PLACED_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "iallocators/input/text.h"
#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "iallocators/model/score.h"
#include "iallocators/nplus1/slots.h"
#include "lib/base/mem.h"

#define PLACED_NODES 7

/* Two groups; the texts of the templates, repeated for more of one. */
static inline void placed_load(struct cluster *c, unsigned seed, int instances,
			       const char *const *kinds, int n_kinds)
{
	const struct load_options o = {.max_cpu_ratio = -1};
	struct buf b = {0};
	struct error err;

	srand(seed);
	buf_adds(&b, "g|u|preferred||\nh|v|preferred||\n\n");
	for (int i = 0; i < PLACED_NODES; i++)
		buf_addf(&b, "n%d|16384|512|%d|100000|%d|16|%s|%s|1||N|0|1\n",
			 i, 15872 - rand() % 2 * 6000, 60000 - rand() % 40000,
			 i == 1 && rand() % 3 == 0 ? "Y" : "N",
			 i < PLACED_NODES - 2 ? "u" : "v");
	buf_addc(&b, '\n');
	for (int i = 0; i < instances; i++) {
		int p = rand() % (PLACED_NODES - 2);
		int s = (p + 1 + rand() % (PLACED_NODES - 3)) %
			(PLACED_NODES - 2);
		const char *template = kinds[rand() % n_kinds];

		buf_addf(&b, "i%d|%d|%d|1|%s|Y|n%d|", i, 512 << rand() % 4,
			 2048 << rand() % 4,
			 rand() % 8 ? "running" : "ADMIN_down", p);
		if (strcmp(template, "drbd") == 0)
			buf_addf(&b, "n%d", s);
		buf_addf(&b, "|%s||1\n", template);
	}
	buf_adds(&b, "\n\n|128,1,1024,1,1,1|128,1,1024,1,1,1;"
		     "32768,8,1048576,16,8,12|drbd,plain,ext|4.0|32.0\n");
	memset(c, 0, sizeof(*c));
	cr_assert_eq(text_read(c, b.data, &err), 0, "%s", err.text);
	cluster_finish(c, &o);
	free(b.data);
}

/* Put instance i of the cluster on another node of the group; false if that
 * is not possible. */
static inline bool placed_go(struct cluster *c, int i, int node)
{
	struct instance inst = c->instances[i];

	if (slots_migrates(&inst))
		return move_failover_to(c, &inst, i, node, true) == FAIL_NONE;
	return policy_check(&c->groups[c->nodes[node].group],
			    c->nodes[node].exclusive_storage,
			    &inst) == FAIL_NONE &&
	       change_add_primary(c, node, &inst, i, 0) == FAIL_NONE;
}

/* To the best node by scores from nothing, of equal ones the last. */
static inline bool placed_leave(struct cluster *c, const struct nodeset *nodes,
				int i)
{
	struct nodeset mates = {.items = xcalloc((size_t)nodes->n, sizeof(int)),
				.group = NO_INDEX};
	const struct nodeset *scope =
		slots_migrates(&c->instances[i]) ? &mates : nodes;
	int from = c->instances[i].primary, best = NO_INDEX;
	double lowest = 0;

	for (int k = 0; k < nodes->n; k++)
		if (c->nodes[nodes->items[k]].group == c->nodes[from].group)
			mates.items[mates.n++] = nodes->items[k];
	for (int k = 0; k < mates.n; k++) {
		size_t mark = change_mark(c);
		double score;

		if (mates.items[k] == from || !placed_go(c, i, mates.items[k]))
			continue;
		score = score_nodes(c, scope);
		change_undo(c, mark);
		if (best == NO_INDEX || score <= lowest) {
			best = mates.items[k];
			lowest = score;
		}
	}
	free(mates.items);
	return best != NO_INDEX && placed_go(c, i, best);
}

/* Whether a node can be emptied. */
static inline bool placed_empties(struct cluster *c,
				  const struct nodeset *nodes, int node)
{
	size_t mark = change_mark(c);
	int n = c->nodes[node].primaries.n;
	int *all = xcalloc((size_t)n + 1, sizeof(int));
	int *leaving = xcalloc((size_t)n + 1, sizeof(int));
	bool ok = true;

	for (int i = 0; i < n; i++)
		all[i] = c->nodes[node].primaries.items[i];
	for (int i = n - 1; i >= 0 && ok; i--) {
		struct instance inst = c->instances[all[i]];

		ok = inst.template != TEMPLATE_DRBD ||
		     move_failover(c, &inst, all[i], true) == FAIL_NONE;
	}
	n = slots_list_evacuees(c, all, n, leaving);
	for (int i = 0; i < n && ok; i++)
		ok = placed_leave(c, nodes, leaving[i]);
	free(all);
	free(leaving);
	change_undo(c, mark);
	return ok;
}

static inline bool placed_redundant(struct cluster *c,
				    const struct nodeset *nodes)
{
	for (int i = 0; i < nodes->n; i++)
		if (!placed_empties(c, nodes, nodes->items[i]))
			return false;
	return true;
}

#endif
