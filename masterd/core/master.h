/* SPDX-License-Identifier: BSD-2-Clause */
/* The master: one pointer per part.  Passed to LUs and LUXI handlers only; the
 * parts below get what they need at creation. */
#ifndef MASTERD_CORE_MASTER_H
#define MASTERD_CORE_MASTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "masterd/rpc/noderpc.h"

/* Exit statuses of a master that ends on its own: a write failed; another
 * master has taken over. */
#define MASTER_EXIT_FATAL 1
#define MASTER_EXIT_FENCED 11

/* By which right it is master (doc/design/failover.md). */
struct master_role {
	uint64_t term;	/* goes with each write and node call; 0: none */
	bool no_voting; /* it works without a quorum */
	bool failover;	/* it has taken over from another */
};

/* What is known of the program named hail (iallocator_builtin.c). */
struct iallocator_builtin {
	bool known, ours;
	ino_t inode;
	dev_t device;
	time_t mtime;
};

struct master {
	struct master_role role;
	struct paths *paths;
	struct disk *disk;
	struct config *config;
	struct queue *queue;
	struct job_filters *filters;
	struct locks *locks;
	struct noderpc *rpc;
	struct reserve *reserve;
	struct iallocator_builtin hail;
	struct distribute *distribute;
	struct recover *recover;
	struct leftovers *leftovers;
	struct ssh_keys *ssh_keys;
	struct room_turns *rooms;
	struct slices *slices;	 /* of work for clients; NULL: none (tests) */
	struct job_views *views; /* what clients asked of jobs; or NULL */

	/* It only plans jobs (job_plan.h): a copy with a configuration of its
	 * own, whose queue is to be read only. */
	bool plans;

	/* End the daemon here and now, with this status: nothing may be
	 * written or promised any more.  NULL: refuse everything and live on
	 * (tests). */
	void (*end)(struct master *m, int status, const struct error *err);
	/* Node calls show and trust from now on the certificates that are in
	 * the files now; NULL: there are none (tests). */
	int (*renewed)(struct master *m, struct error *err);
	void *arg;
	bool stopping;
	/* The watcher's pause is being written: one after the other. */
	bool pausing;
	struct cond on_paused;
	bool announced; /* the nodes that answer know that it is the master */
	struct cond on_announced;

	/* Private: the watch of this node's promise. */
	bool watching, stopped;
	struct cond watch;
};

/* Build a master from its surroundings (real or simulated): load configuration
 * and queue.  Takes over paths; role may be NULL (no term).  Jobs run only
 * after master_start(). */
struct master *master_create(struct disk *disk, struct paths *paths STEALS,
			     const struct noderpc_transport *transport,
			     const struct master_role *role, struct error *err);
void master_start(struct master *m);

/* Wait until the nodes that answer know who is master; not for long, since some
 * may not answer at all. */
WAITS void master_wait_announced(struct master *m);

/* Let running jobs end, write everything. */
WAITS void master_stop(struct master *m);
void master_free(struct master *m);

/* The queue's replicate hook, arg is the master. */
WAITS int master_replicate(void *master, const char *const *names,
			   const char *const *contents, size_t n,
			   struct error *err);

#endif
