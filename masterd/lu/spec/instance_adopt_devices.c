/* SPDX-License-Identifier: BSD-2-Clause */
/* The node tells the kernel's numbers of its devices, also those of the disks
 * that are recorded.  A number is reserved before these are looked at: what
 * another job adopts at the same time is either reserved or recorded. */
#include "masterd/lu/spec/instance_adopt_devices.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/parts/lu_instance.h"

#define DRIVER "manual"

json_t *adopt_device(const char *template, const char *driver, const char *path)
{
	return json_make("{s:s, s:[s, s], s:{}, s:[], s:i, s:s, s:{}}",
			 "dev_type", template, "logical_id", driver, path,
			 "params", "children", "size", 0, "mode", "rw",
			 "dynamic_params");
}

/* "8:16", to be freed; NULL where the node has no such device, or does not tell
 * its number. */
static char *number_of(const json_t *row)
{
	const json_t *status = json_array_get(row, 1);
	int64_t major = json_int(status, "major", -1);
	int64_t minor = json_int(status, "minor", -1);

	if (!json_is_true(json_array_get(row, 0)) || major < 0 || minor < 0)
		return NULL;
	return xprintf("%jd:%jd", (intmax_t)major, (intmax_t)minor);
}

/* The numbers of these devices, "" for each that is not known. */
static WAITS int ask(struct lu *lu, const char *template, const char *node,
		     const struct strv *paths, struct strv *ret,
		     struct error *err)
{
	auto_json json_t *disks = json_array(), *rows = NULL;

	for (size_t i = 0; i < paths->n; i++)
		json_array_append_new(
			disks, adopt_device(template, DRIVER, paths->items[i]));
	rows = lu_call(lu, node,
		       rpc_blockdev_getmirrorstatus_multi(json_ref(disks)),
		       err);
	if (rows == NULL)
		return -1;
	for (size_t i = 0; i < paths->n; i++) {
		auto_free char *number = number_of(json_array_get(rows, i));

		strv_add(ret, number != NULL ? number : "");
	}
	return 0;
}

/* The place of a number among the first n, or n. */
static size_t find(const struct strv *numbers, size_t n, const char *number)
{
	size_t i = 0;

	while (i < n && strcmp(numbers->items[i], number) != 0)
		i++;
	return i;
}

static int take_numbers(struct lu *lu, const char *node,
			const struct strv *paths, const struct strv *numbers,
			struct error *err)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *number = numbers->items[i];
		size_t same = find(numbers, i, number);
		auto_free char *key = xprintf("%s %s", node, number);

		if (*number == '\0')
			continue;
		if (same < i)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "%s and %s are the same block device "
					 "(%s)",
					 paths->items[same], paths->items[i],
					 number);
		if (!reserve_path(lu->m->reserve, lu->job_id, key))
			return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
					 "Block device %s (%s) is just being "
					 "adopted under another name",
					 paths->items[i], number);
	}
	return 0;
}

/* The paths of all disks that are devices, and their UUIDs. */
static void list_recorded(struct lu *lu, const char *template,
			  struct strv *ret_paths, struct strv *ret_uuids)
{
	const char *uuid;
	json_t *disk;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_DISK)), uuid,
		disk) {
		const char *path = json_string_value(
			json_array_get(disk_logical_id(disk), 1));

		if (!str_eq(disk_dev_type(disk), template) || path == NULL)
			continue;
		strv_add(ret_paths, path);
		strv_add(ret_uuids, uuid);
	}
}

static int is_used(struct lu *lu, const char *path, const char *other,
		   const char *uuid, struct error *err)
{
	const char *owner = config_disk_owner(lu->m->config, uuid);
	const json_t *inst = config_get(lu->m->config, CONFIG_INSTANCE,
					owner != NULL ? owner : "");

	return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
			 "Block device %s is %s, which is %s %s", path, other,
			 inst != NULL ? "used by instance"
				      : "the detached disk",
			 inst != NULL ? inst_name(inst) : uuid);
}

WAITS int adopt_check_devices(struct lu *lu, const char *template,
			      const char *node, const struct strv *paths,
			      struct error *err)
{
	auto_strv struct strv numbers = {0}, others = {0}, uuids = {0},
			      used = {0};

	if (ask(lu, template, node, paths, &numbers, err) < 0 ||
	    take_numbers(lu, node, paths, &numbers, err) < 0)
		return -1;
	list_recorded(lu, template, &others, &uuids);
	if (others.n > 0 && ask(lu, template, node, &others, &used, err) < 0)
		return -1;
	for (size_t i = 0; i < paths->n; i++) {
		size_t k = find(&used, used.n, numbers.items[i]);

		if (*numbers.items[i] != '\0' && k < used.n)
			return is_used(lu, paths->items[i], others.items[k],
				       uuids.items[k], err);
	}
	return 0;
}
