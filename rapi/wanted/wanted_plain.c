/* SPDX-License-Identifier: BSD-2-Clause */
/* What a client may say of an instance: checked as far as the comparison needs
 * it; all else is checked by the master when it gets the opcodes. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"
#include "rapi/frame/request.h"
#include "rapi/wanted/wanted_private.h"

static const struct member {
	const char *name, *type;
	bool creates; /* it only counts for a new instance */
} members[] = {
	{"state", "str", false},
	{"os", "str", false},
	{"hypervisor", "str", false},
	{"disk_template", "str", false},
	{"beparams", "dict", false},
	{"hvparams", "dict", false},
	{"osparams", "dict", false},
	{"disks", "list", false},
	{"nics", "list", false},
	{"tags", "list", false},
	{"remove", "bool", false},
	{"pnode", "str", true},
	{"snode", "str", true},
	{"iallocator", "str", true},
	{"group_name", "str", true},
	{"file_driver", "str", true},
	{"file_storage_dir", "str", true},
	{"name_check", "bool", true},
	{"ip_check", "bool", true},
	{"no_install", "bool", true},
	{"wait_for_sync", "bool", true},
	{"ignore_ipolicy", "bool", true},
	{"osparams_private", "dict", true},
	{"osparams_secret", "dict", true},
};

static const char *const states[] = {"present", "running", "stopped", "offline",
				     "absent"};

static int check_member(const char *key, const json_t *value, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (strcmp(members[i].name, key) != 0)
			continue;
		if (str_eq(members[i].type, request_type_name(value)))
			return 0;
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' parameter: Type is '%s', but '%s' is "
				 "expected",
				 key, request_type_name(value),
				 members[i].type);
	}
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "There is nothing to want of '%.100s'", key);
}

static int check_state(const json_t *body, struct error *err)
{
	const char *state = json_str(body, "state", "present");

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (strcmp(states[i], state) == 0)
			return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The state is present, running, stopped, offline or "
			 "absent, not '%.40s'",
			 state);
}

static int check_items(const json_t *body, const char *list, const char *type,
		       struct error *err)
{
	size_t i;
	json_t *item;

	json_array_foreach (json_object_get(body, list), i, item)
		if (!str_eq(request_type_name(item), type))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "'%s', item %zu: Type is '%s', but "
					 "'%s' is expected",
					 list, i, request_type_name(item),
					 type);
	return 0;
}

/* "8G" becomes 8192; a number of MiB stays. */
static int read_size(json_t *object, const char *key, struct error *err)
{
	const json_t *value = json_object_get(object, key);
	int64_t size;

	if (json_is_string(value) &&
	    !str_eq(json_string_value(value), "default")) {
		if (params_parse_size(json_string_value(value), &size, err) < 0)
			return error_as(err, ERR_PREREQ, ECODE_INVAL);
		json_set_int(object, key, size);
	}
	return 0;
}

static int read_memory(json_t *body, struct error *err)
{
	static const char *const sizes[] = {"memory", "maxmem", "minmem"};
	json_t *params = json_object_get(body, "beparams");
	json_t *memory;

	for (size_t i = 0; i < ARRAY_SIZE(sizes) && params != NULL; i++)
		if (read_size(params, sizes[i], err) < 0)
			return -1;
	memory = json_ref(json_object_get(params, "memory"));
	if (memory == NULL)
		return 0;
	json_object_del(params, "memory");
	for (size_t i = 1; i < ARRAY_SIZE(sizes); i++)
		if (json_object_get(params, sizes[i]) == NULL)
			json_object_set(params, sizes[i], memory);
	json_decref(memory);
	return 0;
}

static int read_disks(json_t *body, struct error *err)
{
	size_t i;
	json_t *disk;

	json_array_foreach (json_object_get(body, "disks"), i, disk) {
		const json_t *size;

		if (read_size(disk, "size", err) < 0)
			return -1;
		size = json_object_get(disk, "size");
		if (size != NULL && !json_is_integer(size))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "The size of disk %zu is no number of "
					 "MiB",
					 i);
	}
	return 0;
}

json_t *wanted_plain(const json_t *body, struct error *err)
{
	auto_json json_t *copy = NULL;
	const char *key;
	json_t *value;

	if (request_check_dict(body, "Body contents", err) < 0)
		return NULL;
	json_object_foreach (json_unconst(body), key, value)
		if (check_member(key, value, err) < 0)
			return NULL;
	if (check_state(body, err) < 0 ||
	    check_items(body, "tags", "str", err) < 0 ||
	    check_items(body, "disks", "dict", err) < 0 ||
	    check_items(body, "nics", "dict", err) < 0)
		return NULL;
	copy = json_deep_copy(body);
	if (read_memory(copy, err) < 0 || read_disks(copy, err) < 0)
		return NULL;
	return steal(&copy);
}
