/* SPDX-License-Identifier: BSD-2-Clause */
/* Where one instance goes that has to leave its nodes. */
#include <float.h>
#include <math.h>

#include "iallocators/allocate/evacuate.h"
#include "iallocators/model/contest.h"
#include "iallocators/model/move.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/pairs.h"
#include "lib/base/mem.h"

/* One search for the place of one instance. */
struct search {
	struct cluster *c;
	struct instance before; /* its record */
	int index;
	bool force;
	struct explain *explain; /* or NULL */
	struct nodeset group;
	const struct nodeset *targets;
	bool found;
	double best;
	struct evac_steps steps;
};

static enum fail do_step(struct search *s, struct instance *inst,
			 struct evac_step step)
{
	switch (step.kind) {
	case STEP_FAILOVER:
		return move_failover(s->c, inst, s->index, s->force);
	case STEP_FAILOVER_TO:
		return move_failover_to(s->c, inst, s->index, step.target,
					s->force);
	default:
		return move_replace_secondary(s->c, inst, s->index, step.target,
					      s->force);
	}
}

/* All targets with the same kind of step. */
struct one_node {
	struct search *s;
	enum evac_step_kind kind;
	enum fail *why; /* of each target */
};

static bool try_node(void *arg, int i)
{
	struct one_node *o = arg;
	struct instance inst = o->s->before;
	struct evac_step step = {o->kind, o->s->targets->items[i]};

	o->why[i] = do_step(o->s, &inst, step);
	return o->why[i] == FAIL_NONE;
}

/* Where the instance is with this target. */
static struct solution place_on(const struct search *s,
				enum evac_step_kind kind, int target)
{
	if (kind == STEP_REPLACE)
		return (struct solution){.primary = s->before.primary,
					 .secondary = target};
	return (struct solution){.primary = target, .secondary = NO_INDEX};
}

/* For --explain: why not, or how good. */
static void explain_targets(struct one_node *o, struct contest *t)
{
	struct search *s = o->s;
	int64_t possible = 0;

	for (int i = 0; i < s->targets->n && s->explain != NULL; i++) {
		int node = s->targets->items[i];
		struct solution place = place_on(s, o->kind, node);

		if (contest_exact(t, i, &place.score)) {
			explain_possible(s->explain, &place);
			possible++;
			continue;
		}
		try_node(o, i);
		explain_refused(s->explain,
				o->kind == STEP_REPLACE ? ROLE_SECONDARY
							: ROLE_PRIMARY,
				node, NO_INDEX);
	}
	explain_count(s->explain, possible, false);
}

static void explain_nodes(const struct one_node *o, struct buf *ret_reason)
{
	const struct nodeset *targets = o->s->targets;

	buf_adds(ret_reason, "Can't find any good node: ");
	for (int i = 0; i < targets->n; i++)
		buf_addf(ret_reason, " Node %s failed: %s;",
			 o->s->c->nodes[targets->items[i]].name,
			 fail_names[o->why[i]]);
}

static void one_node(struct search *s, enum evac_step_kind kind,
		     struct buf *ret_reason)
{
	struct one_node o = {
		.s = s,
		.kind = kind,
		.why = xcalloc((size_t)s->targets->n + 1, sizeof(*o.why)),
	};
	struct contest t = {.c = s->c,
			    .scope = &s->group,
			    .try = try_node,
			    .arg = &o,
			    .n = s->targets->n};
	int best;

	contest_init(&t);
	best = contest_best(&t);
	s->found = best != NO_INDEX;
	if (s->found)
		s->steps = (struct evac_steps){
			.items = {{kind, s->targets->items[best]}}, .n = 1};
	else
		explain_nodes(&o, ret_reason);
	explain_targets(&o, &t);
	contest_done(&t);
	free(o.why);
}

/* How the steps of a pair are called when one fails. */
static const char *const step_texts[EVAC_STEPS_MAX] = {
	"Failing over to the secondary",
	"Changing secondary to new primary",
	"Failing over to new primary",
	"Changing secondary to final secondary",
};

/* Moving to all pairs of targets. */
struct all_pairs {
	struct search *s;
	struct stats base; /* of the group, before */
	struct pairs pairs;
	int *position; /* of a node among the targets, or -1 */
	double *estimate;
	double *row_best;
	int64_t possible; /* for --explain */
};

