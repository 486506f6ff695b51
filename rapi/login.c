/* SPDX-License-Identifier: BSD-2-Clause */
/* The master says at each request whether a token is one, so that a revoked one
 * is none at once. */
#include "rapi/login.h"

#include <gnutls/gnutls.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "rapi/console/carrier.h"
#include "rapi/frame/hash.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/route.h"
#include "rapi/frame/token.h"
#include "rapi/rapi.h"

#define CSRF_HEADER "X-Gantry-CSRF"
#define LOGIN_BODY_MAX 4096

/* --- what a request says --- */

/* The session's cookie among the others, to be freed. */
static char *find_cookie(const char *header)
{
	size_t n = strlen(TOKEN_COOKIE);

	while (header != NULL && *header != '\0') {
		header += strspn(header, " ;");
		if (strncmp(header, TOKEN_COOKIE "=", n + 1) == 0)
			return xstrndup(header + n + 1,
					strcspn(header + n + 1, "; "));
		header += strcspn(header, ";");
	}
	return NULL;
}

/* A page of somebody else can send the cookie, but does not know the word. */
static int check_word(const struct https_request *http, const char *hash,
		      struct error *err)
{
	const char *word = https_header(http, CSRF_HEADER);
	char wanted[HASH_HEX];

	token_csrf(hash, wanted);
	if (strcmp(http->method, "GET") == 0 || str_eq(word, wanted))
		return 0;
	return error_set(err, ERR_PREREQ, REPLY_FORBIDDEN,
			 "A write with a cookie needs the header " CSRF_HEADER);
}

/* {"user", "password"} as a body; 1: it is none. */
static int read_body(struct rapi *r, const struct https_request *http,
		     struct auth *ret)
{
	struct error ignored;
	auto_json json_t *body = NULL;
	const char *user, *password;

	if (http->body_len == 0 || http->body_len > LOGIN_BODY_MAX)
		return 1;
	body = json_parse(http->body, http->body_len, &ignored);
	user = json_str(body, "user", NULL);
	password = json_str(body, "password", NULL);
	if (user == NULL || password == NULL)
		return 1;
	auth_read_pair(ret, &r->users, user, password);
	return 0;
}

bool login_is_tried(const struct https_request *http)
{
	auto_free char *cookie = find_cookie(https_header(http, "Cookie"));

	return cookie != NULL || https_header(http, "Authorization") != NULL;
}

int login_read(struct rapi *r, const struct https_request *http,
	       const struct route *route, struct auth *ret, struct error *err)
{
	const char *header = https_header(http, "Authorization");
	auto_free char *cookie = NULL;

	if (header != NULL)
		return auth_read(ret, &r->users, header, route->rights != 0,
				 err);
	if (route->session && strcmp(http->method, "POST") == 0 &&
	    read_body(r, http, ret) == 0)
		return 0;
	cookie = find_cookie(https_header(http, "Cookie"));
	if (cookie == NULL)
		return auth_read(ret, &r->users, NULL, route->rights != 0, err);
	auth_read_secret(ret, cookie);
	return check_word(http, ret->hash, err);
}

int login_token(struct rapi *r, struct request *q, struct auth *a,
		struct error *err)
{
	auto_json json_t *token = NULL;

	if (a->hash == NULL)
		return 0;
	task_leave();
	token = request_call(q, "QueryToken", json_make("[s]", a->hash), err);
	task_enter();
	if (token == NULL)
		return -1;
	return auth_take_token(a, &r->users, token, err);
}

/* --- who does not know the password --- */

struct failure {
	struct rapi *rapi;
	char *address, *user;
};

static WAITS void note_failure(void *arg)
{
	struct failure *f = arg;
	struct rapi *r = f->rapi;
	struct luxi *luxi = pool_take(&r->pool);
	auto_json json_t *answer = NULL;
	struct error err;

	task_leave();
	answer = request_way_call(
		&r->way, &luxi, "NoteFailedLogin",
		json_make("[o, s]",
			  f->user == NULL ? json_null() : json_string(f->user),
			  f->address),
		&err);
	task_enter();
	pool_give(&r->pool, luxi);
	if (answer == NULL)
		log_debug("a failed login is no event: %s", err.text);
	free(f->address);
	free(f->user);
	free(f);
}

