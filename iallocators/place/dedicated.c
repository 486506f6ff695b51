/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement on nodes with exclusive storage (partitioned allocation): they are
 * divided into parts of standard sizes, and a new instance goes where it
 * destroys the fewest possibilities for others.
 *
 * For each node it is counted how many instances of each smallest allowed size
 * would still fit, before and after.  What a node loses does not depend on the
 * other one of a pair, unless it is a secondary for that already, so it is
 * counted once for each node and not for each pair. */
#include "iallocators/model/survival.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/place.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"

/* So many of a size are counted at most, and so big they are together. */
#define FIT_MAX (INT64_C(1) << 40)
#define SUM_MAX (INT64_C(1) << 60)

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

/* So many at once need what they need one after the other. */
static bool fit(struct cluster *c, int node, const struct instance *size,
		int64_t n)
{
	size_t mark = change_mark(c);
	struct instance many = *size;
	bool ok;

	many.memory *= n;
	many.disk *= n;
	many.vcpus *= n;
	many.spindle_use *= n;
	ok = change_add_primary(c, node, &many, 0, CHANGE_STRICT) == FAIL_NONE;
	change_undo(c, mark);
	return ok;
}

/* How many there could be at most; of what needs nothing one tells all. */
static int64_t most(const struct instance *size)
{
	int64_t n = FIT_MAX;

	const int64_t needs[] = {size->memory, size->disk, size->vcpus,
				 size->spindle_use};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (needs[i] <= 0)
			continue;
		any = true;
		if (SUM_MAX / needs[i] < n)
			n = SUM_MAX / needs[i];
	}
	return any ? n : 1;
}

