/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of master candidates, for LUs that add, change or remove nodes.
 *
 * A candidate's client certificate opens the node daemons, so the digest comes
 * and goes with the role. */
#ifndef MASTERD_LU_NODE_NODE_POOL_H
#define MASTERD_LU_NODE_NODE_POOL_H

#include "masterd/lu/frame/lu.h"

struct node_pool {
	size_t now;    /* are candidates */
	size_t should; /* are wanted: the pool's size, or all that can */
};

/* As if the node `except` (may be NULL) did not exist. */
struct node_pool node_pool_stats(const struct config *c, const char *except);

/* Has the pool room for a node (that is not counted itself)? */
bool node_pool_has_room(const struct config *c, const char *node_uuid);

/* Ask a node for the digest of its client certificate; to be freed. */
WAITS char *node_pool_digest(struct lu *lu, const json_t *node,
			     struct error *err);

/* Put the node's digest into the cluster's list, or take it off with NULL. */
void node_pool_set_digest(struct lu *lu, const char *node_uuid,
			  const char *digest);

/* A node that was a candidate drops its copy of the configuration; that it does
 * not is a warning. */
WAITS void node_pool_tell_demoted(struct lu *lu, const json_t *node);

/* Promote nodes other than `except` until the pool is full; those that do not
 * answer are left with a warning.  Not committed. */
WAITS void node_pool_fill(struct lu *lu, const char *except);

#endif
