/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens: made, listed, revoked; and sessions of the page, which are tokens in
 * a cookie.  Each user has to do with his own alone.  A token that makes
 * another one cannot give more than it has. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/token.h"

#define NAME_MAX_CHARS 100
#define SCOPE_MAX 100

static int wrong(struct error *err, const char *text)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL, "%s", text);
}

/* What everybody may see of a token. */
static json_t *shown(const json_t *token)
{
	json_t *copy = json_copy(json_unconst(token));

	json_object_del(copy, "hash");
	return copy;
}

json_t *resource_tokens(struct request *q, struct error *err)
{
	auto_json json_t *all =
		request_call(q, "QueryTokens", json_array(), err);
	const json_t *one;
	json_t *list;
	size_t i;

	if (all == NULL)
		return NULL;
	list = json_array();
	json_array_foreach (all, i, one)
		if (str_eq(json_str(one, "user", NULL), q->user))
			json_array_append_new(list, shown(one));
	return list;
}

/* --- what is asked for --- */

static int check_rights(struct request *q, const json_t *rights,
			struct error *err)
{
	const json_t *own = json_get(q->token, "rights"), *one;
	size_t i;

	if (!json_is_array(rights) || json_array_size(rights) == 0)
		return wrong(err, "'rights' is a list of rights");
	json_array_foreach (rights, i, one) {
		const char *name = json_string_value(one);

		if (name == NULL || !token_is_right(name))
			return wrong(err, "There is no such right; there are "
					  "read, power, create, modify, "
					  "destroy, migrate, node, cluster, "
					  "console and tokens");
		if (q->token != NULL && !json_array_has_str(own, name))
			return error_set(err, ERR_PREREQ, REPLY_FORBIDDEN,
					 "The token itself lacks the right "
					 "'%s'",
					 name);
	}
	return 0;
}

static bool is_texts(const json_t *list)
{
	const json_t *one;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > SCOPE_MAX)
		return false;
	json_array_foreach (list, i, one)
		if (!json_is_string(one))
			return false;
	return true;
}

static int check_scope(const json_t *scope, struct error *err)
{
	const json_t *list;
	const char *key;

	if (scope == NULL)
		return 0;
	if (!json_is_object(scope))
		return wrong(err, "'scope' is an object");
	json_object_foreach (json_unconst(scope), key, list)
		if ((strcmp(key, "names") != 0 && strcmp(key, "tags") != 0 &&
		     strcmp(key, "groups") != 0) ||
		    !is_texts(list))
			return wrong(err, "'scope' has lists of texts named "
					  "names, tags and groups");
	return 0;
}

/* Seconds since 1970, or null. */
static int read_expiry(struct request *q, const json_t *body, json_t **ret,
		       struct error *err)
{
	const json_t *in = json_get(body, "expires_in");
	const json_t *own = json_get(q->token, "expires");
	double now = (double)clock_wall_us() / 1e6, at;

	if (in != NULL && (!json_is_integer(in) || json_integer_value(in) < 1 ||
			   json_integer_value(in) > TOKEN_LIFE_MAX_S))
		return wrong(err, "'expires_in' is a number of seconds");
	at = in == NULL ? 0 : now + (double)json_integer_value(in);
	if (own != NULL && (in == NULL || at > json_number_value(own)))
		at = json_number_value(own);
	*ret = at == 0 ? json_null() : json_real(at);
	return 0;
}

static int check_members(const json_t *body, struct error *err)
{
	static const char *const known[] = {"name", "rights", "scope",
					    "expires_in"};
	const char *name = json_str(body, "name", NULL), *key;
	json_t *value;

	if (request_check_dict(body, "Body contents", err) < 0)
		return -1;
	json_object_foreach (json_unconst(body), key, value) {
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			found |= strcmp(known[i], key) == 0;
		if (!found)
			return wrong(err, "A token has a name, rights, scope "
					  "and expires_in, and nothing else");
	}
	if (name == NULL || *name == '\0' || strlen(name) > NAME_MAX_CHARS)
		return wrong(err, "'name' is a short text");
	return 0;
}

