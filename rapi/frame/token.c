/* SPDX-License-Identifier: BSD-2-Clause */
/* The right that a request needs follows from the opcode that it submits, by a
 * table; what submits none reads, or is named.
 *
 * A scope is {"names": [patterns], "tags": [...], "groups": [...]}: the
 * instances that are in one of these.  A token with a scope writes to nothing
 * else. */
#include "rapi/frame/token.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/route.h"

#define WANTED_PATH "/gantry/1/instances/{instance}"
#define RENAME_PATH "/2/instances/{instance}/rename"

static const char *const rights[] = {"read",	"power",   "create", "modify",
				     "destroy", "migrate", "node",   "cluster",
				     "console", "tokens"};

/* The first that an opcode begins with counts. */
static const struct {
	const char *opcode, *right;
} by_opcode[] = {
	{"OP_INSTANCE_STARTUP", "power"},
	{"OP_INSTANCE_SHUTDOWN", "power"},
	{"OP_INSTANCE_REBOOT", "power"},
	{"OP_INSTANCE_CREATE", "create"},
	{"OP_INSTANCE_MULTI_ALLOC", "create"},
	{"OP_INSTANCE_REMOVE", "destroy"},
	{"OP_INSTANCE_MIGRATE", "migrate"},
	{"OP_INSTANCE_FAILOVER", "migrate"},
	{"OP_INSTANCE_MOVE", "migrate"},
	{"OP_INSTANCE_REPLACE_DISKS", "migrate"},
	{"OP_INSTANCE_QUERY", "read"},
	{"OP_INSTANCE_", "modify"},
	{"OP_BACKUP_", "modify"},
	{"OP_NODE_", "node"},
	{"OP_", "cluster"},
};

/* What submits no opcode of its row, by the beginning of its path. */
static const struct {
	const char *path, *right;
} by_path[] = {
	{"/2/instances/{instance}/tags", "modify"},
	{"/2/nodes/{node}/tags", "node"},
	{"/2/instances/{instance}/reinstall", "modify"},
	{"/2/instances/{instance}/console", "console"},
	{"/gantry/1/instances/{instance}/console", "console"},
	/* And what its opcodes need. */
	{WANTED_PATH, "read"},
	{"/gantry/1/placement", "read"},
	{"/2/query/", "read"},
	{"/gantry/1/tokens", "tokens"},
};

bool token_is_right(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (strcmp(rights[i], name) == 0)
			return true;
	return false;
}

static const char *right_of_opcode(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_opcode); i++)
		if (str_starts(id, by_opcode[i].opcode))
			return by_opcode[i].right;
	return "cluster";
}

const char *token_right_of(const struct route *route)
{
	bool reads = strcmp(route->method, "GET") == 0;

	for (size_t i = 0; i < ARRAY_SIZE(by_path); i++)
		if (str_starts(route->path, by_path[i].path) &&
		    (!reads || !str_ends(by_path[i].path, "/tags")))
			return by_path[i].right;
	if (route->opcode != NULL)
		return right_of_opcode(route->opcode->id);
	return reads ? "read" : "cluster";
}

static bool in_names(const json_t *scope, const char *name)
{
	const json_t *patterns = json_get(scope, "names"), *one;
	size_t i;

	json_array_foreach (patterns, i, one)
		if (fnmatch(json_string_value(one) ?: "", name, 0) == 0)
			return true;
	return false;
}

static bool in_tags(const json_t *scope, const json_t *tags)
{
	const json_t *one;
	size_t i;

	json_array_foreach (tags, i, one)
		if (json_array_has_str(json_get(scope, "tags"),
				       json_string_value(one) ?: ""))
			return true;
	return false;
}

/* 1: the instance that there is is in the scope, and stays there under its new
 * name (NULL: it keeps its own). */
static int instance_in(struct request *q, const json_t *scope, const char *name,
		       const char *new_name, struct error *err)
{
	auto_json json_t *answer = request_call(
		q, "Query",
		json_make("[s, [s, s, s], [s, s, s]]", "instance", "name",
			  "tags", "pnode.group", "=", "name", name),
		err);
	const json_t *row = json_array_get(json_get(answer, "data"), 0);
	const char *full =
		json_string_value(json_array_get(json_array_get(row, 0), 1));
	const char *group =
		json_string_value(json_array_get(json_array_get(row, 2), 1));

	if (answer == NULL)
		return -1;
	return (in_names(scope, full ?: name) &&
		(new_name == NULL || in_names(scope, new_name))) ||
	       in_tags(scope, json_array_get(json_array_get(row, 1), 1)) ||
	       (group != NULL &&
		json_array_has_str(json_get(scope, "groups"), group));
}

