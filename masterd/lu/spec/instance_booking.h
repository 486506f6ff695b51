/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance before it is made: forthcoming in the configuration, and
 * marked with the job that will make it (reserved_by_job).  From that moment
 * its resources count as used on its nodes, the nodes cannot be removed, and
 * its name, MACs, addresses, port and disks belong to it; so no locks of nodes
 * are needed any more.
 *
 * The job is a creation that runs, or one that a bulk creation has submitted.
 * However it ends, no booking is left: a creation that fails removes its own,
 * recover_unstarted() those of jobs that end before they begin, and
 * recover_reservations() those of a dead master's jobs.  An instance that a
 * user wants to stay forthcoming (gnt-instance add --forthcoming) has no
 * mark. */
#ifndef MASTERD_LU_SPEC_INSTANCE_BOOKING_H
#define MASTERD_LU_SPEC_INSTANCE_BOOKING_H

#include "masterd/lu/spec/instance_spec.h"

/* The object without its disks; to be freed. */
json_t *booking_object(const struct inst_spec *s, const char *uuid,
		       const char *pnode, bool up);

/* Put it with its disks into the configuration for this job; the caller
 * commits. ERR_RESERVATION when no ports are left for its mirrors. */
int booking_put(struct lu *lu, const struct op_instance_create *op,
		const struct inst_spec *s, const char *uuid,
		const struct inst_nodes *nodes, struct error *err);

/* The forthcoming instance of this name that belongs to no job and was booked
 * with what is asked for now; NULL with ERR_PREREQ. */
const json_t *booking_planned(const struct config *c, const struct inst_spec *s,
			      struct error *err);
/* Mark it for this job, and set the values that take no resources; the caller
 * commits. */
void booking_claim(struct lu *lu, const struct inst_spec *s, const char *uuid);
/* Make it forthcoming without a job: it stays until somebody makes it real or
 * removes it; the caller commits. */
void booking_keep(struct config *c, const json_t *inst);

/* Remove an instance and its disks from the configuration; the caller
 * commits. */
void booking_drop(struct config *c, const json_t *inst);

#endif
