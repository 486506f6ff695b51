/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance while it is only planned: forthcoming in the configuration,
 * and marked with the job that will make it (reserved_by_job).  From the moment
 * it is put there it counts against the room of its node, keeps the node from
 * being removed, and its name, MACs, addresses, port and disks are its own; so
 * no lock of nodes is needed any more.
 *
 * The job is a creation that runs, or one that a bulk creation has submitted.
 * Whichever way it ends, nothing stays planned: a creation that fails takes
 * back what it recorded, one that ends before it begins is noticed by
 * recover_unstarted(), and those of a dead master by recover_reservations().
 * What a user wants to stay planned (gnt-instance add --forthcoming) has no
 * mark. */
#ifndef MASTERD_LU_SPEC_INSTANCE_BOOKING_H
#define MASTERD_LU_SPEC_INSTANCE_BOOKING_H

#include "masterd/lu/spec/instance_spec.h"

/* The object without its disks; to be freed. */
json_t *booking_object(const struct inst_spec *s, const char *uuid,
		       const char *pnode, bool up);

/* Put it with its disks into the configuration for our job; the caller
 * commits.  ERR_RESERVATION when there are no ports for its mirrors. */
int booking_put(struct lu *lu, const struct op_instance_create *op,
		const struct inst_spec *s, const char *uuid,
		const struct inst_nodes *nodes, struct error *err);

/* The forthcoming instance of this name that no job has taken, with as much as
 * is asked for now; NULL with ERR_PREREQ. */
const json_t *booking_planned(const struct config *c, const struct inst_spec *s,
			      struct error *err);
/* Mark it for our job, with what a new instance is given that takes no room;
 * the caller commits. */
void booking_claim(struct lu *lu, const struct inst_spec *s, const char *uuid);
/* Forthcoming, and no job's: it stays until somebody wants it; the caller
 * commits. */
void booking_keep(struct config *c, const json_t *inst);

/* Take an instance and its disks out of the configuration; the caller commits.
 */
void booking_drop(struct config *c, const json_t *inst);

#endif
