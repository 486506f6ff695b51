/* SPDX-License-Identifier: BSD-2-Clause */
/* Each node is emptied in turn, from the same state: first the DRBD primaries
 * fail over, then what is on shared storage moves to the best node, then what
 * has only local disks is created again elsewhere, the biggest first.  Only
 * the indispensable checks count, but each choice is made by score. */
#include "iallocators/nplus1/redundancy.h"

#include "iallocators/model/change.h"
#include "iallocators/model/contest.h"
#include "iallocators/model/move.h"
#include "iallocators/nplus1/slots.h"
#include "lib/base/mem.h"

/* To judge costs about as much as so many moves. */
#define JUDGE_EVERY 4

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

/* Whether there is memory and disk space for it, which is all that counts but
 * for the node's own rules. */
static bool has_space(const struct node *n, const struct instance *inst)
{
	if (instance_uses_memory(inst) && n->s.usable_mem <= inst->memory)
		return false;
	return !instance_is_local(inst) || n->s.free_disk > inst->disk;
}

/* The nodes of the group that it could go to: mostly few, when it matters. */
static struct nodeset big_enough(const struct cluster *c,
				 const struct nodeset *group,
				 const struct instance *inst)
{
	struct nodeset ret = {
		.items = xcalloc((size_t)group->n + 1, sizeof(int)),
		.group = group->group};

	for (int i = 0; i < group->n; i++)
		if (has_space(&c->nodes[group->items[i]], inst))
			ret.items[ret.n++] = group->items[i];
	return ret;
}

/* To the best other node of the group, by the score of the scope. */
static bool leave(struct cluster *c, const struct nodeset *group,
		  const struct nodeset *scope, int index, contest_fn try)
{
	struct nodeset targets = big_enough(c, group, &c->instances[index]);
	struct leaving l = {.c = c,
			    .group = &targets,
			    .index = index,
			    .before = c->instances[index]};
	struct contest t = {
		.c = c, .scope = scope, .try = try, .arg = &l, .n = targets.n};
	double score;
	int best = targets.n > 0 ? contest_run(&t, &score) : NO_INDEX;
	bool ok = best != NO_INDEX && try(&l, best);

	free(targets.items);
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

/* One after the other; as soon as it is clear how that will end, no more. */
static enum slots_verdict empty(struct cluster *c, const struct nodeset *nodes,
				int node, struct evacuees rest)
{
	struct nodeset group = mates(c, nodes, node);
	enum slots_verdict v = SLOTS_UNCLEAR;

	for (int i = 0; v == SLOTS_UNCLEAR; i++) {
		bool shared;

		if (rest.n == 0)
			v = SLOTS_ENOUGH;
		else if (i % JUDGE_EVERY == 0)
			v = slots_judge(c, nodes, &c->nodes[node], &rest, true);
		if (v != SLOTS_UNCLEAR)
			break;
		shared = slots_migrates(&c->instances[*rest.instances]);
		if (!leave(c, &group, shared ? &group : nodes, *rest.instances,
			   shared ? try_move : try_recreate))
			v = SLOTS_TOO_FEW;
		slots_evacuees_next(&rest);
	}
	free(group.items);
	return v;
}

bool redundancy_of_node(struct cluster *c, const struct nodeset *nodes,
			int node)
{
	const struct ilist *l = &c->nodes[node].primaries;
	size_t mark = change_mark(c);
	struct evacuees evacuees;
	int *pri;
	bool ok;

	if (l->n == 0)
		return true;
	pri = xmemdup(l->items, (size_t)l->n * sizeof(*pri));
	evacuees = slots_evacuees(c, &c->nodes[node]);
	ok = fail_over_drbd(c, pri, l->n) &&
	     empty(c, nodes, node, evacuees) == SLOTS_ENOUGH;
	slots_evacuees_done(&evacuees);
	free(pri);
	change_undo(c, mark);
	return ok;
}
