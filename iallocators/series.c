/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/series.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "iallocators/change.h"
#include "iallocators/score.h"
#include "lib/base/mem.h"

/* No node has this primary. */
#define STRANGER (-2)

#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

static uint64_t mix_values(uint64_t hash, const struct node *n)
{
	double values[METRIC_COUNT];
	uint64_t bits;

	score_values(n, &n->s, values);
	for (int i = 0; i < METRIC_COUNT; i++) {
		memcpy(&bits, &values[i], sizeof(bits));
		hash = (hash ^ bits ^ bits >> 32) * FNV_PRIME;
	}
	return hash;
}

/* The class of a node whose values before, with the instance as primary and as
 * secondary make this hash; where places matter each node is its own. */
static int class_of(struct series *s, int i, uint64_t hash)
{
	bool places = s->p->c->has_locations;
	int group = s->p->c->nodes[s->candidates->items[i]].group;
	auto_free char *key = xprintf("%jx %d %d", (uintmax_t)hash, group,
				      places ? i + 1 : 0);
	void *found = table_get(&s->alike, key);

	if (found != NULL)
		return (int)(intptr_t)found - 1;
	if (s->n_classes == s->cap_met) {
		s->cap_met = s->cap_met * 2 + 64;
		s->met = xrealloc(s->met, (size_t)s->cap_met * sizeof(*s->met));
	}
	table_put(&s->alike, key, (void *)(intptr_t)(s->n_classes + 1));
	return s->n_classes++;
}

/* Whether the instance can go to a node. */
static void look_at(struct series *s, int i)
{
	const struct place *p = s->p;
	int node = s->candidates->items[i];
	size_t mark = change_mark(p->c);

	p->inst->primary = node;
	p->inst->secondary = NO_INDEX;
	p->inst->location = 0;
	s->why_primary[i] = place_add_primary(p, node);
	change_undo(p->c, mark);
	s->why_secondary[i] = change_add_secondary(
		p->c, node, p->inst, p->index, STRANGER, CHANGE_STRICT);
	change_undo(p->c, mark);
}

/* What it does there. */
static void look_closely(struct series *s, int i)
{
	const struct place *p = s->p;
	int node = s->candidates->items[i];
	const struct node *n = &p->c->nodes[node];
	size_t mark = change_mark(p->c);
	uint64_t hash = mix_values(FNV_START, n);

	p->inst->primary = node;
	p->inst->secondary = NO_INDEX;
	p->inst->location = 0;
	place_add_primary(p, node);
	hash = mix_values(hash, n);
	half_since(&s->primary[i], p->c, p->scope, mark);
	change_undo(p->c, mark);
	change_add_secondary(p->c, node, p->inst, p->index, STRANGER,
			     CHANGE_STRICT);
	hash = mix_values(hash, n);
	half_since(&s->secondary[i], p->c, p->scope, mark);
	change_undo(p->c, mark);
	s->class[i] = class_of(s, i, hash);
}

void series_init(struct series *s, const struct place *p,
		 const struct nodeset *candidates)
{
	size_t n = (size_t)candidates->n + 1;

	*s = (struct series){
		.p = p,
		.candidates = candidates,
		.position = xcalloc((size_t)p->c->n_nodes + 1, sizeof(int)),
		.why_primary = xcalloc(n, sizeof(enum fail)),
		.why_secondary = xcalloc(n, sizeof(enum fail)),
		.primary = xcalloc(n, sizeof(struct half)),
		.secondary = xcalloc(n, sizeof(struct half)),
		.bound_primary = xcalloc(n, sizeof(double)),
		.bound_secondary = xcalloc(n, sizeof(double)),
		.seen = xcalloc(n, sizeof(int)),
		.class = xcalloc(n, sizeof(int)),
	};
	for (int i = 0; i < p->c->n_nodes; i++)
		s->position[i] = -1;
	for (int i = 0; i < candidates->n; i++) {
		s->position[candidates->items[i]] = i;
		look_at(s, i);
	}
}

void series_done(struct series *s)
{
	free(s->position);
	free(s->why_primary);
	free(s->why_secondary);
	free(s->primary);
	free(s->secondary);
	free(s->bound_primary);
	free(s->bound_secondary);
	free(s->seen);
	free(s->class);
	free(s->met);
	table_done(&s->alike, NULL);
}

