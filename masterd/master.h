/* SPDX-License-Identifier: BSD-2-Clause */
/* The master: one pointer per part.  Passed to LUs and LUXI handlers only; the
 * parts below get what they need at creation. */
#ifndef MASTERD_MASTER_H
#define MASTERD_MASTER_H

#include <stdbool.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "masterd/noderpc.h"

struct master {
	struct paths *paths;
	struct disk *disk;
	struct config *config;
	struct queue *queue;
	struct locks *locks;
	struct noderpc *rpc;
	struct reserve *reserve;
	struct iallocator_runner *iallocator;
	struct distribute *distribute;

	void (*quit)(struct master *m, int status); /* end the daemon */
	void *arg;
	bool stopping;
};

/* Build a master from its surroundings (real or simulated): load configuration
 * and queue.  Takes over paths.  Jobs run only after master_start(). */
struct master *master_create(struct disk *disk, struct paths *paths STEALS,
			     const struct noderpc_transport *transport,
			     struct error *err);
void master_start(struct master *m);

/* Let running jobs end, write everything. */
WAITS void master_stop(struct master *m);
void master_free(struct master *m);

/* The queue's replicate hook, arg is the master. */
WAITS void master_replicate(void *master, const char *const *names,
			    const char *const *contents, size_t n);

#endif
