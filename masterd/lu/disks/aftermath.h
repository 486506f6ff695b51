/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls that end or undo what a killed job has begun; the job itself makes
 * no calls any more.  What one job leaves is done in the order in which it was
 * given here, as a device cannot be removed before the copy to it has ended. */
#ifndef MASTERD_LU_DISKS_AFTERMATH_H
#define MASTERD_LU_DISKS_AFTERMATH_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/model/rpc/rpc.h"

struct aftermath;
struct lu;
struct master;

/* Make this call, whose arguments are given away, in a task of its own; a
 * failure is logged. */
void aftermath_call(struct master *m, const char *node_uuid,
		    struct rpc_request request);

/* The same for several, which are made one after the other, also when one of
 * them fails, unless that one is needed by those behind it.  Before the first
 * one the calls are over that the job of the calling task gave up: a node may
 * still make what is to be removed. */
struct aftermath *aftermath_create(struct master *m);
void aftermath_add(struct aftermath *a, const char *node_uuid,
		   struct rpc_request request);
void aftermath_add_needed(struct aftermath *a, const char *node_uuid,
			  struct rpc_request request);
void aftermath_begin(struct aftermath *a STEALS);
/* Make one call that undoes something: now, or, where the job was killed, in
 * this way, of which nobody learns the result. */
WAITS int aftermath_undo(struct lu *lu, const char *node_uuid,
			 struct rpc_request request, struct error *err);
/* Remove devices in this way: [[node, device], ...], the last one first; the
 * same for devices on one node. */
void aftermath_remove(struct master *m, const json_t *made);
void aftermath_remove_on(struct master *m, const char *node_uuid,
			 const json_t *devices);

/* Start something on a node that continues there under a name which the node
 * chooses.  Returns the name, to be freed; NULL with err if it was not started.
 * If the job is killed before the name is known, a task waits for it in place
 * of the job, and makes the call end(name). */
WAITS char *aftermath_start(struct lu *lu, const char *node_uuid,
			    struct rpc_request start,
			    struct rpc_request (*end)(const char *name),
			    struct error *err);

#endif
