/* SPDX-License-Identifier: BSD-2-Clause */
/* What the client of RAPI consists of. */
#ifndef CLIENT_RAPI_PRIVATE_H
#define CLIENT_RAPI_PRIVATE_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lib/base/str.h"
#include "lib/client/rapi.h"

struct rapi {
	CURL *easy;
	char *base;
	char *user; /* of rapi_login(), for messages */
	struct buf reply;
	bool too_long;
	char text[CURL_ERROR_SIZE];

	/* The request on its way, or the last one. */
	char *method, *url, *body;
	struct curl_slist *headers;
	CURLcode rc;
};

/* Set the handle up for a request. */
void rapi_prepare(struct rapi *r, const char *method, const char *resource,
		  const json_t *body);

#endif
