/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to https_server.c (MHD daemons on the loop), https_peers.c (who is on
 * the other end), https_head.c (what a request may look like), https_call.c
 * (the requests), https_unread.c (answers that nobody has read yet) and
 * https_told.c (those that MHD answers itself). */
#ifndef EVENT_HTTPS_INTERNAL_H
#define EVENT_HTTPS_INTERNAL_H

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sys/socket.h>
#include <uv.h>

#include "lib/base/list.h"
#include "lib/base/table.h"
#include "lib/event/https_server.h"
#include "lib/event/timer.h"
#include "lib/event/tls.h"

/* Calls that share a number of places. */
struct https_lane {
	struct list waiting; /* calls whose turn has not come */
	unsigned running;    /* calls in their handler */
};

enum { HTTPS_LANE_MAIN, HTTPS_LANE_URGENT, HTTPS_LANES };

struct https_server {
	struct https_server_config config;
	int listen_fd, port;
	struct https_instance *current;
	struct list instances;
	struct https_lane lanes[HTTPS_LANES];
	unsigned busy; /* calls read and not yet answered completely */
	size_t bodies; /* bytes of the bodies in memory */
	struct table bodies_by_ip; /* of each source that has some: size_t */
	struct table open_by_ip;   /* connections of each source that has some:
				    * size_t; not counted where certificates
				    * are asked for */
	struct list unread;	   /* struct https_unread, the oldest first */
	size_t unread_bytes;
	uint64_t accepted;
	unsigned open;	  /* connections */
	unsigned streams; /* of these */
	/* Connections to a server that asks for certificates: those that have
	 * shown one (known), and those that have not (strangers); each list in
	 * the order of arrival. */
	struct list known, strangers;
	unsigned silent; /* connections that ended without any request, not yet
			  * mentioned in the log */
	int64_t silent_us;
	unsigned sent_away; /* strangers not yet mentioned in the log */
	int64_t told_us;
	int64_t ended_us; /* when the log told of a certificate that has ended;
			   * 0: never */
	bool closing;
	struct timer linger;
	struct timer look; /* for streams whose clients have gone */
	void (*done)(void *arg);
	void *done_arg;
};

/* Errors that MHD has answered on connections whose end it does not tell. */
struct https_faults {
	unsigned n; /* that wait for the end of their connection */
	int status; /* of the last one */
};

/* One MHD daemon. */
struct https_instance {
	struct list link;
	struct https_server *server;
	struct MHD_Daemon *mhd;
	uv_poll_t poll;
	uv_timer_t timer;
	uv_idle_t idle;
	struct list handled; /* calls whose handler is done, to be resumed */
	struct list streams; /* struct https_stream; those that */
	struct list woken;   /* were woken are here meanwhile */
	struct https_faults faults;
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
	struct timer limit; /* for its next request */
	bool checked, verified;
	char ip[64], source[HTTPS_SOURCE_MAX];
	char digest[TLS_DIGEST_MAX];
	char *target;	     /* of its last request, as sent */
	const char *uri_end; /* end of the target in MHD's memory */
	bool uri_odd;	     /* the target is malformed */
	bool asks;    /* the first line of a request came, its answer did not */
	bool refused; /* its answer is a refusal of ours */
	bool late;    /* it was hung up on */
	bool served;  /* there was a request before */
};

struct https_peer *https_peer_of(struct MHD_Connection *connection);
/* Find out which certificate the peer has shown, if we do not know yet. */
void https_peer_look(struct https_peer *peer);
/* Hang up after so many ms, unless the timer `limit` is stopped before. */
void https_peer_limit(struct https_peer *peer, unsigned ms);

/* What the head of a request says about the request. */
struct https_head {
	const char *fault; /* why it is refused, a literal; or NULL */
	bool chunked;
	uint64_t length; /* the length of the body; 0 if the head has none */
	size_t size;	 /* of the whole head; 0 if it is not known */
};

