/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls that end or undo what a killed job has begun; the job itself makes
 * no calls any more. */
#ifndef MASTERD_LU_DISKS_AFTERMATH_H
#define MASTERD_LU_DISKS_AFTERMATH_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/model/rpc/rpc.h"

struct lu;
struct master;

/* Make this call, whose arguments are given away, in a task of its own; a
 * failure is logged. */
void aftermath_call(struct master *m, const char *node_uuid,
		    struct rpc_request request);

/* The same for n calls, each after the answer to the one before it.  One that
 * fails is the last one, unless it may fail. */
struct aftermath_step {
	const char *node_uuid;
	struct rpc_request request;
	bool may_fail;
};
void aftermath_calls(struct master *m, const struct aftermath_step *steps,
		     size_t n);

/* Start something on a node that continues there under a name which the node
 * chooses.  Returns the name, to be freed; NULL with err if it was not started.
 * If the job is killed before the name is known, a task waits for it in place
 * of the job, and makes the call end(name). */
WAITS char *aftermath_start(struct lu *lu, const char *node_uuid,
			    struct rpc_request start,
			    struct rpc_request (*end)(const char *name),
			    struct error *err);

#endif
