/* SPDX-License-Identifier: BSD-2-Clause */
/* One function for each; all run on the loop but that of keys, which hashes the
 * body. */
#include "rapi/wishes.h"

#include <string.h>

#include "lib/base/str.h"
#include "rapi/frame/hash.h"
#include "rapi/frame/route.h"

/* "Prefer: wait=SECONDS": at most so many. */
#define PREFER_WAIT_MAX_S 120
/* "?index=N&wait=SECONDS": so long, and at most. */
#define INDEX_WAIT_S 30
#define INDEX_WAIT_MAX_S 120
#define KEY_MAX 255

/* "Prefer: wait=60", with other preferences around it. */
static unsigned wait_of(const char *prefer)
{
	const char *s = prefer == NULL ? NULL : strcasestr(prefer, "wait=");
	uint64_t seconds = 0;
	const char *rest;

	if (s == NULL ||
	    !str_to_number(s + strlen("wait="), UINT32_MAX, &seconds, &rest))
		return 0;
	return seconds < PREFER_WAIT_MAX_S ? (unsigned)seconds
					   : PREFER_WAIT_MAX_S;
}

static int negative(struct error *err, const char *what)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Invalid value for the '%s' parameter", what);
}

/* A read that waits until there is something newer than an index. */
static int read_index(const struct https_request *http, struct exchange *x,
		      struct error *err)
{
	x->follow = x->q.route->stream == STREAM_ALWAYS;
	if (x->q.route->stream == STREAM_ASKED &&
	    args_flag(&x->q.args, "follow", &x->follow, err) < 0)
		return -1;
	if (strcmp(http->method, "GET") != 0 || x->follow)
		return 0;
	if (str_empty(args_get(&x->q.args, "index")))
		return 0;
	if (args_int(&x->q.args, "index", -1, &x->index, err) < 0)
		return -1;
	if (x->index < 0)
		return negative(err, "index");
	args_remove(&x->q.args, "index");
	if (args_int(&x->q.args, "wait", INDEX_WAIT_S, &x->index_wait_s, err) <
	    0)
		return -1;
	if (x->index_wait_s < 0)
		return negative(err, "wait");
	args_remove(&x->q.args, "wait");
	if (x->index_wait_s > INDEX_WAIT_MAX_S)
		x->index_wait_s = INDEX_WAIT_MAX_S;
	return 0;
}

int wishes_read_key(const struct https_request *http, struct exchange *x,
		    struct error *err)
{
	const char *key = https_header(http, "Idempotency-Key");
	struct buf text = {0};

	if (key == NULL)
		return 0;
	if (!x->q.route->jobs || strlen(key) == 0 || strlen(key) > KEY_MAX ||
	    !str_valid_line(key))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Idempotency-Key is for what submits a job, "
				 "and has 1 to %d characters",
				 KEY_MAX);
	buf_addf(&text, "%s\n%s", x->auth.user == NULL ? "" : x->auth.user,
		 key);
	hash_hex(text.data, text.len, x->q.key);
	buf_done(&text);
	buf_addf(&text, "%s %s\n", http->method, http->target);
	buf_add(&text, http->body, http->body_len);
	hash_hex(text.data, text.len, x->q.digest);
	buf_done(&text);
	return 0;
}

int wishes_read(const struct https_request *http, struct exchange *x,
		struct error *err)
{
	x->q.wait_s = wait_of(https_header(http, "Prefer"));
	x->known = https_header(http, "If-None-Match");
	x->q.wanted_plan = https_header(http, "Gantry-Plan");
	x->q.if_match = https_header(http, "If-Match");
	if (args_flag(&x->q.args, "plan", &x->q.plan, err) < 0)
		return -1;
	args_remove(&x->q.args, "plan");
	if (read_index(http, x, err) < 0)
		return -1;
	if (x->q.plan && !x->q.route->jobs)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Only what submits a job can be planned");
	return 0;
}
