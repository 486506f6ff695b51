/* SPDX-License-Identifier: BSD-2-Clause */
/* A damaged config.data is replaced by the newest whole copy of a master
 * candidate, before a master reads it (doc/design/config.md). */
#ifndef MASTERD_FAILOVER_CONFIG_RESCUE_H
#define MASTERD_FAILOVER_CONFIG_RESCUE_H

#include "lib/event/task.h"
#include "masterd/failover/takeover.h"

/* Call it in a task.  0: config.data can be read, either as it was, or as a
 * candidate has it; then the damaged text is in config.data.damaged.  -1 with
 * err: it is damaged, and no copy is as new; the error says where the fault is,
 * what the candidates have, and how to choose one. */
WAITS int config_rescue(const struct takeover *t, struct error *err);

#endif
