/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a master, a pointer each: what LUs, queries and LUXI calls may
 * use.  A part itself gets what it needs when masterd/master.c creates it, and
 * not this; masterd/distribute alone takes the whole. */
#ifndef MASTERD_CORE_MASTER_H
#define MASTERD_CORE_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "masterd/rpc/noderpc.h"

/* Exit statuses of a master that ends on its own: a write failed; another
 * master has taken over. */
#define MASTER_EXIT_FATAL 1
#define MASTER_EXIT_FENCED 11

/* By which right it is master (doc/design/log.md). */
struct master_role {
	uint64_t term; /* goes with each write and node call; 0: none */
	bool failover; /* it has taken over from another */
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
	struct iallocator_kept *kept; /* for placement; NULL: nothing (tests) */
	struct quorum *quorum; /* NULL: it is alone, and has no log (tests) */
	struct tokens *tokens; /* of the remote API; NULL: it keeps none */
	struct events *events; /* what changes; NULL: it has no log */
	struct distribute *distribute;
	struct recover *recover;
	struct leftovers *leftovers;
	struct old_calls *old_calls; /* NULL: there are none (tests) */
	struct ssh_keys *ssh_keys;
	struct balloon_turns *turns;
	struct turns *arrivals;	 /* on nodes, by UUID: a port each */
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
	void *daemon; /* what it runs in; for renewed() */
	void *arg;
	bool stopping;
	/* The watcher's pause is being written: one after the other. */
	bool pausing;
	struct cond on_paused;
	/* What killed jobs have left (masterd/lu/disks/aftermath.h). */
	struct list aftermaths;
	struct cond on_aftermath; /* one is done */
	bool announced; /* the nodes that answer know that it is the master */
	struct cond on_announced;
};

#endif
