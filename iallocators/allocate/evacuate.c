/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests that move instances, one instance after the other. */
#include "iallocators/allocate/evacuate.h"

#include "iallocators/place/explain.h"
#include "lib/base/mem.h"

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

static bool is_target(const struct cluster *c, int node, int primary,
		      const bool *excluded, struct explain *e)
{
	if (c->nodes[node].offline)
		explain_left_out(e, node, place_why_offline(&c->nodes[node]));
	else if (node == primary || excluded[node])
		explain_left_out(e, node, REFUSAL_LEFT);
	else
		return true;
	return false;
}

static struct nodeset targets_of(const struct cluster *c, int primary,
				 const bool *excluded, struct explain *e)
{
	const struct group *g = &c->groups[c->nodes[primary].group];
	struct nodeset set = {.items =
				      xcalloc((size_t)g->n_nodes, sizeof(int))};

	for (int i = 0; i < g->n_nodes; i++)
		if (is_target(c, g->nodes[i], primary, excluded, e))
			set.items[set.n++] = g->nodes[i];
	return set;
}

/* Move one instance of those listed; inst is its record and follows. */
static bool evacuate_listed(struct cluster *c, struct instance *inst, int index,
			    enum evac_mode mode, const bool *excluded,
			    const struct place_options *o,
			    struct evac_steps *steps, struct buf *reason)
{
	int group = c->nodes[inst->primary].group;
	const struct instance before = *inst;
	struct nodeset targets;
	bool ok;

	explain_subject(o->explain, c, &before,
			inst->secondary == NO_INDEX ? 1 : 2);
	explain_group(o->explain, group, NULL);
	targets = targets_of(c, inst->primary, excluded, o->explain);
	ok = evacuate_instance(c, inst, index, mode, group, &targets, o, steps,
			       reason);
	free(targets.items);
	return ok;
}

void evacuate(struct cluster *c, const int *instances, int n,
	      enum evac_mode mode, const struct place_options *o,
	      struct hail_result *ret)
{
	auto_free bool *excluded = evacuated_nodes(c, instances, n, mode);

	evac_answer_start(ret, c, (size_t)n);
	for (int i = 0; i < n; i++) {
		struct instance inst = c->instances[instances[i]];
		auto_buf struct buf reason = {0};
		struct evac_steps steps;
		int group = c->nodes[inst.primary].group;

		if (evacuate_listed(c, &inst, instances[i], mode, excluded, o,
				    &steps, &reason))
			evac_answer_moved(ret, c, &inst, group, &steps);
		else
			evac_answer_failed(ret, c, &inst, reason.data);
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

bool evacuate_relocate(struct cluster *c, int index, int64_t required_nodes,
		       const int *from, int n_from,
		       const struct place_options *o, int *ret,
		       struct buf *ret_reason)
{
	struct instance inst = c->instances[index];
	enum mirror mirror = template_table[inst.template].mirror;
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
	if (!evacuate_listed(c, &inst, index, mode, excluded, o, &steps,
			     ret_reason))
		return false;
	buf_consume(ret_reason, ret_reason->len);
	*ret = internal ? inst.secondary : inst.primary;
	return true;
}
