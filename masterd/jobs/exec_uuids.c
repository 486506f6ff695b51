/* SPDX-License-Identifier: BSD-2-Clause */
/* When its locks are held, the objects that an opcode names are recorded with
 * it by UUID as well, in the members that Ganeti has for that ("instance_uuid"
 * beside "instance_name" and so on).  Only clients read them. */
#include "masterd/jobs/exec_uuids.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"

/* "pnode" of "pnode_uuid"; NULL: no such member.  To be freed. */
static char *base_of(const char *member, const char *suffix)
{
	return str_ends(member, suffix)
		       ? xstrndup(member, strlen(member) - strlen(suffix))
		       : NULL;
}

static json_t *uuid_of(struct lu *lu, const char *base, const json_t *name)
{
	enum config_kind kind =
		strcmp(base, "instance") == 0 ? CONFIG_INSTANCE : CONFIG_NODE;
	const json_t *object = json_is_string(name)
				       ? config_find(lu->m->config, kind,
						     json_string_value(name))
				       : NULL;

	return object == NULL ? NULL : json_string(object_uuid(object));
}

/* The value of the first of two members that is not null. */
static const json_t *named(const json_t *input, const char *base,
			   const char *suffix, const char *other)
{
	auto_free char *one = xprintf("%s%s", base, suffix);
	auto_free char *two = xprintf("%s%s", base, other);
	const json_t *value = json_get(input, one);

	return value != NULL ? value : json_get(input, two);
}

static void fill_one(struct lu *lu, const char *member, json_t *ret)
{
	auto_free char *base = base_of(member, "_uuid");
	json_t *uuid;

	if (base == NULL)
		return;
	uuid = uuid_of(lu, base, named(lu->run->input, base, "_name", ""));
	if (uuid != NULL)
		json_object_set_new(ret, member, uuid);
}

static void fill_list(struct lu *lu, const char *member, json_t *ret)
{
	auto_free char *base = base_of(member, "_uuids");
	auto_json json_t *uuids = json_array();
	const json_t *names, *name;
	size_t i;

	if (base == NULL)
		return;
	names = named(lu->run->input, base, "s", "_names");
	json_array_foreach (names, i, name) {
		json_t *uuid = uuid_of(lu, base, name);

		if (uuid != NULL)
			json_array_append_new(uuids, uuid);
	}
	if (json_bool(lu->run->input, "on_master", false))
		json_array_append_new(
			uuids,
			json_string(node_uuid(config_master(lu->m->config))));
	if (json_array_size(uuids) > 0)
		json_object_set(ret, member, uuids);
}

json_t *exec_uuids(struct lu *lu)
{
	json_t *found = json_object(), *value;
	const char *member;

	json_object_foreach (json_unconst(lu->run->input), member, value) {
		if (!json_is_null(value))
			continue;
		fill_one(lu, member, found);
		fill_list(lu, member, found);
	}
	return found;
}
