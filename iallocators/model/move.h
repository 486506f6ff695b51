/* SPDX-License-Identifier: BSD-2-Clause */
/* Moving instances that exist.  inst is the record of the instance before and,
 * after success, as it is then; the stored one follows.  On failure nothing
 * has changed. */
#ifndef IALLOCATORS_MODEL_MOVE_H
#define IALLOCATORS_MODEL_MOVE_H

#include "iallocators/model/change.h"
#include "iallocators/model/model.h"

/* DRBD: primary and secondary change roles. */
enum fail move_failover(struct cluster *c, struct instance *inst, int index,
			bool force);

/* Shared storage: the primary goes to any node. */
enum fail move_failover_to(struct cluster *c, struct instance *inst, int index,
			   int target, bool force);

/* DRBD: the copy goes to another node. */
enum fail move_replace_secondary(struct cluster *c, struct instance *inst,
				 int index, int target, bool force);

/* DRBD, moves of two or three steps at once; the first letters say in which
 * order: replace the secondary and fail over to it, ... */
enum fail move_rf(struct cluster *c, struct instance *inst, int index,
		  int target, bool force);
enum fail move_fr(struct cluster *c, struct instance *inst, int index,
		  int target, bool force);
/* ... fail over, replace, fail over: a new primary. */
enum fail move_frf(struct cluster *c, struct instance *inst, int index,
		   int target, bool force);

/* Whether an instance may be migrated from a to b. */
bool move_migration_allowed(const struct cluster *c, int from, int to);
/* Whether a mirrored one can fail over to its secondary as things are, but for
 * memory. */
bool move_failover_possible(const struct cluster *c,
			    const struct instance *inst);

#endif
