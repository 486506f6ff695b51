/* SPDX-License-Identifier: BSD-2-Clause */
/* The LUXI sockets: JSON messages ended by ETX, any number on a connection,
 * answered one after the other.
 *
 * Limits: a message has at most LUXI_MESSAGE_MAX bytes, and LUXI_PARSED_MAX
 * when it is parsed.  All messages that are not answered yet have at most
 * LUXI_INPUT_MAX bytes.  There are at most LUXI_CONNECTIONS_MAX connections.  A
 * message must be complete LUXI_READ_S seconds after its first byte.  A
 * connection is read again only when its last answer has been sent, so a client
 * that does not read costs one answer, and after LUXI_WRITE_S seconds it is
 * closed.  Answers that may be long are made in pieces, at most two of which
 * are in memory.  All unread answers take at most LUXI_OUTPUT_MAX bytes; beyond
 * that the client that has not read for the longest time is closed.  Something
 * that is not a message is answered, and the connection closed.
 *
 * The meaning of calls is given from above; this module knows framing only. */
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
/* A longer text is sent in pieces of this size, about as much as a socket takes
 * at once. */
#define LUXI_PIECE (256u * 1024)
#define LUXI_CONNECTIONS_MAX 16384
#define LUXI_READ_S 60
#define LUXI_WRITE_S 180
#define LUXI_SOCKET_MODE 0660

struct luxi_server;
struct luxi_conn;

/* A call that is not answered yet, from `handle` to luxi_answer(). */
struct luxi_request {
	json_t *message; /* as received, parsed */

	/* The handler may set this: it is called when the client has closed its
	 * side, so that the call can end early. */
	void (*hurry)(struct luxi_request *r);
	void *arg; /* for the handler */

	/* Private. */
	struct luxi_server *server;
	struct luxi_conn *conn; /* NULL: it is closed */
	char *text;		/* the message before it is parsed */
	size_t len;
	struct cond written; /* a piece of the answer */
};

struct luxi_server_config {
	const char *const *sockets; /* paths, ended by NULL */

	/* Called with each message, on the loop or (for long messages) in a
	 * task; luxi_answer() has to follow, now or later. */
	void (*handle)(void *arg, struct luxi_request *r);
	void *arg;

	unsigned message_ms; /* 0: LUXI_READ_S */
	size_t output_max;   /* 0: LUXI_OUTPUT_MAX */
};

/* Listen on the sockets; NULL with err.  A socket file that is in the way is
 * replaced; the caller has made sure that the process which made it is gone. */
struct luxi_server *luxi_server_create(const struct luxi_server_config *config,
				       struct error *err);

/* Answer with a result, or (result NULL) with *err as ["Class", [args]]; r is
 * freed. */
void luxi_answer(struct luxi_request *r, json_t *result STEALS,
		 const struct error *err);

/* Answer in pieces instead: any number of pieces of text, then the end, which
 * frees r.  Each call waits until the client has read the text before, and
 * empties text.  -1: the client is gone (r is not freed). */
WAITS int luxi_answer_piece(struct luxi_request *r, struct buf *text);
WAITS void luxi_answer_end(struct luxi_request *r, struct buf *text);
/* An answer cannot be completed after pieces of it were sent: close the
 * connection, so that the client notices; r is freed. */
void luxi_answer_cut(struct luxi_request *r);

/* Whether a piece has not been sent completely. */
bool luxi_sending(const struct luxi_request *r);

/* Whether nobody would read an answer.  A client that has only closed its
 * sending side still reads. */
bool luxi_client_gone(struct luxi_request *r);

/* Answer that the message cannot be understood, and close the connection. */
void luxi_reject(struct luxi_request *r, const char *reason);

/* Stop listening and reading.  A connection is closed when its calls are
 * answered; calls of clients that are gone are waited for, too.  Then s is
 * freed, and done() is called from the loop. */
void luxi_server_stop(struct luxi_server *s, void (*done)(void *arg),
		      void *arg);

/* How many clients are connected. */
size_t luxi_server_connections(const struct luxi_server *s);

#endif
