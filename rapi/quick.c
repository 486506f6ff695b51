/* SPDX-License-Identifier: BSD-2-Clause */
/* Such an answer is logged as all others; the password is checked as far as
 * that is quick. */
#include "rapi/quick.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "rapi/exchange.h"
#include "rapi/frame/route.h"
#include "rapi/rapi.h"

/* Whether who sends it may have the answer, as far as that is known at once:
 * no other scheme than a password's, and none that takes long to check. */
static bool may_have(struct rapi *r, const struct https_request *http,
		     struct exchange *x, const struct answer *one)
{
	const char *header = https_header(http, "Authorization");
	struct error err;

	if (!exchange_by_name(http))
		return false;
	if (header == NULL)
		return !r->require_auth && one->route->rights == 0;
	users_load(&r->users, false);
	return guard_trusts(&r->guard, x->address) &&
	       auth_read(&x->auth, &r->users, header, true, &err) == 0 &&
	       auth_is_quick(&x->auth) && x->auth.user != NULL &&
	       guard_is_proven(&r->guard, x->address, x->auth.user) &&
	       auth_check(&x->auth, one->route->rights, &err) == 0;
}

/* The answer to somebody who has this one already. */
static bool is_known(const char *known, const char *headers)
{
	const char *tag = strstr(headers, "ETag: ");
	auto_free char *text = NULL;

	if (known == NULL || tag == NULL)
		return false;
	tag += strlen("ETag: ");
	text = xstrndup(tag, strcspn(tag, "\n"));
	return strstr(known, text) != NULL || strcmp(known, "*") == 0;
}

bool quick_answer(void *rapi, struct https_request *http)
{
	struct rapi *r = rapi;
	int64_t now_us = clock_mono_us();
	struct exchange x = {.begin_us = now_us, .status = 200};
	const struct answer *one;

	if (strcmp(http->method, "GET") != 0 || r->record.latency_ms > 0 ||
	    http->body_len > 0)
		return false;
	one = answers_find(&r->answers, http->target, now_us);
	x.address = exchange_address(r, http);
	if (one == NULL || !pool_alive(&r->pool, r->way.luxi_socket) ||
	    !may_have(r, http, &x, one)) {
		exchange_done(&x);
		return false;
	}
	x.text_type = one->type;
	if (is_known(https_header(http, "If-None-Match"), one->headers)) {
		x.status = 304;
		x.text = xstrdup("");
	} else {
		x.text = xmemdup(one->text, one->len + 1);
	}
	exchange_send(r, http, &x, xstrdup(one->headers));
	exchange_done(&x);
	return true;
}
