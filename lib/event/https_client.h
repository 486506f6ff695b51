/* SPDX-License-Identifier: BSD-2-Clause */
/* HTTPS requests from the loop (libcurl multi): mutual TLS, connections are
 * kept, at most HTTPS_HANDSHAKES connections are being set up at once. */
#ifndef EVENT_HTTPS_CLIENT_H
#define EVENT_HTTPS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

#define HTTPS_HANDSHAKES 32
#define HTTPS_REPLY_MAX (64u * 1024 * 1024)

struct https_client;

/* The files are PEM; client.pem's key and certificate for cert_file, server.pem
 * for ca_file: the peer must show that very certificate (the name in it is not
 * looked at, nodes are called by address); of several certificates in ca_file
 * any one.  cert_file may be NULL. */
struct https_client *https_client_create(const char *cert_file,
					 const char *ca_file,
					 struct error *err);

/* Running requests end with an error first.  Not from on_reply. */
void https_client_destroy(struct https_client *c);

/* The same once the requests that it has now have ended by themselves; it gets
 * no more.  Its connections are not kept for others. */
void https_client_retire(struct https_client *c);

struct https_post {
	const char *address; /* numeric */
	int port;
	const char *path;	    /* "/node_info" */
	const char *const *headers; /* "Name: value"..., NULL; may be NULL */
	unsigned timeout_ms; /* whole request, also its wait for a turn; > 0 */
	unsigned connect_timeout_ms; /* 0: HTTPS default of 5 s */
};

/* Start a POST; a connection whose host does not answer at all ends after two
 * minutes, however long the request may take.  on_reply is called from the loop
 * exactly once: status and the body (borrowed, NUL-terminated), or status 0 and
 * err (ECODE_REFUSED when the connection was refused, the kind ERR_EXEC when
 * the answer was longer than HTTPS_REPLY_MAX, else ERR_RPC).  Everything in
 * *post is copied. */
void https_post(struct https_client *c, const struct https_post *post,
		char *body STEALS, size_t len,
		void (*on_reply)(void *arg, int status, const char *body,
				 size_t len, const struct error *err),
		void *arg);

#endif
