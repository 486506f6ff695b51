/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket that a job opens for its test, in a folder of its own: whoever the
 * job's log tells of it may connect. */
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

/* Wait until somebody connects: the connection, -1 when nobody has until the
 * deadline (monotonic microseconds) or *stop is set. */
WAITS int notify_accept(struct notify *n, int64_t deadline_us,
			const bool *stop);
/* Wait until the connection is closed or something came; false when neither
 * happened until then. Closes it. */
WAITS bool notify_confirmed(int connection, int64_t deadline_us,
			    const bool *stop);

#endif
