/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of OP_INSTANCE_REPLACE_DISKS share.
 *
 * Disks that mirror each other over the network (DRBD) get new storage, either
 * on one of their two nodes or by another node in the place of the secondary.
 * Everything that the work needs to know of the mirrors stands in the disks'
 * logical ids: [node, node, port, minor, minor, secret], and in their children,
 * the volumes for data and metadata that have the same names on both nodes. */
#ifndef MASTERD_LU_REPLACE_INSTANCE_REPLACE_DISKS_H
#define MASTERD_LU_REPLACE_INSTANCE_REPLACE_DISKS_H

#include "masterd/lu/frame/lu.h"

struct replace {
	struct lu lu;
	const json_t *inst;
	/* UUIDs of nodes: as it is; whose storage is replaced and the mirror of
	 * that; who becomes the secondary (NULL: nobody). */
	const char *primary, *secondary;
	const char *target, *other;
	const char *new_node;
	const char *iallocator; /* that chooses the new node; or NULL */
	bool *wanted;		/* a flag for each of the n disks */
	size_t n;
	int64_t *minors; /* on the new node, of each wanted disk */

	/* What undo needs, once there is something to undo. */
	json_t *created;  /* volumes made so far and not yet in use */
	json_t *before;	  /* the disks, once the old secondary was stopped */
	bool recorded;	  /* the configuration says what they shall be */
	bool activated;	  /* only for the while */
	bool deactivated; /* that is over */
	bool moved;	  /* the new node has data */
};

/* The replacement that this logical unit is part of. */
struct replace *replace_of(struct lu *lu);

/* --- choosing and checking (instance_replace_disks_check.c) --- */

/* ERR_PREREQ unless mode, disks, node and allocator fit together; resolves the
 * allocator's name. */
int replace_check_arguments(struct lu *lu, struct error *err);
/* All that is to be known before the work: which nodes, which disks. */
WAITS int replace_check(struct lu *lu, struct error *err);

/* --- the work --- */

/* Other storage on the same node (instance_replace_disks_own.c); another
 * secondary (instance_replace_disks_new.c). */
WAITS int replace_on_node(struct lu *lu, struct error *err);
WAITS int replace_secondary(struct lu *lu, struct error *err);
/* The old secondary is in the configuration again, and connected as far as it
 * can be. */
WAITS void replace_secondary_undo(struct lu *lu);

/* --- steps of both (instance_replace_disks_steps.c) --- */

/* "STEP 2/6 ..." */
void replace_step(struct lu *lu, int number, const char *what);
/* The wanted disks as node calls carry them, with "index"; to be freed. */
json_t *replace_disks(struct lu *lu);
/* A call whose answer does not matter beyond its success. */
WAITS int replace_call(struct lu *lu, const char *node, const char *procedure,
		       json_t *args STEALS, struct error *err);
/* All disks of the instance run on the node, as they are configured. */
WAITS int replace_assemble(struct lu *lu, const char *node, struct error *err);
/* The disks run on the node. */
WAITS int replace_find(struct lu *lu, const char *node, struct error *err);
/* The data on the node is good; the mirror may be broken. */
WAITS int replace_check_data(struct lu *lu, const char *node,
			     struct error *err);
/* Make a volume on the node; undo removes it while it is in r->created. */
WAITS int replace_create(struct lu *lu, const char *node, const json_t *volume,
			 struct error *err);
/* Remove volumes [{...}, ...]; failures are warnings. */
WAITS void replace_remove(struct lu *lu, const char *node,
			  const json_t *volumes);
/* Wait until the mirrors are in sync; without the lock of the instance. */
WAITS int replace_sync(struct lu *lu, struct error *err);

/* Disks of an instance that is down are used for the while; afterwards they are
 * stopped unless the instance was started meanwhile. */
WAITS int replace_activate(struct lu *lu, struct error *err);
WAITS void replace_deactivate(struct lu *lu);

#endif
