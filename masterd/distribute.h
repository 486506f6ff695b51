/* SPDX-License-Identifier: BSD-2-Clause */
/* What other nodes keep of the master's state: config.data and the job files
 * (master candidates) and the ssconf files (all nodes).
 *
 * A node that does not answer is waited for once, at most DISTRIBUTE_MS, and is
 * then away: nobody waits for it any more.  A task in the background asks it
 * again every DISTRIBUTE_RETRY_MS; when it answers it gets everything anew and
 * is in again.  Being away is logged once. */
#ifndef MASTERD_DISTRIBUTE_H
#define MASTERD_DISTRIBUTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct master;
struct distribute;

#define DISTRIBUTE_MS 10000u
#define DISTRIBUTE_RETRY_MS 3000u

/* For m, whose configuration, queue and node calls are used when they are
 * needed. */
struct distribute *distribute_create(struct master *m);
void distribute_free(struct distribute *d); /* no task may be left */

/* As config_distribute_fn; arg is the struct distribute. */
WAITS void distribute_config(void *arg, const char *text, size_t len,
			     const json_t *ssconf);

/* As queue_hooks.replicate: names are relative to the queue's folder. */
WAITS int distribute_queue(void *arg, const char *const *names,
			   const char *const *contents, size_t n,
			   struct error *err);

/* End the background task; returns when it has ended. */
WAITS void distribute_stop(struct distribute *d);

/* Names of the nodes that are away, for gnt-cluster verify. */
struct strv;
void distribute_away(const struct distribute *d, struct strv *ret_names);

#endif
