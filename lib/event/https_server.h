/* SPDX-License-Identifier: BSD-2-Clause */
/* An HTTPS server on the loop (libmicrohttpd), one task per request.  Without a
 * certificate it speaks plain HTTP, for guests, which could not check one.
 *
 * Limits: a body has at most body_max bytes, the headers HTTPS_HEADER_MAX.
 * There are at most connections_max connections, and connections_per_ip_max
 * from one address.  A connection is closed after HTTPS_IDLE_S seconds without
 * a byte.  At most requests_max requests run at the same time (and as many
 * urgent ones); further ones wait.  A peer that sends a byte now and then is
 * cut off too: the headers have to be complete HTTPS_FIRST_MS after the
 * connection was made (or its certificate shown), those of a further request as
 * long after the time that it may be idle, a body HTTPS_BODY_MS after its
 * headers.
 *
 * On a server that asks for certificates, connections that have not shown one
 * (strangers) do not count among connections_max.  They have HTTPS_STRANGER_MS
 * to show one, and HTTPS_STRANGERS_MAX places; when these are full, the oldest
 * is closed.
 *
 * A request that another program might read differently is refused: bare LF, CR
 * or NUL, folded lines, malformed header names, two hosts, two lengths, %00;
 * and so are bodies in chunks.
 *
 * An answer may be a stream, which goes on as long as there is something to
 * say; it needs no task, and has a limit of its own.
 *
 * A server for the world has more to say: it takes all methods, words refusals
 * itself, has limits of its own for the head of a request and for the memory
 * of all bodies together, and sees the target as it was sent. */
#ifndef EVENT_HTTPS_SERVER_H
#define EVENT_HTTPS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

#define HTTPS_HEADER_MAX (32 * 1024)
#define HTTPS_IDLE_S 120
#define HTTPS_FIRST_MS 30000
#define HTTPS_BODY_MS 300000
/* Twice the time that our own client waits for a connection. */
#define HTTPS_STRANGER_MS 10000
/* A busy server may have so many handshakes under way; each takes about 80
 * kB. */
#define HTTPS_STRANGERS_MAX 256

/* What a peer is told whose certificate is of this cluster, and not among those
 * that are allowed. */
#define HTTPS_NOT_LET_IN "This certificate is not let in"

struct https_server; /* private */
struct https_stream; /* private */

struct https_request {
	const char *method;
	const char *path;    /* without the query string, %XX decoded */
	const char *target;  /* path and query string as they were sent */
	const char *version; /* "HTTP/1.1" */
	const char *body;    /* NUL-terminated */
	size_t body_len;
	const char *peer_ip;
	const char *peer_digest; /* of its certificate; NULL: none */

	/* The reply, filled by https_reply() or https_reply_file(); without one
	 * it is 500. */
	int status;
	char *reply;
	size_t reply_len;
	const char *reply_type;
	const char *allow; /* for 405: the methods allowed; NULL: all */
	char *headers;	   /* more lines, each "Name: value\n", freed by the
			    * server; NULL: none */

	struct https_call *call; /* private */
};

/* A request that never gets to the handler: the server answers it itself. */
struct https_refusal {
	const char *method, *target, *version, *peer_ip;
	int status;	 /* 408: it did not come in time, and has no answer */
	const char *why; /* a literal, a sentence without a full stop */
};

/* Who is behind an address, for limits: who has one of IPv6 has 2^64 of them,
 * so only its first half counts; except of those that stand for an address of
 * IPv4.  What is no address is itself. */
#define HTTPS_SOURCE_MAX 64
void https_source(const char *ip, char ret[HTTPS_SOURCE_MAX]);

struct https_server_config {
	const char *address;   /* numeric IPv4 or IPv6 */
	int port;	       /* 0: any */
	bool early;	       /* even if no interface has the address yet */
	const char *cert_file; /* PEM: our certificate and key; NULL: plain */
	const char *key_file;  /* the key; NULL: it is in cert_file */
	const char *ca_file;   /* signs clients'; NULL: none is asked for */
	bool reads;	       /* accept GET besides POST and PUT */
	bool all_methods;      /* the handler decides about the method */
	size_t body_max;
	/* Of all that are in memory together, and of those of one address (here
	 * and below: of one https_source()); 0: no limit. */
	size_t bodies_max, bodies_per_ip_max;
	/* Bytes of all answers that are not read yet: beyond that the
	 * connection that has had its answer for the longest time is closed.
	 * One alone may be longer.  0: no limit. */
	size_t unread_max;
	size_t header_max; /* 0: HTTPS_HEADER_MAX */
	size_t target_max; /* 0: as the headers */
	unsigned idle_s;   /* 0: HTTPS_IDLE_S */
	unsigned connections_max, connections_per_ip_max, requests_max;
	/* Connections that have become streams count against this alone. */
	unsigned streams_max;
	/* 0: HTTPS_FIRST_MS, HTTPS_BODY_MS, HTTPS_STRANGER_MS */
	unsigned first_ms, body_ms, stranger_ms;
	/* An answer has to be read within this time; 0: no limit. */
	unsigned answer_ms;

