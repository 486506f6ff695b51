/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that nodes get from the master: the ssconf files on all of them,
 * and config.data on master candidates where Ganeti's own node daemon runs.
 * (The other candidates make it from the log, doc/design/log.md.)
 *
 * A node that fails is asked again every DISTRIBUTE_RETRY_MS, and nobody waits
 * for it.  When it answers again it gets what it lacks.  Failing is logged
 * once. */
#ifndef MASTERD_DISTRIBUTE_DISTRIBUTE_H
#define MASTERD_DISTRIBUTE_DISTRIBUTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

struct master;
struct distribute;

/* A node that takes longer for a call is taken for silent: it delays what waits
 * for it by so much, once. */
#define DISTRIBUTE_MS 10000u
/* What a large call gets beside it: a link of 10 Mbit/s carries it. */
#define DISTRIBUTE_MIB_MS 1000u
#define DISTRIBUTE_RETRY_MS 3000u

/* For m, whose configuration (there already), state and node calls are used
 * when they are needed. */
struct distribute *distribute_create(struct master *m);
void distribute_free(struct distribute *d); /* no task may be left */

/* Begin to bring the nodes up to date. */
void distribute_start(struct distribute *d);

/* A node may be back: those that fail are asked again at once. */
void distribute_hurry(struct distribute *d);

/* As config_distribute_fn; arg is the struct distribute.  Waits for the nodes
 * that answer. */
WAITS void distribute_config(void *arg, const json_t *ssconf);

/* Names of nodes that do not answer, or do not take what they should keep,
 * sorted. */
void distribute_failing(const struct distribute *d, struct strv *ret_candidates,
			struct strv *ret_others);

/* Names of candidates on which Ganeti's own node daemon runs. */
void distribute_ganetis(const struct distribute *d, struct strv *ret);

/* End the background tasks; returns when they have ended. */
WAITS void distribute_stop(struct distribute *d);

#endif
