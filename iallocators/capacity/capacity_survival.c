/* SPDX-License-Identifier: BSD-2-Clause */
/* A group is looked at when it is asked about for the first time after a
 * change, so a whole cluster costs one look a placement. */
#include "iallocators/capacity/capacity_survival.h"

bool capacity_promises_failures(const struct capacity *k)
{
	for (int g = 0; g < k->c->n_groups; g++)
		if (k->c->groups[g].policy.max_node_failures > 0)
			return true;
	return false;
}

static struct group_survival *find(struct capacity *k, int group)
{
	if (k->survivals == NULL)
		k->survivals =
			arena_calloc(&k->c->arena, (size_t)k->c->n_groups + 1,
				     sizeof(*k->survivals));
	return &k->survivals[group];
}

static void forget(struct group_survival *s)
{
	if (s->known)
		survival_done(&s->survival);
	s->known = false;
}

const struct survival *capacity_survival(struct capacity *k, int group)
{
	struct group_survival *s = find(k, group);

	if (!s->known)
		survival_init(&s->survival, k->c, group, -1);
	s->known = true;
	return &s->survival;
}

bool capacity_survives(struct capacity *k, const struct instance *inst,
		       int primary, int secondary)
{
	int group = k->c->nodes[primary].group;
	struct refusal ignored;

	return k->c->groups[group].policy.max_node_failures == 0 ||
	       survival_with(capacity_survival(k, group), inst, primary,
			     secondary, &ignored);
}

void capacity_survival_changed(struct capacity *k, int node)
{
	if (k->survivals != NULL)
		forget(&k->survivals[k->c->nodes[node].group]);
}

void capacity_survival_forget(struct capacity *k)
{
	for (int g = 0; g < k->c->n_groups && k->survivals != NULL; g++)
		forget(&k->survivals[g]);
}
