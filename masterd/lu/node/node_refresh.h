/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording the resources that nodes report. */
#ifndef MASTERD_LU_NODE_NODE_REFRESH_H
#define MASTERD_LU_NODE_NODE_REFRESH_H

#include "masterd/lu/frame/lu.h"

/* Ask the node (an object that need not be in the configuration yet) and put
 * what it reports into hv_state_static and disk_state_static of the object.
 * Totals are always replaced; estimates (mem_node, disk_overhead) only where
 * nobody has set them.  Returns the changes, [[what, old, new], ...] with null
 * for a number that did not exist, to be freed; NULL with err if the node did
 * not answer. */
WAITS json_t *node_record(struct lu *lu, json_t *node, struct error *err);

#endif
