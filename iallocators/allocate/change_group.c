/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances change their group: the group is chosen as for a new instance, and
 * then all its nodes are replaced by nodes of that group. */
#include "iallocators/allocate/evacuate.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/groups.h"
#include "lib/base/mem.h"

static void add_once(int *list, int *n, int item)
{
	for (int i = 0; i < *n; i++)
		if (list[i] == item)
			return;
	list[(*n)++] = item;
}

static bool is_source(const struct cluster *c, const int *instances, int n,
		      int group)
{
	for (int i = 0; i < n; i++) {
		int primary = c->instances[instances[i]].primary;

		if (c->nodes[primary].group == group)
			return true;
	}
	return false;
}

/* The targets, or all groups, without those that are to be left. */
static struct group_choice choose_groups(const struct cluster *c,
					 const int *instances, int n,
					 const int *targets, int n_targets)
{
	int *list = xcalloc((size_t)c->n_groups + 1, sizeof(*list));
	struct group_choice choice = {.groups = list};

	for (int i = 0; i < n_targets; i++)
		if (!is_source(c, instances, n, targets[i]))
			add_once(list, &choice.n, targets[i]);
	for (int g = 0; g < c->n_groups && n_targets == 0; g++)
		if (!is_source(c, instances, n, g))
			add_once(list, &choice.n, g);
	return choice;
}

static int required_nodes(const struct instance *inst)
{
	return inst->template == TEMPLATE_DRBD ? 2 : 1;
}

static int best_group(struct cluster *c, const struct group_choice *choice,
		      int index, const struct place_options *o,
		      struct buf *ret_reason)
{
	struct instance inst = c->instances[index];
	struct nodeset all = cluster_all_nodes(c);
	struct place p = {.c = c,
			  .inst = &inst,
			  .index = c->n_instances,
			  .required_nodes = required_nodes(&inst),
			  .scope = &all,
			  .options = o};

	if (choice->n == 0) {
		buf_adds(ret_reason,
			 "no groups for evacuation: allowed groups was "
			 "Just [], all groups: [");
		for (int g = 0; g < c->n_groups; g++)
			buf_addf(ret_reason, "%s%s", g > 0 ? ", " : "",
				 c->groups[g].name);
		buf_addc(ret_reason, ']');
		return NO_INDEX;
	}
	c->instances[c->n_instances] = inst;
	return groups_best(&p, choice, ret_reason);
}

static bool change_one(struct cluster *c, const struct group_choice *choice,
		       struct instance *inst, int index,
		       const struct place_options *o, int *ret_group,
		       struct evac_steps *steps, struct buf *reason)
{
	/* Within the group chosen, nothing is forced. */
	const struct place_options within = {.capacity_checks = true,
					     .explain = o->explain};
	struct nodeset targets;

	explain_subject(o->explain, c, &c->instances[index],
			required_nodes(inst));
	*ret_group = best_group(c, choice, index, o, reason);
	if (*ret_group == NO_INDEX) {
		explain_outcome(o->explain, false, reason->data);
		return false;
	}
	explain_group(o->explain, *ret_group, "the moves there");
	targets = place_candidates(c, *ret_group, &within);
	return evacuate_instance(c, inst, index, EVAC_ALL, *ret_group, &targets,
				 &within, steps, reason);
}

void change_group(struct cluster *c, const int *instances, int n,
		  const int *targets, int n_targets,
		  const struct place_options *o, struct hail_result *ret)
{
	struct group_choice choice =
		choose_groups(c, instances, n, targets, n_targets);

	evac_answer_start(ret, c, (size_t)n);
	for (int i = 0; i < n; i++) {
		struct instance inst = c->instances[instances[i]];
		auto_buf struct buf reason = {0};
		struct evac_steps steps;
		int group;

		if (change_one(c, &choice, &inst, instances[i], o, &group,
			       &steps, &reason))
			evac_answer_moved(ret, c, &inst, group, &steps);
		else
			evac_answer_failed(ret, c, &inst, reason.data);
	}
	free(mem_unconst(choice.groups));
}
