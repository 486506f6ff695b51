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
	size_t first;	     /* the index of the first one in the instance */
	const json_t *peer;  /* what rpc_instance_mirror_serve() of another node
			      * said; NULL: they are here */
	int64_t speed_mib;   /* MiB/s of each; 0: no limit */
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

/* Which disks it uses, as the node says: the old ones, the new ones, or some of
 * each (also where nobody can say it). */
enum live_copy_use { LIVE_COPY_OLD, LIVE_COPY_NEW, LIVE_COPY_BOTH };

/* It goes on with the new disks, which the configuration names already.  Tries
 * again for half a minute, as the node's daemon may just be started; -1 with
 * err when it did not come to LIVE_COPY_NEW. */
WAITS int live_copy_pivot(struct lu *lu, const struct live_copy *c,
			  enum live_copy_use *ret_use, struct error *err);

/* Undo: it goes on with the old disks, whatever the state of the new ones. */
WAITS void live_copy_cancel(struct lu *lu, const struct live_copy *c);

/* What jobs that were cut off have left of copies of an instance that runs is
 * ended: it uses the disks that the configuration names when this has
 * succeeded, and nobody else's process or port is open.  Does nothing where
 * there is nothing of it, or it does not run. */
WAITS int live_settle(struct lu *lu, const json_t *inst, struct error *err);

/* The job is killed and makes no calls any more, or cannot see what is in use:
 * another job does that. */
WAITS void live_settle_later(struct lu *lu, const json_t *inst);

#endif