/* method and version: as MHD gives them to https_on_access(). */
struct https_head https_head_read(const struct https_peer *peer,
				  const char *method, const char *version);

/* Above this size the memory of a connection is a mapping of its own, of which
 * only the pages that are used are there, and which goes back to the system at
 * once.  Else each connection takes all of its memory for as long as it is
 * open. */
#define HTTPS_NOT_MAPPED ((size_t)32 * 1024)
#define HTTPS_PAGE ((size_t)4096)

/* How large a head MHD takes.  It refuses larger ones in words of its own, so
 * it takes more than what is let through. */
size_t https_head_room(const struct https_server_config *config);

/* Callbacks of MHD; arg is the instance.  The first line of a request has been
 * read: */
void *https_on_uri(void *arg, const char *uri,
		   struct MHD_Connection *connection);

/* A connection was made or closed: */
void https_on_connection(void *arg, struct MHD_Connection *connection,
			 void **context,
			 enum MHD_ConnectionNotificationCode code);

/* Called with the headers of a request, with each piece of its body, at its
 * end, and once more after the connection was resumed. */
enum MHD_Result https_on_access(void *arg, struct MHD_Connection *connection,
				const char *path, const char *method,
				const char *version, const char *data,
				size_t *len, void **call);

/* The request is over, however it ended. */
void https_on_completed(void *arg, struct MHD_Connection *connection,
			void **call, enum MHD_RequestTerminationCode code);

/* How much a table (source -> size_t) has of this one, and other than that. */
size_t https_amount(const struct table *by_ip, const char *source);
void https_set_amount(struct table *by_ip, const char *source, size_t n);

/* A new connection: whether there is room for it. */
enum MHD_Result https_on_accept(void *arg, const struct sockaddr *address,
				socklen_t len);

/* The answer that a stream is; NULL: out of memory. */
struct MHD_Response *https_stream_response(struct https_stream *stream);
/* Its connection is known now. */
void https_stream_attach(struct https_stream *stream,
			 struct MHD_Connection *connection);
/* Its connection is gone, or never came to be a stream. */
void https_stream_free(struct https_stream *stream);
struct https_stream *https_stream_create(struct https_instance *i,
					 const struct https_source *source);
/* Let those go on that were woken; and end all. */
void https_streams_resume(struct https_instance *i);
void https_streams_end(struct https_server *s);

/* --- https_unread.c: answers that nobody has read yet --- */

struct https_unread {
	struct list link; /* in server.unread, or in none */
	struct https_peer *peer;
	size_t len;
};
/* MHD has an answer of so many bytes for this peer; makes room by closing
 * others. */
void https_unread_begin(struct https_server *s, struct https_unread *u,
			struct https_peer *peer, size_t len);
/* It has it no more; also of one that never began. */
void https_unread_end(struct https_server *s, struct https_unread *u);

/* --- https_told.c: what MHD answers itself, or what has no answer --- */

/* A line of MHD's log. */
void https_told_line(struct https_instance *i, const char *text);
/* A request is over; method and version are NULL where MHD answered it. */
void https_told_request(struct https_peer *peer, const char *method,
			const char *version,
			enum MHD_RequestTerminationCode code);
/* A connection is over. */
void https_told_end(struct https_peer *peer);

/* --- https_raw.c: a connection that the handler took over --- */

struct https_raw {
	bool taken;
	bool stuck; /* a write has failed: there can be no other */
	int socket;
	gnutls_session_t session; /* NULL: no TLS */
	pthread_mutex_t lock;	  /* of the session */
};
struct https_raw *https_raw_of(const struct https_request *request);
/* To be freed with https_raw_done(). */
void https_raw_init(struct https_raw *raw, struct MHD_Connection *connection);
void https_raw_done(struct https_raw *raw);

/* Let the connections go on whose calls are handled. */
void https_resume_handled(struct https_instance *i);

/* Answer the calls whose turn has not come with an error, since the server
 * ends. */
void https_refuse_waiting(struct https_server *s);

#endif
