/* SPDX-License-Identifier: BSD-2-Clause */
/* series.c names the place with the best score; redundancy and the loss of
 * nodes are checked afterwards.  Where that gives no place for certain, all of
 * them are tried with place_singles() or place_pairs().  tell() passes each
 * change on to everything that is kept about nodes. */
#include "iallocators/capacity/capacity_run.h"

#include <string.h>

#include "iallocators/model/change.h"
#include "lib/base/mem.h"

#define RECORDS_MIN 20

static void set_fails(struct capacity *k, const struct solution *s)
{
	k->n_fails = 0;
	for (int i = 1; i < FAIL_COUNT; i++)
		k->fails[k->n_fails++] =
			(struct fail_count){(enum fail)i, s->fails[i]};
}

/* Make space for one more record, which will be inst. */
static void reserve(struct cluster *c, const struct instance *inst)
{
	if (c->n_instances >= c->cap_instances) {
		int cap = c->n_instances * 2 + RECORDS_MIN;
		struct instance *bigger =
			arena_calloc(&c->arena, (size_t)cap, sizeof(*bigger));

		if (c->n_instances > 0)
			memcpy(bigger, c->instances,
			       (size_t)c->n_instances * sizeof(*bigger));
		c->instances = bigger;
		c->cap_instances = cap;
	}
	c->instances[c->n_instances] = *inst;
}

void capacity_run_init(struct run *r, struct capacity *k,
		       const struct instance *like)
{
	struct cluster *c = k->c;

	*r = (struct run){.k = k, .inst = *like, .options = k->place};
	r->options.capacity_checks = false;
	r->p = (struct place){.c = c,
			      .inst = &r->inst,
			      .index = c->n_instances,
			      .required_nodes = k->required_nodes,
			      .scope = &k->all,
			      .options = &r->options};
	reserve(c, like);
	series_init(&r->series, &r->p, &k->candidates);
	r->tentative = xcalloc((size_t)k->candidates.n + 1, sizeof(int));
}

void capacity_run_check(struct run *r, bool checks)
{
	r->options.capacity_checks = checks;
	if (!checks)
		return;
	r->promises.tracker = capacity_tracker(r->k);
	r->hopeless = tracker_hopeless(r->promises.tracker);
}

void capacity_run_resize(struct run *r, const struct instance *like)
{
	r->inst = *like;
	reserve(r->k->c, like);
	memset(r->series.refused, 0,
	       (size_t)r->k->candidates.n * sizeof(*r->series.refused));
	r->n_tentative = 0;
}

void capacity_run_done(struct run *r)
{
	series_done(&r->series);
	free(r->tentative);
}

/* --- on one node --- */

bool capacity_run_passes(struct run *r, int position)
{
	int node = r->series.candidates->items[position];

	if (!survivals_hold(&r->k->survivals, &r->inst, node, NO_INDEX)) {
		r->series.refused[position] = true;
		return false;
	}
	if (!r->options.capacity_checks)
		return true;
	if (!r->hopeless &&
	    promises_redundant(&r->promises, &r->p, node, NO_INDEX))
		return true;
	r->series.refused[position] = true;
	if (!r->hopeless && !r->promises.tracker->for_good)
		r->tentative[r->n_tentative++] = position;
	return false;
}

static void forget_tentative(struct run *r)
{
	while (r->n_tentative > 0)
		r->series.refused[r->tentative[--r->n_tentative]] = false;
}

/* Whether one node takes it, whichever. */
static bool fits_somewhere(struct run *r)
{
	for (int i = 0; i < r->k->candidates.n; i++)
		if (series_possible(&r->series, i) && capacity_run_passes(r, i))
			return true;
	return false;
}

static void count_singles(struct run *r)
{
	struct solution s;

	series_count_singles(&r->series, &s);
	set_fails(r->k, &s);
}

/* The best node by all scores. */
static bool try_singles(struct run *r, struct solution *ret)
{
	*ret = (struct solution){0};
	place_singles(&r->p, &r->promises, &r->k->candidates, ret);
	set_fails(r->k, ret);
	return ret->found && survivals_hold(&r->k->survivals, &r->inst,
					    ret->primary, NO_INDEX);
}

static bool find_single(struct run *r, struct solution *ret)
{
	while (fits_somewhere(r)) {
		int node;

		if (!series_best_single(&r->series, &node))
			return try_singles(r, ret);
		if (capacity_run_passes(r, r->series.position[node])) {
			*ret = (struct solution){.found = true,
						 .primary = node,
						 .secondary = NO_INDEX};
			return true;
		}
	}
	count_singles(r);
	return false;
}

