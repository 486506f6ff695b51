/* SPDX-License-Identifier: BSD-2-Clause */
/* What jobs could not take back while the disk was full. */
#ifndef MASTERD_FAILOVER_LEFTOVERS_H
#define MASTERD_FAILOVER_LEFTOVERS_H

#include "lib/event/task.h"

struct master;

/* A change of the configuration was taken back for want of room: from now on it
 * is written again and again until there is room, and then what jobs that have
 * ended left behind is cleared up.  Does not wait; arg is the master. */
void leftovers_begin(void *arg);
/* Wait until that has ended; the master is stopping. */
WAITS void leftovers_end(struct master *m);

#endif
