/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots of an instance's disks, so that it need not be down while they are
 * copied. */
#ifndef MASTERD_LU_INSTANCE_SNAPSHOTS_H
#define MASTERD_LU_INSTANCE_SNAPSHOTS_H

#include <stdbool.h>

#include "masterd/lu/frame/lu.h"

/* Whether the storage of these disks (objects of the configuration) makes
 * them. */
bool snapshots_can(const char *template, const json_t *disks);

/* Take one of each disk, active on the node: [disk, ...] in the form of node
 * calls, to be freed.  After a failure there are none. */
WAITS json_t *snapshots_take(struct lu *lu, const json_t *inst,
			     const char *node, struct error *err);

/* Remove them; a failure is a warning. */
WAITS void snapshots_drop(struct lu *lu, const json_t *snapshots,
			  const char *node);

#endif
