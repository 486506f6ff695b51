/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of the calls that bring copies of the cluster's state.
 *
 * The master sends one after the other, but gives up waiting after a time and
 * goes on; the network or a slow disk may keep the call it gave up for much
 * longer.  So a call of such a stream waits for the one before it, and one that
 * comes after a later one is refused; else it would undo what the later one
 * brought.  */
#ifndef NODED_REPLICA_ORDER_H
#define NODED_REPLICA_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

enum order_stream {
	ORDER_QUEUE,
	ORDER_CONFIG,
	ORDER_SSCONF,
	ORDER_SSH,
	ORDER_PAUSE,
	ORDER_STREAMS, /* their number */
	ORDER_NONE = ORDER_STREAMS,
};

struct order {
	struct {
		bool busy;
		uint64_t term, number; /* of the last one */
	} streams[ORDER_STREAMS];
	struct cond changed;
};

/* Nothing has been seen yet. */
void order_init(struct order *o);

/* To which stream a call belongs */
enum order_stream order_stream(const char *procedure, const json_t *args);

/* Wait for those before it. */
WAITS void order_begin(struct order *o, enum order_stream s);
void order_end(struct order *o, enum order_stream s);

/* Between these two: is this the next call of its stream?  -1 with err when a
 * later one was here.  number 0: the caller does not count. */
int order_check(struct order *o, enum order_stream s, uint64_t term,
		uint64_t number, struct error *err);

#endif
