/* SPDX-License-Identifier: BSD-2-Clause */
/* Cleans up what a master that died left unfinished. */
#ifndef MASTERD_FAILOVER_RECOVER_H
#define MASTERD_FAILOVER_RECOVER_H

#include <jansson.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "masterd/config/config.h"

struct job;
struct queue;
struct recover;

/* Both that are given live longer than what is returned, which
 * recover_destroy() frees (NULL is fine). */
struct recover *recover_create(struct config *config, struct queue *queue);
void recover_destroy(struct recover *r);

/* The master stops: nothing more is submitted for jobs that end. */
void recover_end(struct recover *r);

/* What could not be cleaned up, since nothing can be changed now, is to be
 * tried again (recover_one()): then this is called.  Must not wait. */
void recover_set_failed(struct recover *r, void (*failed)(void *arg),
			void *arg);

/* Submit a job for each instance whose creation was interrupted (it still has
 * reserved_by_job), to remove it, and for each temporary disk of other
 * instances.  Call it once, before jobs run: the jobs that made them have ended
 * as errors; jobs that have not begun will find what was reserved for them. */
WAITS void recover_reservations(struct recover *r);

/* One of them, an instance or a disk, while jobs run.  -1: not now; the log has
 * it. */
WAITS int recover_one(struct recover *r, enum config_kind kind,
		      const json_t *object);

/* A job has ended: if a creation in it never began, what was reserved for it is
 * removed in the same way.  Does not wait. */
void recover_unstarted(struct recover *r, const struct job *j);

/* Submit the job that ends an instance's helper machine (lu_helper.h), removes
 * its temporary disk, and starts the instance if it is marked up. */
WAITS int recover_helper(struct queue *q, const json_t *inst,
			 const char *disk_uuid, uint64_t *ret_id,
			 struct error *err);

/* Submit the job that starts an instance, which a killed one has stopped. */
WAITS int recover_startup(struct queue *q, const char *name, uint64_t *ret_id,
			  struct error *err);

/* Submit the job that ends what a job that was cut off has left of copies of
 * the instance's disks: gnt-instance activate-disks. */
WAITS int recover_disks(struct queue *q, const char *name, uint64_t *ret_id,
			struct error *err);

/* That for each instance whose disks went elsewhere while it ran, in a job that
 * was running when the last master ended.  Call it before queue_start(). */
WAITS void recover_copies(struct recover *r);

/* Submit the job that removes what is left of such an instance, and not another
 * one that has its name by then. */
WAITS int recover_remove(struct queue *q, const json_t *inst, uint64_t *ret_id,
			 struct error *err);

#endif
