/* SPDX-License-Identifier: BSD-2-Clause */
/* Each function makes one part of the result; hspace_show.c puts the parts
 * together. */
#include "iallocators/capacity/hspace_json.h"

#include <math.h>

#include "lib/json/json.h"

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *space_share(int64_t part, int64_t whole)
{
	return number((double)part / (double)whole);
}

json_t *space_cluster(const struct cluster *c, const struct resources *all)
{
	return json_make("{s:i, s:I, s:I, s:I, s:I, s:I}", "nodes", c->n_nodes,
			 "memory", (json_int_t)all->memory, "disk",
			 (json_int_t)all->disk, "cpus", (json_int_t)all->cpus,
			 "vcpus", (json_int_t)all->vcpus, "spindles",
			 (json_int_t)all->spindles);
}

static json_t *memory(const struct resources *r)
{
	return json_make("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "free",
			 (json_int_t)r->free_mem, "available",
			 (json_int_t)r->avail_mem, "reserved",
			 (json_int_t)(r->free_mem - r->avail_mem), "instances",
			 (json_int_t)r->inst_mem, "overhead",
			 (json_int_t)r->overhead, "largest_on_a_node",
			 (json_int_t)r->max_node_mem, "efficiency",
			 space_share(r->inst_mem, r->memory));
}

static json_t *disk(const struct resources *r)
{
	return json_make("{s:I, s:I, s:I, s:I, s:I, s:o}", "free",
			 (json_int_t)r->free_disk, "available",
			 (json_int_t)r->avail_disk, "reserved",
			 (json_int_t)(r->free_disk - r->avail_disk),
			 "instances", (json_int_t)r->inst_disk,
			 "largest_on_a_node", (json_int_t)r->max_node_disk,
			 "efficiency", space_share(r->inst_disk, r->disk));
}

json_t *space_resources(const struct resources *r)
{
	return json_make(
		"{s:o, s:I, s:o, s:o, s:{s:I, s:o}, s:{s:I, s:I, s:o}}",
		"score", number(r->score), "instances",
		(json_int_t)r->instances, "memory", memory(r), "disk", disk(r),
		"vcpus", "instances", (json_int_t)r->inst_cpus, "efficiency",
		space_share(r->inst_cpus, r->vcpus), "spindles", "free",
		(json_int_t)r->free_spindles, "instances",
		(json_int_t)r->inst_spindles, "efficiency",
		space_share(r->inst_spindles, r->spindles));
}

json_t *space_size(const struct instance *inst, int count)
{
	return json_make("{s:I, s:I, s:I, s:I, s:i}", "memory",
			 (json_int_t)inst->memory, "disk",
			 (json_int_t)inst->disk, "vcpus",
			 (json_int_t)inst->vcpus, "spindles",
			 (json_int_t)inst->spindles, "count", count);
}

json_t *space_spec(const struct capacity *k, const struct instance *inst)
{
	return json_make("{s:I, s:I, s:I, s:I, s:i, s:s}", "memory",
			 (json_int_t)inst->memory, "disk",
			 (json_int_t)inst->disk, "vcpus",
			 (json_int_t)inst->vcpus, "spindles",
			 (json_int_t)inst->spindles, "nodes", k->required_nodes,
			 "disk_template", template_table[inst->template].name);
}

json_t *space_usage(const struct resources *r)
{
	return json_make("{s:I, s:o, s:I, s:I, s:I}", "cpus",
			 (json_int_t)r->inst_cpus, "npus", number(r->inst_npus),
			 "memory", (json_int_t)r->inst_mem, "disk",
			 (json_int_t)r->inst_disk, "spindles",
			 (json_int_t)r->inst_spindles);
}

json_t *space_failures(const struct capacity *k)
{
	json_t *list = json_array();

	for (int i = 0; i < k->n_fails; i++)
		json_array_append_new(
			list, json_make("{s:s, s:I}", "reason",
					fail_names[k->fails[i].why], "count",
					(json_int_t)k->fails[i].n));
	return list;
}
