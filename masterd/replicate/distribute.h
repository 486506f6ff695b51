/* SPDX-License-Identifier: BSD-2-Clause */
/* What other nodes keep of the master's state: config.data and the job files
 * (master candidates) and the ssconf files (all nodes), and when a change is
 * safe because enough of them have it (doc/design/failover.md).
 *
 * A node that fails is asked again every DISTRIBUTE_RETRY_MS; nobody waits for
 * it unless there is no quorum without it.  When it answers again it gets what
 * it lacks.  Failing is logged once. */
#ifndef MASTERD_REPLICATE_DISTRIBUTE_H
#define MASTERD_REPLICATE_DISTRIBUTE_H

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

/* For m, whose configuration (there already), queue and node calls are used
 * when they are needed. */
struct distribute *distribute_create(struct master *m);
void distribute_free(struct distribute *d); /* no task may be left */

/* Begin to bring the candidates up to date. */
void distribute_start(struct distribute *d);

/* As config_distribute_fn; arg is the struct distribute. */
WAITS int distribute_config(void *arg, const char *text, size_t len,
			    const json_t *ssconf, int64_t serial,
			    struct error *err);

/* As queue_hooks.replicate: names are relative to the queue's folder. */
WAITS int distribute_queue(void *arg, const char *const *names,
			   const char *const *contents, size_t n,
			   struct error *err);

/* Whether there is no other candidate. */
bool distribute_alone(const struct distribute *d);

/* 0, or -1 with err that names the silent nodes when so many are silent that
 * nothing can get safe: new work should be refused. */
int distribute_safe(const struct distribute *d, struct error *err);

/* Names of nodes that fail to take what they should keep; true when more than
 * half of the candidates are among them. */
bool distribute_failing(const struct distribute *d, struct strv *ret_candidates,
			struct strv *ret_others);

/* Names of candidates on which Ganeti's own node daemon runs. */
void distribute_ganetis(const struct distribute *d, struct strv *ret);

/* From now on nothing waits for a quorum that cannot come. */
void distribute_end(struct distribute *d);

/* End the background tasks; returns when they have ended. */
WAITS void distribute_stop(struct distribute *d);

#endif
