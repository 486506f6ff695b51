/* SPDX-License-Identifier: BSD-2-Clause */
/* The way to this node's master daemon: what servers of the replicated log send
 * each other comes through the node daemons (doc/design/log.md). */
#ifndef NODED_CORE_RELAY_H
#define NODED_CORE_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/constants.h"

struct noded;

/* Hand it on (kind: LOG_KIND_QUESTION or LOG_KIND_ORDER): the answer, to be
 * freed; NULL with err.  Where no master daemon runs, one is started that
 * stands by: for an order at once, for a parcel if this node takes part in the
 * log. */
WAITS char *relay_ask(struct noded *n, char kind, const void *data, size_t len,
		      struct error *err);

/* The daemon ends: what is asked from now on goes over connections that are not
 * kept. */
void relay_end(struct noded *n);

/* This node takes part in the log no more: end its master daemon if it stands
 * by, and remove what it has of the log.  -1 with err: it is the master, or
 * does not end. */
WAITS int relay_leave(struct noded *n, struct error *err);

/* Start a master daemon that stands by where this node takes part in the log
 * and is not the master; what fails is logged.  For the start of the node
 * daemon. */
WAITS void relay_begin(struct noded *n);

#endif