void series_placed(struct series *s, int primary, int secondary)
{
	look_at(s, s->position[primary]);
	look_at(s, s->position[secondary]);
	look_closely(s, s->position[primary]);
	look_closely(s, s->position[secondary]);
}

/* The search for one best pair. */
struct hunt {
	struct series *s;
	struct stats base;
	double total, slack;
	double low_secondary;
	struct solution *ret;
};

/* Compute all bounds; false if they mean nothing. */
static bool weigh(struct hunt *h)
{
	struct series *s = h->s;
	struct extremes primary = {0}, secondary = {0};
	struct slopes slopes;
	bool finite = isfinite(h->total);

	slopes_begin(&slopes, &h->base);
	for (int i = 0; i < s->candidates->n; i++) {
		extremes_see(&primary, &slopes, &s->primary[i]);
		extremes_see(&secondary, &slopes, &s->secondary[i]);
		finite = finite && s->primary[i].finite &&
			 s->secondary[i].finite;
	}
	if (!finite)
		return false;
	slopes_end(&slopes, &primary, &secondary, HUGE_VAL);
	h->low_secondary = HUGE_VAL;
	for (int i = 0; i < s->candidates->n; i++) {
		s->bound_primary[i] = slopes_bound(&slopes, &s->primary[i]);
		s->bound_secondary[i] = slopes_bound(&slopes, &s->secondary[i]);
		if (s->why_secondary[i] == FAIL_NONE)
			h->low_secondary =
				fmin(h->low_secondary, s->bound_secondary[i]);
	}
	return slopes_reserve_costs(&slopes);
}

/* The score of a pair as place_pairs() computes it; false if it cannot be. */
static bool compute(const struct hunt *h, int primary, int secondary,
		    double *ret_score)
{
	const struct place *p = h->s->p;
	const struct node *a = &p->c->nodes[primary];
	const struct node *b = &p->c->nodes[secondary];
	struct node_state before_a = a->s, before_b = b->s;
	struct stats stats = h->base;
	size_t mark = change_mark(p->c);
	bool ok;

	p->inst->primary = primary;
	p->inst->secondary = NO_INDEX;
	p->inst->location = 0;
	place_add_primary(p, primary);
	score_replace(&stats, a, &before_a, &a->s);
	ok = change_add_secondary(p->c, secondary, p->inst, p->index, primary,
				  CHANGE_STRICT) == FAIL_NONE;
	score_replace(&stats, b, &before_b, &b->s);
	stats.sum[METRIC_LOCATION_TAGS] = score_location_tags(p->c, p->scope);
	stats.sum[METRIC_LOCATION] +=
		tagset_common(&a->locations, &b->locations);
	change_undo(p->c, mark);
	*ret_score = score_total(&stats);
	return ok;
}

/* Of equal pairs the later primary wins, then the later secondary. */
static void offer(struct solution *best, int primary, int secondary,
		  double score)
{
	bool later = primary > best->primary ||
		     (primary == best->primary && secondary > best->secondary);

	if (best->found &&
	    !(score < best->score || (score == best->score && later)))
		return;
	best->found = true;
	best->primary = primary;
	best->secondary = secondary;
	best->score = score;
}

/* All secondaries of a primary that may be as good as the best.  Of those that
 * are alike and strangers to it the last one does. */
static void hunt_row(struct hunt *h, int i)
{
	struct series *s = h->s;
	const struct node *nodes = s->p->c->nodes;
	int primary = s->candidates->items[i];

	memset(s->met, 0, (size_t)s->n_classes * sizeof(*s->met));
	for (int j = s->candidates->n - 1; j >= 0; j--) {
		int secondary = s->candidates->items[j];
		double bound =
			h->total + s->bound_primary[i] + s->bound_secondary[j];
		bool stranger;
		double score;

		if (j == i || s->why_secondary[j] != FAIL_NONE ||
		    nodes[primary].group != nodes[secondary].group ||
		    (h->ret->found && bound > h->ret->score + h->slack))
			continue;
		stranger = counts_get(&nodes[secondary].peers, primary) == 0;
		if (stranger && s->met[s->class[j]] == 1)
			continue;
		if (stranger)
			s->met[s->class[j]] = 1;
		if (compute(h, primary, secondary, &score))
			offer(h->ret, primary, secondary, score);
	}
}