/* --- making one --- */

/* Keep a token with these members; its secret, to be freed. */
static char *keep(struct request *q, json_t *token, struct error *err)
{
	char hash[HASH_HEX], id[37];
	auto_free char *secret = token_new(hash);
	auto_json json_t *answer = NULL;

	uuid_new(id);
	json_set_str(token, "id", id);
	json_set_str(token, "hash", hash);
	json_set_str(token, "user", q->user);
	json_object_set_new(token, "created",
			    json_real((double)clock_wall_us() / 1e6));
	answer = request_call(q, "AddToken", json_make("[O]", token), err);
	return answer == NULL ? NULL : steal(&secret);
}

json_t *resource_token_add(struct request *q, struct error *err)
{
	const json_t *rights = json_get(q->body, "rights");
	const json_t *scope = json_get(q->body, "scope");
	const json_t *own = json_get(q->token, "scope");
	auto_json json_t *token = NULL, *expires = NULL, *result = NULL;
	auto_free char *secret = NULL;

	if (check_members(q->body, err) < 0 ||
	    check_rights(q, rights, err) < 0 || check_scope(scope, err) < 0 ||
	    read_expiry(q, q->body, &expires, err) < 0)
		return NULL;
	if (own != NULL && scope != NULL && !json_equal(scope, own)) {
		error_set(err, ERR_PREREQ, REPLY_FORBIDDEN,
			  "The token itself has another scope");
		return NULL;
	}
	token = json_make("{s:s, s:O, s:O, s:O}", "name",
			  json_str(q->body, "name", ""), "rights", rights,
			  "scope", own ?: scope ?: json_null(), "expires",
			  expires);
	secret = keep(q, token, err);
	if (secret == NULL)
		return NULL;
	result = shown(token);
	json_set_str(result, "token", secret);
	explicit_bzero(secret, strlen(secret));
	return steal(&result);
}

json_t *resource_token_remove(struct request *q, struct error *err)
{
	return request_call(q, "RemoveToken",
			    json_make("[s, s]", q->items.items[0], q->user),
			    err);
}

/* --- sessions --- */

json_t *resource_session_begin(struct request *q, struct error *err)
{
	double expires =
		(double)clock_wall_us() / 1e6 + (double)TOKEN_SESSION_S;
	auto_json json_t *token = NULL;
	auto_free char *secret = NULL;
	char csrf[HASH_HEX];

	if (q->token != NULL) {
		error_set(err, ERR_PREREQ, REPLY_FORBIDDEN,
			  "A session begins with a password");
		return NULL;
	}
	token = json_make("{s:s, s:b, s:[s, s, s, s, s, s, s, s, s, s], s:n, "
			  "s:f}",
			  "name", "session", "session", true, "rights", "read",
			  "power", "create", "modify", "destroy", "migrate",
			  "node", "cluster", "console", "tokens", "scope",
			  "expires", expires);
	secret = keep(q, token, err);
	if (secret == NULL)
		return NULL;
	token_csrf(json_str(token, "hash", ""), csrf);
	buf_addf(&q->headers,
		 "Set-Cookie: " TOKEN_COOKIE "=%s; Path=/; Max-Age=%d; "
		 "HttpOnly; Secure; SameSite=Strict\n",
		 secret, TOKEN_SESSION_S);
	explicit_bzero(secret, strlen(secret));
	buf_adds(&q->headers, "Cache-Control: no-store\n");
	return json_make("{s:s, s:s, s:f}", "user", q->user, "csrf", csrf,
			 "expires", expires);
}

json_t *resource_session_end(struct request *q, struct error *err)
{
	const char *id = json_str(q->token, "id", NULL);
	json_t *answer;

	if (id == NULL) {
		reply_bare(err, ECODE_NOENT);
		return NULL;
	}
	answer = request_call(q, "RemoveToken",
			      json_make("[s, s]", id, q->user), err);
	buf_adds(&q->headers, "Set-Cookie: " TOKEN_COOKIE
			      "=; Path=/; Max-Age=0; HttpOnly; Secure; "
			      "SameSite=Strict\n");
	return answer;
}
