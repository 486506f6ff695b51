/* SPDX-License-Identifier: BSD-2-Clause */
/* Collecting what is explained; explain_show.c prints it. */
#include "iallocators/place/explain.h"

#include <math.h>
#include <string.h>

#include "lib/base/mem.h"

const char *const explain_role_names[ROLE_COUNT] = {
	[ROLE_NODE] = "candidate",
	[ROLE_PRIMARY] = "primary",
	[ROLE_SECONDARY] = "secondary",
	[ROLE_PAIR] = "pair",
};

static void group_done(struct explain_group *g)
{
	for (int r = 0; r < ROLE_COUNT; r++)
		for (int k = 0; k < REFUSAL_COUNT; k++) {
			strv_done(&g->tallies[r][k].names);
			strv_done(&g->tallies[r][k].texts);
		}
	free(g->message);
	free(g->best);
}

static void subject_done(struct explain_subject *s)
{
	for (size_t i = 0; i < s->n_groups; i++)
		group_done(&s->groups[i]);
	free(s->groups);
	free(s->name);
	free(s->wish);
	free(s->info);
}

void explain_done(struct explain *e)
{
	for (size_t i = 0; i < e->n_subjects; i++)
		subject_done(&e->subjects[i]);
	free(e->subjects);
	*e = (struct explain){.limit = e->limit};
}

static struct explain_subject *present(const struct explain *e)
{
	return &e->subjects[e->n_subjects - 1];
}

static struct explain_group *present_group(const struct explain *e)
{
	struct explain_subject *s = present(e);

	return &s->groups[s->n_groups - 1];
}

void explain_subject(struct explain *e, struct cluster *c,
		     const struct instance *inst, int required_nodes)
{
	struct explain_subject *s;

	if (e == NULL)
		return;
	e->c = c;
	e->inst = inst;
	e->subjects = xrealloc(e->subjects,
			       (e->n_subjects + 1) * sizeof(*e->subjects));
	s = &e->subjects[e->n_subjects++];
	*s = (struct explain_subject){
		.name = xstrdup(inst->name),
		.wish = xprintf("%s, %jd MiB of memory, %jd MiB of disk, "
				"%jd virtual CPUs, on %d node%s",
				template_table[inst->template].name,
				(intmax_t)inst->memory, (intmax_t)inst->disk,
				(intmax_t)inst->vcpus, required_nodes,
				required_nodes == 1 ? "" : "s"),
		.info = xstrdup(""),
	};
}

void explain_outcome(struct explain *e, bool found, const char *text)
{
	if (e == NULL || e->n_subjects == 0)
		return;
	free(present(e)->info);
	present(e)->placed = found;
	present(e)->info = xstrdup(text);
}

void explain_group(struct explain *e, int group, const char *purpose)
{
	struct explain_subject *s;

	if (e == NULL)
		return;
	s = present(e);
	s->groups = xrealloc(s->groups, (s->n_groups + 1) * sizeof(*s->groups));
	s->groups[s->n_groups++] = (struct explain_group){
		.group = group, .purpose = purpose, .verdict = ""};
}

/* --- the best candidates --- */

/* Better ones first, of equal ones the later, as placement chooses. */
static int compare(const void *a, const void *b)
{
	const struct solution *x =
		&((const struct explain_candidate *)a)->place;
	const struct solution *y =
		&((const struct explain_candidate *)b)->place;
	bool xy = solution_wins(x, y), yx = solution_wins(y, x);

	if (xy != yx)
		return xy ? -1 : 1;
	if (x->primary != y->primary)
		return x->primary > y->primary ? -1 : 1;
	return (x->secondary < y->secondary) - (x->secondary > y->secondary);
}

/* Keep the limit. */
static void cut(const struct explain *e, struct explain_group *g)
{
	if (g->n_best == 0)
		return;
	qsort(g->best, g->n_best, sizeof(*g->best), compare);
	if (g->n_best > (size_t)e->limit)
		g->n_best = (size_t)e->limit;
}

void explain_possible(struct explain *e, const struct solution *place)
{
	struct explain_group *g;

	if (e == NULL)
		return;
	g = present_group(e);
	if (g->best == NULL) {
		g->cap_best = 2 * (size_t)e->limit;
		g->best = xcalloc(g->cap_best, sizeof(*g->best));
	}
	if (g->n_best == g->cap_best)
		cut(e, g);
	g->best[g->n_best++] = (struct explain_candidate){.place = *place};
	g->best[g->n_best - 1].place.found = true;
}

