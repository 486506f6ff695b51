/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of each candidate; series_best.c and series_single.c search in
 * it.  look_at() tells whether the instance may go there, look_closely() what
 * it changes.  Both make the change and undo it.  Candidates whose values have
 * the same hash are one class. */
#include "iallocators/place/series.h"

#include <string.h>

#include "iallocators/model/change.h"
#include "iallocators/model/score.h"
#include "lib/base/mem.h"

/* No node has this primary. */
#define STRANGER (-2)

#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

static uint64_t mix_values(uint64_t hash, const struct node *n)
{
	double values[METRIC_COUNT + 1];
	uint64_t bits;

	score_values(n, &n->s, values);
	values[METRIC_COUNT] = n->total_mem; /* shares mean as much */
	for (int i = 0; i <= METRIC_COUNT; i++) {
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
	if (s->n_classes == s->cap_classes) {
		s->cap_classes = s->cap_classes * 2 + 64;
		s->classes = xrealloc(s->classes, (size_t)s->cap_classes *
							  sizeof(*s->classes));
	}
	s->classes[s->n_classes] = (struct series_class){NO_INDEX, NO_INDEX};
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
	if (p->required_nodes == 1)
		return;
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
	bound_delta(&s->primary[i], p->c, p->scope, mark);
	change_undo(p->c, mark);
	change_add_secondary(p->c, node, p->inst, p->index, STRANGER,
			     CHANGE_STRICT);
	hash = mix_values(hash, n);
	bound_delta(&s->secondary[i], p->c, p->scope, mark);
	change_undo(p->c, mark);
	s->class[i] = class_of(s, i, hash);
}

void series_look(struct series *s)
{
	size_t n = (size_t)s->candidates->n + 1;

	if (s->looked)
		return;
	s->looked = true;
	s->primary = xcalloc(n, sizeof(*s->primary));
	s->secondary = xcalloc(n, sizeof(*s->secondary));
	s->bound_primary = xcalloc(n, sizeof(*s->bound_primary));
	s->bound_secondary = xcalloc(n, sizeof(*s->bound_secondary));
	s->class = xcalloc(n, sizeof(*s->class));
	s->next_primary = xcalloc(n, sizeof(*s->next_primary));
	s->next_secondary = xcalloc(n, sizeof(*s->next_secondary));
	s->used = xcalloc(n, sizeof(*s->used));
	for (int i = 0; i < s->candidates->n; i++)
		look_closely(s, i);
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
		.seen = xcalloc(n, sizeof(int)),
		.refused = xcalloc(n, sizeof(bool)),
		.policy =
			xcalloc((size_t)p->c->n_groups + 1, sizeof(enum fail)),
	};
	for (int i = 0; i < p->c->n_nodes; i++)
		s->position[i] = -1;
	for (int i = 0; i < candidates->n; i++) {
		s->position[candidates->items[i]] = i;
		s->has_exclusive =
			s->has_exclusive ||
			p->c->nodes[candidates->items[i]].exclusive_storage;
	}
	series_look_again(s);
}

/* Take what policies say; whether that differs from before. */
static bool ask_policies(struct series *s)
{
	bool differs = false;

	for (int g = 0; g < s->p->c->n_groups; g++) {
		enum fail why =
			policy_check(&s->p->c->groups[g], false, s->p->inst);

		differs = differs || why != s->policy[g];
		s->policy[g] = why;
	}
	return differs;
}

void series_look_again(struct series *s)
{
	ask_policies(s);
	for (int i = 0; i < s->candidates->n; i++)
		look_at(s, i);
}

bool series_shrunk(struct series *s, const int *positions, int n)
{
	if (ask_policies(s) || s->has_exclusive)
		return false;
	for (int i = 0; i < n; i++)
		look_at(s, positions[i]);
	return true;
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
	free(s->refused);
	free(s->policy);
	free(s->class);
	free(s->classes);
	free(s->next_primary);
	free(s->next_secondary);
	free(s->used);
	table_done(&s->alike, NULL);
	series_singles_done(s);
}

void series_changed(struct series *s, int node)
{
	look_at(s, s->position[node]);
	if (s->looked)
		look_closely(s, s->position[node]);
	series_single_changed(s, node);
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

bool series_possible(const struct series *s, int i)
{
	return s->why_primary[i] == FAIL_NONE && !s->refused[i];
}

void series_count_singles(const struct series *s, struct solution *ret)
{
	*ret = (struct solution){0};
	for (int i = 0; i < s->candidates->n; i++)
		ret->fails[s->refused[i] ? FAIL_N1 : s->why_primary[i]]++;
	ret->successes = ret->fails[FAIL_NONE];
	ret->fails[FAIL_NONE] = 0;
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