/* --- on two nodes --- */

/* Pairs in one group; of equal ones the later primary wins. */
static void try_group(struct run *r, int group, struct solution *best)
{
	const struct place *p = &r->p;
	const struct nodeset *candidates = &r->k->candidates;
	struct promises promises = r->promises;
	struct nodeset nodes = {.group = group};
	struct solution s = {0};

	promises.survival = *survivals_of_group(&r->k->survivals, group);

	nodes.items = xcalloc((size_t)candidates->n + 1, sizeof(int));
	for (int i = 0; i < candidates->n; i++)
		if (p->c->nodes[candidates->items[i]].group == group)
			nodes.items[nodes.n++] = candidates->items[i];
	if (nodes.n >= 2)
		place_pairs(p, &promises, &nodes, &s);
	for (int i = 0; i < FAIL_COUNT; i++)
		best->fails[i] += s.fails[i];
	if (s.found &&
	    (!best->found || s.score < best->score ||
	     (s.score <= best->score && s.primary > best->primary))) {
		best->found = true;
		best->score = s.score;
		best->primary = s.primary;
		best->secondary = s.secondary;
	}
	free(nodes.items);
}

static bool try_pairs(struct run *r, struct solution *ret)
{
	struct capacity *k = r->k;

	*ret = (struct solution){0};
	for (int g = 0; g < k->c->n_groups; g++)
		try_group(r, g, ret);
	set_fails(k, ret);
	return ret->found;
}

/* Count pairs without their scores; whether some fit, but for redundancy. */
static bool count_pairs(struct run *r)
{
	struct solution s;

	series_count(&r->series, &s);
	set_fails(r->k, &s);
	return s.found;
}

static bool find_pair(struct run *r, struct solution *ret)
{
	if (series_best(&r->series, ret) && ret->found &&
	    survivals_hold(&r->k->survivals, &r->inst, ret->primary,
			   ret->secondary))
		return true;
	return count_pairs(r) && try_pairs(r, ret);
}

/* --- both --- */

static bool on_one_node(const struct run *r)
{
	return r->k->required_nodes == 1;
}

static void tell(struct run *r, int node)
{
	if (node == NO_INDEX)
		return;
	series_changed(&r->series, node);
	survivals_changed(&r->k->survivals, node);
	if (r->k->has_tracker)
		tracker_changed(&r->k->tracker, node);
}

bool capacity_run_place(struct run *r)
{
	struct cluster *c = r->k->c;
	struct solution s;
	bool found;

	reserve(c, &r->inst);
	r->p.index = c->n_instances;
	found = on_one_node(r) ? find_single(r, &s) : find_pair(r, &s);
	forget_tentative(r);
	if (!found)
		return false;
	place_put(&r->p, s.primary, s.secondary);
	c->n_instances++;
	tell(r, s.primary);
	tell(r, s.secondary);
	return true;
}

struct capacity_run_mark capacity_run_mark(const struct run *r)
{
	return (struct capacity_run_mark){change_mark(r->k->c),
					  r->k->c->n_instances};
}

void capacity_run_undo(struct run *r, struct capacity_run_mark mark)
{
	struct cluster *c = r->k->c;
	int after = c->n_instances, n = after - mark.n_instances;
	auto_free int *nodes = xcalloc((size_t)n * 2 + 1, sizeof(*nodes));

	for (int i = 0; i < n; i++) {
		const struct instance *inst =
			&c->instances[mark.n_instances + i];

		nodes[2 * i] = inst->primary;
		nodes[2 * i + 1] = inst->secondary;
	}
	change_undo(c, mark.change);
	c->n_instances = mark.n_instances;
	for (int i = 0; i < 2 * n; i++)
		tell(r, nodes[i]);
}

bool capacity_run_count(struct run *r)
{
	struct solution s;
	bool fits;

	reserve(r->k->c, &r->inst);
	r->p.index = r->k->c->n_instances;
	if (!on_one_node(r))
		return count_pairs(r) &&
		       ((!r->options.capacity_checks &&
			 !survivals_promised(&r->k->survivals)) ||
			try_pairs(r, &s));
	fits = fits_somewhere(r);
	if (fits && r->options.capacity_checks &&
	    !survivals_promised(&r->k->survivals))
		try_singles(r, &s);
	else
		count_singles(r);
	forget_tentative(r);
	return fits;
}