void login_failed(struct rapi *r, const char *address, const char *user)
{
	/* What is no user's name may be a password in the wrong place. */
	const char *known = users_find(&r->users, user) == NULL ? NULL : user;
	auto_free char *cause = xprintf("%s %s", address, known ?: "");
	unsigned left_out = 0;
	struct failure *f;

	if (!log_rate_due(&r->failures, cause, &left_out))
		return;
	log_warning("a wrong password of %s, for %s; and %u others before",
		    address, known ?: "a user that there is not", left_out);
	f = xalloc(sizeof(*f));
	*f = (struct failure){r, xstrdup(address),
			      known == NULL ? NULL : xstrdup(known)};
	task_spawn("failure", note_failure, f);
}

/* --- while a stream goes on --- */

static bool is_over(const json_t *token)
{
	const json_t *expires = json_get(token, "expires");

	return expires != NULL &&
	       json_number_value(expires) * 1e6 < (double)clock_wall_us();
}

static bool token_is_left(const struct rapi *r, const char *id)
{
	const json_t *one;
	size_t i;

	if (r->tokens == NULL)
		return true; /* not known yet */
	json_array_foreach (r->tokens, i, one)
		if (strcmp(json_str(one, "id", ""), id) == 0)
			return !is_over(one);
	return false;
}

bool login_holds(void *rapi, const struct auth *auth)
{
	struct rapi *r = rapi;

	users_load(&r->users, false);
	if (auth->token != NULL &&
	    (is_over(auth->token) ||
	     !token_is_left(r, json_str(auth->token, "id", ""))))
		return false;
	return auth_holds(auth, &r->users, !r->require_auth);
}

/* A hash of what the user may by which password: another one of either is
 * another hash. */
static void grant(const char *name, const char *stored, unsigned rights,
		  char ret[HASH_HEX])
{
	auto_free char *text = xprintf("%s\n%s\n%x", name, stored, rights);

	hash_hex(text, strlen(text), ret);
	gnutls_memset(text, 0, strlen(text));
}

char *login_owner(const struct auth *a)
{
	char hash[HASH_HEX];

	if (a->user == NULL || a->stored == NULL)
		return xstrdup("");
	grant(a->user, a->stored, a->rights, hash);
	return xprintf("%s %s %s", hash, json_str(a->token, "id", "-"),
		       a->user);
}

static bool is_still(struct rapi *r, const char *owner)
{
	auto_strv struct strv parts = {0};
	const struct user *user;
	char hash[HASH_HEX];

	str_split(&parts, owner, ' ');
	if (parts.n != 3)
		return false;
	users_load(&r->users, false);
	user = users_find(&r->users, parts.items[2]);
	if (user == NULL)
		return false;
	grant(parts.items[2], user->password, user->rights, hash);
	return strcmp(hash, parts.items[0]) == 0 &&
	       (strcmp(parts.items[1], "-") == 0 ||
		token_is_left(r, parts.items[1]));
}

void login_check(struct rapi *r)
{
	struct console *c;

	if (r->streams != NULL)
		streams_check(r->streams);
	list_each (c, &r->open_consoles, link)
		if (!is_still(r, c->owner))
			atomic_store(&c->revoked, true);
}

static WAITS void look(void *arg)
{
	struct rapi *r = arg;
	struct luxi *luxi = pool_take(&r->pool);
	struct error err;
	json_t *all;

	task_leave();
	all = request_way_call(&r->way, &luxi, "QueryTokens", json_array(),
			       &err);
	task_enter();
	pool_give(&r->pool, luxi);
	r->looking = false;
	if (all == NULL) {
		log_debug("tokens: %s", err.text);
		return;
	}
	json_decref(r->tokens);
	r->tokens = all;
	login_check(r);
}

void login_look(struct rapi *r, bool anyway)
{
	uint64_t newest = feed_tokens(r->feed);

	if (r->looking || (newest == r->tokens_seen && !anyway))
		return;
	r->tokens_seen = newest;
	r->looking = true;
	task_spawn("tokens", look, r);
}