#define OUT DBL_MAX
/* As in a contest, estimates so close are computed exactly. */
#define NEAR 1e-6

/* All steps but the last, to a new primary; *ret_step is the last one done. */
static enum fail to_primary(struct search *s, int primary,
			    struct instance *inst, struct evac_steps *ret,
			    int *ret_step)
{
	bool offline = s->c->nodes[s->before.primary].offline;
	enum fail why = FAIL_NONE;

	*inst = s->before;
	ret->n = 0;
	if (offline)
		ret->items[ret->n++] = (struct evac_step){STEP_FAILOVER, 0};
	ret->items[ret->n++] = (struct evac_step){STEP_REPLACE, primary};
	ret->items[ret->n++] = (struct evac_step){STEP_FAILOVER, 0};
	for (int i = 0; i < ret->n && why == FAIL_NONE; i++) {
		why = do_step(s, inst, ret->items[i]);
		*ret_step = i + !offline;
	}
	return why;
}

/* With inst on its new primary: the estimate for one new secondary. */
static double estimate_one(struct all_pairs *a, const struct instance *inst,
			   size_t start, int secondary)
{
	struct search *s = a->s;
	struct instance moved = *inst;
	struct stats stats = a->base;
	size_t mark = change_mark(s->c);
	struct evac_step step = {STEP_REPLACE, secondary};

	if (do_step(s, &moved, step) != FAIL_NONE) {
		explain_refused(s->explain, ROLE_PAIR, inst->primary,
				secondary);
		return OUT;
	}
	contest_update(s->c, &s->group, start, &stats);
	change_undo(s->c, mark);
	return score_total(&stats);
}

/* Secondaries that have this primary as a peer already are special. */
static void estimate_peers(struct all_pairs *a, const struct instance *inst,
			   size_t start)
{
	const struct cluster *c = a->s->c;
	const struct ilist *l = &c->nodes[inst->primary].primaries;

	for (int i = 0; i < l->n; i++) {
		int s = c->instances[l->items[i]].secondary;

		if (l->items[i] != a->s->index && s != NO_INDEX &&
		    a->position[s] >= 0)
			a->estimate[a->position[s]] =
				estimate_one(a, inst, start, s);
	}
}

/* Estimate all secondaries for the primary that inst is on now; start is the
 * mark from before it went there. */
static void estimate_row(struct all_pairs *a, const struct instance *inst,
			 size_t start)
{
	struct search *s = a->s;
	struct stats stats = a->base;
	size_t mark = change_mark(s->c);
	double total;
	bool finite;

	change_remove_secondary(s->c, inst->secondary, inst, s->index);
	contest_update(s->c, &s->group, start, &stats);
	change_undo(s->c, mark);
	stats.sum[METRIC_LOCATION] -= (double)inst->location;
	total = score_total(&stats);
	finite = isfinite(total) && a->pairs.finite;
	if (finite)
		pairs_score(&a->pairs, inst->primary, &stats);
	for (int i = 0; i < s->targets->n; i++)
		a->estimate[i] = a->pairs.fail[i] != FAIL_NONE ? OUT
				 : finite ? a->pairs.score[i]
					  : 0;
	if (finite)
		estimate_peers(a, inst, start);
	a->estimate[a->position[inst->primary]] = OUT;
}

static void explain_step(const struct search *s, int primary, int step)
{
	struct refusal why = s->c->refused;

	why.step = step_texts[step];
	explain_refused_for(s->explain, ROLE_PRIMARY, primary, NO_INDEX, &why);
}

static void explain_estimates(struct all_pairs *a, int primary)
{
	const struct search *s = a->s;

	for (int u = 0; u < s->targets->n; u++)
		a->possible += a->estimate[u] != OUT;
	explain_row(s->explain, primary, s->targets, a->estimate, OUT);
}

/* The best estimate for each new primary; the best of all is returned. */
static double estimate_all(struct all_pairs *a)
{
	struct search *s = a->s;
	double best = OUT;

	for (int t = 0; t < s->targets->n; t++) {
		size_t start = change_mark(s->c);
		struct evac_steps steps;
		struct instance inst;
		int step;

		a->row_best[t] = OUT;
		if (to_primary(s, s->targets->items[t], &inst, &steps, &step) ==
		    FAIL_NONE) {
			estimate_row(a, &inst, start);
			for (int u = 0; u < s->targets->n; u++)
				a->row_best[t] =
					fmin(a->row_best[t], a->estimate[u]);
			explain_estimates(a, inst.primary);
		} else {
			explain_step(s, s->targets->items[t], step);
		}
		change_undo(s->c, start);
		best = fmin(best, a->row_best[t]);
	}
	return best;
}

