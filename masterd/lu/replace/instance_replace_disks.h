/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of OP_INSTANCE_REPLACE_DISKS share.
 *
 * Disks that are mirrored over the network (DRBD) get new storage, either on
 * one of their two nodes, or on another node that takes the place of the
 * secondary. The disks' logical ids, [node, node, port, minor, minor, secret],
 * and their children, the volumes for data and metadata with the same names on
 * both nodes, have all that is needed to know of the mirrors. */
#ifndef MASTERD_LU_REPLACE_INSTANCE_REPLACE_DISKS_H
#define MASTERD_LU_REPLACE_INSTANCE_REPLACE_DISKS_H

#include "masterd/lu/frame/lu.h"

struct replace {
	struct lu lu;
	const json_t *inst;
	/* UUIDs of nodes: the primary; the node whose storage is replaced, and
	 * its peer; the new secondary (NULL: none). */
	const char *primary, *secondary;
	const char *target, *other;
	const char *new_node;
	const char *iallocator; /* to choose the new node; or NULL */
	bool *wanted;		/* a flag for each of the n disks */
	size_t n;
	int64_t *minors; /* on the new node, of each wanted disk */

	bool parted; /* the peer has no connection to the storage */

	/* What undo needs after a part of the work. */
	json_t *created;  /* volumes that were made and are not in use yet */
	json_t *before;	  /* the disks, once the secondary is stopped */
	bool recorded;	  /* the new disks are recorded */
	bool activated;	  /* the disks were activated only for this opcode */
	bool deactivated; /* and deactivated again */
	bool moved;	  /* data has been written to the new node */
};

/* The replacement that this logical unit is part of. */
struct replace *replace_of(struct lu *lu);

/* --- choosing and checking (instance_replace_disks_check.c) --- */

/* ERR_PREREQ unless mode, disks, node and allocator fit together; resolves the
 * allocator's name. */
int replace_check_arguments(struct lu *lu, struct error *err);
/* Find the nodes and disks, and check them. */
WAITS int replace_check(struct lu *lu, struct error *err);

/* --- execution --- */

/* Replace the storage on the same node (instance_replace_disks_own.c); replace
 * the secondary (instance_replace_disks_new.c). */
WAITS int replace_on_node(struct lu *lu, struct error *err);
WAITS int replace_secondary(struct lu *lu, struct error *err);
/* Undo: the old secondary is recorded again, and connected as far as
 * possible. */
WAITS void replace_secondary_undo(struct lu *lu);

/* --- steps of both (instance_replace_disks_steps.c) --- */

/* Write "STEP 2/6 ..." to the job's log. */
void replace_step(struct lu *lu, int number, const char *what);
/* The wanted disks in the form of node calls, with "index"; to be freed. */
json_t *replace_disks(struct lu *lu);
/* A call of which only success or failure matters. */
WAITS int replace_call(struct lu *lu, const char *node,
		       struct rpc_request request, struct error *err);
/* Start all disks of the instance on the node, as they are recorded. */
WAITS int replace_assemble(struct lu *lu, const char *node, struct error *err);
/* -1 with err unless the disks run on the node. */
WAITS int replace_find(struct lu *lu, const char *node, struct error *err);
/* -1 with err unless the data on the node is good; the mirror may be broken. */
WAITS int replace_check_data(struct lu *lu, const char *node,
			     struct error *err);
/* Make a volume on the node; undo removes it as long as it is in r->created. */
WAITS int replace_create(struct lu *lu, const char *node, const json_t *volume,
			 struct error *err);
/* Remove volumes [{...}, ...]; failures are warnings. */
WAITS void replace_remove(struct lu *lu, const char *node,
			  const json_t *volumes);
/* Name old volumes [{...}, ...] that stay on the node after a failure: until
 * the mirrors are in sync, they may have the last copy of the data. */
void replace_leave(struct lu *lu, const char *node, const json_t *volumes);
/* Wait until the mirrors are in sync, without the instance's lock. */
WAITS int replace_sync(struct lu *lu, struct error *err);

/* Activate the disks of an instance that is down, for this opcode, as far as
 * the side works that is replaced; deactivate them afterwards, unless the
 * instance was started meanwhile. */
WAITS int replace_activate(struct lu *lu, struct error *err);
WAITS void replace_deactivate(struct lu *lu);

#endif
