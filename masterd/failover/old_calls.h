/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that nodes still execute for former masters.  A node begins nothing
 * more for these, but goes on with the act that a call is in the middle of. Who
 * works on the same object waits until that has ended, or its time is over. */
#ifndef MASTERD_FAILOVER_OLD_CALLS_H
#define MASTERD_FAILOVER_OLD_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/task.h"

struct config;
struct noderpc;
struct old_calls;

/* Borrowed for the time of a visit. */
struct old_call {
	const char *node; /* its UUID, and its name */
	const char *node_name;
	/* NULL: the node has not said yet what it still does, and the rest is
	 * not known. */
	const char *procedure;
	const char *instance; /* its name; NULL: of none that is known */
	int64_t seconds;      /* since it began; since the node was asked */
	bool given_up;	      /* it takes too long: nobody waits any more */
};

/* What is given lives longer than what is returned, which old_calls_destroy()
 * frees (NULL is fine). */
struct old_calls *old_calls_create(struct config *config, struct noderpc *rpc);
void old_calls_destroy(struct old_calls *o);

/* Ask all nodes what they do for terms below this one, and again until it is
 * over.  Does not wait. */
void old_calls_begin(struct old_calls *o, uint64_t term);
/* The master is stopping: end this, and wait for its end. */
WAITS void old_calls_end(struct old_calls *o);

/* Visit each that is known not to be over; costs nothing where none is. */
void old_calls_each(struct old_calls *o,
		    void (*visit)(void *arg, const struct old_call *call),
		    void *arg);

/* Wait until something may have changed, or the task is interrupted. */
WAITS void old_calls_wait(struct old_calls *o);

#endif
