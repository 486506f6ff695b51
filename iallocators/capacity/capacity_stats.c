/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of what there is. */
#include "iallocators/capacity/capacity.h"

#include <math.h>

#include "iallocators/model/score.h"

static int64_t positive(int64_t n)
{
	return n > 0 ? n : 0;
}

static void add_node(struct resources *r, const struct node *n, double *cpus)
{
	const struct node_state *s = &n->s;
	int64_t total_disk = model_trunc(n->total_disk);
	int64_t mem = positive(s->usable_mem - s->reserved_mem);
	int64_t disk =
		s->free_disk < n->low_disk ? 0 : s->free_disk - n->low_disk;

	r->memory += model_trunc(n->total_mem);
	r->disk += total_disk;
	*cpus += n->total_cpus;
	r->vcpus += model_trunc(floor(n->vcpu_ratio * n->total_cpus));
	r->spindles += n->total_spindles;
	r->free_mem += s->usable_mem;
	r->avail_mem += mem;
	r->inst_mem += s->inst_mem;
	r->overhead += n->own_mem + n->missing_mem;
	r->free_disk += s->free_disk;
	r->avail_disk += disk;
	r->inst_disk += total_disk - s->free_disk;
	r->free_spindles += s->free_spindles;
	r->inst_spindles += n->total_spindles - s->free_spindles;
	r->inst_cpus += s->used_cpus;
	r->inst_npus += (double)s->used_cpus / n->vcpu_ratio;
	r->instances += s->n_primaries;
	if (mem > r->max_node_mem)
		r->max_node_mem = mem;
	if (disk > r->max_node_disk)
		r->max_node_disk = disk;
}

void capacity_resources_sum(struct capacity *k, struct resources *ret)
{
	double cpus = 0;

	*ret = (struct resources){0};
	for (int i = 0; i < k->c->n_nodes; i++)
		add_node(ret, &k->c->nodes[i], &cpus);
	ret->cpus = model_trunc(cpus);
	ret->score = score_nodes(k->c, &k->all);
}
