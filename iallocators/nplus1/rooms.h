/* SPDX-License-Identifier: BSD-2-Clause */
/* Room for what leaves a node that is emptied.
 *
 * A node of a group has slots for the biggest of the instances that leave;
 * where there are slots for all of them, even the worst choice of places finds
 * one for the last.  The slots of each group are kept summed up by sizes, so
 * that the question costs the same on a cluster of any size.
 */
#ifndef IALLOCATORS_NPLUS1_ROOMS_H
#define IALLOCATORS_NPLUS1_ROOMS_H

#include "iallocators/model/model.h"

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
	bool drbd_left; /* DRBD has failed over already */
};

/* Memory that x's DRBD primaries bring to the node s. */
int64_t rooms_drbd_load(const struct cluster *c, const struct node *x, int s);

/* Whether there are slots among the nodes for what x needs, even without
 * those nodes, so many, that have most of them.  Counts them all. */
bool rooms_count(const struct cluster *c, const struct nodeset *nodes,
		 const struct node *x, const struct need *need, int without);

/* Whether it moves to another node with its storage. */
bool rooms_migrates(const struct instance *inst);

/* Which of a node's primaries, but DRBD, have to find a place when it is
 * emptied, in the order in which they do; ret has room for all.  How many. */
int rooms_leaving(const struct cluster *c, const int *primaries, int n,
		  int *ret);

struct room_item;

/* What rooms_leaving() tells of one node, with its sizes; it stays true until
 * the node's primaries change. */
struct leavers {
	int *instances, n;
	struct room_item *items; /* equal ones together */
	int n_items;		 /* -1: slots mean nothing for one of them */
};

/* To be freed with rooms_leavers_done(). */
struct leavers rooms_leavers(const struct cluster *c, const struct node *x);
void rooms_leavers_done(struct leavers *l);
/* The first of them has left. */
void rooms_leavers_next(struct leavers *l);

/* Whether all these find a place, in this order, when x is emptied and its
 * DRBD primaries have failed over or (drbd_left) have done so already.  Each is
 * looked at by itself: there are too few slots for those as big; or enough,
 * wherever those before it go. */
enum rooms_verdict { ROOMS_UNCLEAR, ROOMS_ENOUGH, ROOMS_TOO_FEW };

enum rooms_verdict rooms_judge(const struct cluster *c,
			       const struct nodeset *nodes,
			       const struct node *x, const struct leavers *l,
			       bool drbd_left);

/* The most nodes that a new instance changes. */
#define ROOMS_CHANGED 2

struct room;
struct rooms {
	const struct cluster *c;
	const struct nodeset *nodes; /* kept */
	struct room *items;	     /* by group and size */
	int n, cap;
	int *index; /* hash of group and size: number of the room + 1, or 0 */
	bool peaks_rose;
	bool has_exclusive; /* some of the nodes */
};

/* c and nodes are kept, and must live longer. */
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

/* To ask many times: what must find a place needs a slot of this room when so
 * many are gone already, at most. */
struct rooms_need {
	int room;
	int64_t lost;
};

/* What those that leave x need; ret has room for all.  How many, or -1 if slots
 * do not tell. */
int rooms_needs(struct rooms *r, const struct node *x, const struct leavers *l,
		struct rooms_need *ret);

/* As rooms_judge() before DRBD has failed over. */
enum rooms_verdict rooms_judge_kept(struct rooms *r, const struct node *x,
				    const struct leavers *l);

/* The slots of a room, of all nodes and of one. */
int64_t rooms_total(const struct rooms *r, int room);
int64_t rooms_slots(const struct rooms *r, int room, int node);
/* What the node would have with so much memory and disk space. */
int64_t rooms_slots_with(const struct rooms *r, int room, int node,
			 int64_t usable_mem, int64_t free_disk);

/* `lost` above relies on no node having more slots than noted.  Whether one
 * has, of some room or of this one; */
bool rooms_peaks_rose(const struct rooms *r);
bool rooms_peak_rose(const struct rooms *r, int room);
/* what was asked of them has been asked anew; */
void rooms_peaks_noted(struct rooms *r);
/* note what they have now. */
void rooms_lower_peaks(struct rooms *r);

#endif
