/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of a cluster that is to be filled: which groups are sound,
 * which nodes may take instances, which have to stay redundant. capacity_fill.c
 * fills it. */
#include "iallocators/capacity/capacity.h"

static bool in_bad_group(const struct cluster *c, const bool *bad, int node)
{
	int g = c->nodes[node].group;

	return bad[g] || c->groups[g].alloc_policy == ALLOC_UNALLOCABLE;
}

/* Whether some node has not enough memory for its peers; mark the groups, and
 * those of which some node could not be emptied. */
static bool mark_bad(struct capacity *k, bool independent, bool *bad)
{
	struct cluster *c = k->c;
	bool any = false;

	for (int i = 0; i < c->n_nodes; i++)
		if (!c->nodes[i].offline && c->nodes[i].s.fails_n1)
			any = bad[c->nodes[i].group] = true;
	for (int g = 0; g < c->n_groups && independent; g++) {
		struct nodeset nodes = cluster_group_nodes(c, g);

		if (!bad[g] && !redundancy_holds(c, &nodes, &k->place))
			bad[g] = true;
	}
	return any;
}

static void list_nodes(struct capacity *k, const bool *bad, bool independent)
{
	struct cluster *c = k->c;
	size_t n = (size_t)c->n_nodes;

	k->all = cluster_all_nodes(c);
	k->candidates = k->checked = (struct nodeset){.group = NO_INDEX};
	k->candidates.items = arena_calloc(&c->arena, n, sizeof(int));
	k->checked.items = arena_calloc(&c->arena, n, sizeof(int));
	for (int i = 0; i < c->n_nodes; i++) {
		if (!c->nodes[i].offline && !in_bad_group(c, bad, i))
			k->candidates.items[k->candidates.n++] = i;
		if (!independent || !bad[c->nodes[i].group])
			k->checked.items[k->checked.n++] = i;
	}
}

static bool some_group_left(const struct cluster *c, const bool *bad)
{
	for (int g = 0; g < c->n_groups; g++)
		if (!bad[g] && c->groups[g].alloc_policy != ALLOC_UNALLOCABLE)
			return true;
	return false;
}

void capacity_init(struct capacity *ret, struct cluster *c,
		   const struct load_options *load, const struct hspace_opts *o,
		   enum template template)
{
	bool *bad =
		arena_calloc(&c->arena, (size_t)c->n_groups + 1, sizeof(*bad));

	*ret = (struct capacity){
		.c = c,
		.load = load,
		.place = {.capacity_checks = !o->no_capacity_checks,
			  .accept_existing_errors = o->accept_existing_errors},
		.required_nodes = template == TEMPLATE_DRBD ? 2 : 1,
		.bad_groups = bad,
		.first = c->n_instances,
		.mark = change_mark(c),
	};
	if (!o->accept_existing_errors || o->independent_groups)
		ret->blocked = mark_bad(ret, o->independent_groups, bad);
	if (o->accept_existing_errors ||
	    (o->independent_groups && some_group_left(c, bad)))
		ret->blocked = false;
	survivals_init(&ret->survivals, c);
	list_nodes(ret, bad, o->independent_groups);
}

/* Whether some group has two candidates. */
static bool has_pair(const struct capacity *k)
{
	const struct nodeset *set = &k->candidates;

	for (int i = 0; i < set->n; i++)
		for (int j = 0; j < i; j++)
			if (k->c->nodes[set->items[i]].group ==
			    k->c->nodes[set->items[j]].group)
				return true;
	return false;
}

struct instance capacity_instance(const struct capacity *k,
				  const struct ispec *spec,
				  enum template template, int64_t spindle_use)
{
	struct cluster *c = k->c;
	struct instance inst = {
		.name = "new",
		.memory = spec->memory,
		.disk = spec->disk,
		.vcpus = spec->cpus,
		.spindle_use = spindle_use >= 0 ? spindle_use
						: c->policy.std.spindle_use,
		.n_disks = 1,
		.template = template,
		.auto_balance = true,
		.status = RUN_RUNNING,
		.primary = NO_INDEX,
		.secondary = NO_INDEX};

	inst.disks = arena_calloc(&c->arena, 1, sizeof(*inst.disks));
	inst.disks[0] = (struct disk_need){spec->disk, spec->spindle_use};
	cluster_finish_instance(c, &inst, k->load);
	return inst;
}

int capacity_check(const struct capacity *k, struct error *err)
{
	if (k->blocked)
		return 0;
	if (k->required_nodes == 1 && k->candidates.n == 0)
		return error_set(err, ERR_PREREQ, NULL, "No online nodes");
	if (k->required_nodes == 2 && !has_pair(k))
		return error_set(err, ERR_PREREQ, NULL,
				 "Not enough online nodes");
	return 0;
}

void capacity_sort_fails(struct capacity *k)
{
	for (int i = 1; i < k->n_fails; i++) {
		struct fail_count f = k->fails[i];
		int at = i;

		for (; at > 0 && k->fails[at - 1].n < f.n; at--)
			k->fails[at] = k->fails[at - 1];
		k->fails[at] = f;
	}
}

static void forget_tracker(struct capacity *k)
{
	if (k->has_tracker)
		tracker_done(&k->tracker);
	k->has_tracker = false;
}

struct tracker *capacity_tracker(struct capacity *k)
{
	if (!k->has_tracker)
		tracker_init(&k->tracker, k->c, &k->checked, &k->place);
	k->has_tracker = true;
	return &k->tracker;
}

void capacity_empty(struct capacity *k)
{
	forget_tracker(k);
	survivals_forget(&k->survivals);
	table_done(&k->tried, NULL);
	k->tried = (struct table){0};
	change_undo(k->c, k->mark);
	k->c->n_instances = k->first;
}

void capacity_done(struct capacity *k)
{
	forget_tracker(k);
	survivals_done(&k->survivals);
	table_done(&k->tried, NULL);
}