/* One that shall be made: by what the body says of it. */
static bool new_in(const json_t *scope, const json_t *body)
{
	const char *name =
		json_str(body, "name", json_str(body, "instance_name", ""));
	const char *group = json_str(body, "group_name", NULL);

	return in_names(scope, name) ||
	       in_tags(scope, json_get(body, "tags")) ||
	       (group != NULL &&
		json_array_has_str(json_get(scope, "groups"), group));
}

/* One that is there, or shall be. */
static int wanted_in(struct request *q, const json_t *scope, const char *name,
		     struct error *err)
{
	int in = instance_in(q, scope, name, NULL, err);

	if (in < 0 && error_is(err, ECODE_NOENT))
		return in_names(scope, name) || new_in(scope, q->body);
	return in;
}

static int forbidden(struct error *err, const char *what)
{
	return error_set(err, ERR_PREREQ, REPLY_FORBIDDEN, "%s", what);
}

static int check_scope(struct request *q, const json_t *scope,
		       const char *right, struct error *err)
{
	bool one = str_starts(q->route->path, "/2/instances/{instance}") ||
		   str_starts(q->route->path, "/gantry/1/instances/{instance}");
	const char *new_name = strcmp(q->route->path, RENAME_PATH) == 0
				       ? json_str(q->body, "new_name", "")
				       : NULL;
	int in = 0;

	if (strcmp(q->route->path, WANTED_PATH) == 0)
		in = wanted_in(q, scope, q->items.items[0], err);
	else if (one)
		in = instance_in(q, scope, q->items.items[0], new_name, err);
	else if (strcmp(right, "create") == 0 && q->route->input == NULL)
		in = new_in(scope, q->body);
	else if (strcmp(q->route->path, "/2/instances") == 0)
		in = new_in(scope, q->body);
	if (in < 0)
		return -1;
	return in ? 0 : forbidden(err, "That is outside of the token's scope");
}

static int check_right(const json_t *token, const char *right,
		       struct error *err)
{
	if (json_array_has_str(json_get(token, "rights"), right))
		return 0;
	return error_set(err, ERR_PREREQ, REPLY_FORBIDDEN,
			 "The token lacks the right '%s'", right);
}

int token_check_ops(const json_t *token, const json_t *ops, struct error *err)
{
	size_t i;
	json_t *op;

	json_array_foreach (ops, i, op) {
		const char *id = json_str(op, "OP_ID", "");

		if (check_right(token,
				str_starts(id, "OP_TAGS_")
					? "modify" /* an instance's */
					: right_of_opcode(id),
				err) < 0)
			return -1;
	}
	return 0;
}

int token_check(struct request *q, const json_t *token, struct error *err)
{
	const char *right = token_right_of(q->route);
	const json_t *scope = json_get(token, "scope");
	bool writes = strcmp(q->route->path, WANTED_PATH) == 0;

	/* Who ends a session needs no other right. */
	if (str_starts(q->route->path, "/gantry/1/session"))
		return 0;
	if (check_right(token, right, err) < 0)
		return -1;
	if (scope == NULL || (strcmp(right, "read") == 0 && !writes) ||
	    strcmp(right, "tokens") == 0)
		return 0;
	return check_scope(q, scope, right, err);
}

char *token_new(char ret_hash[HASH_HEX])
{
	char secret[2 * TOKEN_BYTES + 1];
	char *token;

	random_hex(secret, TOKEN_BYTES);
	token = xprintf(TOKEN_PREFIX "%s", secret);
	explicit_bzero(secret, sizeof(secret));
	hash_hex(token, strlen(token), ret_hash);
	return token;
}

/* The hash alone is no secret to the master's node, but to pages of others. */
void token_csrf(const char *hash, char ret[HASH_HEX])
{
	auto_free char *text = xprintf("csrf %s", hash);

	hash_hex(text, strlen(text), ret);
}
