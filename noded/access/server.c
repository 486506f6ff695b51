/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTPS library handles the connections.  This file gives it certificates,
 * limits and two callbacks: allowed() decides about a client by the digest of
 * its certificate, and handle() answers a request.  Refusals are logged at a
 * limited rate. */
#include "noded/access/server.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/event/https_server.h"
#include "noded/access/answer.h"
#include "noded/core/noded.h"

static WAITS void handle(void *arg, struct https_request *r)
{
	int status;
	char *text;

	text = answer_http(arg,
			   &(struct answer_request){
				   .method = r->method,
				   .path = r->path,
				   .term = https_header(r, ANSWER_TERM_HEADER),
				   .body = r->body,
				   .len = r->body_len,
			   },
			   &status);
	https_reply(r, status, "application/json", text, strlen(text));
}

/* The voters of the log listen to each other by these, and each is answered in
 * a time that is known.  Calls that hang must not keep them out, or the cluster
 * has no master. */
static bool urgent(void *arg, const struct https_request *r)
{
	static const char *const paths[] = {"/log_parcel", "/log_order",
					    "/master_state", "/version"};

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (strcmp(r->path, paths[i]) == 0)
			return true;
	return false;
}

static bool allowed(void *arg, const char *digest)
{
	struct noded *n = arg;
	unsigned left_out;

	if (peers_allowed(&n->peers, digest))
		return true;
	if (digest == NULL)
		digest = "(none)";
	if (log_rate_due(&n->refused, digest, &left_out))
		log_warning("refused a peer with the certificate %s (and %u "
			    "times before that)",
			    digest, left_out);
	return false;
}

int server_start(struct noded *n, struct error *err)
{
	struct https_server_config config = {
		.address = n->address,
		.port = n->port,
		.cert_file = path(n->paths, PATH_SERVER_PEM),
		.ca_file = paths_trusted(n->paths),
		.body_max = NODED_BODY_MAX,
		.connections_max = NODED_CONNECTIONS_MAX,
		.connections_per_ip_max = NODED_CONNECTIONS_PER_IP_MAX,
		.requests_max = NODED_REQUESTS_MAX,
		.allowed = allowed,
		.urgent = urgent,
		.handle = handle,
		.arg = n,
	};

	n->server = https_server_create(&config, err);
	return n->server != NULL ? 0 : -1;
}

void server_stop(struct noded *n)
{
	metad_close(&n->metad);
	if (n->server != NULL)
		https_server_destroy(steal(&n->server), NULL, NULL);
}
