/* SPDX-License-Identifier: BSD-2-Clause */
/* A reload makes a new HTTPS client and retires the old one, which finishes its
 * calls.  HTTP statuses become kinds of errors: 400 and 413 say that the node
 * refused this call (ERR_EXEC), all others become ERR_RPC, among these 412 for
 * a master whose term is over, and 403 for a node that is no candidate any
 * more.
 */
#include "masterd/rpc/noderpc_https.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/event/https_client.h"
#include "lib/event/https_server.h"

#define TERM_HEADER_MAX 64

/* How much of a text that is not an answer gets into an error. */
#define STATUS_TEXT_MAX 200

struct noderpc_https {
	struct https_client *client;
	int port;
	uint64_t n_calls; /* of all that send by it */
};

/* The node obeys a master with a newer term. */
#define STATUS_FENCED 412
/* The node does not let this one in. */
#define STATUS_FORBIDDEN 403
/* The node refuses this call. */
#define STATUS_BAD_REQUEST 400
#define STATUS_TOO_LONG 413

/* What is needed of a call when its answer comes. */
struct pending {
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

/* Until the node has a certificate of its own, show the cluster's. */
static const char *our_certificate(const struct paths *paths)
{
	const char *own = path(paths, PATH_CLIENT_PEM);

	return fs_exists(own) ? own : path(paths, PATH_SERVER_PEM);
}

static struct https_client *make_client(const struct paths *paths,
					struct error *err)
{
	return https_client_create(our_certificate(paths), paths_trusted(paths),
				   err);
}

struct noderpc_https *noderpc_https_create(const struct paths *paths,
					   struct error *err)
{
	struct noderpc_https *h = xalloc(sizeof(*h));

	h->port = paths_noded_port();
	h->client = make_client(paths, err);
	if (h->client != NULL)
		return h;
	free(h);
	return NULL;
}

int noderpc_https_reload(struct noderpc_https *h, const struct paths *paths,
			 struct error *err)
{
	struct https_client *fresh;

	if (h->client == NULL)
		return 0;
	fresh = make_client(paths, err);
	if (fresh == NULL)
		return -1;
	https_client_retire(h->client);
	h->client = fresh;
	return 0;
}

void noderpc_https_close(struct noderpc_https *h)
{
	if (h != NULL && h->client != NULL)
		https_client_destroy(steal(&h->client));
}

void noderpc_https_free(struct noderpc_https *h)
{
	noderpc_https_close(h);
	free(h);
}

/* The ecode of a status; NULL: none.  A node of another cluster refuses with
 * another text. */
static const char *code_of(int status, const char *body, size_t len)
{
	if (status == STATUS_FENCED)
		return ECODE_FENCED;
	if (status == STATUS_FORBIDDEN && body != NULL &&
	    memmem(body, len, HTTPS_NOT_LET_IN, strlen(HTTPS_NOT_LET_IN)) !=
		    NULL)
		return ECODE_SHUT_OUT;
	return NULL;
}

static void on_reply(void *arg, int status, const char *body, size_t len,
		     const struct error *err)
{
	struct pending *pending = arg;
	struct error bad;

	if (status == 200) {
		pending->on_reply(pending->arg, body, len, NULL);
	} else if (status == 0) {
		pending->on_reply(pending->arg, NULL, 0, err);
	} else {
		error_set(&bad,
			  status == STATUS_BAD_REQUEST ||
					  status == STATUS_TOO_LONG
				  ? ERR_EXEC
				  : ERR_RPC,
			  code_of(status, body, len), "HTTP status %d: %.*s",
			  status, STATUS_TEXT_MAX, body == NULL ? "" : body);
		pending->on_reply(pending->arg, NULL, 0, &bad);
	}
	free(pending);
}

static void fail(const struct noderpc_call *call)
{
	struct error err;

	error_set(&err, ERR_RPC, NULL, "The daemon is ending");
	call->on_reply(call->arg, NULL, 0, &err);
	free(call->body);
}

static void send_on(struct noderpc_https *h, const struct noderpc_call *call)
{
	struct pending *pending = xalloc(sizeof(*pending));
	auto_free char *url_path = xprintf("/%s", call->procedure);
	char term[TERM_HEADER_MAX];
	const char *headers[] = {"Content-Type: application/json",
				 call->term > 0 ? term : NULL, NULL};

	snprintf(term, sizeof(term), "X-Gantry-Term: %ju %ju",
		 (uintmax_t)call->term, (uintmax_t)call->number);
	pending->on_reply = call->on_reply;
	pending->arg = call->arg;
	https_post(h->client,
		   &(struct https_post){
			   .address = call->address,
			   .port = h->port,
			   .path = url_path,
			   .headers = headers,
			   .timeout_ms = call->timeout_ms,
		   },
		   call->body, call->len, on_reply, pending);
}

static void https_send(void *arg, const struct noderpc_call *call)
{
	struct noderpc_https *h = arg;

	if (h->client == NULL)
		fail(call);
	else
		send_on(h, call);
}

struct noderpc_transport noderpc_https_transport(struct noderpc_https *h)
{
	return (struct noderpc_transport){
		.arg = h, .n_calls = &h->n_calls, .send = https_send};
}
