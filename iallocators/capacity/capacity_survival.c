/* SPDX-License-Identifier: BSD-2-Clause */
/* A group is looked at when it is asked about for the first time after a
 * change, so a whole cluster costs one look a placement. */
#include "iallocators/capacity/capacity_survival.h"

void survivals_init(struct survivals *s, struct cluster *c)
{
	s->c = c;
	s->groups = arena_calloc(&c->arena, (size_t)c->n_groups + 1,
				 sizeof(*s->groups));
}

bool survivals_promised(const struct survivals *s)
{
	for (int g = 0; g < s->c->n_groups; g++)
		if (s->c->groups[g].policy.max_node_failures > 0)
			return true;
	return false;
}

static void forget(struct group_survival *g)
{
	if (g->known)
		survival_done(&g->survival);
	g->known = false;
}

const struct survival *survivals_of_group(struct survivals *s, int group)
{
	struct group_survival *g = &s->groups[group];

	if (!g->known)
		survival_init(&g->survival, s->c, group, -1);
	g->known = true;
	return &g->survival;
}

bool survivals_hold(struct survivals *s, const struct instance *inst,
		    int primary, int secondary)
{
	int group = s->c->nodes[primary].group;
	struct refusal ignored;

	return s->c->groups[group].policy.max_node_failures == 0 ||
	       survival_with(survivals_of_group(s, group), inst, primary,
			     secondary, &ignored);
}

void survivals_changed(struct survivals *s, int node)
{
	forget(&s->groups[s->c->nodes[node].group]);
}

void survivals_forget(struct survivals *s)
{
	for (int g = 0; g < s->c->n_groups; g++)
		forget(&s->groups[g]);
}

void survivals_done(struct survivals *s)
{
	survivals_forget(s);
}
