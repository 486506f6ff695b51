/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about this node's certificates. */
#include <string.h>

#include "lib/base/fs.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/core/renewal.h"

/* The digest of our client certificate, which is made if it does not exist or
 * if the caller asks for a new one. */
static json_t *ssl_token(const struct paths *p, bool make, struct error *err)
{
	const char *client = path(p, PATH_CLIENT_PEM);
	char digest[TLS_DIGEST_MAX];

	if ((make || !fs_exists(client)) &&
	    tls_make_signed(client, path(p, PATH_SERVER_PEM), p->hostname,
			    err) < 0)
		return NULL;
	if (tls_digest(client, digest, err) < 0)
		return NULL;
	return json_make("[s, s]", "ssl", digest);
}

json_t *call_node_crypto_tokens(struct call *c,
				const struct rpc_args_node_crypto_tokens *args,
				struct error *err)
{
	auto_json json_t *result = json_array();
	const json_t *request;
	size_t i;

	json_array_foreach (args->requests, i, request) {
		const char *type =
			json_string_value(json_array_get(request, 0));
		const char *action =
			json_string_value(json_array_get(request, 1));
		json_t *token = NULL;

		if (str_eq(type, "ssl") &&
		    (str_eq(action, "get") || str_eq(action, "create")))
			token = ssl_token(c->paths, str_eq(action, "create"),
					  err);
		else
			error_set(err, ERR_REQUEST, NULL,
				  "Unknown crypto token or action: \"%s\", "
				  "\"%s\"",
				  type != NULL ? type : "",
				  action != NULL ? action : "");
		if (token == NULL)
			return NULL;
		json_array_append_new(result, token);
	}
	return steal(&result);
}

/* --- renewal --- */

static json_t *digest_of(const char *file)
{
	char digest[TLS_DIGEST_MAX];
	struct error ignored;

	if (!fs_exists(file) || tls_digest(file, digest, &ignored) < 0)
		return json_null();
	return json_string(digest);
}

/* The digests of the present and the next certificates; "both": peers may show
 * either. */
static json_t *renewal_state(const struct paths *p)
{
	return json_make("{s:o, s:o, s:o, s:o, s:b}", "server",
			 digest_of(path(p, PATH_SERVER_PEM)), "client",
			 digest_of(path(p, PATH_CLIENT_PEM)), "new_server",
			 digest_of(path(p, PATH_SERVER_PEM_NEW)), "new_client",
			 digest_of(path(p, PATH_CLIENT_PEM_NEW)), "both",
			 (int)fs_exists(path(p, PATH_TRUSTED_PEM)));
}

static int renewal_step(struct call *c, const char *step, const char *pem,
			struct error *err)
{
	int rc;

	if (strcmp(step, "look") == 0)
		return 0;
	if (strcmp(step, "stage") == 0)
		rc = renewal_stage(c->paths, pem, err);
	else if (strcmp(step, "switch") == 0)
		rc = renewal_switch(c->paths, err);
	else if (strcmp(step, "finish") == 0)
		rc = renewal_finish(c->paths, err);
	else
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s: \"%s\" is no step of a renewal",
				 c->procedure, step);
	return rc < 0 ? -1 : noded_reload(c->n, err);
}

json_t *call_crypto_renewal(struct call *c,
			    const struct rpc_args_crypto_renewal *args,
			    struct error *err)
{
	if (renewal_step(c, args->step, args->certificate, err) < 0)
		return NULL;
	return renewal_state(c->paths);
}