	/* Called for every request before its body is read, with the digest of
	 * the verified peer (not NULL when ca_file is set); false: the answer
	 * is 403.  NULL: all may go on. */
	bool (*allowed)(void *arg, const char *digest);

	/* The answer's body (to be freed) and its type; NULL: a line of plain
	 * text. */
	char *(*refuse)(void *arg, const struct https_refusal *refusal,
			const char **ret_type);

	const char *refuse_headers; /* more lines of it; NULL: none */

	/* What is no request to libmicrohttpd it answers in words of its own,
	 * or not at all when it does not come in time; this tells of each.
	 * method and version are not known and NULL, target may be.  NULL: it
	 * is not told. */
	void (*tell)(void *arg, const struct https_refusal *refusal);

	/* Answers on the loop, without waiting, what it can; false: ask
	 * handle().  NULL: nothing. */
	bool (*quick)(void *arg, struct https_request *request);

	/* Whether a request is one for which the cluster waits, and that itself
	 * waits for nothing that may take for ever.  Such requests have
	 * requests_max places of their own.  NULL: none is. */
	bool (*urgent)(void *arg, const struct https_request *request);

	/* Runs in a task of its own. */
	WAITS void (*handle)(void *arg, struct https_request *request);
	void *arg;
};

/* Value of a request header, NULL if absent.  Only inside handle(). */
const char *https_header(const struct https_request *request, const char *name);

/* All values of a header that may come more than once, in their order with
 * commas between, to be freed; NULL if there is none.  Only inside
 * handle(). */
char *https_header_all(const struct https_request *request, const char *name);

/* Whether the client has hung up.  Only inside handle(), also beside the
 * loop. */
bool https_gone(const struct https_request *request);

/* Set the answer; body is freed by the server. */
void https_reply(struct https_request *request, int status, const char *type,
		 char *body STEALS, size_t len);

/* Answer with 200 and what the file holds; fd is closed by the server. */
void https_reply_file(struct https_request *request, int fd STEALS,
		      uint64_t size);

/* Where a stream comes from; both functions have control and must not wait. */
struct https_source {
	/* Put at most max bytes at data, and return how many; 0: there are none
	 * before https_stream_wake(); -1: it ends. */
	ssize_t (*read)(void *arg, char *data, size_t max);
	/* It is over, however it ended; arg is not used any more. */
	void (*closed)(void *arg);
	void *arg;
};

/* Answer with 200 and a stream.  NULL, and the source is not used: there are
 * streams_max others.  What is returned is valid until closed(). */
struct https_stream *https_reply_stream(struct https_request *request,
					const char *type,
					const struct https_source *source);
/* Ask its source again. */
void https_stream_wake(struct https_stream *stream);
/* How many there are. */
unsigned https_server_streams(const struct https_server *s);

/* Take the connection over: from now on what the handler writes goes to the
 * client as it is, and when the handler returns the connection is closed.
 * Bytes that the client sent behind its request may be lost, so it has to wait
 * for an answer.  All of these are called from inside handle(), beside the
 * loop; one thread may read while another one writes. */
void https_take_over(struct https_request *request);

/* Wait at most wait_ms for bytes: how many came, 0 for none in time, -1 when
 * the client has gone. */
ssize_t https_read(struct https_request *request, void *data, size_t size,
		   unsigned wait_ms);

/* All of it within wait_ms; -1 when the client has gone or does not read. */
int https_write(struct https_request *request, const void *data, size_t len,
		unsigned wait_ms);

/* End the connection, which also ends a read in another thread. */
void https_hang_up(struct https_request *request);

/* Start to listen.  *config and its strings are copied.  NULL with err. */
struct https_server *
https_server_create(const struct https_server_config *config,
		    struct error *err);

/* The port it listens on. */
int https_server_port(const struct https_server *s);

/* How many connections it has accepted so far. */
uint64_t https_server_accepted(const struct https_server *s);

/* Read cert_file again, and accept from now on clients whose certificate is
 * signed by one of those in ca_file (as in the configuration).  Existing
 * connections go on. */
int https_server_reload(struct https_server *s, const char *ca_file,
			struct error *err);

/* Stop listening, wait for running requests, then free s.  Returns at once;
 * done() (may be NULL) is called from the loop when everything is closed. */
void https_server_destroy(struct https_server *s, void (*done)(void *arg),
			  void *arg);

#endif
