/* SPDX-License-Identifier: BSD-2-Clause */
/* Make a small call to the other master candidates without waiting for them. */
#ifndef MASTERD_DISTRIBUTE_SPREAD_H
#define MASTERD_DISTRIBUTE_SPREAD_H

#include "lib/model/rpc/rpc.h"

struct master;

/* Call all other candidates that are not offline, in a task of its own;
 * failures are logged. */
void spread_call(struct master *m, struct rpc_request request);

#endif
