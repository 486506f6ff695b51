/* SPDX-License-Identifier: BSD-2-Clause */
/* The LUXI sockets: JSON messages ended by ETX, any number on a connection,
 * answered one after the other.
 *
 * Limits: messages of LUXI_MESSAGE_MAX bytes (LUXI_PARSED_MAX in memory),
 * LUXI_INPUT_MAX bytes of messages of all connections together (until they are
 * answered), LUXI_CONNECTIONS_MAX connections, LUXI_READ_S seconds from a
 * message's first byte to its end.  A connection is read on only when its last
 * answer has gone out, so a client that does not read costs one answer, and
 * LUXI_WRITE_S seconds later nothing any more. Answers that may be long are
 * made in pieces, of which two are in memory at most.  All that waits to be
 * read takes at most LUXI_OUTPUT_MAX bytes; beyond that the client is closed
 * that has not read for longest. What is no message at all is answered and the
 * connection closed.
 *
 * What a call means is given from above, so that this module knows framing
 * only. */
#ifndef MASTERD_LUXI_LUXI_SERVER_H
#define MASTERD_LUXI_LUXI_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

#define LUXI_ETX '\x03'
#define LUXI_MESSAGE_MAX (64u * 1024 * 1024)
#define LUXI_PARSED_MAX (256u * 1024 * 1024)
#define LUXI_INPUT_MAX (256u * 1024 * 1024)
#define LUXI_OUTPUT_MAX (128u * 1024 * 1024)
/* Longer texts are sent as a piece: as much as a socket takes at once. */
#define LUXI_PIECE (256u * 1024)
#define LUXI_CONNECTIONS_MAX 16384
#define LUXI_READ_S 60
#define LUXI_WRITE_S 180
#define LUXI_SOCKET_MODE 0660

struct luxi_server;
struct luxi_conn;

/* One call on its way, from `handle` to luxi_answer(). */
struct luxi_request {
	json_t *message; /* as received, parsed */

	/* May be set by the handler: called when the client has closed its
	 * side, so that nobody waits for long for nobody. */
	void (*hurry)(struct luxi_request *r);
	void *arg; /* the handler's own */

	/* Private. */
	struct luxi_server *server;
	struct luxi_conn *conn; /* NULL: gone */
	char *text;		/* not yet parsed */
	size_t len;
	struct cond written; /* a piece of the answer */
};

struct luxi_server_config {
	const char *const *sockets; /* paths, ended by NULL */

	/* Called on the loop or in a task (for big messages) with each
	 * message; luxi_answer() has to follow, now or later. */
	void (*handle)(void *arg, struct luxi_request *r);
	void *arg;

	unsigned message_ms; /* 0: LUXI_READ_S */
	size_t output_max;   /* 0: LUXI_OUTPUT_MAX */
};

/* Listen on the sockets; a socket file that is in the way is replaced, the
 * caller has made sure that its owner is gone. */
struct luxi_server *luxi_server_create(const struct luxi_server_config *config,
				       struct error *err);

/* Answer with a result, or (result NULL) with *err as ["Class", [args]]; r is
 * freed. */
void luxi_answer(struct luxi_request *r, json_t *result STEALS,
		 const struct error *err);

/* Answer in pieces, instead: any number of pieces of text, then the end, which
 * frees r.  Each waits until the client has taken the one before, and leaves
 * text empty.  -1: the client is gone (r is there still). */
WAITS int luxi_answer_piece(struct luxi_request *r, struct buf *text);
WAITS void luxi_answer_end(struct luxi_request *r, struct buf *text);
/* An answer of which pieces were sent cannot be ended: close the connection, so
 * that the client knows; r is freed. */
void luxi_answer_cut(struct luxi_request *r);

/* Whether a piece has not yet been taken. */
bool luxi_sending(const struct luxi_request *r);

/* Whether nobody would read an answer any more.  A client that has only closed
 * its sending side is there still. */
bool luxi_client_gone(struct luxi_request *r);

/* Answer that the message cannot be understood, and close the connection. */
void luxi_reject(struct luxi_request *r, const char *reason);

/* Stop listening and reading; connections close when their calls are answered.
 * done() is called when all is closed, each call, also of a client that is
 * gone, is answered, and s is freed. */
void luxi_server_stop(struct luxi_server *s, void (*done)(void *arg),
		      void *arg);

/* How many clients are connected. */
size_t luxi_server_connections(const struct luxi_server *s);

#endif