/* The primary that promises most. */
static int most_promising(const struct series *s)
{
	int best = NO_INDEX;

	for (int i = 0; i < s->candidates->n; i++)
		if (s->why_primary[i] == FAIL_NONE &&
		    (best == NO_INDEX ||
		     s->bound_primary[i] < s->bound_primary[best]))
			best = i;
	return best;
}

/* Whether the node is nobody's peer: with others alike it makes equal pairs. */
static bool is_stranger(const struct series *s, int i)
{
	return s->p->c->nodes[s->candidates->items[i]].primaries.n == 0;
}

static bool any_possible(const struct series *s)
{
	bool primary = false, secondary = false;

	for (int i = 0; i < s->candidates->n; i++) {
		primary = primary || s->why_primary[i] == FAIL_NONE;
		secondary = secondary || s->why_secondary[i] == FAIL_NONE;
	}
	return primary && secondary;
}

bool series_best(struct series *s, struct solution *ret)
{
	struct hunt h = {.s = s, .ret = ret};
	auto_free bool *rows = NULL; /* by class: one has been looked at */
	int first;

	*ret = (struct solution){0};
	if (!any_possible(s))
		return true;
	for (int i = 0; i < s->candidates->n && !s->looked; i++)
		look_closely(s, i);
	s->looked = true;
	score_stats(s->p->c, s->p->scope, &h.base);
	h.total = score_total(&h.base);
	h.slack = 2 * score_tolerance(&h.base) + DBL_EPSILON;
	if (!weigh(&h))
		return false;
	first = most_promising(s);
	hunt_row(&h, first);
	rows = xcalloc((size_t)s->n_classes, sizeof(*rows));
	for (int i = s->candidates->n - 1; i >= 0; i--) {
		double bound = h.total + s->bound_primary[i] + h.low_secondary;

		if (s->why_primary[i] != FAIL_NONE || i == first ||
		    (ret->found && bound > ret->score + h.slack))
			continue;
		if (is_stranger(s, i) && rows[s->class[i]])
			continue;
		if (is_stranger(s, i))
			rows[s->class[i]] = true;
		hunt_row(&h, i);
	}
	return true;
}

/* Why not with this primary: as for any, but for nodes that are secondaries
 * for it already and may lack the memory for one more. */
static void count_row(struct series *s, int i, const int64_t *group_fails,
		      struct solution *ret)
{
	const struct cluster *c = s->p->c;
	int primary = s->candidates->items[i];
	const struct ilist *l = &c->nodes[primary].primaries;

	for (int why = 0; why < FAIL_COUNT; why++)
		ret->fails[why] += group_fails[why];
	ret->fails[s->why_secondary[i]]--;
	for (int k = 0; k < l->n; k++) {
		int node = c->instances[l->items[k]].secondary;
		int at = node == NO_INDEX ? -1 : s->position[node];
		size_t mark = change_mark(s->p->c);
		enum fail why;

		if (at < 0 || s->seen[at] == primary + 1)
			continue;
		s->seen[at] = primary + 1;
		why = change_add_secondary(s->p->c, node, s->p->inst,
					   s->p->index, primary, CHANGE_STRICT);
		change_undo(s->p->c, mark);
		ret->fails[s->why_secondary[at]]--;
		ret->fails[why]++;
	}
}

void series_count(struct series *s, struct solution *ret)
{
	const struct cluster *c = s->p->c;
	int64_t(*fails)[FAIL_COUNT] =
		xcalloc((size_t)c->n_groups + 1, sizeof(*fails));
	int *n = xcalloc((size_t)c->n_groups + 1, sizeof(*n));

	*ret = (struct solution){0};
	memset(s->seen, 0, (size_t)s->candidates->n * sizeof(*s->seen));
	for (int i = 0; i < s->candidates->n; i++) {
		int group = c->nodes[s->candidates->items[i]].group;

		fails[group][s->why_secondary[i]]++;
		n[group]++;
	}
	for (int i = 0; i < s->candidates->n; i++) {
		int group = c->nodes[s->candidates->items[i]].group;

		if (n[group] < 2)
			continue;
		if (s->why_primary[i] == FAIL_NONE)
			count_row(s, i, fails[group], ret);
		else
			ret->fails[s->why_primary[i]] += n[group] - 1;
	}
	ret->successes = ret->fails[FAIL_NONE];
	ret->found = ret->successes > 0;
	ret->fails[FAIL_NONE] = 0;
	free(fails);
	free(n);
}
