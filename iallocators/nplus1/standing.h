/* SPDX-License-Identifier: BSD-2-Clause */
/* Global N+1 of a cluster that fills up: whether each node could be emptied,
 * kept from one instance to the next.
 *
 * Slots (rooms.h) are summed up for each size of instance that would have to
 * leave some node.  A node can certainly be emptied while there are more slots
 * of each of its sizes than a number noted for it, its claim; claims stay true
 * while the cluster only fills.  Only where they do not tell is a node looked
 * at closely, in the end by simulation.  The answers are those of
 * redundancy_holds().
 */
#ifndef IALLOCATORS_NPLUS1_STANDING_H
#define IALLOCATORS_NPLUS1_STANDING_H

#include "iallocators/model/place_options.h"
#include "iallocators/nplus1/rooms.h"

struct stand;
struct most;

struct standing {
	struct cluster *c;
	const struct nodeset *nodes; /* kept */
	struct rooms rooms;
	int rooms_limit;      /* from so many on they are worth clearing */
	struct stand *stands; /* by node */
	int *order;	      /* nodes to be emptied; the last to fail first */
	int n_order;
	int *changed; /* nodes to be looked at again */
	int n_changed;
	int n_broken;	   /* reasons why nothing that is added can help */
	struct most *most; /* by group: memory */
	bool knows_most;
	bool for_good; /* the last "no" is one whatever is added */
	int n_looks;   /* at nodes since all claims were noted */
};

/* Look at the nodes as they are. */
void standing_init(struct standing *s, struct cluster *c,
		   const struct nodeset *nodes, const struct place_options *o);
void standing_done(struct standing *s);

/* An instance has come to the node, or has been taken off again. */
void standing_changed(struct standing *s, int node);
/* The same, only to see whether all nodes could still be emptied. */
void standing_tried(struct standing *s, int node);

/* Whether each node can be emptied as things are now. */
bool standing_holds(struct standing *s);

/* Whether that is not so, nor will be whatever is added. */
bool standing_hopeless(struct standing *s);

/* Whether some other node of its group has more memory than that. */
bool standing_has_refuge(struct standing *s, int node, int64_t memory);

#endif
