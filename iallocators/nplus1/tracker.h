/* SPDX-License-Identifier: BSD-2-Clause */
/* Global N+1 of a cluster that fills up: whether each node could be emptied,
 * tracked from one new instance to the next.
 *
 * Slots (slots.h) are summed up for each size of instance that would have to
 * leave some node.  For each size of its evacuees a node has a threshold: while
 * there are more slots than that, the node can certainly be emptied. Thresholds
 * stay true while the cluster only fills.  A node whose thresholds do not hold
 * is looked at closely: first its slots are counted, then it is emptied in a
 * simulation.  The answers are those of redundancy_holds().
 */
#ifndef IALLOCATORS_NPLUS1_TRACKER_H
#define IALLOCATORS_NPLUS1_TRACKER_H

#include "iallocators/model/place_options.h"
#include "iallocators/nplus1/slots.h"

struct tracked;

struct tracker {
	struct cluster *c;
	const struct nodeset *nodes; /* kept */
	struct slot_table slots;
	int rows_limit;		 /* with more rows the table is made anew */
	struct tracked *tracked; /* by node */
	int *order; /* nodes to be emptied; the last to fail first */
	int n_order;
	int *changed; /* nodes to be looked at again */
	int n_changed;
	int n_broken;  /* nodes that DRBD instances cannot leave or enter */
	bool for_good; /* the last "no" stays one whatever is added */
	int n_looks;   /* close ones, since all thresholds were noted */
};

/* Look at the nodes as they are. */
void tracker_init(struct tracker *s, struct cluster *c,
		  const struct nodeset *nodes, const struct place_options *o);
void tracker_done(struct tracker *s);

/* An instance has come to the node, or has been taken off again. */
void tracker_changed(struct tracker *s, int node);
/* The same, for an instance that is only there for a question. */
void tracker_tried(struct tracker *s, int node);

/* Whether each node can be emptied as things are now. */
bool tracker_holds(struct tracker *s);

/* Whether some node cannot be emptied, and could not whatever is added. */
bool tracker_hopeless(struct tracker *s);

#endif