/* Compute exactly what one pair gives, and take it if it is not worse. */
static void compute(struct all_pairs *a, const struct instance *inst,
		    const struct evac_steps *steps, int secondary)
{
	struct search *s = a->s;
	struct instance moved = *inst;
	size_t mark = change_mark(s->c);
	struct evac_step step = {STEP_REPLACE, secondary};
	double score;

	if (do_step(s, &moved, step) != FAIL_NONE)
		return;
	score = score_nodes(s->c, &s->group);
	change_undo(s->c, mark);
	if (s->found && s->best < score) /* not >=: a NaN is replaced too */
		return;
	s->found = true;
	s->best = score;
	s->steps = *steps;
	s->steps.items[s->steps.n++] = step;
}

/* All pairs estimated below the limit. */
static void compute_below(struct all_pairs *a, double limit)
{
	struct search *s = a->s;

	for (int t = 0; t < s->targets->n; t++) {
		size_t start = change_mark(s->c);
		struct evac_steps steps;
		struct instance inst;
		int step;

		if (a->row_best[t] > limit)
			continue;
		to_primary(s, s->targets->items[t], &inst, &steps, &step);
		estimate_row(a, &inst, start);
		for (int u = 0; u < s->targets->n; u++)
			if (a->estimate[u] <= limit)
				compute(a, &inst, &steps, s->targets->items[u]);
		change_undo(s->c, start);
	}
}

/* For --explain: who cannot be secondary for any primary. */
static void explain_secondaries(const struct all_pairs *a, unsigned flags)
{
	const struct search *s = a->s;
	size_t mark = change_mark(s->c);

	for (int i = 0; i < s->targets->n && s->explain != NULL; i++) {
		int node = s->targets->items[i];

		if (a->pairs.fail[i] == FAIL_NONE)
			continue;
		change_add_secondary(s->c, node, &s->before, s->index, NO_INDEX,
				     flags);
		change_undo(s->c, mark);
		explain_refused(s->explain, ROLE_SECONDARY, node, NO_INDEX);
	}
}

/* The exact scores of the best estimates. */
static void explain_scores(const struct all_pairs *a)
{
	struct search *s = a->s;
	size_t n;
	struct explain_candidate *best;

	explain_count(s->explain, a->possible, true);
	best = explain_best(s->explain, &n);
	for (size_t i = 0; i < n; i++) {
		size_t mark = change_mark(s->c);
		struct evac_steps steps;
		struct instance inst;
		int step;

		to_primary(s, best[i].place.primary, &inst, &steps, &step);
		do_step(s, &inst,
			(struct evac_step){STEP_REPLACE,
					   best[i].place.secondary});
		best[i].place.score = score_nodes(s->c, &s->group);
		change_undo(s->c, mark);
	}
}

/* Nothing was possible: why the last pair was not. */
static void explain_pairs(struct search *s, struct buf *ret_reason)
{
	int n = s->targets->n, step;
	size_t mark = change_mark(s->c);
	struct evac_steps steps;
	struct instance inst;
	enum fail why;

	buf_adds(ret_reason, "Can't find any good nodes for relocation: ");
	if (n < 2) {
		buf_adds(ret_reason, "no nodes available");
		return;
	}
	why = to_primary(s, s->targets->items[n - 1], &inst, &steps, &step);
	if (why == FAIL_NONE) {
		step = EVAC_STEPS_MAX - 1;
		why = do_step(s, &inst,
			      (struct evac_step){STEP_REPLACE,
						 s->targets->items[n - 2]});
	}
	change_undo(s->c, mark);
	buf_addf(ret_reason, "Allocation failed: %s: %s", step_texts[step],
		 fail_names[why]);
}

