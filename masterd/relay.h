/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI on nodes that are not the master: for the remote API, which runs on each
 * master candidate.  What comes in at the relay's socket goes to the master
 * over the node daemons, as what servers of the log send each other does; where
 * this daemon is the master, it is answered here.
 *
 * Two calls are the relay's own: Leader [] tells who the master is, TakeOver
 * [node or null] makes a candidate the master (null: this one). */
#ifndef MASTERD_RELAY_H
#define MASTERD_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

struct luxi_calls;
struct relay;
struct role;

/* Calls on their way at the same time. */
#define RELAY_CALLS_MAX 200

/* Listen.  NULL with err. */
struct relay *relay_create(const struct paths *paths, struct role *role,
			   struct error *err);
/* This daemon is the master: calls are answered by these; NULL: not any more.
 */
void relay_serve(struct relay *r, struct luxi_calls *calls);
/* Take no more calls. */
void relay_stop(struct relay *r);
void relay_free(struct relay *r); /* when no task is left; NULL: nothing */

/* Whether an order of another node is for the relay; its answer, to be freed.
 */
bool relay_is_order(const char *data, size_t len);
WAITS char *relay_order(struct relay *r, const char *data, size_t len);

#endif
