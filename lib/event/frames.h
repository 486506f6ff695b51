/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests between two daemons of one host, over a UNIX socket: a connection
 * has one request and its answer.  Each is a frame: its length (64 bits,
 * little-endian), then the bytes; the first byte of a request is its kind. */
#ifndef EVENT_FRAMES_H
#define EVENT_FRAMES_H

#include <stddef.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

/* No frame is longer. */
#define FRAMES_MAX (64u * 1024 * 1024)

/* In a task, or in a program without any: ask the daemon behind the socket: its
 * answer, to be freed, with a NUL behind it.  NULL with err; with ECODE_REFUSED
 * nobody listens there. */
WAITS char *frames_ask(const char *socket, char kind, const void *data,
		       size_t len, unsigned timeout_ms, struct error *err);

struct frames_server;

/* In a task of its own for each request: the answer, to be freed; NULL: none,
 * and the connection is closed. */
typedef WAITS char *frames_fn(void *arg, char kind, const char *data,
			      size_t len);

/* Listen at the socket, which is for this user alone.  NULL with err. */
struct frames_server *frames_listen(const char *socket, frames_fn *fn,
				    void *arg, struct error *err);
/* Take no more requests, and close what is there when the last one has its
 * answer; the struct frees itself. */
void frames_stop(struct frames_server *s);

#endif
