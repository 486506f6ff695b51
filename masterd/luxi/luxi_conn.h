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
	/* Listeners and connections not yet closed, calls not yet answered:
	 * one whose client is gone still has us. */
	size_t users;
	struct list conns;
	size_t n_conns;
	size_t input;	     /* bytes of messages that are not yet answered */
	size_t output;	     /* bytes of answers that are not yet sent */
	size_t output_max;   /* LUXI_OUTPUT_MAX */
	struct list writers; /* connections that send, the longest first */
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
	size_t scanned; /* bytes of in that are known to hold no ETX */
	struct luxi_request *request;
	uv_write_t write;
	char *out; /* being written; NULL: nothing */
	size_t out_len;
	struct list writing; /* in server.writers */
	struct timer write_limit;
	struct timer read_limit; /* for the rest of a message */
	bool paused;		 /* does not read: enough is there for later */
	bool discards; /* reads on for the end of a message that is too long */
	bool eof, close_after_write, closing;
};

/* A line of the log about a client, once a minute for each. */
void luxi_conn_log(struct luxi_conn *conn, const char *what);

/* Close it and free what it holds; its running call learns that the client is
 * gone.  May be repeated. */
void luxi_conn_close(struct luxi_conn *conn);

/* Begin the next call if none runs and its message is complete. */
void luxi_conn_next(struct luxi_conn *conn);

/* The connection gets no call any more; what its client still sends of a
 * message that is too long is thrown away meanwhile. */
void luxi_conn_reject(struct luxi_conn *conn, const char *reason);

/* Nothing is sent any more: of a connection that closes. */
void luxi_output_drop(struct luxi_conn *conn);

/* From now on it has so long for what is sent as there is. */
void luxi_output_hurry(struct luxi_conn *conn);

/* One user of the server less; the last one ends it. */
void luxi_user_gone(struct luxi_server *s);

#endif
