/* SPDX-License-Identifier: BSD-2-Clause */
/* Scores of pairs are computed incrementally from the statistics of the
 * cluster before, scores of single nodes from nothing; the last bits differ,
 * and ties rely on which is used. */
#include "iallocators/place.h"

#include <math.h>
#include <string.h>

#include "iallocators/hformat.h"
#include "iallocators/redundancy.h"
#include "iallocators/score.h"
#include "lib/base/mem.h"

static unsigned strictness(const struct place_options *o)
{
	return o->ignore_soft_errors ? 0 : CHANGE_STRICT;
}

/* Policy, then the node itself. */
static enum fail add_primary(const struct place *p, int node)
{
	const struct node *n = &p->c->nodes[node];
	enum fail why = policy_check(&p->c->groups[n->group],
				     n->exclusive_storage, p->inst);

	if (why != FAIL_NONE)
		return why;
	return change_add_primary(p->c, node, p->inst, p->index,
				  strictness(p->options));
}

/* One candidate that took the instance. */
struct tried {
	int node; /* the secondary of a pair, or the single node */
	double score;
	bool rejected;
};

/* Do it again, for the check of redundancy or for good. */
static void put(const struct place *p, int primary, int secondary)
{
	struct instance *inst = p->inst;
	struct node *n = &p->c->nodes[primary];

	inst->primary = primary;
	inst->secondary = secondary;
	inst->location = 0;
	if (secondary != NO_INDEX)
		inst->location = tagset_common(
			&n->locations, &p->c->nodes[secondary].locations);
	change_add_primary(p->c, primary, inst, p->index, 0);
	if (secondary != NO_INDEX)
		change_add_secondary(p->c, secondary, inst, p->index, primary,
				     0);
	if (!p->keeps_record)
		change_store(p->c, inst, p->index);
}

void place_apply(const struct place *p, const struct solution *s)
{
	put(p, s->primary, s->secondary);
	change_commit(p->c);
}

static bool stays_redundant(const struct place *p, int primary, int secondary)
{
	size_t mark = change_mark(p->c);
	bool ok;

	put(p, primary, secondary);
	ok = redundancy_holds(p->c, p->scope, p->options);
	change_undo(p->c, mark);
	return ok;
}

/* The best one not rejected; of equal ones the later.  NULL if none. */
static struct tried *best_of(struct tried *tried, int n)
{
	struct tried *best = NULL;

	for (int i = 0; i < n; i++)
		if (!tried[i].rejected &&
		    (best == NULL || tried[i].score <= best->score))
			best = &tried[i];
	return best;
}

bool solution_wins(const struct solution *a, const struct solution *b)
{
	if (!b->found)
		return true;
	if (!a->dedicated)
		return a->score <= b->score;
	for (int i = 0; i < a->lost.n && i < b->lost.n; i++)
		if (a->lost.counts[i] != b->lost.counts[i])
			return a->lost.counts[i] < b->lost.counts[i];
	if (a->lost.n != b->lost.n)
		return a->lost.n < b->lost.n;
	return a->lost.free_disk <= b->lost.free_disk;
}

/* Take the best of the n candidates that leaves the cluster redundant into the
 * solution, if it wins.  primary is NO_INDEX when the candidates are single
 * nodes. */
static void choose(const struct place *p, int primary, struct tried *tried,
		   int n, struct solution *ret)
{
	struct tried *best;

	ret->successes += n;
	while ((best = best_of(tried, n)) != NULL) {
		int pri = primary == NO_INDEX ? best->node : primary;
		int sec = primary == NO_INDEX ? NO_INDEX : best->node;
		struct solution s = {.found = true,
				     .primary = pri,
				     .secondary = sec,
				     .score = best->score};

		if (!p->options->capacity_checks ||
		    stays_redundant(p, pri, sec)) {
			if (solution_wins(&s, ret)) {
				ret->found = true;
				ret->primary = pri;
				ret->secondary = sec;
				ret->score = best->score;
			}
			return;
		}
		best->rejected = true;
		ret->successes--;
		ret->fails[FAIL_N1]++;
	}
}

static void place_singles(const struct place *p,
			  const struct nodeset *candidates,
			  struct solution *ret)
{
	struct tried *tried = xcalloc((size_t)candidates->n, sizeof(*tried));
	int n = 0;

	for (int i = 0; i < candidates->n; i++) {
		size_t mark = change_mark(p->c);
		int node = candidates->items[i];
		enum fail why;

		p->inst->primary = node;
		p->inst->secondary = NO_INDEX;
		p->inst->location = 0;
		why = add_primary(p, node);
		if (why == FAIL_NONE)
			tried[n++] = (struct tried){
				.node = node,
				.score = score_nodes(p->c, p->scope)};
		else
			ret->fails[why]++;
		change_undo(p->c, mark);
	}
	if (n > 0 && p->ret_unsound != NULL && p->options->capacity_checks &&
	    p->inst->template == TEMPLATE_DRBD)
		*p->ret_unsound = true;
	choose(p, NO_INDEX, tried, n, ret);
	free(tried);
}

int place_check_count(const struct place *p, const struct nodeset *candidates,
		      struct error *err)
{
	if (p->required_nodes == 1 && candidates->n == 0)
		return error_set(err, ERR_PREREQ, NULL, "No online nodes");
	if (p->required_nodes == 2 && candidates->n < 2)
		return error_set(err, ERR_PREREQ, NULL,
				 "Not enough online nodes");
	if (p->required_nodes != 1 && p->required_nodes != 2)
		return error_set(err, ERR_PREREQ, NULL,
				 "Unsupported number of nodes, only one or "
				 "two  supported");
	return 0;
}

