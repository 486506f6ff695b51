/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for instances while they run (doc/design/resources.md).  One that
 * starts or arrives gets memory, for which others shrink towards their minmem;
 * memory that becomes free lets others grow towards their maxmem.
 *
 * This happens only on nodes whose memory is recorded, and only when the maxmem
 * of all does not fit at once; otherwise no node is asked and nothing changes.
 * Instances that shrink or grow are not locked, since a start must not wait for
 * long jobs on other instances.  Instead jobs take turns at a node, and memory
 * for an instance that has not come yet stays booked until the job ends
 * (config_book_runtime()). */
#ifndef MASTERD_LU_PARTS_LU_BALLOON_H
#define MASTERD_LU_PARTS_LU_BALLOON_H

#include "masterd/lu/frame/lu.h"

/* A size in MiB that somebody chose for a running instance is stored as a
 * number of ours (lib/model/config/state.h) under the instance's UUID. */

struct balloon_want {
	const char *node;   /* UUID */
	const json_t *inst; /* it runs there already */
	int64_t min, most;  /* MiB */
	bool keep;	    /* nothing may be shrunk: all of most or an error */
	bool restarts;	    /* it runs there and restarts */
};

/* Free memory for it on the node and book it for the job.  Returns how many MiB
 * it gets, from min to most; -1 with ERR_PREREQ/ECODE_NORES. */
WAITS int64_t lu_balloon_make(struct lu *lu, const struct balloon_want *want,
			      struct error *err);

/* Start an instance on the node with as much memory as it can get; hv and be
 * are parameters of this start only and may be NULL. */
struct balloon_start {
	const char *node;
	const json_t *hv, *be;
	bool paused;
};
WAITS int lu_start_instance(struct lu *lu, const json_t *inst,
			    const struct balloon_start *start,
			    struct error *err);

/* Before a running instance moves to the target: free memory there, and shrink
 * it to what it can get.  With `keep` no sizes may be changed. */
WAITS int lu_balloon_move(struct lu *lu, const json_t *inst, const char *target,
			  bool keep, struct error *err);

/* Before a running instance restarts by itself, and afterwards: returns what it
 * gets (0: its size does not change), or -1. */
WAITS int64_t lu_balloon_restart(struct lu *lu, const json_t *inst, bool anew,
				 struct error *err);
WAITS int lu_balloon_restarted(struct lu *lu, const json_t *inst, int64_t mib,
			       struct error *err);

/* Change the memory of a running instance to so many MiB; more only if there is
 * free memory, unless forced. */
WAITS int lu_balloon_resize(struct lu *lu, const json_t *inst, int64_t mib,
			    bool force, struct error *err);

/* An instance that has started anew has no chosen size any more. */
WAITS int lu_balloon_forget_choice(struct lu *lu, const json_t *inst,
				   struct error *err);

/* Memory has become free on the node: submit a job that lets others grow, if
 * any can and the cluster wants it. */
WAITS void lu_balloon_freed(struct lu *lu, const char *node_uuid);

/* Let them grow; [[name, from, to], ...], to be freed, or NULL with err. */
WAITS json_t *lu_balloon_grow(struct lu *lu, const char *node_uuid,
			      struct error *err);

/* Whether the cluster lets instances grow by themselves. */
bool lu_balloon_may_grow(const struct lu *lu);

#endif
