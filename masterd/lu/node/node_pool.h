/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of master candidates, for LUs that add, change or remove nodes.
 *
 * Node daemons accept a candidate's client certificate, so its digest is
 * recorded and removed together with the role. */
#ifndef MASTERD_LU_NODE_NODE_POOL_H
#define MASTERD_LU_NODE_NODE_POOL_H

#include "masterd/lu/frame/lu.h"

struct node_pool {
	size_t now;    /* are candidates */
	size_t should; /* are wanted: the pool's size, or all that can */
};

/* Counted as if the node `except` (may be NULL) did not exist. */
struct node_pool node_pool_stats(const struct config *c, const char *except);

/* Whether the pool needs one more candidate, not counting this node. */
bool node_pool_has_room(const struct config *c, const char *node_uuid);

/* Ask a node for the digest of its client certificate; to be freed. */
WAITS char *node_pool_digest(struct lu *lu, const json_t *node,
			     struct error *err);

/* Record the digest of the node's certificate; NULL: remove it. */
void node_pool_set_digest(struct lu *lu, const char *node_uuid,
			  const char *digest);

/* Tell a node that is no candidate any more to delete its copy of the
 * configuration; a failure is a warning. */
WAITS void node_pool_tell_demoted(struct lu *lu, const json_t *node);

/* Promote nodes other than `except` until the pool is full; a node that does
 * not answer is skipped with a warning.  Does not commit. */
WAITS void node_pool_fill(struct lu *lu, const char *except);

/* Commit a change that may be one of the candidates; those of them that answer
 * take part in the log then, if that does not take long. */
WAITS int node_pool_commit(struct lu *lu, struct error *err);

/* The node is to be removed: make others candidates in its place, and wait
 * until they have its vote in the log.  For that it must still be in the
 * configuration, and be heard.  -1 with err: they do not have it in time. */
WAITS int node_pool_resign(struct lu *lu, const json_t *node,
			   struct error *err);

/* The node, which is committed as no candidate any more, is let in nowhere from
 * now on; but while it has a vote in the log the other members have to hear it,
 * and it is shut out when it has left (role_certs.c). */
WAITS int node_pool_shut_out(struct lu *lu, const json_t *node,
			     struct error *err);

#endif
