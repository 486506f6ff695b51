/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to https_server.c (MHD daemons on the loop), https_peers.c (who is on
 * the other end), https_head.c (what a request may look like) and https_call.c
 * (the requests). */
#ifndef EVENT_HTTPS_INTERNAL_H
#define EVENT_HTTPS_INTERNAL_H

#include <microhttpd.h>
#include <uv.h>

#include "lib/base/list.h"
#include "lib/event/https_server.h"
#include "lib/event/timer.h"
#include "lib/event/tls.h"

struct https_server {
	struct https_server_config config;
	int listen_fd, port;
	struct https_instance *current;
	struct list instances;
	struct list waiting; /* calls whose turn has not come */
	unsigned running;    /* calls in their handler */
	unsigned busy;	     /* read, and not yet answered to the end */
	uint64_t accepted;
	/* Connections, where certificates are asked for: those that have shown
	 * one, and those that have not, each in the order of their coming. */
	struct list known, strangers;
	unsigned sent_away; /* strangers, not told of yet */
	int64_t told_us;
	bool closing;
	struct timer linger;
	void (*done)(void *arg);
	void *done_arg;
};

/* One MHD daemon. */
struct https_instance {
	struct list link;
	struct https_server *server;
	struct MHD_Daemon *mhd;
	uv_poll_t poll;
	uv_timer_t timer;
	uv_idle_t idle;
	struct list handled; /* calls to be resumed */
	bool retired;
	int to_close;
};

/* Let MHD work as soon as possible, after resuming what was handled. */
void https_instance_wake(struct https_instance *i);

/* The other end of a connection. */
struct https_peer {
	struct list link; /* in server.known or .strangers, or in none */
	struct MHD_Connection *connection;
	struct https_instance *instance;
	struct timer limit; /* for what it has to send next */
	bool checked, verified;
	char ip[64];
	char digest[TLS_DIGEST_MAX];
	const char *uri_end; /* of the request being read, as it came, */
	bool uri_odd;	     /* with what must not be in it */
};

struct https_peer *https_peer_of(struct MHD_Connection *connection);
/* Make sure that it is known who it is. */
void https_peer_look(struct https_peer *peer);
/* It is hung up after so long, unless its timer `limit` is stopped. */
void https_peer_limit(struct https_peer *peer, unsigned ms);

/* What the head of a request says of the rest. */
struct https_head {
	const char *fault; /* why it is not taken, a literal; NULL */
	bool chunked;
	uint64_t length; /* of the body, 0 when it is not said */
};

/* method and version as MHD hands them to https_on_access(). */
struct https_head https_head_read(const struct https_peer *peer,
				  const char *method, const char *version);

/* MHD's callbacks; arg is the instance.  The first line of a request: */
void *https_on_uri(void *arg, const char *uri,
		   struct MHD_Connection *connection);

/* A new and a closed connection: */
void https_on_connection(void *arg, struct MHD_Connection *connection,
			 void **context,
			 enum MHD_ConnectionNotificationCode code);

/* The headers of a request have come, each piece of its body, its end, and
 * after the connection was resumed. */
enum MHD_Result https_on_access(void *arg, struct MHD_Connection *connection,
				const char *path, const char *method,
				const char *version, const char *data,
				size_t *len, void **call);

/* The request is over, however it ended. */
void https_on_completed(void *arg, struct MHD_Connection *connection,
			void **call, enum MHD_RequestTerminationCode code);

/* Let the connections go on whose calls are handled. */
void https_resume_handled(struct https_instance *i);

/* Answer those whose turn has not come: the server ends. */
void https_refuse_waiting(struct https_server *s);

#endif
