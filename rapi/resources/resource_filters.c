/* SPDX-License-Identifier: BSD-2-Clause */
/* Job filters: added, replaced, deleted by calls of the master, not by jobs. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"

/* What a rule may have, the type of each, and what it has without. */
static const struct member {
	const char *name, *type, *def;
} members[] = {
	{"priority", "int", "0"},
	{"predicates", "list", "[]"},
	{"action", NULL, "\"CONTINUE\""},
	{"reason", "list", "[]"},
};

static const struct member *find_member(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strcmp(members[i].name, name) == 0)
			return &members[i];
	return NULL;
}

static int check_member(const char *name, const json_t *value,
			struct error *err)
{
	const struct member *m = find_member(name);

	if (m == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid body parameters: filter rule doesn't "
				 "support the parameter '%.100s'",
				 name);
	if (m->type == NULL || strcmp(m->type, request_type_name(value)) == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "'%s' parameter: Type is '%s', but '%s' is expected",
			 name, request_type_name(value), m->type);
}

static int check_rule(const json_t *body, struct error *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(body))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid body contents, not a dictionary");
	json_object_foreach (json_unconst(body), key, value)
		if (check_member(key, value, err) < 0)
			return -1;
	return 0;
}

/* uuid NULL: a new one. */
static json_t *replace(struct request *q, const char *uuid, struct error *err)
{
	json_t *call;

	if (check_rule(q->body, err) < 0)
		return NULL;
	call = json_make("[o]", uuid == NULL ? json_null() : json_string(uuid));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_array_append_new(
			call,
			json_ref(json_object_get(q->body, members[i].name))
				?: json_loads(members[i].def, JSON_DECODE_ANY,
					      NULL));
	return request_call(q, "ReplaceFilter", call, err);
}

json_t *resource_filter_add(struct request *q, struct error *err)
{
	return replace(q, NULL, err);
}

json_t *resource_filter_replace(struct request *q, struct error *err)
{
	return replace(q, q->items.items[0], err);
}

json_t *resource_filter_delete(struct request *q, struct error *err)
{
	return request_call(q, "DeleteFilter",
			    json_make("[s]", q->items.items[0]), err);
}
