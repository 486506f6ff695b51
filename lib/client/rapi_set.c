/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of several clients side by side, on libcurl's multi interface: each
 * may be about another server.  Nothing happens outside of rapi_next(). */
#include <assert.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/client/rapi_private.h"

struct rapi_set {
	CURLM *multi;
};

struct rapi_set *rapi_set_new(void)
{
	struct rapi_set *s = xcalloc(1, sizeof(*s));

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort(); /* out of memory */
	s->multi = curl_multi_init();
	if (s->multi == NULL)
		abort(); /* out of memory */
	return s;
}

void rapi_set_free(struct rapi_set *s)
{
	if (s == NULL)
		return;
	curl_multi_cleanup(s->multi);
	curl_global_cleanup();
	free(s);
}

void rapi_begin(struct rapi_set *s, struct rapi *r, const char *method,
		const char *resource, const json_t *body)
{
	CURLMcode rc;

	rapi_prepare(r, method, resource, body);
	rc = curl_multi_add_handle(s->multi, r->easy);
	assert(rc == CURLM_OK); /* it has no other request */
}

/* Do what can be done without waiting. */
static struct rapi *ended(struct rapi_set *s)
{
	int running, left;
	const CURLMsg *m;
	struct rapi *r;

	curl_multi_perform(s->multi, &running);
	while ((m = curl_multi_info_read(s->multi, &left)) != NULL)
		if (m->msg == CURLMSG_DONE) {
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &r);
			r->rc = m->data.result; /* before m becomes void */
			curl_multi_remove_handle(s->multi, r->easy);
			return r;
		}
	return NULL;
}

struct rapi *rapi_next(struct rapi_set *s, int64_t limit_ms)
{
	int64_t end_us = clock_mono_us() + limit_ms * 1000;

	for (;;) {
		struct rapi *r = ended(s);
		int64_t left_us = end_us - clock_mono_us();

		if (r != NULL || left_us <= 0)
			return r;
		curl_multi_poll(s->multi, NULL, 0, (int)(left_us / 1000) + 1,
				NULL);
	}
}

void rapi_drop(struct rapi_set *s, struct rapi *r)
{
	curl_multi_remove_handle(s->multi, r->easy);
}
