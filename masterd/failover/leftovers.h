/* SPDX-License-Identifier: BSD-2-Clause */
/* What jobs have left behind because the disk was full, or nothing could be
 * changed when it was to be cleaned up. */
#ifndef MASTERD_FAILOVER_LEFTOVERS_H
#define MASTERD_FAILOVER_LEFTOVERS_H

#include "lib/event/task.h"

struct config;
struct leftovers;
struct queue;
struct recover;

/* All that is given lives longer than what is returned, which
 * leftovers_destroy() frees (NULL is fine). */
struct leftovers *leftovers_create(struct config *config, struct queue *queue,
				   struct recover *recover);
void leftovers_destroy(struct leftovers *l);

/* A change of the configuration was taken back for want of room, or something
 * could not be cleaned up: from now on it is tried again and again, and what
 * jobs that have ended left behind is cleared up.  Does not wait; arg is the
 * struct leftovers. */
void leftovers_begin(void *arg);
/* The master is stopping: end this, and wait for its end. */
WAITS void leftovers_end(struct leftovers *l);

#endif
