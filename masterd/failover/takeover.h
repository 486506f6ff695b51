/* SPDX-License-Identifier: BSD-2-Clause */
/* Becoming master (doc/design/failover.md): ask the nodes, get their promise,
 * have the newest data.  The same for the start of the master daemon and for a
 * failover; the daemon and the simulation call it before master_create(). */
#ifndef MASTERD_FAILOVER_TAKEOVER_H
#define MASTERD_FAILOVER_TAKEOVER_H

#include <stdbool.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "masterd/core/master.h"
#include "masterd/rpc/noderpc.h"

/* Missing votes that could still win are asked for again after this, so
 * often. */
#define TAKEOVER_RETRY_MS 1000u
#define TAKEOVER_TRIES 60

/* How long a node may take to say what it knows, and a former master to end. */
#define TAKEOVER_ASK_MS 10000u
#define TAKEOVER_STOP_MS 20000u

struct takeover {
	struct disk *disk;
	const struct paths *paths;
	struct noderpc_transport transport;

	bool failover;	     /* from another master; else a start */
	bool no_voting;	     /* ask, but go on without the answers */
	bool ignore_offline; /* offline nodes have no vote */

	/* What is being done, a line each, for people.  NULL: nobody. */
	void (*progress)(void *arg, const char *text);
	/* The caller wants no master any more: give up.  NULL: never. */
	bool (*stopped)(void *arg);
	void *arg;
};

/* In a task.  0: this node is the master by *ret_role, its configuration and
 * queue are the newest; nobody may serve them before master_create().  -1 with
 * err: the sentence says which nodes are in the way and what to do. */
WAITS int takeover_run(const struct takeover *t, struct master_role *ret_role,
		       struct error *err);

#endif
