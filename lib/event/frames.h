/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests between two daemons of one host, over a UNIX socket: a connection
 * has one request and its answer at a time.  Each is a frame: its length (64
 * bits, little-endian), then the bytes; the first byte of a request is its
 * kind. */
#ifndef EVENT_FRAMES_H
#define EVENT_FRAMES_H

#include <stdbool.h>
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

/* Connections to one daemon that are kept from one request to the next: to make
 * one costs more than many requests do. */
struct frames_line;

struct frames_line *frames_line_create(const char *socket);
/* Those that are in use close later. */
void frames_line_free(struct frames_line *line);

/* As frames_ask(), in a task.  Where the daemon has closed a connection that
 * was kept it is asked once more, so the request must be one that may come
 * twice. */
WAITS char *frames_line_ask(struct frames_line *line, char kind,
			    const void *data, size_t len, unsigned timeout_ms,
			    struct error *err);

struct frames_server;

/* In a task of its own for each request: the answer, to be freed; NULL: none,
 * and the connection is closed. */
typedef WAITS char *frames_fn(void *arg, char kind, const char *data,
			      size_t len);

/* What is to be answered with frames_reply(). */
struct frames_request;

/* Called by the loop before there is a task.  true: it is answered here or
 * later; false: in a task. */
typedef bool frames_take_fn(void *arg, struct frames_request *r, char kind,
			    const char *data, size_t len);

struct frames_functions {
	frames_take_fn *take; /* NULL: all are answered in tasks */
	WAITS frames_fn *answer;
	void *arg;
};

/* Listen at the socket, which is for this user alone.  NULL with err. */
struct frames_server *frames_listen(const char *socket,
				    const struct frames_functions *fns,
				    struct error *err);
/* Once for each request that was taken, whether its client still waits or not;
 * answer as in frames_fn, borrowed. */
void frames_reply(struct frames_request *r, const char *answer);
/* Take no more requests, and close each connection when its request has its
 * answer; the struct frees itself. */
void frames_stop(struct frames_server *s);

#endif
