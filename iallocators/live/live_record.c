/* SPDX-License-Identifier: BSD-2-Clause */
/* What our master has recorded of nodes, and what instances have booked of it,
 * as its allocators are told: so a plan fits what the master will check.
 *
 * A node that does not answer is shown with its record.  It gets nothing, and
 * what is on it stays there: whether it is lost is for somebody to say, by
 * marking it offline.  Nodes with exclusive storage tell their numbers
 * themselves, as spindles are not recorded. */
#include <limits.h>
#include <string.h>

#include "iallocators/live/live_answers.h"
#include "lib/base/table.h"
#include "lib/json/json.h"

static int64_t number(const json_t *node, const char *part, const char *key)
{
	return json_int(json_get(node, part), key, 0);
}

static int64_t not_negative(int64_t n)
{
	return n > 0 ? n : 0;
}

/* The storage that nodes report the space of, or NULL. */
static const json_t *storage_of(const json_t *node)
{
	return json_array_get(json_get(node, "storage"), 0);
}

static bool is_recorded(const json_t *node)
{
	const json_t *storage = storage_of(node);

	return json_bool(json_get(node, "memory"), "recorded", false) &&
	       (storage == NULL || json_bool(storage, "recorded", false)) &&
	       !json_bool(node, "exclusive_storage", false);
}

static void take_sizes(struct node *n, const json_t *record)
{
	const json_t *storage = storage_of(record);

	n->total_mem = (double)number(record, "memory", "total");
	n->own_mem = number(record, "memory", "node");
	n->host_mem = n->own_mem + number(record, "memory", "hypervisor");
	n->free_mem = not_negative(number(record, "memory", "promise"));
	n->total_cpus = (double)number(record, "cpus", "total");
	n->own_cpus = number(record, "cpus", "node");
	if (storage == NULL)
		return;
	n->total_disk = (double)json_int(storage, "total", 0);
	n->s.free_disk = not_negative(json_int(storage, "free", 0));
}

/* Text files do not tell why a node is offline. */
static void take_flags(struct node *n, const json_t *record)
{
	if (json_bool(record, "offline", false))
		return;
	n->not_vm_capable = !json_bool(record, "vm_capable", true);
	n->drained = !n->not_vm_capable && json_bool(record, "drained", false);
}

/* Those that are to come are counted by what they will take. */
static void give_back(struct cluster *c, const struct instance *inst,
		      const json_t *nodes)
{
	const int at[] = {inst->primary, inst->secondary};

	for (int i = 0; i < 2; i++) {
		struct node *n = at[i] == NO_INDEX ? NULL : &c->nodes[at[i]];

		if (n == NULL || !is_recorded(json_get(nodes, n->name)))
			continue;
		if (i == 0 && inst->status != RUN_ADMIN_OFFLINE)
			n->free_mem += inst->memory;
		if (instance_is_local(inst))
			n->s.free_disk += inst->disk;
	}
}

/* Memory is what every node tells that answers. */
static bool answered(const struct live_answers *a, int i)
{
	const json_t *row = json_array_get(a->nodes, (size_t)i);
	const json_t *memory = json_array_get(row, LIVE_NODE_MEMORY);

	return json_integer_value(json_array_get(memory, 0)) == RS_NORMAL;
}

static void take_nodes(struct cluster *c, const struct live_answers *a)
{
	const json_t *nodes = json_get(a->resources, "nodes");

	for (int i = 0; i < c->n_nodes; i++) {
		struct node *n = &c->nodes[i];
		const json_t *record = json_get(nodes, n->name);

		if (json_bool(record, "offline", true))
			continue;
		take_flags(n, record);
		n->silent = !n->not_vm_capable && !answered(a, i);
		if (is_recorded(record) && !n->not_vm_capable)
			take_sizes(n, record);
	}
	for (int i = 0; i < c->n_instances; i++)
		if (c->instances[i].forthcoming)
			give_back(c, &c->instances[i], nodes);
}

static int64_t failures_of(const json_t *group)
{
	int64_t n = json_int(json_get(group, "ipolicy_extra"),
			     "max-node-failures", 0);

	return n < 0 ? 0 : n > INT_MAX ? INT_MAX : n;
}

bool live_promises_failures(const json_t *resources)
{
	const char *name;
	json_t *group;

	json_object_foreach (json_unconst(json_get(resources, "groups")), name,
			     group)
		if (failures_of(group) > 0)
			return true;
	return false;
}

static void take_groups(struct cluster *c, const json_t *groups)
{
	for (int g = 0; g < c->n_groups; g++)
		c->groups[g].policy.max_node_failures =
			(int)failures_of(json_get(groups, c->groups[g].name));
}

/* What instances are guaranteed: [[0, name], [0, minmem]] each. */
static void take_guarantees(struct cluster *c, const json_t *rows)
{
	struct table known = {0};
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *name = json_array_get(json_array_get(row, 0), 1);
		json_t *least = json_array_get(json_array_get(row, 1), 1);

		if (json_is_string(name) && least != NULL)
			table_put(&known, json_string_value(name), least);
	}
	for (int k = 0; k < c->n_instances; k++) {
		struct instance *inst = &c->instances[k];
		const json_t *least = table_get(&known, inst->name);

		inst->stays = !inst->auto_balance;
		if (json_is_integer(least))
			inst->spare_memory =
				inst->memory - json_integer_value(least);
	}
	table_done(&known, NULL);
}

void live_record(struct cluster *c, const struct live_answers *a)
{
	c->booked = true;
	take_nodes(c, a);
	take_groups(c, json_get(a->resources, "groups"));
	if (a->guarantees != NULL)
		take_guarantees(c, a->guarantees);
}
