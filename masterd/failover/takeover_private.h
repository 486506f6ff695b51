/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the takeover share: takeover.c decides, takeover_ask.c
 * talks to the nodes, takeover_pull.c brings newer data here. */
#ifndef MASTERD_FAILOVER_TAKEOVER_PRIVATE_H
#define MASTERD_FAILOVER_TAKEOVER_PRIVATE_H

#include "masterd/config/config.h"
#include "masterd/failover/takeover.h"
#include "masterd/failover/vote.h"

struct candidacy {
	const struct takeover *t;
	json_t *document; /* the newest configuration that was seen */
	struct vote_position position; /* and how new it is */
	int64_t own_serial;	       /* of config.data here */
	struct noderpc *rpc;
	bool has_stopped; /* the former master */
	struct vote vote;
	json_t **states;  /* what each node said, NULL: nothing */
	json_t **objects; /* the nodes themselves */
};

/* Make c->vote of the document's nodes, nobody has answered yet. */
void takeover_list_nodes(struct candidacy *c);
void takeover_forget(struct candidacy *c);

/* The node's configuration, to be freed; nothing is written. */
WAITS json_t *takeover_read_config(struct candidacy *c,
				   const struct vote_node *from,
				   struct error *err);

/* Ask all nodes what they have; our own files where no node daemon of ours
 * answers. */
WAITS int takeover_ask(struct candidacy *c, struct error *err);

/* Ask the nodes to promise the term to us; what they have then.  The first
 * candidate that answered is asked before the others: of two who try at the
 * same time, one goes no further. */
WAITS int takeover_ask_promise(struct candidacy *c, uint64_t term,
			       struct error *err);

/* Replace our copy by that of the node, which must not be able to change it
 * any more. */
WAITS int takeover_pull_config(struct candidacy *c,
			       const struct vote_node *from, struct error *err);
WAITS int takeover_pull_queue(struct candidacy *c, const struct vote_node *from,
			      struct error *err);

/* The object of a node of the vote. */
static inline const json_t *takeover_object(const struct candidacy *c,
					    const struct vote_node *node)
{
	return c->objects[node - c->vote.nodes];
}

#endif
