/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/capacity_run.h"

#include <string.h>

#include "iallocators/change.h"
#include "lib/base/mem.h"

#define ROOM_MIN 20 /* records */

static void set_fails(struct capacity *k, const struct solution *s)
{
	k->n_fails = 0;
	for (int i = 1; i < FAIL_COUNT; i++)
		k->fails[k->n_fails++] =
			(struct fail_count){(enum fail)i, s->fails[i]};
}

/* Room for one more record, which will be inst. */
static void reserve(struct cluster *c, const struct instance *inst)
{
	if (c->n_instances >= c->cap_instances) {
		int cap = c->n_instances * 2 + ROOM_MIN;
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

void run_init(struct run *r, struct capacity *k, const struct instance *like,
	      bool checks)
{
	struct cluster *c = k->c;

	*r = (struct run){.k = k, .inst = *like, .options = k->place};
	r->options.capacity_checks = checks;
	r->p = (struct place){.c = c,
			      .inst = &r->inst,
			      .index = c->n_instances,
			      .required_nodes = k->required_nodes,
			      .scope = &k->all,
			      .options = &r->options};
	reserve(c, like);
	r->few.group = NO_INDEX;
}

/* What all tries have in common: not worth the while for one on one node. */
static void start_series(struct run *r)
{
	if (r->has_series)
		return;
	r->has_series = true;
	series_init(&r->series, &r->p, &r->k->candidates);
	r->few.items = xcalloc((size_t)r->k->candidates.n + 1, sizeof(int));
}

void run_done(struct run *r)
{
	if (r->has_series)
		series_done(&r->series);
	free(r->few.items);
}

/* Pairs in one group; of equal ones the later primary wins. */
static void try_group(const struct place *p, const struct nodeset *candidates,
		      struct promises *promises, int group,
		      struct solution *best)
{
	struct nodeset nodes = {.group = group};
	struct solution s = {0};

	nodes.items = xcalloc((size_t)candidates->n + 1, sizeof(int));
	for (int i = 0; i < candidates->n; i++)
		if (p->c->nodes[candidates->items[i]].group == group)
			nodes.items[nodes.n++] = candidates->items[i];
	if (nodes.n >= 2)
		place_pairs(p, promises, &nodes, &s);
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

/* Questions about redundancy may follow. */
static void prepare(struct run *r)
{
	struct capacity *k = r->k;

	if (!r->options.capacity_checks || k->knows_redundancy)
		return;
	k->promises = (struct promises){.redundancy = {.c = NULL}};
	redundancy_init(&k->promises.redundancy, k->c, &k->checked,
			&r->options);
	k->knows_redundancy = true;
}

/* One node, if the best is as good as any for redundancy. */
static bool try_few(struct run *r, struct solution *ret)
{
	if (!series_narrow(&r->series, &r->few) || r->few.n == 0)
		return false;
	prepare(r);
	*ret = (struct solution){0};
	place_singles(&r->p, &r->k->promises, &r->few, ret);
	return ret->found && ret->fails[FAIL_N1] == 0;
}

/* Whether one node takes it, whichever; if not, why not, which takes no
 * scores. */
static bool fits_somewhere(struct run *r, struct solution *ret)
{
	const struct nodeset *set = &r->k->candidates;

	prepare(r);
	*ret = (struct solution){0};
	for (int i = 0; i < set->n; i++) {
		size_t mark = change_mark(r->k->c);
		enum fail why;

		r->inst.primary = set->items[i];
		r->inst.secondary = NO_INDEX;
		r->inst.location = 0;
		why = place_add_primary(&r->p, set->items[i]);
		change_undo(r->k->c, mark);
		if (why == FAIL_NONE &&
		    promises_redundant(&r->k->promises, &r->p, set->items[i],
				       NO_INDEX))
			return true;
		ret->fails[why == FAIL_NONE ? FAIL_N1 : why]++;
	}
	set_fails(r->k, ret);
	return false;
}

/* All places, with checks of redundancy, and all counts. */
static void try_all(struct run *r, struct solution *ret)
{
	struct capacity *k = r->k;

	*ret = (struct solution){0};
	prepare(r);
	if (k->required_nodes == 1)
		place_singles(&r->p, &k->promises, &k->candidates, ret);
	for (int g = 0; k->required_nodes == 2 && g < k->c->n_groups; g++)
		try_group(&r->p, &k->candidates, &k->promises, g, ret);
	set_fails(k, ret);
}

bool run_try(struct run *r, bool place, struct solution *ret)
{
	bool series = r->k->required_nodes == 2;

	if (series || place)
		start_series(r);
	if (!series && place && try_few(r, ret))
		return true;
	if (!series && !fits_somewhere(r, ret))
		return false;
	if (series && place && series_best(&r->series, ret) && ret->found)
		return true;
	if (series) {
		series_count(&r->series, ret);
		set_fails(r->k, ret);
		series = !ret->found || (!place && !r->options.capacity_checks);
	}
	if (!series)
		try_all(r, ret);
	return ret->found;
}

bool run_place(struct run *r)
{
	struct cluster *c = r->k->c;
	struct solution s;

	reserve(c, &r->inst);
	r->p.index = c->n_instances;
	if (!run_try(r, true, &s))
		return false;
	place_put(&r->p, s.primary, s.secondary);
	c->n_instances++;
	series_placed(&r->series, s.primary, s.secondary);
	if (r->options.capacity_checks && r->k->required_nodes == 1)
		redundancy_changed(&r->k->promises.redundancy, s.primary);
	else
		capacity_forget(r->k);
	return true;
}

bool run_would_fit(struct capacity *k, const struct instance *like, bool checks)
{
	struct run r;
	struct solution s;
	bool fits;

	run_init(&r, k, like, checks);
	fits = k->required_nodes == 1 ? fits_somewhere(&r, &s)
				      : run_try(&r, false, &s);
	run_done(&r);
	return fits;
}
