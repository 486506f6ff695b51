/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients that follow the events of the cluster (GET /gantry/1/events): as
 * server-sent events, or as a line of JSON each.
 *
 * A stream is a position in the feed.  Every STREAMS_BOOKMARK_S seconds without
 * an event it tells that position, so that the client knows it and a lost
 * connection shows.  Where events are missing, it says so (gap); who reads too
 * slowly is cut off with that. */
#ifndef RAPI_STREAMS_H
#define RAPI_STREAMS_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/event/https_server.h"
#include "lib/event/task.h"
#include "rapi/access/auth.h"
#include "rapi/feed.h"
#include "rapi/frame/args.h"

#define STREAMS_BOOKMARK_S 10
/* So often is looked whether a stream may still be. */
#define STREAMS_CHECK_S 20
/* Topics in one request. */
#define STREAMS_TOPICS_MAX 64

struct streams;

/* allowed(): whether who has begun a stream may go on with it. */
struct streams *
streams_create(struct feed *feed,
	       bool (*allowed)(void *arg, const struct auth *auth), void *arg);
/* Events have come; as feed_create() has it. */
void streams_told(void *streams);
/* Look at once who may go on. */
void streams_check(struct streams *s);
/* No stream is looked after any more: before the loop ends. */
void streams_stop(struct streams *s); /* NULL: nothing */
void streams_free(struct streams *s); /* when none is left; NULL: nothing */

/* Make the answer to this request a stream: 0, and auth is taken over and
 * zeroed.  -1 with err. */
WAITS int streams_begin(struct streams *s, struct https_request *http,
			const struct args *args, struct auth *auth,
			struct error *err);

#endif