/* How many fit, at most the limit. */
static int64_t search_fit(struct cluster *c, int node,
			  const struct instance *size, int64_t limit)
{
	int64_t low = 0, high = 1;

	while (high <= limit && fit(c, node, size, high)) {
		low = high;
		high *= 2;
	}
	if (high > limit)
		high = limit + 1;
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (fit(c, node, size, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* How many of a size fit onto a node now.  The first one is added for itself:
 * whether the node fails N+1 is reported before, and computed after it. */
static int64_t count_fit(struct cluster *c, int node,
			 const struct instance *size)
{
	size_t mark = change_mark(c);
	int64_t n = 0;

	if (change_add_primary(c, node, size, 0, CHANGE_STRICT) == FAIL_NONE)
		n = 1 + search_fit(c, node, size, most(size) - 1);
	change_undo(c, mark);
	return n;
}

static void count_fits(struct cluster *c, int node, const struct sizes *sizes,
		       int64_t *ret)
{
	for (int i = 0; i < sizes->n; i++)
		ret[i] = count_fit(c, node, &sizes->items[i]);
}

/* What a node loses when it takes the instance, or why it does not. */
struct side {
	enum fail why;
	struct refusal refused;
	struct lost lost;
};

/* One search; the arrays are as long as the candidates. */
struct search {
	const struct place *p;
	const struct nodeset *candidates;
	struct sizes sizes;
	struct side *primary;	/* as primary */
	struct side *secondary; /* as secondary for one that it has no peer
				   of */
	struct survival survival;
	struct solution *ret;
};

/* No node has this primary. */
#define STRANGER (-2)

static enum fail put(const struct search *s, int node, int primary)
{
	const struct place *p = s->p;
	const struct node *n = &p->c->nodes[node];
	unsigned flags = p->options->ignore_soft_errors ? 0 : CHANGE_STRICT;
	enum fail why;

	p->inst->location = 0;
	if (primary != node)
		return change_add_secondary(p->c, node, p->inst, p->index,
					    primary, CHANGE_STRICT);
	why = policy_refusal(&p->c->groups[n->group], n->exclusive_storage,
			     p->inst, &p->c->refused);
	if (why != FAIL_NONE)
		return why;
	return change_add_primary(p->c, node, p->inst, p->index, flags);
}

/* Look at a node that is primary itself, or secondary for `primary`. */
static void look(const struct search *s, int node, int primary,
		 struct side *ret)
{
	struct cluster *c = s->p->c;
	int64_t before[LOST_MAX], after[LOST_MAX];
	size_t mark = change_mark(c);

	*ret = (struct side){.lost = {.n = s->sizes.n}};
	count_fits(c, node, &s->sizes, before);
	ret->why = put(s, node, primary);
	ret->refused = c->refused;
	if (ret->why != FAIL_NONE)
		return;
	count_fits(c, node, &s->sizes, after);
	for (int i = 0; i < s->sizes.n; i++)
		ret->lost.counts[i] = before[i] - after[i];
	ret->lost.free_disk = c->nodes[node].s.free_disk;
	change_undo(c, mark);
}

/* Offer a place; secondary may be NO_INDEX. */
static void offer(struct search *s, int primary, int secondary,
		  const struct lost *lost)
{
	const struct place *p = s->p;
	struct solution place = {.found = true,
				 .dedicated = true,
				 .primary = primary,
				 .secondary = secondary,
				 .lost = *lost};
	struct refusal why;

	if (!solution_wins(&place, s->ret)) {
		s->ret->successes++;
		explain_possible(p->options->explain, &place);
		return;
	}
	if (!survival_with(&s->survival, p->inst, primary, secondary, &why)) {
		s->ret->fails[FAIL_N1]++;
		explain_refused_for(p->options->explain,
				    secondary == NO_INDEX ? ROLE_PRIMARY
							  : ROLE_PAIR,
				    primary, secondary, &why);
		return;
	}
	s->ret->successes++;
	explain_possible(p->options->explain, &place);
	s->ret->found = true;
	s->ret->primary = primary;
	s->ret->secondary = secondary;
	s->ret->lost = *lost;
}

static struct lost sum_of(const struct lost *a, const struct lost *b)
{
	struct lost sum = *a;

	for (int i = 0; i < sum.n; i++)
		sum.counts[i] += b->counts[i];
	sum.free_disk += b->free_disk;
	return sum;
}

static void try_pair(struct search *s, int i, int j)
{
	int primary = s->candidates->items[i];
	int secondary = s->candidates->items[j];
	const struct node *n = &s->p->c->nodes[secondary];
	const struct side *other = &s->secondary[j];
	struct side special;
	struct lost lost;

	if (counts_get(&n->peers, primary) != 0) {
		look(s, secondary, primary, &special);
		if (special.why != FAIL_NONE && other->why == FAIL_NONE)
			explain_refused_for(s->p->options->explain, ROLE_PAIR,
					    primary, secondary,
					    &special.refused);
		other = &special;
	}
	if (other->why != FAIL_NONE) {
		s->ret->fails[other->why]++;
		return;
	}
	lost = sum_of(&s->primary[i].lost, &other->lost);
	offer(s, primary, secondary, &lost);
}

/* All places with one primary. */
static void try_primary(struct search *s, int i)
{
	const struct side *side = &s->primary[i];
	bool pairs = s->p->required_nodes == 2;
	int n = s->candidates->n;

	if (side->why != FAIL_NONE)
		s->ret->fails[side->why] += pairs ? n - 1 : 1;
	else if (!pairs)
		offer(s, s->candidates->items[i], NO_INDEX, &side->lost);
	for (int j = 0; j < n && pairs && side->why == FAIL_NONE; j++)
		if (j != i)
			try_pair(s, i, j);
}

static void tell(const struct search *s, enum explain_role role, int i,
		 const struct side *side)
{
	if (side->why != FAIL_NONE)
		explain_refused_for(s->p->options->explain, role,
				    s->candidates->items[i], NO_INDEX,
				    &side->refused);
}

static void look_at_all(struct search *s)
{
	for (int i = 0; i < s->candidates->n; i++) {
		int node = s->candidates->items[i];

		look(s, node, node, &s->primary[i]);
		tell(s, ROLE_PRIMARY, i, &s->primary[i]);
		if (s->p->required_nodes != 2)
			continue;
		look(s, node, STRANGER, &s->secondary[i]);
		tell(s, ROLE_SECONDARY, i, &s->secondary[i]);
	}
}

int place_dedicated(const struct place *p, const struct nodeset *candidates,
		    struct solution *ret, struct error *err)
{
	size_t n = (size_t)candidates->n + 1;
	struct search s = {.p = p, .candidates = candidates, .ret = ret};
	int group;

	memset(ret, 0, sizeof(*ret));
	ret->dedicated = true;
	if (place_check_count(p, candidates, err) < 0)
		return -1;
	group = p->c->nodes[candidates->items[0]].group;
	list_sizes(&p->c->groups[group].policy, &s.sizes);
	s.primary = xcalloc(n, sizeof(*s.primary));
	s.secondary = xcalloc(n, sizeof(*s.secondary));
	survival_init(&s.survival, p->c, group, p->options->max_node_failures);
	look_at_all(&s);
	for (int i = 0; i < candidates->n; i++)
		try_primary(&s, i);
	explain_count(p->options->explain, ret->successes,
		      p->required_nodes == 2);
	survival_done(&s.survival);
	free(s.primary);
	free(s.secondary);
	return 0;
}
