/* SPDX-License-Identifier: BSD-2-Clause */
/* Room for what leaves a node that is emptied.
 *
 * A node of a group has slots for the biggest of the instances that leave;
 * where there are slots for all of them, even the worst choice of places finds
 * one for the last.  The slots of each group are kept summed up by sizes, so
 * that the question costs the same on a cluster of any size.
 */
#ifndef IALLOCATORS_ROOMS_H
#define IALLOCATORS_ROOMS_H

#include "iallocators/model.h"

/* What must find a place when a node is emptied, besides DRBD. */
struct need {
	int n;
	int64_t memory, disk;		/* of all */
	int64_t most_memory, most_disk; /* of one */
	bool disks;  /* something with disks of the node's own storage */
	bool local;  /* something that has to be created again */
	bool shared; /* something that migrates */
	bool impossible;
	bool unclear;
};

/* Memory that x's DRBD primaries bring to the node s. */
int64_t rooms_drbd_load(const struct cluster *c, const struct node *x, int s);

/* Whether there are slots among the nodes for what x needs, even without
 * those nodes, so many, that have most of them.  Counts them all. */
bool rooms_count(const struct cluster *c, const struct nodeset *nodes,
		 const struct node *x, const struct need *need, int without);

/* Whether everything on x but DRBD, all of it to be created again and the
 * biggest memory first, finds a place.  Each is looked at by itself: there are
 * too few slots for it and those as big; or enough, wherever those before it
 * go. */
enum rooms_verdict { ROOMS_UNCLEAR, ROOMS_ENOUGH, ROOMS_TOO_FEW };

enum rooms_verdict rooms_judge(const struct cluster *c,
			       const struct nodeset *nodes,
			       const struct node *x);

/* The most nodes that a new instance changes. */
#define ROOMS_CHANGED 2

struct room;
struct rooms {
	const struct cluster *c;
	const struct nodeset *nodes; /* kept */
	struct room *items;	     /* by group and size */
	int n;
};

void rooms_init(struct rooms *r, const struct cluster *c,
		const struct nodeset *nodes);
void rooms_done(struct rooms *r);

/* One of the nodes has changed. */
void rooms_changed(struct rooms *r, int node);

/* Whether there are slots for what x needs, whichever ROOMS_CHANGED nodes
 * change; false may also mean that only rooms_count() can tell. */
bool rooms_enough(struct rooms *r, const struct node *x,
		  const struct need *need);
/* The same when these nodes (or NO_INDEX) have changed. */
bool rooms_enough_with(struct rooms *r, const struct node *x,
		       const struct need *need, const int *changed,
		       int n_changed);

#endif
