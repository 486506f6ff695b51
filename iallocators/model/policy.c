/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance policy: sizes and templates that a group allows. */
#include "iallocators/model/change.h"

/* One value of an instance against one of a limit. */
struct comparison {
	const char *what;
	int64_t have, limit;
	enum fail why;
};

static bool breaks(const struct comparison *x, bool at_least)
{
	return at_least ? x->have < x->limit : x->have > x->limit;
}

static enum fail refuse(const struct comparison *x, struct refusal *ret_why)
{
	*ret_why = (struct refusal){.kind = REFUSAL_POLICY,
				    .node = NO_INDEX,
				    .need = x->have,
				    .have = x->limit,
				    .what = x->what};
	return x->why;
}

/* The order decides which failure is counted. */
static enum fail check_limit(const struct ispec *l, const struct instance *inst,
			     int64_t spindles, bool at_least,
			     struct refusal *ret_why)
{
	const struct comparison memory = {"memory-size", inst->memory,
					  l->memory, FAIL_MEM};
	const struct comparison rest[] = {
		{"cpu-count", inst->vcpus, l->cpus, FAIL_CPU},
		{"spindle-use", spindles, l->spindle_use, FAIL_SPINDLES},
		{"disk-count", (int64_t)inst->n_disks, l->disk_count,
		 FAIL_DISK_COUNT},
	};
	size_t n_rest = inst->template == TEMPLATE_DISKLESS ? 2 : 3;

	if (breaks(&memory, at_least))
		return refuse(&memory, ret_why);
	for (size_t i = 0; i < inst->n_disks; i++) {
		const struct comparison disk = {
			"disk-size", inst->disks[i].size, l->disk, FAIL_DISK};

		if (breaks(&disk, at_least))
			return refuse(&disk, ret_why);
	}
	for (size_t i = 0; i < n_rest; i++)
		if (breaks(&rest[i], at_least))
			return refuse(&rest[i], ret_why);
	return FAIL_NONE;
}

static bool template_allowed(const struct policy *p, enum template t)
{
	for (size_t i = 0; i < p->n_templates; i++)
		if (p->templates[i] == t)
			return true;
	return false;
}

/* One interval that it is in suffices; else the first one's failure counts. */
static enum fail check_intervals(const struct policy *p, int64_t spindles,
				 const struct instance *inst,
				 struct refusal *ret_why)
{
	enum fail first = FAIL_NONE;

	for (size_t i = 0; i < p->n_intervals; i++) {
		const struct interval *in = &p->intervals[i];
		struct refusal here;
		enum fail why =
			check_limit(&in->min, inst, spindles, true, &here);

		if (why == FAIL_NONE)
			why = check_limit(&in->max, inst, spindles, false,
					  &here);
		if (why == FAIL_NONE)
			return FAIL_NONE;
		if (i > 0)
			continue;
		first = why;
		*ret_why = here;
	}
	return first;
}

enum fail policy_refusal(const struct group *g, bool exclusive_storage,
			 const struct instance *inst, struct refusal *ret_why)
{
	const struct policy *p = &g->policy;
	int64_t spindles =
		exclusive_storage ? inst->spindles : inst->spindle_use;
	enum fail why = inst->ignores_policy
				? FAIL_NONE
				: check_intervals(p, spindles, inst, ret_why);

	if (inst->ignores_policy || why != FAIL_NONE ||
	    template_allowed(p, inst->template))
		return why;
	return refuse(&(struct comparison){"disk-templates", 0, 0, FAIL_DISK},
		      ret_why);
}

enum fail policy_check(const struct group *g, bool exclusive_storage,
		       const struct instance *inst)
{
	struct refusal ignored;

	return policy_refusal(g, exclusive_storage, inst, &ignored);
}
