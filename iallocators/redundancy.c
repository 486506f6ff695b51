/* SPDX-License-Identifier: BSD-2-Clause */
/* Each node is emptied in turn, from the same state: first the DRBD primaries
 * fail over, then what is on shared storage moves to the best node, then what
 * has only local disks is created again elsewhere, the biggest first.  Only
 * the indispensable checks count, but each choice is made by score. */
#include "iallocators/redundancy.h"

#include <stdlib.h>
#include <string.h>

#include "iallocators/change.h"
#include "iallocators/contest.h"
#include "iallocators/move.h"
#include "lib/base/mem.h"

static bool fail_over_drbd(struct cluster *c, const int *pri, int n)
{
	for (int i = n - 1; i >= 0; i--) {
		struct instance inst = c->instances[pri[i]];

		if (inst.template == TEMPLATE_DRBD &&
		    move_failover(c, &inst, pri[i], true) != FAIL_NONE)
			return false;
	}
	return true;
}

static bool is_shared(const struct instance *inst)
{
	return templates[inst->template].mirror == MIRROR_EXTERNAL &&
	       inst->template != TEMPLATE_BLOCK;
}

/* One instance that is to leave its node. */
struct leaving {
	struct cluster *c;
	const struct nodeset *group;
	int index;
	struct instance before;
};

static bool try_move(void *arg, int i)
{
	struct leaving *l = arg;
	struct instance inst = l->before;
	int node = l->group->items[i];

	return node != inst.primary &&
	       move_failover_to(l->c, &inst, l->index, node, true) == FAIL_NONE;
}

static bool try_recreate(void *arg, int i)
{
	struct leaving *l = arg;
	int node = l->group->items[i];
	const struct node *n = &l->c->nodes[node];

	return node != l->before.primary &&
	       policy_check(&l->c->groups[n->group], n->exclusive_storage,
			    &l->before) == FAIL_NONE &&
	       change_add_primary(l->c, node, &l->before, l->index, 0) ==
		       FAIL_NONE;
}

/* To the best other node of the group, by the score of the scope. */
static bool leave(struct cluster *c, const struct nodeset *group,
		  const struct nodeset *scope, int index, contest_fn try)
{
	struct leaving l = {.c = c,
			    .group = group,
			    .index = index,
			    .before = c->instances[index]};
	struct contest t = {
		.c = c, .scope = scope, .try = try, .arg = &l, .n = group->n};
	double score;
	int best = contest_run(&t, &score);

	return best != NO_INDEX && try(&l, best);
}

struct by_memory {
	int64_t memory;
	int position, index;
};

/* The biggest first; of equal ones the earlier. */
static int compare_memory(const void *a, const void *b)
{
	const struct by_memory *x = a, *y = b;

	if (x->memory != y->memory)
		return x->memory < y->memory ? 1 : -1;
	return (x->position > y->position) - (x->position < y->position);
}

static bool recreate_local(struct cluster *c, const struct nodeset *nodes,
			   const struct nodeset *group, const int *pri, int n)
{
	struct by_memory *list = xcalloc((size_t)n + 1, sizeof(*list));
	int n_list = 0;
	bool ok = true;

	for (int i = n - 1; i >= 0; i--) {
		const struct instance *inst = &c->instances[pri[i]];

		if (inst->template != TEMPLATE_DRBD && !is_shared(inst))
			list[n_list++] =
				(struct by_memory){inst->memory, n - i, pri[i]};
	}
	qsort(list, (size_t)n_list, sizeof(*list), compare_memory);
	for (int i = 0; i < n_list && ok; i++)
		ok = leave(c, group, nodes, list[i].index, try_recreate);
	free(list);
	return ok;
}

/* The other nodes of the node's group within the set. */
static struct nodeset mates(const struct cluster *c,
			    const struct nodeset *nodes, int node)
{
	struct nodeset ret = {.items = xcalloc((size_t)nodes->n, sizeof(int)),
			      .group = c->nodes[node].group};

	for (int i = 0; i < nodes->n; i++)
		if (c->nodes[nodes->items[i]].group == c->nodes[node].group)
			ret.items[ret.n++] = nodes->items[i];
	return ret;
}

static bool evacuate(struct cluster *c, const struct nodeset *nodes, int node,
		     const int *pri, int n)
{
	struct nodeset group = mates(c, nodes, node);
	bool ok = fail_over_drbd(c, pri, n);

	for (int i = n - 1; i >= 0 && ok; i--)
		if (is_shared(&c->instances[pri[i]]))
			ok = leave(c, &group, &group, pri[i], try_move);
	ok = ok && recreate_local(c, nodes, &group, pri, n);
	free(group.items);
	return ok;
}

bool redundancy_of_node(struct cluster *c, const struct nodeset *nodes,
			int node)
{
	const struct ilist *l = &c->nodes[node].primaries;
	size_t mark = change_mark(c);
	int *pri;
	bool ok;

	if (l->n == 0)
		return true;
	pri = xmemdup(l->items, (size_t)l->n * sizeof(*pri));
	ok = evacuate(c, nodes, node, pri, l->n);
	free(pri);
	change_undo(c, mark);
	return ok;
}
