/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirrored instances that move to a node that has no side of their disks.
 *
 * One of their two nodes stays, as the new secondary, and fills the target; the
 * other one leaves.  With a failover either can stay: the old secondary unless
 * it is lost or the user wants the primary; with a migration it is the primary,
 * which runs the instance meanwhile. */
#ifndef MASTERD_LU_INSTANCE_MOVE_ANYWHERE_H
#define MASTERD_LU_INSTANCE_MOVE_ANYWHERE_H

#include <stdbool.h>

#include "masterd/lu/frame/lu.h"
#include "masterd/lu/instance/move.h"

/* Whether the target has no side yet. */
bool move_anywhere_is(struct lu *lu);

/* Find target, or allocator, and who stays. */
int move_anywhere_choose(struct lu *lu, const struct move_wanted *w,
			 struct error *err);
/* ERR_PREREQ unless the side that stays can be used, and the target has room
 * for the other one.  Books the latter. */
int move_anywhere_check(struct lu *lu, struct error *err);

/* Whether what stays has all data: also right before the switch, as a link may
 * break while the instance is stopped. */
WAITS int move_anywhere_check_data(struct lu *lu, bool ignore_consistency,
				   struct error *err);

/* Look at the side that stays, and make storage on the target.  The instance
 * may run. */
WAITS int move_anywhere_prepare(struct lu *lu, bool ignore_consistency,
				struct error *err);
/* Let the one that leaves go, record the target's side (and the target as the
 * primary), and connect it: from then on it is being filled.  With a failover
 * the instance is stopped before. */
WAITS int move_anywhere_switch(struct lu *lu, bool as_primary,
			       struct error *err);
/* Wait until the target has all data. */
WAITS int move_anywhere_sync(struct lu *lu, struct error *err);
/* Remove the volumes of the one that left; failures are warnings. */
WAITS void move_anywhere_remove_old(struct lu *lu);

/* Make the sides as they were, as far as nothing has been written to the
 * target. */
WAITS void move_anywhere_undo(struct lu *lu);

#endif
