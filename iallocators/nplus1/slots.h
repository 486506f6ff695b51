/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the evacuees of a node find a place, told by counting.
 *
 * An evacuee is an instance that has to leave its node when that is emptied.  A
 * slot is memory, and disk space where it needs that, for one instance of a
 * given size on one node.  If a group has slots of the size of the biggest
 * evacuee for all evacuees, then each of them finds a place, however badly the
 * places of those before it were chosen.  The slots of each group are kept
 * summed up by size, so that the question costs the same on a cluster of any
 * size.
 */
#ifndef IALLOCATORS_NPLUS1_SLOTS_H
#define IALLOCATORS_NPLUS1_SLOTS_H

#include "iallocators/model/model.h"

/* What the evacuees of a node need.  DRBD instances are not among them: they
 * fail over to their secondaries. */
struct need {
	int n;
	int64_t memory, disk;		/* of all */
	int64_t most_memory, most_disk; /* of one */
	bool disks;	 /* one has disks on the node's own storage */
	bool local;	 /* one has to be created again elsewhere */
	bool shared;	 /* one migrates */
	bool impossible; /* the policy lets one be created nowhere */
	bool unclear;	 /* counting slots says nothing about one */
	bool drbd_left;	 /* the DRBD instances have failed over already */
};

/* The memory of x's DRBD primaries that fail over to the node s. */
int64_t slots_drbd_load(const struct cluster *c, const struct node *x, int s);

/* Whether the nodes have slots for what x needs, even if the `without` nodes
 * with the most slots (at most SLOTS_CHANGED) are left out.  Looks at each
 * node. */
bool slots_count(const struct cluster *c, const struct nodeset *nodes,
		 const struct node *x, const struct need *need, int without);

/* Whether the instance can migrate: its disks are on shared storage. */
bool slots_migrates(const struct instance *inst);

/* List the evacuees among n primaries of a node, in the order in which they
 * look for a place; ret holds n.  Returns how many. */
int slots_list_evacuees(const struct cluster *c, const int *primaries, int n,
			int *ret);

struct slot_item;

/* The evacuees of one node with their sizes. */
struct evacuees {
	int *instances, n;
	struct slot_item *items; /* equal ones together */
	int n_items;		 /* -1: counting slots says nothing about one */
};

/* The caller frees them with slots_evacuees_done(). */
struct evacuees slots_evacuees(const struct cluster *c, const struct node *x);
void slots_evacuees_done(struct evacuees *l);
/* Take the first one out: it has found a place. */
void slots_evacuees_next(struct evacuees *l);

/* Whether the evacuees of x find a place, in their order.  TOO_FEW: there are
 * fewer slots of some size than evacuees as big.  ENOUGH: each finds a place
 * wherever those before it go.  UNCLEAR: only a simulation can tell.  With
 * drbd_left the DRBD primaries of x have failed over already in the state that
 * is counted; else their memory is taken off their secondaries. */
enum slots_verdict { SLOTS_UNCLEAR, SLOTS_ENOUGH, SLOTS_TOO_FEW };

enum slots_verdict slots_judge(const struct cluster *c,
			       const struct nodeset *nodes,
			       const struct node *x, const struct evacuees *l,
			       bool drbd_left);

/* The most nodes that a new instance changes. */
#define SLOTS_CHANGED 2

struct slot_row;
struct slot_table {
	const struct cluster *c;
	const struct nodeset *nodes; /* kept */
	struct slot_row *items;	     /* one for each group and size */
	int n, cap;
	int *index; /* hash of group and size: number of the row + 1, or 0 */
	bool peaks_rose;
	bool has_exclusive; /* some of the nodes */
};

/* c and nodes are kept, and must live longer. */
void slots_init(struct slot_table *r, const struct cluster *c,
		const struct nodeset *nodes);
void slots_done(struct slot_table *r);

/* Count the slots of a node that has changed again. */
void slots_changed(struct slot_table *r, int node);

/* Whether there are slots for what x needs, whichever SLOTS_CHANGED nodes a new
 * instance comes to.  False may also mean that only slots_count() can tell. */
bool slots_enough(struct slot_table *r, const struct node *x,
		  const struct need *need);
/* The same, without the slots of the changed nodes (each may be NO_INDEX). */
bool slots_enough_with(struct slot_table *r, const struct node *x,
		       const struct need *need, const int *changed,
		       int n_changed);

/* What the evacuees of one size need: there must be more than `lost` slots in
 * the row, because those before them can take so many. */
struct slot_need {
	int row;
	int64_t lost;
};

/* List what the evacuees of x need, size by size; ret holds as many as x has
 * primaries.  Returns how many, or -1 if counting slots says nothing. */
int slots_needs(struct slot_table *r, const struct node *x,
		const struct evacuees *l, struct slot_need *ret);

/* As slots_judge() without drbd_left, from the sums that are kept. */
enum slots_verdict slots_judge_kept(struct slot_table *r, const struct node *x,
				    const struct evacuees *l);

/* The slots of a row: of all nodes, and of one. */
int64_t slots_total(const struct slot_table *r, int row);
int64_t slots_of_node(const struct slot_table *r, int row, int node);
/* The slots that the node would have with so much memory and disk space. */
int64_t slots_of_node_with(const struct slot_table *r, int row, int node,
			   int64_t usable_mem, int64_t free_disk);

/* `lost` above relies on no node having more slots than the row's peak.  Tell
 * whether a node has got more since, in some row or in this one; */
bool slots_peaks_rose(const struct slot_table *r);
bool slots_peak_rose(const struct slot_table *r, int row);
/* forget that, when all needs have been listed again; */
void slots_peaks_noted(struct slot_table *r);
/* set the peaks to what the nodes have now. */
void slots_lower_peaks(struct slot_table *r);

#endif
