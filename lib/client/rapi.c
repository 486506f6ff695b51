/* SPDX-License-Identifier: BSD-2-Clause */
/* One handle of libcurl, so that all requests use one connection.  Those that
 * change something have one of their own: on a kept connection, which the
 * server may be about to close, libcurl would send them a second time. */
#include "lib/client/rapi.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/client/rapi_private.h"
#include "lib/json/json.h"

#define CONNECT_TIMEOUT_S 30L
/* A RAPI server waits for the master, which waits for nodes. */
#define TIMEOUT_S 180L
/* For 1,000 nodes and 10,000 instances an answer has 15 MB. */
#define REPLY_MAX ((size_t)256 << 20)
/* What a server explains of its refusal, in messages. */
#define EXPLAIN_MAX 1000

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
	curl_easy_setopt(r->easy, CURLOPT_PRIVATE, r);
	curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->text);
	return r;
}

void rapi_limit(struct rapi *r, long seconds)
{
	curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT, seconds);
	curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, seconds);
}

void rapi_verify(struct rapi *r, const char *ca_file)
{
	curl_easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(r->easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(r->easy, CURLOPT_SSL_VERIFYHOST,
			 ca_file == NULL ? 2L : 0L);
	if (ca_file == NULL)
		return;
	curl_easy_setopt(r->easy, CURLOPT_CAINFO, ca_file);
	curl_easy_setopt(r->easy, CURLOPT_CAPATH, NULL); /* no others */
}

void rapi_login(struct rapi *r, const char *user, const char *password)
{
	free(r->user);
	r->user = xstrdup(user);
	curl_easy_setopt(r->easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	curl_easy_setopt(r->easy, CURLOPT_USERNAME, user);
	curl_easy_setopt(r->easy, CURLOPT_PASSWORD, password);
}

void rapi_free(struct rapi *r)
{
	if (r == NULL)
		return;
	curl_easy_cleanup(r->easy);
	curl_slist_free_all(r->headers);
	curl_global_cleanup();
	buf_done(&r->reply);
	free(r->method);
	free(r->url);
	free(r->body);
	free(r->user);
	free(r->base);
	free(r);
}

/* --- a request --- */

static bool is_get(const struct rapi *r)
{
	return strcmp(r->method, "GET") == 0;
}

static void set_body(struct rapi *r, const json_t *body)
{
	bool bare = body == NULL && strcmp(r->method, "PUT") != 0 &&
		    strcmp(r->method, "POST") != 0;

	free(r->body);
	r->body = body == NULL ? xstrdup("") : json_text(body);
	curl_easy_setopt(r->easy, CURLOPT_HTTPGET, 1L);
	if (bare)
		return;
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)strlen(r->body));
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDS, r->body);
}

static void set_headers(struct rapi *r)
{
	curl_slist_free_all(r->headers);
	r->headers = curl_slist_append(NULL, "Accept: application/json");
	if (r->headers == NULL ||
	    curl_slist_append(r->headers, "Content-Type: application/json") ==
		    NULL ||
	    curl_slist_append(r->headers, "Expect:") == NULL)
		abort(); /* out of memory */
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
}

void rapi_prepare(struct rapi *r, const char *method, const char *resource,
		  const json_t *body)
{
	r->reply.len = 0;
	r->too_long = false;
	r->text[0] = '\0';
	free(r->method);
	free(r->url);
	r->method = xstrdup(method);
	r->url = xprintf("%s%s", r->base, resource);
	set_body(r, body);
	set_headers(r);
	curl_easy_setopt(r->easy, CURLOPT_URL, r->url);
	curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(r->easy, CURLOPT_FRESH_CONNECT, is_get(r) ? 0L : 1L);
}

/* --- what came of it --- */

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

/* Whether it is certain that the server has not got the request; if so, whether
 * it may be reached later. */
static bool not_sent(CURLcode rc, bool *ret_later)
{
	*ret_later = rc == CURLE_COULDNT_RESOLVE_PROXY ||
		     rc == CURLE_COULDNT_RESOLVE_HOST ||
		     rc == CURLE_COULDNT_CONNECT ||
		     rc == CURLE_SSL_CONNECT_ERROR;
	return *ret_later || rc == CURLE_PEER_FAILED_VERIFICATION ||
	       rc == CURLE_SSL_CACERT_BADFILE || rc == CURLE_SSL_CERTPROBLEM ||
	       rc == CURLE_SSL_ISSUER_ERROR;
}

static int no_answer(const struct rapi *r, struct error *err)
{
	bool later, unsent = not_sent(r->rc, &later);

	return error_set(
		err, ERR_EXEC, later || !unsent ? RAPI_NO_ANSWER : NULL, "%s%s",
		r->text[0] != '\0' ? r->text : curl_easy_strerror(r->rc),
		unsent || is_get(r) ? "" : "; the server may have done it");
}

static int not_allowed(const struct rapi *r, long status, struct error *err)
{
	if (r->user != NULL)
		return error_set(err, ERR_EXEC, NULL,
				 "the server answers with status %ld: the user "
				 "'%s' has another password there, is not "
				 "known, or may not do this",
				 status, r->user);
	return error_set(err, ERR_EXEC, NULL,
			 "the server answers with status %ld; a user who may "
			 "read is named like this: "
			 "https://USER:PASSWORD@HOST:%d",
			 status, RAPI_PORT);
}

static const char *code_of(long status)
{
	if (status == 404)
		return ECODE_NOENT;
	return status >= 502 && status <= 504 ? RAPI_NO_ANSWER : NULL;
}

/* With what the server has to say about it. */
static int refused(const struct rapi *r, long status, struct error *err)
{
	struct error ignored; /* it need not be JSON */
	auto_json json_t *said = json_parse(
		r->reply.len > 0 ? r->reply.data : "", r->reply.len, &ignored);
	const char *why = json_str(said, "explain", NULL);

	return error_set(err, ERR_EXEC, code_of(status),
			 "the server answers with status %ld%s%.*s", status,
			 why == NULL ? "" : ": ", EXPLAIN_MAX,
			 why == NULL ? "" : why);
}

static int check(const struct rapi *r, struct error *err)
{
	long status = 0;

	if (r->too_long)
		return error_set(err, ERR_EXEC, NULL,
				 "the answer is longer than %zu bytes",
				 REPLY_MAX);
	if (r->rc != CURLE_OK)
		return no_answer(r, err);
	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 401 || status == 403)
		return not_allowed(r, status, err);
	return status == 200 ? 0 : refused(r, status, err);
}

json_t *rapi_answer(struct rapi *r, struct error *err)
{
	auto_free char *where = shown(r->url);
	json_t *value = NULL;

	if (check(r, err) == 0)
		value = json_parse(r->reply.len > 0 ? r->reply.data : "",
				   r->reply.len, err);
	if (value == NULL && is_get(r))
		error_wrap(err, "Cannot read '%s'", where);
	else if (value == NULL)
		error_wrap(err, "%s '%s'", r->method, where);
	return value;
}

json_t *rapi_request(struct rapi *r, const char *method, const char *resource,
		     const json_t *body, struct error *err)
{
	rapi_prepare(r, method, resource, body);
	r->rc = curl_easy_perform(r->easy);
	return rapi_answer(r, err);
}

json_t *rapi_get(struct rapi *r, const char *resource, struct error *err)
{
	return rapi_request(r, "GET", resource, NULL, err);
}
