/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls about tokens of the remote API. */
#include <string.h>

#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "masterd/core/tokens.h"
#include "masterd/luxi/luxi_calls.h"

#define ADDRESS_MAX 64
#define USER_MAX 256

static int check_there(const struct master *m, struct error *err)
{
	return m->tokens != NULL ? 0
				 : error_set(err, ERR_PREREQ, ECODE_STATE,
					     "This master keeps no tokens");
}

static WAITS json_t *add_token(struct master *m, const json_t *args,
			       struct error *err)
{
	json_t *token = json_array_get(args, 0);

	if (check_there(m, err) < 0 ||
	    tokens_add(m->tokens, json_ref(token), err) < 0)
		return NULL;
	return json_ref(json_object_get(token, "id"));
}

static WAITS json_t *remove_token(struct master *m, const json_t *args,
				  struct error *err)
{
	const char *id = json_string_value(json_array_get(args, 0));

	if (id == NULL) {
		error_set(err, ERR_REQUEST, NULL, "the id is a string");
		return NULL;
	}
	if (check_there(m, err) < 0 ||
	    tokens_remove(m->tokens, id,
			  json_string_value(json_array_get(args, 1)), err) < 0)
		return NULL;
	return json_null();
}

static WAITS json_t *note_failure(struct master *m, const json_t *args,
				  struct error *err)
{
	const char *user = json_string_value(json_array_get(args, 0));
	const char *address = json_string_value(json_array_get(args, 1));

	if (address == NULL || strlen(address) > ADDRESS_MAX ||
	    (user != NULL && strlen(user) > USER_MAX)) {
		error_set(err, ERR_REQUEST, NULL,
			  "a user or null, and an address");
		return NULL;
	}
	if (check_there(m, err) < 0 ||
	    tokens_note_failure(m->tokens, user, address, err) < 0)
		return NULL;
	return json_null();
}

static json_t *query_token(struct master *m, const json_t *args,
			   struct error *err)
{
	const char *hash = json_string_value(json_array_get(args, 0));
	const json_t *token;

	if (check_there(m, err) < 0)
		return NULL;
	token = hash == NULL ? NULL : tokens_find(m->tokens, hash);
	return json_ref(token) ?: json_null();
}

static json_t *query_tokens(struct master *m, const json_t *args,
			    struct error *err)
{
	(void)args;
	return check_there(m, err) < 0 ? NULL : tokens_list(m->tokens);
}

#define CHANGE(fn)                                                             \
	{                                                                      \
		.run = fn, .waits = luxi_always, .changes = true               \
	}

const struct luxi_method luxi_AddToken = CHANGE(add_token);
const struct luxi_method luxi_RemoveToken = CHANGE(remove_token);
const struct luxi_method luxi_NoteFailedLogin = CHANGE(note_failure);
const struct luxi_method luxi_QueryToken = {.run = query_token};
const struct luxi_method luxi_QueryTokens = {.run = query_tokens};
