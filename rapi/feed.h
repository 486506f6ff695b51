/* SPDX-License-Identifier: BSD-2-Clause */
/* What changes in the cluster, as the master tells it: one task follows it for
 * all clients (WaitForEvents of doc/protocol/luxi.md).
 *
 * While nobody follows, only the index of the newest event is kept up to date.
 * Once somebody does, the newest of them are here, all above the
 * floor; a while after the last one has gone they are dropped. */
#ifndef RAPI_FEED_H
#define RAPI_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "rapi/frame/request.h"

#define FEED_BYTES_MAX (8u * 1024 * 1024)
/* So long events are kept for nobody. */
#define FEED_KEEP_S 60

struct feed;

struct feed_event {
	uint64_t index;
	const char *topic, *name;
	/* As it is sent, made once for all: a server-sent event, whose line of
	 * JSON ends with an LF, and behind that another one. */
	const char *text;
	size_t len, line; /* of all; where the line begins */
	size_t size;	  /* of all that it takes in memory */
};

/* It asks the master in the way of this request, and keeps so many events, if
 * they have no more than FEED_BYTES_MAX.  told(arg) is called when
 * there is more, or the floor has moved. */
struct feed *feed_create(const struct request_way *way, size_t kept,
			 void (*told)(void *arg), void *arg);
void feed_start(struct feed *f);
/* Ask the master no more; the task ends within a second or two. */
void feed_stop(struct feed *f);
void feed_free(struct feed *f); /* when no task is left; NULL: nothing */

/* The index of the newest event, as far as it is known here. */
uint64_t feed_index(const struct feed *f);
/* Wait until it is above this one; false: not before the deadline, or gone()
 * (asked now and then) has said that nobody waits any more. */
WAITS bool feed_wait(struct feed *f, uint64_t index, int64_t deadline_us,
		     bool (*gone)(void *arg), void *arg);

/* Somebody follows, and nobody any more: as often as the other. */
void feed_follow(struct feed *f);
void feed_leave(struct feed *f);
/* Wait until the events are here; false: the master does not answer. */
WAITS bool feed_ready(struct feed *f, int64_t deadline_us);

/* All events above the floor are here. */
uint64_t feed_floor(const struct feed *f);
/* The newest event about tokens that was seen; 0: none. */
uint64_t feed_tokens(const struct feed *f);
/* Another number: there were events that never were here. */
uint64_t feed_break(const struct feed *f);
/* The first event above this index, borrowed until the next wait; NULL: there
 * is none. */
const struct feed_event *feed_next(const struct feed *f, uint64_t index);

/* The name of a topic as a literal; NULL: there is none of this name. */
const char *feed_topic(const char *name, size_t len);

#endif
