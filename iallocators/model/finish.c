/* SPDX-License-Identifier: BSD-2-Clause */
/* What follows from reported values: which instance is where, what it uses,
 * what has to be kept free.  Free memory, disk and spindles are believed as
 * reported; instances only tell what is inside.  cluster_finish() takes the
 * nodes first, then adds each instance to its nodes, and then computes what
 * depends on all instances of a node. */
#include <math.h>
#include <string.h>

#include "iallocators/model/model.h"
#include "iallocators/model/tags.h"
#include "lib/base/mem.h"

static void list_append_item(struct ilist *l, int item)
{
	if (l->n == l->cap) {
		l->cap = l->cap == 0 ? 16 : l->cap * 2;
		l->items =
			xrealloc(l->items, (size_t)l->cap * sizeof(*l->items));
	}
	l->items[l->n++] = item;
}

static void count_spindles(struct instance *inst)
{
	inst->spindles = 0;
	for (size_t i = 0; i < inst->n_disks; i++) {
		if (inst->disks[i].spindles == SPINDLES_UNKNOWN) {
			inst->spindles = SPINDLES_UNKNOWN;
			return;
		}
		inst->spindles += inst->disks[i].spindles;
	}
}

void cluster_finish_instance(struct cluster *c, struct instance *inst,
			     const struct load_options *o)
{
	inst->booked = c->booked;
	count_spindles(inst);
	tags_of_instance(c, inst, o);
	for (int i = 0; i < UTIL_COUNT && !inst->has_util; i++)
		inst->util[i] = o->ignore_dynamic ? 0 : 1;
}

/* Spindles and disk space are promised to instances to come. */
static void promise_storage(struct node *n, const struct instance *inst)
{
	if (instance_is_local(inst))
		n->s.free_disk_f -= inst->disk;
	if (!n->exclusive_storage)
		n->s.free_spindles_f = 0;
	else if (inst->spindles != SPINDLES_UNKNOWN)
		n->s.free_spindles_f -= inst->spindles;
	else
		n->s.free_spindles_f = -1;
}

static void load_spindle_use(struct node *n, const struct instance *inst)
{
	if (!instance_is_local(inst) || n->exclusive_storage)
		return;
	n->s.inst_spindles_f += (double)inst->spindle_use;
	if (!inst->forthcoming)
		n->s.inst_spindles += (double)inst->spindle_use;
}

static void load_tags(struct node *n, const struct instance *inst)
{
	for (int i = 0; i < inst->exclusion.n; i++) {
		int tag = inst->exclusion.ids[i];

		n->s.tag_conflicts += counts_get(&n->tags_pri, tag) > 0;
		counts_add(&n->tags_pri, tag, 1);
		for (int j = 0; j < n->locations.n && !inst->forthcoming; j++)
			counts_add(&n->tags_loc,
				   (int64_t)n->locations.ids[j] << 32 | tag, 1);
	}
}

static void load_primary(struct node *n, const struct instance *inst, int index)
{
	load_spindle_use(n, inst);
	load_tags(n, inst);
	if (instance_counts_cpu(inst))
		n->s.used_cpus_f += inst->vcpus;
	if (!instance_uses_memory(inst))
		n->s.free_mem_f -= inst->memory;
	if (inst->forthcoming) {
		promise_storage(n, inst);
		return;
	}
	list_append_item(&n->primaries, index);
	n->s.n_primaries++;
	if (instance_uses_memory(inst))
		n->s.inst_mem += inst->memory;
	if (instance_counts_cpu(inst))
		n->s.used_cpus += inst->vcpus;
	for (int i = 0; i < UTIL_COUNT; i++)
		n->s.load[i] += inst->util[i];
	n->s.location += inst->location + inst->desired.n -
			 tagset_common(&inst->desired, &n->locations);
}

static void load_secondary(struct node *n, const struct instance *inst,
			   int index)
{
	load_spindle_use(n, inst);
	if (inst->forthcoming) {
		promise_storage(n, inst);
		return;
	}
	list_append_item(&n->secondaries, index);
	n->s.n_secondaries++;
	n->s.load[UTIL_DISK] += inst->util[UTIL_DISK];
	if (instance_uses_secondary_memory(inst))
		counts_add(&n->peers, inst->primary, inst->memory);
}

static void finish_instance(struct cluster *c, int index,
			    const struct load_options *o)
{
	struct instance *inst = &c->instances[index];
	struct node *p = &c->nodes[inst->primary];
	const struct template_info *t = &template_table[inst->template];

	cluster_finish_instance(c, inst, o);
	inst->movable = t->mirror != MIRROR_NONE && !t->no_disks && !p->silent;
	if (inst->secondary != NO_INDEX) {
		struct node *s = &c->nodes[inst->secondary];

		inst->location = tagset_common(&p->locations, &s->locations);
		if (s->group != p->group || s->silent)
			inst->movable = false;
		load_secondary(s, inst, index);
	}
	/* With both on one node the reference knows of the secondary only. */
	if (inst->secondary != inst->primary)
		load_primary(p, inst, index);
}

