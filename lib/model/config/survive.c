/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries the sets of lost nodes recursively and remembers the worst one.  For
 * each set the instances of the lost nodes are placed anew: first the mirrored
 * ones, as each has only one possible node, then the others by best fit.  When
 * there are too many sets, the nodes with the least memory are never lost. */
#include "lib/model/config/survive.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

struct space {
	int64_t memory;
	double vcpus;
};

/* One search; the arrays are as long as the group's. */
struct search {
	const struct survive_group *g;
	struct space *before; /* free on each node beside its own instances */
	struct space *left;   /* the same, less the instances placed on it */
	size_t *order;	      /* instances, largest first */
	size_t *candidates;   /* nodes to lose */
	size_t n_candidates;
	bool *lost;	/* node */
	bool *homeless; /* instance */
	size_t chosen[SURVIVE_LOSSES_MAX];
	size_t n_chosen;
	struct survive_loss *worst;
};

/* --- one set of lost nodes --- */

static bool fits(const struct search *s, size_t node,
		 const struct survive_instance *inst)
{
	return !s->lost[node] && !s->g->nodes[node].closed &&
	       s->left[node].memory >= inst->memory &&
	       s->left[node].vcpus >= (double)inst->vcpus;
}

/* The node that keeps the least memory if it takes the instance; n_nodes if
 * none can take it. */
static size_t best_fit(const struct search *s,
		       const struct survive_instance *inst)
{
	size_t best = s->g->n_nodes;

	for (size_t i = 0; i < s->g->n_nodes; i++)
		if (fits(s, i, inst) &&
		    (best == s->g->n_nodes ||
		     s->left[i].memory < s->left[best].memory))
			best = i;
	return best;
}

static void put(struct search *s, size_t node,
		const struct survive_instance *inst)
{
	s->left[node].memory -= inst->memory;
	s->left[node].vcpus -= (double)inst->vcpus;
}

/* True if the instance finds a node, or does not need one. */
static bool restart(struct search *s, const struct survive_instance *inst,
		    bool mirrored)
{
	size_t node = inst->secondary;

	if (!s->lost[inst->node] || node == SURVIVE_NOWHERE ||
	    mirrored != (node != SURVIVE_ANYWHERE))
		return true;
	if (mirrored && s->lost[node])
		return true;
	if (!mirrored)
		node = best_fit(s, inst);
	else if (!fits(s, node, inst))
		node = s->g->n_nodes;
	if (node == s->g->n_nodes)
		return false;
	put(s, node, inst);
	return true;
}

/* First the instances that have one possible node, then those that can
 * choose. */
static size_t count_homeless(struct search *s)
{
	size_t n = 0;

	memcpy(s->left, s->before, s->g->n_nodes * sizeof(*s->left));
	memset(s->homeless, 0, s->g->n_instances);
	for (int mirrored = 1; mirrored >= 0; mirrored--)
		for (size_t i = 0; i < s->g->n_instances; i++) {
			size_t index = s->order[i];

			if (restart(s, &s->g->instances[index], mirrored))
				continue;
			s->homeless[index] = true;
			n++;
		}
	return n;
}

static void try_set(struct search *s)
{
	struct survive_loss *worst = s->worst;
	size_t n = count_homeless(s);

	if (n <= worst->n_homeless)
		return;
	worst->n_homeless = n;
	worst->n_nodes = s->n_chosen;
	memcpy(worst->nodes, s->chosen, sizeof(s->chosen));
	memcpy(worst->homeless, s->homeless, s->g->n_instances);
}

/* Try all sets of at most `left` more of the candidates from `from` on. */
static void try_sets(struct search *s, size_t from, size_t left)
{
	try_set(s);
	if (left == 0)
		return;
	for (size_t i = from; i < s->n_candidates; i++) {
		s->lost[s->candidates[i]] = true;
		s->chosen[s->n_chosen++] = s->candidates[i];
		try_sets(s, i + 1, left - 1);
		s->n_chosen--;
		s->lost[s->candidates[i]] = false;
	}
}

/* --- preparation --- */

static int larger_first(const void *a, const void *b, void *arg)
{
	const struct survive_instance *all = arg;
	const struct survive_instance *x = &all[*(const size_t *)a];
	const struct survive_instance *y = &all[*(const size_t *)b];

	if (x->memory != y->memory)
		return x->memory > y->memory ? -1 : 1;
	if (x->vcpus != y->vcpus)
		return x->vcpus > y->vcpus ? -1 : 1;
	return *(const size_t *)a < *(const size_t *)b ? -1 : 1;
}

/* A lost node takes all its memory with it, used or free; so the larger a node,
 * the worse its loss. */
static int more_memory_first(const void *a, const void *b, void *arg)
{
	const struct survive_node *all = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (all[x].memory != all[y].memory)
		return all[x].memory > all[y].memory ? -1 : 1;
	return x < y ? -1 : 1;
}

/* How many sets of at most k of n there are, SURVIVE_SETS_MAX + 1 if more than
 * that. */
static size_t count_sets(size_t n, size_t k)
{
	size_t sum = 1, of_size = 1;

	for (size_t i = 1; i <= k && i <= n; i++) {
		of_size = of_size * (n - i + 1) / i;
		sum += of_size;
		if (sum > SURVIVE_SETS_MAX)
			return SURVIVE_SETS_MAX + 1;
	}
	return sum;
}

static void prepare(struct search *s, size_t failures)
{
	const struct survive_group *g = s->g;

	for (size_t i = 0; i < g->n_nodes; i++) {
		s->before[i] =
			(struct space){g->nodes[i].memory, g->nodes[i].vcpus};
		s->lost[i] = g->nodes[i].lost;
		if (!s->lost[i])
			s->candidates[s->n_candidates++] = i;
	}
	for (size_t i = 0; i < g->n_instances; i++) {
		const struct survive_instance *inst = &g->instances[i];

		s->order[i] = i;
		s->before[inst->node].memory -= inst->memory;
		s->before[inst->node].vcpus -= (double)inst->vcpus;
	}
	qsort_r(s->order, g->n_instances, sizeof(*s->order), larger_first,
		mem_unconst(g->instances));
	qsort_r(s->candidates, s->n_candidates, sizeof(*s->candidates),
		more_memory_first, mem_unconst(g->nodes));
	while (count_sets(s->n_candidates, failures) > SURVIVE_SETS_MAX)
		s->n_candidates--;
}

bool survive(const struct survive_group *group, size_t failures,
	     struct survive_loss *ret)
{
	size_t n = group->n_nodes + 1, m = group->n_instances + 1;
	auto_free struct space *before = xcalloc(n, sizeof(*before));
	auto_free struct space *left = xcalloc(n, sizeof(*left));
	auto_free size_t *order = xcalloc(m, sizeof(*order));
	auto_free size_t *candidates = xcalloc(n, sizeof(*candidates));
	auto_free bool *lost = xcalloc(n, sizeof(*lost));
	auto_free bool *homeless = xcalloc(m, sizeof(*homeless));
	struct search s = {
		.g = group,
		.before = before,
		.left = left,
		.order = order,
		.candidates = candidates,
		.lost = lost,
		.homeless = homeless,
		.worst = ret,
	};

	if (failures > SURVIVE_LOSSES_MAX)
		failures = SURVIVE_LOSSES_MAX;
	ret->n_nodes = ret->n_homeless = 0;
	prepare(&s, failures);
	try_sets(&s, 0, failures);
	return ret->n_homeless == 0;
}
