/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether nodes can take what instances book, as prerequisites.
 *
 * If the node's resources are recorded, the configuration decides and no node
 * is asked; otherwise the node says what is free now, as in Ganeti. */
#ifndef MASTERD_LU_PARTS_LU_RESOURCES_H
#define MASTERD_LU_PARTS_LU_RESOURCES_H

#include "masterd/lu/frame/lu.h"

struct memory_need {
	const char *node;   /* UUID */
	const char *reason; /* "creating instance web1", for the sentence */
	const char *hypervisor;
	int64_t min, max; /* MiB; max 0: promises do not matter */
	/* How much of these the instance has booked on the node already. */
	int64_t booked_min, booked_max;
	/* Memory that is reserved for instances of peer nodes may be used: by
	 * an instance that comes from a peer, not by a new one. */
	bool spare_reserve;
	int64_t live; /* must be free now, where nothing is recorded; 0: any */
};

/* ERR_PREREQ/ECODE_NORES "Not enough memory on node ..." */
WAITS int lu_check_memory(struct lu *lu, const struct memory_need *need,
			  struct error *err);

/* What the node says is free now, MiB; -1 with ERR_PREREQ. */
WAITS int64_t lu_live_memory(struct lu *lu, const char *node_uuid,
			     const char *hypervisor, struct error *err);

/* ERR_PREREQ/ECODE_NORES unless the secondary node can still take over all
 * instances of the primary if that is lost, with `more` MiB of minmem than now.
 * Nothing is checked where nothing is recorded. */
int lu_check_reserve(struct lu *lu, const char *secondary, const char *primary,
		     int64_t more, const char *reason, struct error *err);

/* The same for more MiB of the storage behind the template. */
WAITS int lu_check_space(struct lu *lu, const char *node_uuid,
			 const char *template, int64_t mib, struct error *err);
/* On each of these nodes. */
WAITS int lu_check_spaces(struct lu *lu, const struct strv *nodes,
			  const char *template, int64_t mib, struct error *err);

/* More that an instance books of its nodes than it does now. */
struct ratio_need {
	const char *primary, *secondary; /* UUIDs; secondary may be NULL */
	const char *reason;		 /* "creating instance web1" */
	int64_t vcpus;			 /* of the primary */
	int64_t spindles;		 /* of both */
};

/* The spindles of its nodes that an instance with these (filled) parameters
 * books: none without disks on volumes. */
int64_t lu_spindles(const char *template, const json_t *filled_be);

/* The policy's ratios in the groups of the nodes: ERR_PREREQ/ECODE_NORES "Not
 * enough CPUs on node ...".  CPUs are not checked where nothing is recorded,
 * nor spindles where they are counted as storage. */
int lu_check_ratios(struct lu *lu, const struct ratio_need *need,
		    struct error *err);

/* Book the resources (BOOK_*) on the node for the instance until the job ends;
 * then the lock of the node's resources can be released.  A dry run books
 * nothing. */
void lu_book(struct lu *lu, const json_t *inst, const char *node_uuid,
	     unsigned what);
/* End the bookings that the planner of this job has made for it there; the
 * check that follows, with the lock held, looks again. */
void lu_unbook(struct lu *lu, const json_t *inst, const char *node_uuid,
	       unsigned what);

#endif
