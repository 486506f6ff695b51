/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for instances while they run (doc/design/resources.md): one that
 * starts or arrives finds room, for which others shrink towards their minmem;
 * what comes free lets others grow towards their maxmem.
 *
 * Only on nodes whose memory is recorded, and only where maxmem of all does not
 * fit anyway: else nobody is asked and nothing changes.  Instances that shrink
 * or grow are not locked, since a start must not wait for the long jobs of
 * others; jobs take turns on a node instead, and room for what has not come yet
 * stays theirs until they end (config_book_runtime()). */
#ifndef MASTERD_LU_PARTS_LU_ROOM_H
#define MASTERD_LU_PARTS_LU_ROOM_H

#include "masterd/lu/frame/lu.h"

/* A size in MiB that somebody chose while an instance runs is a number of ours
 * (lib/model/config/state.h) under the instance's UUID. */

struct room_want {
	const char *node;   /* UUID */
	const json_t *inst; /* what it has there already is its own */
	int64_t min, most;  /* MiB */
	bool keep;	    /* no memory may be changed: all or nothing */
	bool restarts;	    /* it runs there and begins anew */
};

/* Make room for it on the node and take it for the job.  The MiB that it may
 * have there, from min to most; -1 with ERR_PREREQ/ECODE_NORES. */
WAITS int64_t lu_room_make(struct lu *lu, const struct room_want *want,
			   struct error *err);

/* Start an instance on the node with what there is room for; hv and be are
 * parameters of this start only and may be NULL. */
struct room_start {
	const char *node;
	const json_t *hv, *be;
	bool paused;
};
WAITS int lu_start_instance(struct lu *lu, const json_t *inst,
			    const struct room_start *start, struct error *err);

/* Before an instance that runs moves to the target: room for it there, and only
 * as much of it as fits.  With `keep` no memory may be changed for it. */
WAITS int lu_room_move(struct lu *lu, const json_t *inst, const char *target,
		       bool keep, struct error *err);

/* Before an instance that runs begins anew by itself, and after it has: what
 * it may have then (0: that is not to change), or -1. */
WAITS int64_t lu_room_restart(struct lu *lu, const json_t *inst, bool anew,
			      struct error *err);
WAITS int lu_room_restarted(struct lu *lu, const json_t *inst, int64_t mib,
			    struct error *err);

/* It runs on the node and is to have so much: more only where there is room,
 * unless by force. */
WAITS int lu_room_resize(struct lu *lu, const json_t *inst, int64_t mib,
			 bool force, struct error *err);

/* After an instance has begun anew its size is nobody's choice. */
WAITS int lu_room_forget_choice(struct lu *lu, const json_t *inst,
				struct error *err);

/* Memory has come free on the node: a job lets others grow, where there are
 * some and the cluster wants it. */
WAITS void lu_room_freed(struct lu *lu, const char *node_uuid);

/* Let them grow; [[name, from, to], ...] or NULL with err. */
WAITS json_t *lu_room_grow(struct lu *lu, const char *node_uuid,
			   struct error *err);

/* Whether the cluster lets instances grow by themselves. */
bool lu_room_may_grow(const struct lu *lu);

#endif
