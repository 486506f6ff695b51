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

/* The files are PEM.  cert_file has this node's certificate and key
 * (client.pem); NULL: show none.  ca_file has the certificate whose key the
 * peer must have (server.pem); with several in the file any of them will do.
 * The name in the certificate does not matter, as nodes are called by address,
 * nor does its date, as it could not be replaced otherwise.  NULL with err. */
struct https_client *https_client_create(const char *cert_file,
					 const char *ca_file,
					 struct error *err);

/* End all running requests with an error, then free the client.  Not to be
 * called from on_reply. */
void https_client_destroy(struct https_client *c);

/* As https_client_destroy(), but let the present requests end by themselves
 * first.  The caller starts no further ones. */
void https_client_retire(struct https_client *c);

struct https_post {
	const char *address; /* numeric */
	int port;
	const char *path;	    /* "/node_info" */
	const char *const *headers; /* "Name: value"..., NULL; may be NULL */
	unsigned timeout_ms; /* whole request, also its wait for a turn; > 0 */
	unsigned connect_timeout_ms; /* 0: HTTPS default of 5 s */
};

/* Start a POST; *post is copied.  on_reply is called exactly once, from the
 * loop: with the status and the body (borrowed, NUL-terminated), or with status
 * 0 and err: ECODE_REFUSED when the connection was refused, ECODE_CUT when it
 * ended before the answer, kind ERR_EXEC when the answer was longer than
 * HTTPS_REPLY_MAX, else ERR_RPC.  A host that stops answering is given up after
 * two minutes, even if timeout_ms is longer. */
void https_post(struct https_client *c, const struct https_post *post,
		char *body STEALS, size_t len,
		void (*on_reply)(void *arg, int status, const char *body,
				 size_t len, const struct error *err),
		void *arg);

#endif
