/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement on nodes with exclusive storage (partitioned allocation): they are
 * divided into parts of standard sizes, and a new instance goes where it
 * destroys the fewest possibilities for others.
 *
 * For each node it is counted how many instances of each smallest allowed size
 * would still fit, before and after. */
#include "iallocators/explain.h"
#include "iallocators/promises.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

/* A policy that allows instances of nothing would count for ever. */
#define FIT_MAX 10000

/* The smallest instances of each interval of a group, the biggest disk
 * first. */
struct sizes {
	struct instance items[LOST_MAX];
	int n;
};

static void list_sizes(const struct policy *p, struct sizes *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < p->n_intervals && i < LOST_MAX; i++) {
		const struct ispec *min = &p->intervals[i].min;
		int at = ret->n++;

		while (at > 0 && ret->items[at - 1].disk < min->disk) {
			ret->items[at] = ret->items[at - 1];
			at--;
		}
		ret->items[at] =
			(struct instance){.memory = min->memory,
					  .disk = min->disk,
					  .vcpus = min->cpus,
					  .spindle_use = min->spindle_use,
					  .template = TEMPLATE_PLAIN,
					  .status = RUN_RUNNING,
					  .secondary = NO_INDEX};
	}
}

/* How many of each size fit onto a node now, one after the other. */
static void count_fits(struct cluster *c, int node, const struct sizes *sizes,
		       int64_t *ret)
{
	size_t mark = change_mark(c);

	for (int i = 0; i < sizes->n; i++) {
		const struct instance *inst = &sizes->items[i];
		int n = 0;

		while (n < FIT_MAX &&
		       change_add_primary(c, node, inst, 0, CHANGE_STRICT) ==
			       FAIL_NONE)
			n++;
		ret[i] = n;
		change_undo(c, mark);
	}
}

/* What a node loses by what has been put on it since `before` was counted is
 * added to the metric. */
static void add_loss(struct cluster *c, int node, const struct sizes *sizes,
		     const int64_t *before, struct lost *lost)
{
	int64_t after[LOST_MAX];

	count_fits(c, node, sizes, after);
	lost->n = sizes->n;
	for (int i = 0; i < sizes->n; i++)
		lost->counts[i] += before[i] - after[i];
	lost->free_disk += c->nodes[node].s.free_disk;
}

/* One candidate: a node, or a pair of nodes. */
static enum fail try(const struct place *p, int primary, int secondary,
		     struct solution *ret)
{
	struct cluster *c = p->c;
	const struct node *n = &c->nodes[primary];
	unsigned flags = p->options->ignore_soft_errors ? 0 : CHANGE_STRICT;
	struct sizes sizes;
	int64_t before[2][LOST_MAX];
	enum fail why =
		policy_refusal(&c->groups[n->group], n->exclusive_storage,
			       p->inst, &c->refused);

	*ret = (struct solution){.found = true,
				 .dedicated = true,
				 .primary = primary,
				 .secondary = secondary};
	if (why != FAIL_NONE)
		return why;
	list_sizes(&c->groups[n->group].policy, &sizes);
	count_fits(c, primary, &sizes, before[0]);
	if (secondary != NO_INDEX)
		count_fits(c, secondary, &sizes, before[1]);
	p->inst->primary = primary;
	p->inst->secondary = secondary;
	p->inst->location = 0;
	why = change_add_primary(c, primary, p->inst, p->index, flags);
	if (why == FAIL_NONE && secondary != NO_INDEX)
		why = change_add_secondary(c, secondary, p->inst, p->index,
					   primary, CHANGE_STRICT);
	if (why != FAIL_NONE)
		return why;
	add_loss(c, primary, &sizes, before[0], &ret->lost);
	if (secondary != NO_INDEX)
		add_loss(c, secondary, &sizes, before[1], &ret->lost);
	return FAIL_NONE;
}

static void consider(const struct place *p, const struct promises *promises,
		     int primary, int secondary, struct solution *ret)
{
	size_t mark = change_mark(p->c);
	struct solution s;
	enum fail why = try(p, primary, secondary, &s);

	change_undo(p->c, mark);
	if (why != FAIL_NONE) {
		ret->fails[why]++;
		explain_refused(p->options->explain,
				secondary == NO_INDEX ? ROLE_PRIMARY
						      : ROLE_PAIR,
				primary, secondary);
		return;
	}
	if (solution_wins(&s, ret) &&
	    !promises_survive(promises, p, primary, secondary)) {
		ret->fails[FAIL_N1]++;
		return;
	}
	ret->successes++;
	explain_possible(p->options->explain, &s);
	if (!solution_wins(&s, ret))
		return;
	ret->found = true;
	ret->primary = primary;
	ret->secondary = secondary;
	ret->lost = s.lost;
}

int place_dedicated(const struct place *p, const struct nodeset *candidates,
		    struct solution *ret, struct error *err)
{
	struct promises promises = {.redundancy = {.c = NULL}};

	memset(ret, 0, sizeof(*ret));
	ret->dedicated = true;
	if (place_check_count(p, candidates, err) < 0)
		return -1;
	survival_init(&promises.survival, p->c,
		      p->c->nodes[candidates->items[0]].group,
		      p->options->max_node_failures);
	for (int i = 0; i < candidates->n; i++) {
		int primary = candidates->items[i];

		if (p->required_nodes == 1)
			consider(p, &promises, primary, NO_INDEX, ret);
		for (int j = 0; j < candidates->n && p->required_nodes == 2;
		     j++)
			if (j != i)
				consider(p, &promises, primary,
					 candidates->items[j], ret);
	}
	explain_count(p->options->explain, ret->successes,
		      p->required_nodes == 2);
	promises_done(&promises);
	return 0;
}
