/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording what nodes report of their resources. */
#ifndef MASTERD_LU_NODE_NODE_REFRESH_H
#define MASTERD_LU_NODE_NODE_REFRESH_H

#include "masterd/lu/frame/lu.h"

/* Ask the node (an object that may not be in the configuration yet) and put
 * what it reports into hv_state_static and disk_state_static of the object.
 * Totals are always taken over; what is only an estimate (mem_node,
 * disk_overhead) where nobody set it.  Returns the changes, [[what, old, new],
 * ...] with null for what was not there, to be freed; NULL with err if the node
 * did not answer. */
WAITS json_t *node_record(struct lu *lu, json_t *node, struct error *err);

#endif
