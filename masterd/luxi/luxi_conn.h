/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two halves of the LUXI server share: luxi_server.c reads messages,
 * luxi_output.c sends answers. */
#ifndef MASTERD_LUXI_LUXI_CONN_H
#define MASTERD_LUXI_LUXI_CONN_H

#include <uv.h>

#include "lib/base/log_rate.h"
#include "lib/base/str.h"
#include "lib/event/timer.h"
#include "masterd/luxi/luxi_server.h"

#define SECOND_US INT64_C(1000000)

#define READ_SIZE 65536

struct listener {
	uv_pipe_t pipe;
	struct luxi_server *server;
};

struct luxi_server {
	void (*handle)(void *arg, struct luxi_request *r);
	void *arg;
	struct listener *listeners;
	size_t n_listeners;
	/* Listeners and connections that are not closed, and calls that are not
	 * answered: a call outlives its connection when the client goes. */
	size_t users;
	struct list conns;
	size_t n_conns;
	size_t input;	     /* bytes of messages that are not yet answered */
	size_t output;	     /* bytes of answers not read yet */
	size_t output_max;   /* LUXI_OUTPUT_MAX */
	struct list writers; /* with an unread answer, the longest first */
	int64_t message_us;
	struct log_rate rate;
	bool stopping;
	void (*done)(void *arg);
	void *done_arg;
	char read_buffer[READ_SIZE];
};

struct luxi_conn {
	uv_pipe_t pipe;
	struct luxi_server *server;
	struct list link;
	struct buf in;
	size_t scanned; /* how many bytes of `in` contain no ETX */
	struct luxi_request *request;
	uv_write_t write;
	char *out; /* the text being sent; NULL: none */
	size_t out_len;
	struct list writing; /* in server.writers */
	struct timer write_limit;
	struct timer read_limit; /* until a message is complete */
	bool paused;		 /* enough was read for later calls */
	bool discards;		 /* drops the rest of a message too long */
	bool eof, close_after_write, closing;
};

/* Write a line about a client to the log, at most one a minute for each
 * client. */
void luxi_conn_log(struct luxi_conn *conn, const char *what);

/* Close it and free what it holds; its running call is told that the client is
 * gone.  May be called again. */
void luxi_conn_close(struct luxi_conn *conn);

/* Begin the next call if none is running and its message is complete. */
void luxi_conn_next(struct luxi_conn *conn);

/* Answer with the reason in plain text and take no further call; what the
 * client still sends of a message that is too long is dropped meanwhile. */
void luxi_conn_reject(struct luxi_conn *conn, const char *reason);

/* Stop sending: for a connection that closes. */
void luxi_output_drop(struct luxi_conn *conn);

/* Start the time limit within which the client has to read what there is. */
void luxi_output_hurry(struct luxi_conn *conn);

/* A connection, listener or call of the server has ended; after the last one
 * the server is freed. */
void luxi_user_gone(struct luxi_server *s);

#endif
