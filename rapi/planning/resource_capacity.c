/* SPDX-License-Identifier: BSD-2-Clause */
/* How many more instances fit: what hspace --format=json tells, of the
 * cluster as it is.  Sizes are in MiB. */
#include "iallocators/capacity/capacity.h"
#include "iallocators/capacity/hspace_show.h"
#include "iallocators/options/tool_programs.h"
#include "lib/json/json.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/planning/planning.h"

/* What is counted: more than this is answered as this. */
#define LENGTH_MAX 100000
#define SIZE_MAX_MIB (INT64_C(1) << 40)

static void after_filling(struct report *r)
{
	capacity_sort_fails(r->k);
	capacity_resources_sum(r->k, &r->after);
}

/* From the largest size that a policy allows downwards. */
static void run_tiered(struct report *r)
{
	const struct policy *p = &r->k->c->policy;

	for (size_t i = 0; i < p->n_intervals; i++) {
		struct instance inst = capacity_instance(
			r->k, &p->intervals[i].max, r->template, -1);

		if (i == 0)
			space_show_spec(r, true, &inst);
		capacity_fill_tiered(r->k, &inst, LENGTH_MAX);
	}
	after_filling(r);
	space_show_tiered(r);
	capacity_empty(r->k);
}

static int run_standard(struct report *r, const struct ispec *spec,
			struct error *err)
{
	struct instance inst = capacity_instance(r->k, spec, r->template, -1);

	space_show_spec(r, false, &inst);
	capacity_fill(r->k, &inst, LENGTH_MAX);
	after_filling(r);
	return space_show_standard(r, err);
}

/* The policy's first one, unless it is asked for. */
static int find_template(const struct request *q, const struct cluster *c,
			 enum template *ret, struct error *err)
{
	const char *name = args_get(&q->args, "disk_template");
	int found;

	*ret = c->policy.n_templates > 0 ? c->policy.templates[0]
					 : TEMPLATE_PLAIN;
	if (name == NULL)
		return 0;
	found = cluster_find_template(name);
	if (found == NO_INDEX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There is no disk template '%.40s'", name);
	*ret = (enum template)found;
	return 0;
}

/* The standard size, with what is asked for in its place. */
static int read_size(const struct request *q, struct ispec *size,
		     struct error *err)
{
	return planning_number(q, "memory", SIZE_MAX_MIB, &size->memory, err) <
				       0 ||
			       planning_number(q, "disk", SIZE_MAX_MIB,
					       &size->disk, err) < 0 ||
			       planning_number(q, "cpus", SIZE_MAX_MIB,
					       &size->cpus, err) < 0
		       ? -1
		       : 0;
}

/* Put all into r->json. */
static int fill(struct report *r, const struct ispec *size, struct error *err)
{
	space_show_cluster(r);
	if (capacity_check(r->k, err) < 0)
		return error_as(err, ERR_PREREQ, ECODE_NORES);
	run_tiered(r);
	return run_standard(r, size, err);
}

/* As planning_fn; arg is the answer. */
static int compute(struct request *q, struct planning *p, void *arg,
		   struct error *err)
{
	const struct hspace_opts *o = hspace_program.defaults;
	struct ispec size = p->c.policy.std;
	struct resources before;
	struct capacity k;
	struct report r = {.k = &k, .o = o, .json = arg, .before = &before};
	int rc;

	if (find_template(q, &p->c, &r.template, err) < 0 ||
	    read_size(q, &size, err) < 0)
		return -1;
	capacity_init(&k, &p->c, &p->loads, o, r.template);
	capacity_resources_sum(&k, &before);
	rc = fill(&r, &size, err);
	capacity_done(&k);
	return rc;
}

json_t *resource_capacity(struct request *q, struct error *err)
{
	auto_json json_t *json = json_object();

	return planning_run(q, compute, json, err) < 0 ? NULL : steal(&json);
}
