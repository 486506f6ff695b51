/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/evacuate.h"

#include <string.h>

#include "iallocators/move.h"
#include "iallocators/score.h"
#include "lib/base/mem.h"

/* One search for the place of one instance. */
struct search {
	struct cluster *c;
	struct instance before; /* its record */
	int index;
	bool force;
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

/* The state now is a possible end: take it if it is not worse. */
static void consider(struct search *s, const struct evac_steps *steps)
{
	double score = score_nodes(s->c, &s->group);

	if (s->found && s->best < score) /* not >=: a NaN is replaced too */
		return;
	s->found = true;
	s->best = score;
	s->steps = *steps;
}

/* Try the same kind of step with each target. */
static void one_node(struct search *s, enum evac_step_kind kind,
		     struct buf *ret_reason)
{
	buf_adds(ret_reason, "Can't find any good node: ");
	for (int i = 0; i < s->targets->n; i++) {
		struct evac_steps steps = {
			.items = {{kind, s->targets->items[i]}}, .n = 1};
		struct instance inst = s->before;
		size_t mark = change_mark(s->c);
		enum fail why = do_step(s, &inst, steps.items[0]);

		if (why == FAIL_NONE)
			consider(s, &steps);
		else
			buf_addf(ret_reason, " Node %s failed: %s;",
				 s->c->nodes[s->targets->items[i]].name,
				 fail_names[why]);
		change_undo(s->c, mark);
	}
}

/* How the steps of a pair are called when one fails. */
static const char *const step_texts[EVAC_STEPS_MAX] = {
	"Failing over to the secondary",
	"Changing secondary to new primary",
	"Failing over to new primary",
	"Changing secondary to final secondary",
};

static void note_failure(struct buf *out, int step, enum fail why)
{
	buf_consume(out, out->len);
	buf_addf(out, "Allocation failed: %s: %s", step_texts[step],
		 fail_names[why]);
}

/* With the instance on its new primary, try all new secondaries. */
static void last_step(struct search *s, const struct instance *moved,
		      struct evac_steps *steps, int primary, struct buf *why)
{
	struct evac_step *step = &steps->items[steps->n++];

	for (int i = 0; i < s->targets->n; i++) {
		struct instance inst = *moved;
		size_t mark = change_mark(s->c);
		enum fail fail;

		if (s->targets->items[i] == primary)
			continue;
		*step = (struct evac_step){STEP_REPLACE, s->targets->items[i]};
		fail = do_step(s, &inst, *step);
		if (fail == FAIL_NONE)
			consider(s, steps);
		else
			note_failure(why, EVAC_STEPS_MAX - 1, fail);
		change_undo(s->c, mark);
	}
}

/* All steps to one new primary but the last. */
static void try_primary(struct search *s, int primary, struct buf *why)
{
	struct evac_steps steps = {.n = 0};
	struct instance inst = s->before;
	size_t mark = change_mark(s->c);
	bool offline = s->c->nodes[inst.primary].offline;
	enum fail fail = FAIL_NONE;

	if (offline)
		steps.items[steps.n++] = (struct evac_step){STEP_FAILOVER, 0};
	steps.items[steps.n++] = (struct evac_step){STEP_REPLACE, primary};
	steps.items[steps.n++] = (struct evac_step){STEP_FAILOVER, 0};
	for (int i = 0; i < steps.n && fail == FAIL_NONE; i++) {
		fail = do_step(s, &inst, steps.items[i]);
		if (fail != FAIL_NONE && s->targets->n > 1)
			note_failure(why, i + !offline, fail);
	}
	if (fail == FAIL_NONE)
		last_step(s, &inst, &steps, primary, why);
	change_undo(s->c, mark);
}

static void all_pairs(struct search *s, struct buf *ret_reason)
{
	auto_buf struct buf why = {0};

	buf_adds(&why, "no nodes available");
	for (int i = 0; i < s->targets->n; i++)
		try_primary(s, s->targets->items[i], &why);
	buf_addf(ret_reason, "Can't find any good nodes for relocation: %s",
		 why.data);
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
	change_undo(s->c, mark);
}

static void search_external(struct search *s, enum evac_mode mode,
			    struct buf *ret_reason)
{
	if (mode == EVAC_SECONDARY)
		buf_addf(ret_reason,
			 "Instances with disk template '%s' can't execute "
			 "change secondary",
			 templates[s->before.template].name);
	else
		one_node(s, STEP_FAILOVER_TO, ret_reason);
}

static void search(struct search *s, enum evac_mode mode,
		   struct buf *ret_reason)
{
	const struct template_info *t = &templates[s->before.template];

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

bool evacuate_instance(struct cluster *c, struct instance *inst, int index,
		       enum evac_mode mode, int group,
		       const struct nodeset *targets, bool ignore_soft_errors,
		       struct evac_steps *ret_steps, struct buf *ret_reason)
{
	struct search s = {.c = c,
			   .before = *inst,
			   .index = index,
			   .force = ignore_soft_errors,
			   .group = cluster_group_nodes(c, group),
			   .targets = targets};

