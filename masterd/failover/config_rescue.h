/* SPDX-License-Identifier: BSD-2-Clause */
/* A damaged config.data is replaced by the newest whole copy of a master
 * candidate, before a master reads it (doc/design/config.md). */
#ifndef MASTERD_FAILOVER_CONFIG_RESCUE_H
#define MASTERD_FAILOVER_CONFIG_RESCUE_H

#include <stdbool.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "masterd/rpc/noderpc.h"

struct config_rescue {
	struct disk *disk;
	const struct paths *paths;
	const struct noderpc_transport *transport;
	bool no_voting; /* take the newest one that there is, however old */
	/* What is being done, for people.  NULL: nobody. */
	void (*progress)(void *arg, const char *text);
	void *arg;
};

/* Call it in a task.  0: config.data can be read, either as it was, or as a
 * candidate has it; then the damaged text is in config.data.damaged.  -1 with
 * err: it is damaged, and no copy is as new; the error says where the fault is,
 * what the candidates have, and how to choose one. */
WAITS int config_rescue_run(const struct config_rescue *t, struct error *err);

#endif