static void all_pairs(struct search *s, struct buf *ret_reason)
{
	size_t n = (size_t)s->targets->n + 1;
	bool offline = s->c->nodes[s->before.primary].offline;
	struct all_pairs a = {
		.s = s,
		.position = xcalloc((size_t)s->c->n_nodes, sizeof(int)),
		.estimate = xcalloc(n, sizeof(double)),
		.row_best = xcalloc(n, sizeof(double)),
	};
	unsigned flags = s->force || offline ? 0 : CHANGE_STRICT;
	double best;

	score_stats(s->c, &s->group, &a.base);
	pairs_init(&a.pairs, s->c, s->targets, &s->before, flags);
	for (int i = 0; i < s->c->n_nodes; i++)
		a.position[i] = -1;
	for (int i = 0; i < s->targets->n; i++)
		a.position[s->targets->items[i]] = i;
	explain_secondaries(&a, flags);
	best = estimate_all(&a);
	explain_scores(&a);
	s->explain = NULL; /* what follows looks at the same once more */
	if (best != OUT)
		compute_below(&a, best + NEAR * fmax(1, fabs(best)));
	if (!s->found)
		explain_pairs(s, ret_reason);
	pairs_done(&a.pairs);
	free(a.position);
	free(a.estimate);
	free(a.row_best);
}

static void explain_failover(const struct search *s,
			     const struct instance *inst)
{
	struct solution place = {.primary = inst->primary,
				 .secondary = inst->secondary};

	explain_count(s->explain, s->found, true);
	if (s->explain != NULL && s->found) {
		place.score = score_nodes(s->c, &s->group);
		explain_possible(s->explain, &place);
	} else if (!s->found) {
		explain_refused(s->explain, ROLE_PRIMARY, s->before.secondary,
				NO_INDEX);
	}
}

/* A failover needs no search. */
static void only_failover(struct search *s, struct buf *ret_reason)
{
	struct instance inst = s->before;
	size_t mark = change_mark(s->c);
	enum fail why = move_failover(s->c, &inst, s->index, s->force);

	s->found = why == FAIL_NONE;
	s->steps = (struct evac_steps){.items = {{STEP_FAILOVER, 0}}, .n = 1};
	buf_adds(ret_reason, fail_names[why]);
	explain_failover(s, &inst);
	change_undo(s->c, mark);
}

static void search_external(struct search *s, enum evac_mode mode,
			    struct buf *ret_reason)
{
	if (mode == EVAC_SECONDARY)
		buf_addf(ret_reason,
			 "Instances with disk template '%s' can't execute "
			 "change secondary",
			 template_table[s->before.template].name);
	else
		one_node(s, STEP_FAILOVER_TO, ret_reason);
}

static void search(struct search *s, enum evac_mode mode,
		   struct buf *ret_reason)
{
	const struct template_info *t = &template_table[s->before.template];

	if (t->mirror == MIRROR_NONE)
		buf_addf(ret_reason, "Instances of type %s cannot be relocated",
			 t->name);
	else if (t->mirror == MIRROR_EXTERNAL)
		search_external(s, mode, ret_reason);
	else if (mode == EVAC_PRIMARY)
		only_failover(s, ret_reason);
	else if (mode == EVAC_SECONDARY)
		one_node(s, STEP_REPLACE, ret_reason);
	else
		all_pairs(s, ret_reason);
}

/* How it ended, in the group's and the instance's words. */
static void explain_end(struct explain *e, const struct instance *inst,
			int group, bool found, const char *reason)
{
	const struct solution taken = {.primary = inst->primary,
				       .secondary = inst->secondary};

	explain_group_end(e, found ? "chosen" : "no place",
			  found ? NULL : reason);
	if (found)
		explain_verdict(e, group, "chosen", &taken);
	explain_outcome(e, found, found ? "" : reason);
}

bool evacuate_instance(struct cluster *c, struct instance *inst, int index,
		       enum evac_mode mode, int group,
		       const struct nodeset *targets,
		       const struct place_options *o,
		       struct evac_steps *ret_steps, struct buf *ret_reason)
{
	struct search s = {.c = c,
			   .before = *inst,
			   .index = index,
			   .force = o->ignore_soft_errors,
			   .explain = o->explain,
			   .group = cluster_group_nodes(c, group),
			   .targets = targets};

	search(&s, mode, ret_reason);
	for (int i = 0; i < s.steps.n && s.found; i++)
		do_step(&s, inst, s.steps.items[i]);
	explain_end(o->explain, inst, group, s.found, ret_reason->data);
	if (!s.found)
		return false;
	change_commit(c);
	*ret_steps = s.steps;
	return true;
}