	search(&s, mode, ret_reason);
	if (!s.found)
		return false;
	for (int i = 0; i < s.steps.n; i++)
		do_step(&s, inst, s.steps.items[i]);
	change_commit(c);
	*ret_steps = s.steps;
	return true;
}

/* Which nodes are to be emptied, by node. */
static bool *evacuated_nodes(const struct cluster *c, const int *instances,
			     int n, enum evac_mode mode)
{
	bool *ret = xcalloc((size_t)c->n_nodes + 1, sizeof(*ret));

	for (int i = 0; i < n; i++) {
		const struct instance *inst = &c->instances[instances[i]];

		if (mode != EVAC_SECONDARY)
			ret[inst->primary] = true;
		if (mode != EVAC_PRIMARY && inst->template == TEMPLATE_DRBD &&
		    inst->secondary != NO_INDEX)
			ret[inst->secondary] = true;
	}
	return ret;
}

static struct nodeset targets_of(const struct cluster *c, int primary,
				 const bool *excluded)
{
	const struct group *g = &c->groups[c->nodes[primary].group];
	struct nodeset set = {.items =
				      xcalloc((size_t)g->n_nodes, sizeof(int))};

	for (int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i] != primary && !excluded[g->nodes[i]] &&
		    !c->nodes[g->nodes[i]].offline)
			set.items[set.n++] = g->nodes[i];
	return set;
}

/* Move one instance of those listed; inst is its record and follows. */
static bool evacuate_listed(struct cluster *c, struct instance *inst, int index,
			    enum evac_mode mode, const bool *excluded,
			    bool ignore_soft_errors, struct evac_steps *steps,
			    struct buf *reason)
{
	struct nodeset targets = targets_of(c, inst->primary, excluded);
	bool ok = evacuate_instance(c, inst, index, mode,
				    c->nodes[inst->primary].group, &targets,
				    ignore_soft_errors, steps, reason);

	free(targets.items);
	return ok;
}

void evacuate(struct cluster *c, const int *instances, int n,
	      enum evac_mode mode, bool ignore_soft_errors,
	      struct evac_answer *ret)
{
	auto_free bool *excluded = evacuated_nodes(c, instances, n, mode);

	for (int i = 0; i < n; i++) {
		struct instance inst = c->instances[instances[i]];
		auto_buf struct buf reason = {0};
		struct evac_steps steps;
		int group = c->nodes[inst.primary].group;

		if (evacuate_listed(c, &inst, instances[i], mode, excluded,
				    ignore_soft_errors, &steps, &reason))
			evac_answer_moved(ret, c, &inst, group, &steps);
		else
			evac_answer_failed(ret, &inst, reason.data);
	}
}

static bool wrong_nodes(const struct instance *inst, bool internal,
			const int *from, int n_from, struct buf *ret_reason)
{
	int expected = internal ? inst->secondary : inst->primary;

	if (n_from == 1 && from[0] == expected)
		return false;
	buf_addf(ret_reason,
		 "Unsupported request: excluded nodes not equal to "
		 "instance's %s(%d versus [",
		 internal ? "secondary" : "primary", expected);
	for (int i = 0; i < n_from; i++)
		buf_addf(ret_reason, "%s%d", i == 0 ? "" : ",", from[i]);
	buf_adds(ret_reason, "])");
	return true;
}

bool relocate(struct cluster *c, int index, int64_t required_nodes,
	      const int *from, int n_from, bool ignore_soft_errors, int *ret,
	      struct buf *ret_reason)
{
	struct instance inst = c->instances[index];
	enum mirror mirror = templates[inst.template].mirror;
	bool internal = mirror == MIRROR_INTERNAL;
	enum evac_mode mode = internal ? EVAC_SECONDARY : EVAC_PRIMARY;
	auto_free bool *excluded = NULL;
	struct evac_steps steps;

	if (required_nodes != 1) {
		buf_addf(ret_reason,
			 "Exchange %jd nodes mode is not implemented",
			 (intmax_t)required_nodes);
		return false;
	}
	if (mirror == MIRROR_NONE) {
		buf_adds(ret_reason, "Can't relocate non-mirrored instances");
		return false;
	}
	if (wrong_nodes(&inst, internal, from, n_from, ret_reason))
		return false;
	excluded = evacuated_nodes(c, &index, 1, mode);
	if (!evacuate_listed(c, &inst, index, mode, excluded,
			     ignore_soft_errors, &steps, ret_reason))
		return false;
	buf_consume(ret_reason, ret_reason->len);
	*ret = internal ? inst.secondary : inst.primary;
	return true;
}
