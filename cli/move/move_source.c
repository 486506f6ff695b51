/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of what comes from the source cluster, which need not be ours, nor be
 * honest. */
#include "cli/move/move_source.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* More than the largest disk that there is; sums of sizes do not overflow. */
#define SIZE_MIB_MAX ((int64_t)1 << 40)

static int bad(struct error *err, const char *what)
{
	return error_set(err, ERR_RESULT, NULL,
			 "The source describes the instance in a way that is "
			 "not understood: %s",
			 what);
}

static bool is_text(const json_t *value)
{
	return json_is_string(value) && json_string_length(value) > 0;
}

static bool is_text_or_null(const json_t *value)
{
	return value == NULL || json_is_null(value) || json_is_string(value);
}

static bool is_size(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) > 0 &&
	       json_integer_value(value) <= SIZE_MIB_MAX;
}

static int check_disk(const json_t *disk, struct error *err)
{
	const json_t *size = json_get(disk, "size");

	if (!is_size(size))
		return bad(err, "a disk without a size");
	if (!is_text(json_get(disk, "mode")))
		return bad(err, "a disk without a mode");
	if (!is_text_or_null(json_get(disk, "name")))
		return bad(err, "the name of a disk");
	return 0;
}

static int check_nic(const json_t *nic, struct error *err)
{
	if (json_array_size(nic) < SOURCE_NIC_LENGTH)
		return bad(err, "a network interface");
	for (size_t i = 0; i < SOURCE_NIC_LENGTH; i++)
		if (!is_text_or_null(json_array_get(nic, i)))
			return bad(err, "a network interface");
	if (!is_text(json_array_get(nic, SOURCE_NIC_MAC)))
		return bad(err, "a network interface without an address");
	return 0;
}

static int check_list(const json_t *instance, const char *key,
		      int (*check)(const json_t *item, struct error *err),
		      struct error *err)
{
	const json_t *list = json_get(instance, key), *item;
	size_t i;

	if (!json_is_array(list))
		return bad(err, key);
	json_array_foreach (list, i, item)
		if (check(item, err) < 0)
			return -1;
	return 0;
}

static int check_members(const json_t *instance, struct error *err)
{
	static const char *const texts[] = {"name", "config_state",
					    "disk_template", "hypervisor"};
	static const char *const dicts[] = {"be_instance", "hv_instance",
					    "os_instance"};

	if (!json_is_object(instance))
		return bad(err, "it is no object");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!is_text(json_get(instance, texts[i])))
			return bad(err, texts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(dicts); i++)
		if (!json_is_object(json_get(instance, dicts[i])))
			return bad(err, dicts[i]);
	if (!str_valid_hostname(json_str(instance, "name", "")))
		return bad(err, "name");
	return is_text_or_null(json_get(instance, "os")) ? 0 : bad(err, "os");
}

const json_t *move_source_instance(const json_t *result, struct error *err)
{
	const json_t *instance;

	if (!json_is_object(result) || json_object_size(result) != 1) {
		bad(err, "there is not one instance");
		return NULL;
	}
	instance =
		json_object_iter_value(json_object_iter(json_unconst(result)));
	if (check_members(instance, err) < 0 ||
	    check_list(instance, "disks", check_disk, err) < 0 ||
	    check_list(instance, "nics", check_nic, err) < 0)
		return NULL;
	return instance;
}

/* [name or version, HMAC, salt] */
static bool is_signed(const json_t *value)
{
	const json_t *first = json_array_get(value, 0);

	return json_array_size(value) == 3 &&
	       (json_is_integer(first) || is_text(first)) &&
	       is_text(json_array_get(value, 1)) &&
	       is_text(json_array_get(value, 2));
}

/* Of the disks in their order; one that is not told is as recorded. */
static bool are_sizes(const json_t *value)
{
	const json_t *size;
	size_t i;

	json_array_foreach (value, i, size)
		if (!is_size(size))
			return false;
	return value == NULL || json_is_array(value);
}

static int unprepared(const char *what, struct error *err)
{
	return error_set(err, ERR_RESULT, NULL,
			 "The source has prepared no export: its answer has no "
			 "valid %s",
			 what);
}

int move_source_prepared(const json_t *result, struct error *err)
{
	if (!is_signed(json_get(result, "handshake")))
		return unprepared("handshake", err);
	if (!is_signed(json_get(result, "x509_key_name")))
		return unprepared("x509_key_name", err);
	if (!is_text(json_get(result, "x509_ca")))
		return unprepared("x509_ca", err);
	return are_sizes(json_get(result, "disk_sizes"))
		       ? 0
		       : unprepared("disk_sizes", err);
}

int move_source_tags(const json_t *answer, struct error *err)
{
	const json_t *tags = json_get(answer, "tags"), *tag;
	size_t i;

	if (!json_is_object(answer))
		return bad(err, "it is no object");
	if (tags != NULL && !json_is_array(tags))
		return bad(err, "tags");
	json_array_foreach (tags, i, tag)
		if (!is_text(tag))
			return bad(err, "tags");
	return 0;
}

int64_t move_source_size_mib(const json_t *instance)
{
	const json_t *disk;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (json_get(instance, "disks"), i, disk)
		sum += json_int(disk, "size", 0);
	return sum;
}

bool move_source_is_up(const json_t *instance)
{
	return strcmp(json_str(instance, "config_state", ""), "up") == 0;
}