static void start_node(struct cluster *c, struct node *n,
		       const struct load_options *o)
{
	struct node_state *s = &n->s;
	const struct policy *p = &c->groups[n->group].policy;

	n->vcpu_ratio =
		o->max_cpu_ratio >= 0 ? o->max_cpu_ratio : p->vcpu_ratio;
	n->high_spindles = p->spindle_ratio * (double)n->total_spindles;
	n->low_disk = model_trunc(floor(o->min_disk_ratio * n->total_disk));
	s->used_cpus = s->used_cpus_f = n->own_cpus;
	s->free_mem_f = n->free_mem;
	s->free_disk_f = s->free_disk;
	s->free_spindles_f = s->free_spindles;
	tags_of_node(c, n);
}

static void finish_node(struct node *n)
{
	struct node_state *s = &n->s;
	int64_t recorded = model_trunc(n->total_mem) - n->own_mem - s->inst_mem;

	n->missing_mem = recorded - n->free_mem;
	s->usable_mem = recorded - (n->missing_mem > 0 ? n->missing_mem : 0);
	s->reserved_mem = 0;
	for (int i = 0; i < n->peers.n; i++)
		if (n->peers.items[i].value > s->reserved_mem)
			s->reserved_mem = n->peers.items[i].value;
	s->fails_n1 = n->free_mem < s->reserved_mem;
}

static void list_group_nodes(struct cluster *c)
{
	for (int i = 0; i < c->n_nodes; i++)
		c->groups[c->nodes[i].group].n_nodes++;
	for (int g = 0; g < c->n_groups; g++) {
		struct group *group = &c->groups[g];

		group->nodes = arena_calloc(&c->arena, (size_t)group->n_nodes,
					    sizeof(int));
		group->n_nodes = 0;
	}
	for (int i = 0; i < c->n_nodes; i++) {
		struct group *group = &c->groups[c->nodes[i].group];

		group->nodes[group->n_nodes++] = i;
	}
}

/* How many bytes at their ends a and the last n bytes of b share. */
static size_t common_end(const char *a, const char *b, size_t n)
{
	size_t len_a = strlen(a), len_b = strlen(b), common = 0;

	while (common < n && common < len_a &&
	       a[len_a - 1 - common] == b[len_b - 1 - common])
		common++;
	return common;
}

static void find_suffix(struct cluster *c)
{
	const char *first = c->n_nodes > 0	 ? c->nodes[0].name
			    : c->n_instances > 0 ? c->instances[0].name
						 : "";
	size_t n = strlen(first);
	const char *dot;

	for (int i = 0; i < c->n_nodes; i++)
		n = common_end(c->nodes[i].name, first, n);
	for (int i = 0; i < c->n_instances; i++)
		n = common_end(c->instances[i].name, first, n);
	dot = strchr(first + strlen(first) - n, '.');
	c->suffix_len = dot == NULL ? 0 : strlen(dot);
}

void cluster_finish(struct cluster *c, const struct load_options *o)
{
	list_group_nodes(c);
	find_suffix(c);
	tags_read(c, o);
	for (int i = 0; i < c->n_nodes; i++)
		start_node(c, &c->nodes[i], o);
	for (int i = 0; i < c->n_instances; i++)
		finish_instance(c, i, o);
	for (int i = 0; i < c->n_nodes; i++)
		finish_node(&c->nodes[i]);
}

#define MISSING_MEM_MAX 512
#define MISSING_DISK_MAX 1024
#define MIB_PER_GIB 1024

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t missing_disk(const struct cluster *c, const struct node *n)
{
	int64_t missing = model_trunc(n->total_disk) - n->s.free_disk;

	for (int i = 0; i < n->primaries.n; i++)
		missing -= c->instances[n->primaries.items[i]].disk;
	for (int i = 0; i < n->secondaries.n; i++)
		missing -= c->instances[n->secondaries.items[i]].disk;
	return missing;
}

static void check_silent(const struct cluster *c, struct buf *ret_warning)
{
	for (int i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].silent)
			buf_addf(
				ret_warning,
				"Warning: node %s does not answer: it is shown "
				"as recorded, gets no instance, and those on "
				"it stay until it is marked offline\n",
				c->nodes[i].name);
}

void cluster_check(const struct cluster *c, struct buf *ret_warning)
{
	bool first = true;

	check_silent(c, ret_warning);

	for (int i = c->n_nodes - 1; i >= 0; i--) {
		const struct node *n = &c->nodes[i];
		int64_t disk = missing_disk(c, n);

		if (n->missing_mem <= MISSING_MEM_MAX &&
		    disk <= MISSING_DISK_MAX)
			continue;
		if (first)
			buf_adds(ret_warning, "Warning: cluster has "
					      "inconsistent data:\n");
		first = false;
		buf_addf(ret_warning,
			 "  - node %s is missing %jd MB ram and %jd GB disk\n",
			 n->name, (intmax_t)n->missing_mem,
			 (intmax_t)floor_div(disk, MIB_PER_GIB));
	}
	if (!first)
		buf_addc(ret_warning, '\n');
}
