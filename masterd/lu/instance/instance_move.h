/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two ways of OP_INSTANCE_MOVE share: with a stop (instance_move.c),
 * and while the instance runs (instance_move_live.c). */
#ifndef MASTERD_LU_INSTANCE_INSTANCE_MOVE_H
#define MASTERD_LU_INSTANCE_INSTANCE_MOVE_H

#include "masterd/lu/instance/move.h"

struct inst_move {
	struct move base;
	json_t *disks;	/* as node calls carry them */
	bool has_disks; /* on the target, not yet the instance's */
	bool moved;	/* the target is its primary */
	bool stopped;	/* it is marked up, and we have asked to stop it */
};

/* Note new disks on the target and make them: if this master dies, the next one
 * knows that they are an unfinished copy. */
WAITS int instance_move_make_disks(struct lu *lu, struct error *err);
/* The disks belong to the new primary from now on. */
WAITS int instance_move_put_primary(struct lu *lu, struct error *err);

/* ERR_PREREQ unless it runs, and can move so. */
WAITS int instance_move_check_live(struct lu *lu, struct error *err);
/* Move it while it runs. */
WAITS int instance_move_live(struct lu *lu, struct error *err);

#endif