/* What is worse than this is not among the best. */
static double worst_kept(const struct explain *e, const struct explain_group *g)
{
	double worst = -HUGE_VAL;

	if (g->n_best < (size_t)e->limit)
		return HUGE_VAL;
	for (size_t i = 0; i < (size_t)e->limit; i++)
		worst = fmax(worst, g->best[i].place.score);
	return worst;
}

void explain_row(struct explain *e, int primary,
		 const struct nodeset *secondaries, const double *score,
		 double out)
{
	double worst;

	if (e == NULL)
		return;
	worst = worst_kept(e, present_group(e));
	for (int i = 0; i < secondaries->n; i++) {
		struct solution s = {.primary = primary,
				     .secondary = secondaries->items[i],
				     .score = score[i]};

		if (score[i] != out && !(score[i] > worst))
			explain_possible(e, &s);
	}
	cut(e, present_group(e));
}

void explain_count(struct explain *e, int64_t possible, bool by_pairs)
{
	if (e == NULL)
		return;
	present_group(e)->possible = possible;
	present_group(e)->by_pairs = by_pairs;
}

struct explain_candidate *explain_best(struct explain *e, size_t *ret_n)
{
	struct explain_group *g;

	*ret_n = 0;
	if (e == NULL)
		return NULL;
	g = present_group(e);
	cut(e, g);
	*ret_n = g->n_best;
	return g->best;
}

/* --- refusals --- */

static char *names_of(const struct explain *e, int primary, int secondary)
{
	const struct node *n = e->c->nodes;

	if (primary == NO_INDEX)
		return xstrdup("");
	if (secondary == NO_INDEX)
		return xstrdup(n[primary].name);
	return xprintf("%s/%s", n[primary].name, n[secondary].name);
}

void explain_refused_for(struct explain *e, enum explain_role role, int primary,
			 int secondary, const struct refusal *why)
{
	struct explain_tally *t;
	auto_free char *names = NULL;
	auto_buf struct buf text = {0};

	if (e == NULL)
		return;
	t = &present_group(e)->tallies[role][why->kind];
	if (t->count++ >= e->limit)
		return;
	names = names_of(e, primary, secondary);
	refusal_describe(e->c, e->inst, why, &text);
	strv_add(&t->names, names);
	strv_add(&t->texts, text.data);
}

void explain_refused(struct explain *e, enum explain_role role, int primary,
		     int secondary)
{
	if (e != NULL)
		explain_refused_for(e, role, primary, secondary,
				    &e->c->refused);
}

bool explain_wants(const struct explain *e, enum refusal_kind why)
{
	const struct explain_group *g;

	if (e == NULL)
		return false;
	g = present_group(e);
	return g->tallies[ROLE_PRIMARY][why].count < e->limit &&
	       g->tallies[ROLE_PAIR][why].count < e->limit;
}

void explain_left_out(struct explain *e, int node, enum refusal_kind why)
{
	const struct refusal r = {.kind = why, .node = node};

	explain_refused_for(e, ROLE_NODE, node, NO_INDEX, &r);
}

/* --- verdicts --- */

void explain_group_end(struct explain *e, const char *verdict,
		       const char *message)
{
	struct explain_group *g;

	if (e == NULL)
		return;
	g = present_group(e);
	cut(e, g);
	g->verdict = verdict;
	free(g->message);
	g->message = message == NULL ? NULL : xstrdup(message);
}

static void mark_taken(struct explain_group *g, const struct solution *taken)
{
	for (size_t i = 0; i < g->n_best; i++)
		if (g->best[i].place.primary == taken->primary &&
		    g->best[i].place.secondary == taken->secondary)
			g->best[i].taken = true;
}

void explain_verdict(struct explain *e, int group, const char *verdict,
		     const struct solution *taken)
{
	struct explain_subject *s;

	if (e == NULL)
		return;
	s = present(e);
	for (size_t i = 0; i < s->n_groups; i++) {
		if (s->groups[i].group != group)
			continue;
		s->groups[i].verdict = verdict;
		if (taken != NULL)
			mark_taken(&s->groups[i], taken);
	}
}
