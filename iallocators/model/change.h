/* SPDX-License-Identifier: BSD-2-Clause */
/* Putting instances on nodes and taking them off, with the checks of what a
 * node can take; everything can be taken back. */
#ifndef IALLOCATORS_MODEL_CHANGE_H
#define IALLOCATORS_MODEL_CHANGE_H

#include "iallocators/model/model.h"

/* A point to return to. */
size_t change_mark(const struct cluster *c);
void change_undo(struct cluster *c, size_t mark);
/* Keep all changes so far for good. */
void change_commit(struct cluster *c);

/* No move changes more nodes than this. */
#define CHANGE_TOUCHED_MAX 8

/* A node that has changed, and its state before. */
struct touched {
	int node;
	const struct node_state *before; /* until the next change */
};

/* The nodes changed since the mark; how many, at most max of them. */
int change_touched(const struct cluster *c, size_t mark, struct touched *ret,
		   int max);

enum change_flags {
	CHANGE_STRICT = 1,  /* all checks, not only the indispensable ones */
	CHANGE_NO_DISK = 2, /* a secondary needs no free disk */
};

/* Put inst (stored under index; the record need not be the stored one) on a
 * node; FAIL_NONE, or why not (in words: c->refused) and nothing has
 * changed. */
enum fail change_add_primary(struct cluster *c, int node,
			     const struct instance *inst, int index,
			     unsigned flags);
enum fail change_add_secondary(struct cluster *c, int node,
			       const struct instance *inst, int index,
			       int primary, unsigned flags);

void change_remove_primary(struct cluster *c, int node,
			   const struct instance *inst, int index);
/* inst->primary is the primary it was secondary for. */
void change_remove_secondary(struct cluster *c, int node,
			     const struct instance *inst, int index);

/* Store the nodes and location score of inst under index. */
void change_store(struct cluster *c, const struct instance *inst, int index);

/* Whether the policy allows inst on the nodes of the group. */
enum fail policy_check(const struct group *g, bool exclusive_storage,
		       const struct instance *inst);
/* The same, and *ret_why where it does not. */
enum fail policy_refusal(const struct group *g, bool exclusive_storage,
			 const struct instance *inst, struct refusal *ret_why);

#endif
