/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters that adding and changing nodes, groups and the cluster have in
 * common. */
#ifndef MASTERD_LU_NODE_NODE_STATE_H
#define MASTERD_LU_NODE_NODE_STATE_H

#include "masterd/lu/frame/lu.h"

/* Put changed ndparams into an object that is being edited (a node's must not
 * have those that are for groups only); NULL or empty: nothing changes. */
int node_state_set_ndparams(json_t *object, const json_t *changes,
			    struct error *err);
int node_change_ndparams(json_t *node, const json_t *changes,
			 struct error *err);

/* ERR_PREREQ unless it is an address that no other node has, a primary one of
 * the cluster's family, a secondary one of any. */
int node_check_primary(const struct config *c, const char *node_uuid,
		       const char *address, struct error *err);
int node_check_secondary(const struct config *c, const char *node_uuid,
			 const char *address, struct error *err);

/* Either all nodes have a second network, of one family, or none: ERR_PREREQ
 * when the node differs from the master. */
int node_check_homing(const struct config *c, const char *primary_ip,
		      const char *secondary_ip, struct error *err);

/* Take the watcher's tag away from a node that is being edited: somebody says
 * whether it is offline, so the watcher does not change that by itself. */
void node_state_drop_watcher_tag(json_t *node);

/* Call `version` and compare; `node` needs a name and a primary_ip. */
WAITS int node_check_version(struct lu *lu, const json_t *node,
			     struct error *err);

#endif
