/* SPDX-License-Identifier: BSD-2-Clause */
/* One list, written whole: it is short, and changes seldom.  It begins with
 * what its last change was, which is no token, and of which the events are
 * made (masterd/state/events_look.c). */
#include "masterd/core/tokens.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/store/store.h"

#define FILE_NAME "tokens"
#define LOGINS_NAME "logins"

struct tokens {
	struct store *store;
	json_t *list;
};

static bool is_over(const json_t *token)
{
	const json_t *expires = json_get(token, "expires");

	return expires != NULL &&
	       json_number_value(expires) * 1e6 <= (double)clock_wall_us();
}

static bool is_token(const json_t *value)
{
	return json_str(value, "id", NULL) != NULL &&
	       json_str(value, "hash", NULL) != NULL &&
	       json_str(value, "user", NULL) != NULL;
}

struct tokens *tokens_create(struct store *store)
{
	struct tokens *t = xalloc(sizeof(*t));
	auto_free char *text = NULL;
	auto_json json_t *stored = NULL;
	struct error err;
	const json_t *one;
	size_t i;

	t->store = store;
	t->list = json_array();
	if (store_read_if_there(store, FILE_NAME, TOKENS_BYTES_MAX, &text,
				&err) < 0 ||
	    (text != NULL &&
	     (stored = json_parse(text, strlen(text), &err)) == NULL))
		log_warning("the tokens of the remote API: %s, ignoring",
			    err.text);
	json_array_foreach (stored, i, one)
		if (is_token(one))
			json_array_append_new(t->list, json_ref(one));
	return t;
}

void tokens_free(struct tokens *t)
{
	if (t == NULL)
		return;
	json_decref(t->list);
	free(t);
}

/* The list with the change that makes it so, to be freed: of this token. */
static char *text_of(const json_t *list, const json_t *token, bool removed)
{
	auto_json json_t *all = json_make(
		"[{s:{s:s, s:s, s:s, s:b, s:b}}]", "change", "id",
		json_str(token, "id", ""), "name", json_str(token, "name", ""),
		"user", json_str(token, "user", ""), "removed", removed,
		"session", json_bool(token, "session", false));

	json_array_extend(all, json_unconst(list));
	return json_text(all);
}

static WAITS int commit(struct tokens *t, const char *file, char *text STEALS,
			struct error *err)
{
	struct store_change *c = store_change_new();

	c->may_fail = true;
	store_change_write(c, file, text);
	return store_commit(t->store, c, err);
}

/* Make this list the present one, durably; it differs in this token. */
static WAITS int keep(struct tokens *t, json_t *list STEALS,
		      const json_t *token, bool removed, struct error *err)
{
	char *text = text_of(list, token, removed);
	json_t *former = t->list;

	/* Two changes at the same time build on each other. */
	t->list = list;
	json_incref(list);
	if (commit(t, FILE_NAME, text, err) == 0) {
		json_decref(list);
		json_decref(former);
		return 0;
	}
	if (t->list == list) {
		json_decref(t->list);
		t->list = former;
	} else {
		json_decref(former);
	}
	json_decref(list);
	return -1;
}

/* A copy of the list without the one of this id, and without those whose time
 * is over. */
static json_t *without(const struct tokens *t, const char *id)
{
	json_t *list = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach (t->list, i, one)
		if (!is_over(one) && !str_eq(json_str(one, "id", ""), id))
			json_array_append_new(list, json_ref(one));
	return list;
}

/* Whether it is the same user's, and a session like the token, or not. */
static bool is_like(const json_t *one, const json_t *token)
{
	return str_eq(json_str(one, "user", NULL),
		      json_str(token, "user", NULL)) &&
	       json_bool(one, "session", false) ==
		       json_bool(token, "session", false);
}

/* How many are like this one; *ret_oldest is the first of them in the list,
 * which is in the order in which they were made. */
static size_t count_like(const json_t *list, const json_t *token,
			 size_t *ret_oldest)
{
	const json_t *one;
	size_t i, n = 0;

	json_array_foreach (list, i, one)
		if (is_like(one, token) && n++ == 0)
			*ret_oldest = i;
	return n;
}

/* Whoever logs in gets in: his oldest session ends.  Of tokens he knows best
 * which are not needed. */
static int make_room(json_t *list, const json_t *token, struct error *err)
{
	size_t oldest = 0, n = count_like(list, token, &oldest);

	if (json_bool(token, "session", false)) {
		if (n >= TOKENS_SESSIONS_MAX)
			json_array_remove(list, oldest);
	} else if (n >= TOKENS_USER_MAX) {
		return error_set(err, ERR_QUEUE_FULL, NULL,
				 "The user %.100s has %d tokens, which is the "
				 "limit; remove some",
				 json_str(token, "user", ""), TOKENS_USER_MAX);
	}
	if (json_array_size(list) < TOKENS_MAX)
		return 0;
	return error_set(err, ERR_QUEUE_FULL, NULL,
			 "There are %d tokens, which is the limit; remove some",
			 TOKENS_MAX);
}

int tokens_add(struct tokens *t, json_t *token STEALS, struct error *err)
{
	auto_json json_t *owned = token, *list = NULL;

	if (!is_token(token))
		return error_set(err, ERR_REQUEST, NULL,
				 "a token has an id, a hash and a user");
	list = without(t, json_str(token, "id", ""));
	if (make_room(list, owned, err) < 0)
		return -1;
	json_array_append(list, owned);
	return keep(t, steal(&list), owned, false, err);
}

int tokens_remove(struct tokens *t, const char *id, const char *user,
		  struct error *err)
{
	const json_t *one;
	size_t i;

	json_array_foreach (t->list, i, one)
		if (strcmp(json_str(one, "id", ""), id) == 0 &&
		    (user == NULL ||
		     strcmp(json_str(one, "user", ""), user) == 0)) {
			auto_json json_t *held = json_ref(one);

			return keep(t, without(t, id), held, true, err);
		}
	return error_set(err, ERR_PREREQ, ECODE_NOENT,
			 "There is no token '%.100s'", id);
}

const json_t *tokens_find(const struct tokens *t, const char *hash)
{
	const json_t *one;
	size_t i;

	json_array_foreach (t->list, i, one)
		if (strcmp(json_str(one, "hash", ""), hash) == 0)
			return is_over(one) ? NULL : one;
	return NULL;
}

json_t *tokens_list(const struct tokens *t)
{
	return without(t, NULL);
}

int tokens_note_failure(struct tokens *t, const char *user, const char *address,
			struct error *err)
{
	auto_json json_t *note = json_make(
		"{s:o, s:s, s:f}", "user",
		user == NULL ? json_null() : json_string(user), "address",
		address, "time", (double)clock_wall_us() / 1e6);

	return commit(t, LOGINS_NAME, json_text(note), err);
}
