/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance policy: sizes and templates that a group allows. */
#include "iallocators/change.h"

static enum fail too_small(const struct ispec *min, const struct instance *inst,
			   int64_t spindles)
{
	if (inst->memory < min->memory)
		return FAIL_MEM;
	for (size_t i = 0; i < inst->n_disks; i++)
		if (inst->disks[i].size < min->disk)
			return FAIL_DISK;
	if (inst->vcpus < min->cpus)
		return FAIL_CPU;
	if (spindles < min->spindle_use)
		return FAIL_SPINDLES;
	if (inst->template != TEMPLATE_DISKLESS &&
	    (int64_t)inst->n_disks < min->disk_count)
		return FAIL_DISK_COUNT;
	return FAIL_NONE;
}

static enum fail too_big(const struct ispec *max, const struct instance *inst,
			 int64_t spindles)
{
	if (inst->memory > max->memory)
		return FAIL_MEM;
	for (size_t i = 0; i < inst->n_disks; i++)
		if (inst->disks[i].size > max->disk)
			return FAIL_DISK;
	if (inst->vcpus > max->cpus)
		return FAIL_CPU;
	if (spindles > max->spindle_use)
		return FAIL_SPINDLES;
	if (inst->template != TEMPLATE_DISKLESS &&
	    (int64_t)inst->n_disks > max->disk_count)
		return FAIL_DISK_COUNT;
	return FAIL_NONE;
}

static bool template_allowed(const struct policy *p, enum template t)
{
	for (size_t i = 0; i < p->n_templates; i++)
		if (p->templates[i] == t)
			return true;
	return false;
}

enum fail policy_check(const struct group *g, bool exclusive_storage,
		       const struct instance *inst)
{
	const struct policy *p = &g->policy;
	int64_t spindles =
		exclusive_storage ? inst->spindles : inst->spindle_use;
	enum fail first = FAIL_NONE;

	for (size_t i = 0; i < p->n_intervals; i++) {
		enum fail why = too_small(&p->intervals[i].min, inst, spindles);

		if (why == FAIL_NONE)
			why = too_big(&p->intervals[i].max, inst, spindles);
		if (i == 0 || why == FAIL_NONE)
			first = why;
		if (why == FAIL_NONE)
			break;
	}
	if (first == FAIL_NONE && !template_allowed(p, inst->template))
		first = FAIL_DISK;
	return first;
}
