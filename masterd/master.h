/* SPDX-License-Identifier: BSD-2-Clause */
/* A master from its begin to its end; the same for the daemon and the
 * simulation. */
#ifndef MASTERD_MASTER_H
#define MASTERD_MASTER_H

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

struct disk;
struct master;
struct master_role;
struct noderpc_transport;
struct paths;
struct quorum;

/* Build a master from its surroundings (real or simulated): configuration and
 * queue are those of the quorum's state; without one (NULL) they are read from
 * their files and written there.  Takes over paths; role may be NULL (no term).
 * Jobs run only after master_start(). */
WAITS struct master *master_create(struct disk *disk,
				   struct paths *paths STEALS,
				   const struct noderpc_transport *transport,
				   const struct master_role *role,
				   struct quorum *quorum, struct error *err);
void master_start(struct master *m);

/* Wait until the nodes that answer know who is master; not for long, since some
 * may not answer at all. */
WAITS void master_wait_announced(struct master *m);

/* A node may be back: what it missed is given to it at once. */
void master_hurry(struct master *m);

/* Let running jobs end, write everything. */
WAITS void master_stop(struct master *m);
void master_free(struct master *m);

#endif
