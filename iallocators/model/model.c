/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of what the model has, questions about an instance, sets of nodes,
 * and the end of a cluster.  finish.c computes what follows from the values
 * that were reported. */
#include "iallocators/model/model.h"

#include <string.h>

#include "lib/base/mem.h"

const char *const run_status_names[RUN_STATUS_COUNT] = {
#define X(id, name) [RUN_##id] = name,
	RUN_STATUSES(X)
#undef X
};

const char *const fail_names[FAIL_COUNT] = {[FAIL_NONE] = "",
#define X(id, name) [FAIL_##id] = name,
					    FAILS(X)
#undef X
};

const char *const alloc_policy_names[ALLOC_POLICY_COUNT] = {
	[ALLOC_PREFERRED] = "preferred",
	[ALLOC_LAST_RESORT] = "last_resort",
	[ALLOC_UNALLOCABLE] = "unallocable",
};

int cluster_alias_len(const struct cluster *c, const char *name)
{
	return (int)(strlen(name) - c->suffix_len);
}

int cluster_find_group(const struct cluster *c, const char *name)
{
	int found = NO_INDEX;

	for (int g = 0; g < c->n_groups; g++) {
		if (strcmp(c->groups[g].name, name) != 0 &&
		    strcmp(c->groups[g].uuid, name) != 0)
			continue;
		if (found != NO_INDEX)
			return NO_INDEX;
		found = g;
	}
	return found;
}

int cluster_find_template(const char *name)
{
	for (int i = 0; i < TEMPLATE_COUNT; i++)
		if (strcmp(template_table[i].name, name) == 0)
			return i;
	return NO_INDEX;
}

bool instance_uses_memory(const struct instance *i)
{
	if (i->forthcoming || i->status == RUN_ADMIN_OFFLINE)
		return false;
	return i->booked ||
	       (i->status != RUN_ADMIN_DOWN && i->status != RUN_ERROR_DOWN &&
		i->status != RUN_USER_DOWN);
}

bool instance_uses_secondary_memory(const struct instance *i)
{
	return i->status != RUN_ADMIN_OFFLINE && i->auto_balance;
}

bool instance_counts_cpu(const struct instance *i)
{
	return i->status != RUN_ADMIN_OFFLINE;
}

bool instance_is_local(const struct instance *i)
{
	return template_table[i->template].storage == STORAGE_LVM_VG;
}

bool instance_runs(const struct instance *i)
{
	return i->status == RUN_RUNNING || i->status == RUN_ERROR_UP;
}

int64_t model_trunc(double d)
{
	return d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : INT64_MIN;
}

struct nodeset cluster_all_nodes(struct cluster *c)
{
	struct nodeset set = {.n = c->n_nodes, .group = NO_INDEX};

	set.items = arena_calloc(&c->arena, (size_t)c->n_nodes, sizeof(int));
	for (int i = 0; i < c->n_nodes; i++)
		set.items[i] = i;
	return set;
}

struct nodeset cluster_group_nodes(struct cluster *c, int group)
{
	return (struct nodeset){.items = c->groups[group].nodes,
				.n = c->groups[group].n_nodes,
				.group = group};
}

void cluster_done(struct cluster *c)
{
	for (int i = 0; i < c->n_nodes; i++) {
		struct node *n = &c->nodes[i];

		free(n->primaries.items);
		free(n->secondaries.items);
		free(n->peers.items);
		free(n->tags_pri.items);
		free(n->tags_loc.items);
	}
	free(c->journal);
	table_done(&c->symbols, NULL);
	arena_done(&c->arena);
	*c = (struct cluster){0};
}
