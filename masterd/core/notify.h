/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket that a job of a test opens, in a folder of its own; the job's log
 * tells its path, so that a client can connect. */
#ifndef MASTERD_CORE_NOTIFY_H
#define MASTERD_CORE_NOTIFY_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct notify {
	char *folder, *path;
	int socket;
};

int notify_open(struct notify *n, struct error *err);
/* Close the socket and remove its folder; fine when it is not open. */
void notify_close(struct notify *n);

/* Wait for a connection: the descriptor; -1 at the deadline (monotonic
 * microseconds), or when *stop is set. */
WAITS int notify_accept(struct notify *n, int64_t deadline_us,
			const bool *stop);
/* Wait until the connection is closed or something was sent; false at the
 * deadline or a stop.  Closes it. */
WAITS bool notify_confirmed(int connection, int64_t deadline_us,
			    const bool *stop);

#endif
