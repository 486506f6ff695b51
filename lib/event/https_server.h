/* SPDX-License-Identifier: BSD-2-Clause */
/* An HTTPS server on the loop (libmicrohttpd), one task per request; without a
 * certificate it speaks plain HTTP, for guests that have no way to know one.
 *
 * Limits: bodies of at most body_max bytes, headers of HTTPS_HEADER_MAX, at
 * most connections_max connections (connections_per_ip_max from one address),
 * HTTPS_IDLE_S seconds without a byte end one, at most requests_max requests
 * run at once, the others wait.  Who sends a byte now and then is no better
 * off: the headers of a request that is let in have to be there HTTPS_FIRST_MS
 * after the connection was made or its certificate shown, a body HTTPS_BODY_MS
 * after its headers.
 *
 * Where certificates are asked for, connections that have not shown one are not
 * among connections_max.  They have HTTPS_STRANGER_MS to do so, and
 * HTTPS_STRANGERS_MAX places; when there is none left, the oldest goes.
 *
 * A request that could mean something else to another reader is refused: bare
 * LF, CR and NUL, folded lines, names that are none, two hosts, two lengths,
 * %00; and so are bodies in chunks. */
#ifndef EVENT_HTTPS_SERVER_H
#define EVENT_HTTPS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

#define HTTPS_HEADER_MAX (32 * 1024)
#define HTTPS_IDLE_S 120
#define HTTPS_FIRST_MS 30000
#define HTTPS_BODY_MS 300000
/* Twice what our client waits for a connection. */
#define HTTPS_STRANGER_MS 10000
/* So many handshakes a busy server may have begun; each takes some 80 kB. */
#define HTTPS_STRANGERS_MAX 256

struct https_server; /* private */

struct https_request {
	const char *method;
	const char *path; /* without the query string */
	const char *body; /* NUL-terminated */
	size_t body_len;
	const char *peer_ip;
	const char *peer_digest; /* tls.h; NULL without client certificate */

	/* The reply, filled by https_reply() or https_reply_file(); without one
	 * it is 500. */
	int status;
	char *reply;
	size_t reply_len;
	const char *reply_type;
	const char *allow; /* of a 405: what is; NULL: all that is let in */

	struct https_call *call; /* private */
};

struct https_server_config {
	const char *address;   /* numeric IPv4 or IPv6 */
	int port;	       /* 0: any */
	bool early;	       /* listen though the address is not there yet */
	const char *cert_file; /* PEM: our certificate and key; NULL: plain */
	const char *ca_file;   /* client certificates must be signed by it;
				* NULL: none is asked for */
	bool reads;	       /* let GET in as well as POST and PUT */
	size_t body_max;
	unsigned connections_max, connections_per_ip_max, requests_max;
	/* 0: HTTPS_FIRST_MS, HTTPS_BODY_MS, HTTPS_STRANGER_MS */
	unsigned first_ms, body_ms, stranger_ms;

	/* Asked on every request before its body is read, with the verified
	 * peer's digest (never NULL when ca_file is set): may it go on?
	 * Otherwise 403. May be NULL. */
	bool (*allowed)(void *arg, const char *digest);

	/* Runs in a task of its own. */
	WAITS void (*handle)(void *arg, struct https_request *request);
	void *arg;
};

/* Value of a request header, NULL if absent.  Only inside handle(). */
const char *https_header(const struct https_request *request, const char *name);

/* Set the answer; body is freed by the server. */
void https_reply(struct https_request *request, int status, const char *type,
		 char *body STEALS, size_t len);

/* Answer with 200 and what the file holds; fd is closed by the server. */
void https_reply_file(struct https_request *request, int fd STEALS,
		      uint64_t size);

/* Listen.  *config is copied, its strings too. */
struct https_server *
https_server_create(const struct https_server_config *config,
		    struct error *err);

/* The port it listens on. */
int https_server_port(const struct https_server *s);

/* How many connections it has accepted so far. */
uint64_t https_server_accepted(const struct https_server *s);

/* Read cert_file again, and from now on clients' certificates are signed by one
 * of those in ca_file (as in the configuration); existing connections go on. */
int https_server_reload(struct https_server *s, const char *ca_file,
			struct error *err);

/* Stop listening, wait for running requests, free s; done() is called from the
 * loop when everything is closed (may be NULL). */
void https_server_destroy(struct https_server *s, void (*done)(void *arg),
			  void *arg);

#endif
