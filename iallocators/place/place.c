/* SPDX-License-Identifier: BSD-2-Clause */
/* What placement on one node and on two have in common. */
#include "iallocators/place/place.h"

#include <string.h>

#include "iallocators/place/explain.h"

static unsigned strictness(const struct place_options *o)
{
	return o->ignore_soft_errors ? 0 : CHANGE_STRICT;
}

/* Policy, then the node itself. */
enum fail place_add_primary(const struct place *p, int node)
{
	const struct node *n = &p->c->nodes[node];
	enum fail why =
		policy_refusal(&p->c->groups[n->group], n->exclusive_storage,
			       p->inst, &p->c->refused);

	if (why != FAIL_NONE)
		return why;
	return change_add_primary(p->c, node, p->inst, p->index,
				  strictness(p->options));
}

void place_put(const struct place *p, int primary, int secondary)
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
	place_put(p, s->primary, s->secondary);
	change_commit(p->c);
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

static bool allowed(const struct place_options *o, const char *name)
{
	if (!o->has_restriction)
		return true;
	for (size_t i = 0; i < o->n_restriction; i++)
		if (strcmp(o->restriction[i], name) == 0)
			return true;
	return false;
}

enum refusal_kind place_why_offline(const struct node *n)
{
	if (n->drained)
		return REFUSAL_DRAINED;
	return n->not_vm_capable ? REFUSAL_NOT_VM_CAPABLE : REFUSAL_OFFLINE;
}

struct nodeset place_candidates(struct cluster *c, int group,
				const struct place_options *o)
{
	struct nodeset set = cluster_group_nodes(c, group), ret = {0};

	ret.items = arena_calloc(&c->arena, (size_t)set.n, sizeof(int));
	for (int i = 0; i < set.n; i++) {
		const struct node *n = &c->nodes[set.items[i]];

		if (n->offline)
			explain_left_out(o->explain, set.items[i],
					 place_why_offline(n));
		else if (!allowed(o, n->name))
			explain_left_out(o->explain, set.items[i],
					 REFUSAL_RESTRICTED);
		else
			ret.items[ret.n++] = set.items[i];
	}
	return ret;
}