int place_ordinary(const struct place *p, const struct nodeset *candidates,
		   struct solution *ret, struct error *err)
{
	memset(ret, 0, sizeof(*ret));
	if (place_check_count(p, candidates, err) < 0)
		return -1;
	if (p->required_nodes == 1)
		place_singles(p, candidates, ret);
	else
		for (int i = 0; i < candidates->n; i++)
			place_secondary(p, candidates->items[i], candidates,
					ret);
	return 0;
}

/* Everything about one primary that its pairs have in common. */
struct pairs {
	const struct place *p;
	int primary;
	struct stats stats; /* with the instance's primary in place */
};

/* The score with the secondary too; it has been added to the node. */
static double pair_score(const struct pairs *pairs, int secondary,
			 const struct node_state *before)
{
	const struct cluster *c = pairs->p->c;
	const struct node *n = &c->nodes[secondary];
	const struct node *primary = &c->nodes[pairs->primary];
	struct stats stats = pairs->stats;

	score_replace(&stats, n, before, &n->s);
	if (!primary->offline)
		stats.sum[METRIC_LOCATION] +=
			tagset_common(&primary->locations, &n->locations);
	return score_total(&stats);
}

static bool try_pair(const struct pairs *pairs, int secondary,
		     struct tried *ret, enum fail *ret_why)
{
	const struct place *p = pairs->p;
	struct node_state before = p->c->nodes[secondary].s;
	size_t mark = change_mark(p->c);

	*ret_why = change_add_secondary(p->c, secondary, p->inst, p->index,
					pairs->primary, CHANGE_STRICT);
	if (*ret_why == FAIL_NONE)
		*ret = (struct tried){
			.node = secondary,
			.score = pair_score(pairs, secondary, &before)};
	change_undo(p->c, mark);
	return *ret_why == FAIL_NONE;
}

void place_secondary(const struct place *p, int primary,
		     const struct nodeset *secondaries, struct solution *ret)
{
	struct pairs pairs = {.p = p, .primary = primary};
	struct node *n = &p->c->nodes[primary];
	struct tried *tried = xcalloc((size_t)secondaries->n, sizeof(*tried));
	struct node_state before = n->s;
	size_t mark = change_mark(p->c);
	enum fail why_primary, why;
	int n_tried = 0;

	p->inst->primary = primary;
	p->inst->secondary = NO_INDEX;
	p->inst->location = 0;
	score_stats(p->c, p->scope, &pairs.stats);
	why_primary = add_primary(p, primary);
	score_replace(&pairs.stats, n, &before, &n->s);
	pairs.stats.sum[METRIC_LOCATION_TAGS] =
		score_location_tags(p->c, p->scope);
	for (int i = 0; i < secondaries->n; i++) {
		int node = secondaries->items[i];

		if (node == primary)
			continue;
		if (why_primary != FAIL_NONE)
			ret->fails[why_primary]++;
		else if (try_pair(&pairs, node, &tried[n_tried], &why))
			n_tried++;
		else
			ret->fails[why]++;
	}
	change_undo(p->c, mark);
	choose(p, primary, tried, n_tried, ret);
	free(tried);
}

static void describe_fails(const struct solution *s, struct buf *out)
{
	bool first = true;

	for (int i = 1; i < FAIL_COUNT; i++) {
		if (s->fails[i] == 0)
			continue;
		buf_addf(out, "%s%s: %jd", first ? "" : ", ", fail_names[i],
			 (intmax_t)s->fails[i]);
		first = false;
	}
}

static int64_t total_fails(const struct solution *s)
{
	int64_t total = 0;

	for (int i = 1; i < FAIL_COUNT; i++)
		total += s->fails[i];
	return total;
}

static void describe_metric(const struct solution *s, struct buf *out)
{
	if (!s->dedicated) {
		hf_fixed(out, s->score, 8);
		return;
	}
	buf_adds(out, "([");
	for (int i = 0; i < s->lost.n; i++)
		buf_addf(out, "%s%jd", i == 0 ? "" : ",",
			 (intmax_t)s->lost.counts[i]);
	buf_addf(out, "],%jd)", (intmax_t)s->lost.free_disk);
}

void solution_describe(const struct cluster *c, const struct solution *s,
		       struct buf *out)
{
	if (!s->found) {
		buf_adds(out, "No valid allocation solutions, failure "
			      "reasons: ");
		if (total_fails(s) == 0)
			buf_adds(out, "unknown reasons");
		describe_fails(s, out);
		return;
	}
	buf_adds(out, "score: ");
	describe_metric(s, out);
	buf_addf(out, ", successes %jd, failures %jd (", (intmax_t)s->successes,
		 (intmax_t)total_fails(s));
	describe_fails(s, out);
	buf_addf(out, ") for node(s) %s", c->nodes[s->primary].name);
	if (s->secondary != NO_INDEX)
		buf_addf(out, "/%s", c->nodes[s->secondary].name);
}

static bool allowed(const struct place_options *o, const char *name)
{
	if (!o->has_restriction)
		return true;
	for (size_t i = 0; i < o->n_restriction; i++)
		if (strcmp(o->restriction[i], name) == 0)
			return true;
	return false;
}

struct nodeset place_candidates(struct cluster *c, int group,
				const struct place_options *o)
{
	struct nodeset set = cluster_group_nodes(c, group), ret = {0};

	ret.items = arena_calloc(&c->arena, (size_t)set.n, sizeof(int));
	for (int i = 0; i < set.n; i++) {
		const struct node *n = &c->nodes[set.items[i]];

		if (!n->offline && allowed(o, n->name))
			ret.items[ret.n++] = set.items[i];
	}
	return ret;
}
