/* SPDX-License-Identifier: BSD-2-Clause */
/* Values that were given become those of the model.  What follows from several
 * of them is cluster_finish()'s business. */
#include "iallocators/input/build.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/model/kinds/hypervisor.h"

void build_start(struct cluster *c, size_t groups, size_t nodes,
		 size_t instances)
{
	c->groups = arena_calloc(&c->arena, groups, sizeof(*c->groups));
	c->nodes = arena_calloc(&c->arena, nodes, sizeof(*c->nodes));
	c->instances =
		arena_calloc(&c->arena, instances, sizeof(*c->instances));
	c->cap_instances = (int)instances;
}

void build_group(struct cluster *c, const struct group *group)
{
	c->groups[c->n_groups++] = *group;
}

static void set_live(const struct build_live *live, struct node *ret)
{
	ret->total_mem = live->total_memory;
	ret->total_disk = live->total_disk;
	ret->total_cpus = live->total_cpus;
	ret->own_mem = live->reserved_memory;
	ret->own_cpus = live->reserved_cpus;
	ret->host_mem = live->reserved_memory + live->hypervisor_memory;
	ret->free_mem = live->free_memory;
	ret->s.free_disk = live->free_disk;
	ret->s.free_spindles = live->free_spindles;
	if (ret->exclusive_storage)
		ret->total_spindles = live->total_spindles;
}

void build_node(struct cluster *c, const struct build_node *node)
{
	struct node *ret = &c->nodes[c->n_nodes++];

	ret->name = node->name;
	ret->group = node->group;
	ret->tags = node->tags;
	ret->n_tags = node->n_tags;
	ret->offline = node->offline || node->drained || !node->vm_capable;
	ret->not_vm_capable = !node->offline && !node->vm_capable;
	ret->drained = !node->offline && node->vm_capable && node->drained;
	ret->cpu_speed = 1; /* only text files tell */
	ret->exclusive_storage = node->exclusive_storage;
	if (!node->exclusive_storage) /* else the node itself tells */
		ret->total_spindles = node->spindle_count;
	if (node->offline || !node->vm_capable)
		return;
	set_live(&node->live, ret);
	c->booked = c->booked || node->live.booked;
}

void build_existing(struct cluster *c, const struct instance *inst, int primary,
		    int secondary)
{
	struct instance *ret = &c->instances[c->n_instances++];

	*ret = *inst;
	ret->primary = primary;
	ret->secondary = secondary;
}

/* What is wanted of it; anything strange means that it runs. */
static enum run_status status_of(const char *admin_state)
{
	if (str_eq(admin_state, "down"))
		return RUN_ADMIN_DOWN;
	return str_eq(admin_state, "offline") ? RUN_ADMIN_OFFLINE : RUN_RUNNING;
}

void build_instance(const struct build_instance *values, struct instance *ret)
{
	*ret = (struct instance){
		.name = values->name,
		.memory = values->memory,
		.disk = values->disk_space,
		.vcpus = values->vcpus,
		.spindle_use = values->spindle_use,
		.disks = values->disks,
		.n_disks = values->n_disks,
		.status = status_of(values->admin_state),
		.template = values->template,
		.auto_balance = true,
		.forthcoming = values->forthcoming,
		.tags = values->tags,
		.n_tags = values->n_tags,
		.networks = values->networks,
		.n_networks = values->n_networks,
		.primary = NO_INDEX,
		.secondary = NO_INDEX,
		.spare_memory = values->memory - values->minmem,
		.stays = values->stays,
	};
}

void build_node_memory(struct cluster *c, const char *hypervisor,
		       int64_t static_kvm_node_memory)
{
	if (static_kvm_node_memory <= 0 || hypervisor == NULL ||
	    hypervisor_get(hypervisor)->tells_node_memory)
		return;
	for (int i = 0; i < c->n_nodes; i++)
		c->nodes[i].own_mem = static_kvm_node_memory;
}

bool build_knows_nic_mode(const char *mode)
{
	static const char *const modes[] = {"bridged", "routed", "openvswitch"};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(mode, modes[i]) == 0)
			return true;
	return false;
}
