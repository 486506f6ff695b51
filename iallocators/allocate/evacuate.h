/* SPDX-License-Identifier: BSD-2-Clause */
/* Moving instances away: node-evacuate, relocate, change-group. */
#ifndef IALLOCATORS_ALLOCATE_EVACUATE_H
#define IALLOCATORS_ALLOCATE_EVACUATE_H

#include "iallocators/allocate/hail_result.h"
#include "iallocators/model/model.h"
#include "iallocators/place/place.h"
#include "lib/base/str.h"

enum evac_step_kind { STEP_FAILOVER, STEP_FAILOVER_TO, STEP_REPLACE };

struct evac_step {
	enum evac_step_kind kind;
	int target; /* not for STEP_FAILOVER */
};

#define EVAC_STEPS_MAX HAIL_OPS_MAX

struct evac_steps {
	struct evac_step items[EVAC_STEPS_MAX];
	int n;
};

/* Move one instance onto some of the targets; group is the one whose score
 * decides and whose nodes are `targets` with others.  Its record is changed to
 * what it is then.  false and the reason otherwise. */
bool evacuate_instance(struct cluster *c, struct instance *inst, int index,
		       enum evac_mode mode, int group,
		       const struct nodeset *targets,
		       const struct place_options *o,
		       struct evac_steps *ret_steps, struct buf *ret_reason);

/* The answer to a request that moves up to n instances; then add one instance
 * to it, as moved or as failed. */
void evac_answer_start(struct hail_result *ret, struct cluster *c, size_t n);
void evac_answer_moved(struct hail_result *ret, const struct cluster *c,
		       const struct instance *inst, int group,
		       const struct evac_steps *steps);
void evac_answer_failed(struct hail_result *ret, struct cluster *c,
			const struct instance *inst, const char *reason);

/* node-evacuate: the instances one after the other. */
void evacuate(struct cluster *c, const int *instances, int n,
	      enum evac_mode mode, const struct place_options *o,
	      struct hail_result *ret);

/* relocate: one node of an instance is to be replaced; *ret is the new one. */
bool evacuate_relocate(struct cluster *c, int index, int64_t required_nodes,
		       const int *from, int n_from,
		       const struct place_options *o, int *ret,
		       struct buf *ret_reason);

/* change-group: into the target groups (none: any), out of the present
 * ones. */
void change_group(struct cluster *c, const int *instances, int n,
		  const int *targets, int n_targets,
		  const struct place_options *o, struct hail_result *ret);

#endif
