/* SPDX-License-Identifier: BSD-2-Clause */
/* One handle of libcurl, so that all requests use one connection. */
#include "lib/client/rapi.h"

#include <curl/curl.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define CONNECT_TIMEOUT_S 30L
/* A RAPI server waits for the master, which waits for nodes. */
#define TIMEOUT_S 180L
/* For 1,000 nodes and 10,000 instances an answer has 15 MB. */
#define REPLY_MAX ((size_t)256 << 20)

struct rapi {
	CURL *easy;
	char *base;
	struct buf reply;
	bool too_long;
	char text[CURL_ERROR_SIZE];
};

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct rapi *r = arg;

	if (r->reply.len + size * n > REPLY_MAX) {
		r->too_long = true;
		return 0;
	}
	buf_add(&r->reply, data, size * n);
	return size * n;
}

struct rapi *rapi_new(const char *address)
{
	struct rapi *r = xcalloc(1, sizeof(*r));
	bool is_url = strchr(address, ':') != NULL;

	r->base = is_url ? xstrdup(address)
			 : xprintf("https://%s:%d", address, RAPI_PORT);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort(); /* out of memory */
	r->easy = curl_easy_init();
	if (r->easy == NULL)
		abort(); /* out of memory */
	curl_easy_setopt(r->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(r->easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(r->easy, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, TIMEOUT_S);
	curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->text);
	return r;
}

void rapi_limit(struct rapi *r, long seconds)
{
	curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT, seconds);
	curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, seconds);
}

void rapi_free(struct rapi *r)
{
	if (r == NULL)
		return;
	curl_easy_cleanup(r->easy);
	curl_global_cleanup();
	buf_done(&r->reply);
	free(r->base);
	free(r);
}

/* The URL for messages, without its password. */
static char *shown(const char *url)
{
	const char *host = strstr(url, "://");
	const char *at;

	host = host != NULL ? host + 3 : url;
	at = memchr(host, '@', strcspn(host, "/"));
	if (at == NULL)
		return xstrdup(url);
	return xprintf("%.*s%s", (int)(host - url), url, at + 1);
}

/* Do a GET and put the answer into r->reply. */
static int perform(struct rapi *r, const char *url, struct error *err)
{
	CURLcode rc;
	long status = 0;

	r->reply.len = 0;
	r->too_long = false;
	r->text[0] = '\0';
	curl_easy_setopt(r->easy, CURLOPT_URL, url);
	rc = curl_easy_perform(r->easy);
	if (r->too_long)
		return error_set(err, ERR_EXEC, NULL,
				 "the answer is longer than %zu bytes",
				 REPLY_MAX);
	if (rc != CURLE_OK)
		return error_set(err, ERR_EXEC, NULL, "%s",
				 r->text[0] != '\0' ? r->text
						    : curl_easy_strerror(rc));
	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 401 || status == 403)
		return error_set(err, ERR_EXEC, NULL,
				 "the server answers with status %ld; a user "
				 "who may read is named like this: "
				 "https://USER:PASSWORD@HOST:%d",
				 status, RAPI_PORT);
	if (status != 200)
		return error_set(err, ERR_EXEC, NULL,
				 "the server answers with status %ld", status);
	return 0;
}

json_t *rapi_get(struct rapi *r, const char *resource, struct error *err)
{
	auto_free char *url = xprintf("%s%s", r->base, resource);
	auto_free char *where = shown(url);
	json_t *value = NULL;

	if (perform(r, url, err) == 0)
		value = json_parse(r->reply.len > 0 ? r->reply.data : "",
				   r->reply.len, err);
	if (value == NULL)
		error_wrap(err, "Cannot read '%s'", where);
	return value;
}
