/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether nodes can take on what instances book, as a prerequisite.
 *
 * Where the node's resources are recorded the record decides and nobody is
 * asked; else the node says what is free now, as in Ganeti. */
#ifndef MASTERD_LU_PARTS_LU_RESOURCES_H
#define MASTERD_LU_PARTS_LU_RESOURCES_H

#include "masterd/lu/frame/lu.h"

struct memory_need {
	const char *node;   /* UUID */
	const char *reason; /* "creating instance web1", for the sentence */
	const char *hypervisor;
	int64_t min, max; /* MiB; max 0: promises do not matter */
	/* How much of these the instance has booked there already. */
	int64_t booked_min, booked_max;
	/* What is reserved for instances of peers is not to be taken: new
	 * instances leave it alone, those that come from a peer are what it is
	 * for. */
	bool spare_reserve;
	int64_t live; /* to be free now, where nothing is recorded; 0: any */
};

/* ERR_PREREQ/ECODE_NORES "Not enough memory on node ..." */
WAITS int lu_check_memory(struct lu *lu, const struct memory_need *need,
			  struct error *err);

/* What the node says is free now, MiB; -1 with ERR_PREREQ. */
WAITS int64_t lu_live_memory(struct lu *lu, const char *node_uuid,
			     const char *hypervisor, struct error *err);

/* Whether the secondary node of an instance can still take over all that it
 * has to when the primary is lost, with `more` MiB of minmem than now: else
 * ERR_PREREQ/ECODE_NORES.  Nothing is checked where nothing is recorded. */
int lu_check_reserve(struct lu *lu, const char *secondary, const char *primary,
		     int64_t more, const char *reason, struct error *err);

/* The same for more MiB of the storage behind the template. */
WAITS int lu_check_space(struct lu *lu, const char *node_uuid,
			 const char *template, int64_t mib, struct error *err);

/* More virtual CPUs, and more spindle use, by the ratios of the policy of the
 * node's group: ERR_PREREQ/ECODE_NORES "Not enough CPUs on node ..." CPUs are
 * not looked at where nothing is recorded, nor spindles where they are counted
 * as storage. */
int lu_check_ratios(struct lu *lu, const char *node_uuid, const char *reason,
		    int64_t vcpus, int64_t spindles, struct error *err);

/* Take the room (BOOK_*) that was found on the node for the instance, until the
 * job ends: then the lock of the node's resources can be given back.  A dry run
 * takes none. */
void lu_book(struct lu *lu, const json_t *inst, const char *node_uuid,
	     unsigned what);
/* Give back what whoever planned this job has taken for it there; the check
 * that follows looks for it anew, with the lock held. */
void lu_unbook(struct lu *lu, const json_t *inst, const char *node_uuid,
	       unsigned what);

#endif
