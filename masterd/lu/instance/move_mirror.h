/* SPDX-License-Identifier: BSD-2-Clause */
/* What moving an instance needs where its disks are mirrors: the target is the
 * node that has the other side, and for a migration both sides are primaries
 * for a while. */
#ifndef MASTERD_LU_INSTANCE_MOVE_MIRROR_H
#define MASTERD_LU_INSTANCE_MOVE_MIRROR_H

#include <stdbool.h>

#include "masterd/lu/frame/lu.h"

/* Whether its disks are mirrors between two nodes. */
bool move_mirror_is(struct lu *lu);

/* The node with the other side; NULL with err. */
const char *move_mirror_secondary(struct lu *lu, struct error *err);

/* -1 with err unless the node's side of each disk has the newest data. */
WAITS int move_mirror_check(struct lu *lu, const char *node, struct error *err);
/* The same unless it is connected to the other side: one that was alone does
 * not know what was written since. */
WAITS int move_mirror_check_linked(struct lu *lu, const char *node,
				   struct error *err);

/* Let both sides be primaries: connect them anew so, when they are equal. */
WAITS int move_mirror_share(struct lu *lu, struct error *err);

/* One primary again: the side on `demoted` becomes secondary, and both connect
 * anew. */
WAITS int move_mirror_unshare(struct lu *lu, const char *demoted,
			      struct error *err);

#endif
