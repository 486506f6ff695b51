/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of an instance's disks that its hypervisor makes while it runs.  From
 * the moment when all are complete until they end, what the instance writes is
 * on the old disks and on the new ones. */
#ifndef MASTERD_LU_DISKS_LIVE_COPY_H
#define MASTERD_LU_DISKS_LIVE_COPY_H

#include "masterd/lu/frame/lu.h"

struct live_copy {
	const json_t *inst;
	const char *node;    /* UUID: where it runs */
	const json_t *disks; /* the new ones, as node calls carry them; their
			      * UUIDs are those of the old ones */
	const char *address; /* where they wait on another node; NULL: here */
	int64_t port;
	int64_t speed_mib; /* MiB/s of each; 0: no limit */
};

/* Whether it runs under a hypervisor that can do this. */
WAITS int live_copy_can(struct lu *lu, const json_t *inst, bool *ret_can,
			struct error *err);

/* Start them and wait until all are complete; the job's log has the
 * progress. */
WAITS int live_copy_run(struct lu *lu, const struct live_copy *c,
			struct error *err);

/* End them: it goes on with the new disks ("pivot"), or with the old ones while
 * the new ones are complete ("leave"). */
WAITS int live_copy_end(struct lu *lu, const struct live_copy *c,
			const char *how, struct error *err);

/* Whether this one certainly has not been finished. */
WAITS bool live_copy_is_open(struct lu *lu, const struct live_copy *c, size_t i,
			     struct error *err);

/* Undo: it goes on with the old disks, whatever the state of the new ones. */
WAITS void live_copy_cancel(struct lu *lu, const struct live_copy *c);

#endif
