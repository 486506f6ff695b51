/* SPDX-License-Identifier: BSD-2-Clause */
/* The node tells the kernel's numbers of its devices, also those of the disks
 * that are recorded: devices of the host, and volumes, which are devices of it
 * as well.  A number is reserved before these are looked at: what another job
 * adopts at the same time is either reserved or recorded. */
#include "masterd/lu/spec/instance_adopt_devices.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
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

/* The numbers of these disks, "" for each that is not known. */
static WAITS int ask(struct lu *lu, const char *node, const json_t *disks,
		     struct strv *ret, struct error *err)
{
	auto_json json_t *rows = NULL;

	if (json_array_size(disks) == 0)
		return 0;
	rows = lu_call(lu, node,
		       rpc_blockdev_getmirrorstatus_multi(json_ref(disks)),
		       err);
	if (rows == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(disks); i++) {
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

/* What disks of the configuration have on the node: objects for calls, what
 * they are called, and the UUIDs of the disks. */
struct recorded {
	json_t *disks;
	struct strv names, uuids;
};

static void note(struct recorded *r, json_t *device STEALS, const char *name,
		 const char *uuid)
{
	json_array_append_new(r->disks, device);
	strv_add(&r->names, name);
	strv_add(&r->uuids, uuid);
}

/* Volumes have names below /dev/disk, too. */
static void note_volume(struct lu *lu, struct recorded *r, const json_t *node,
			const json_t *volume, const char *uuid)
{
	struct config *c = lu->m->config;
	const json_t *id = disk_logical_id(volume);
	const char *vg = json_string_value(json_array_get(id, 0));
	const char *lv = json_string_value(json_array_get(id, 1));
	auto_free char *name = xprintf("volume %s/%s", vg ?: "", lv ?: "");
	json_t *carried = params_device(
		config_cluster(c),
		config_get(c, CONFIG_GROUP, node_group(node)), volume);

	json_object_set_new(carried, "dynamic_params", json_object());
	note(r, carried, name, uuid);
}

static void note_disk(struct lu *lu, struct recorded *r, const char *template,
		      const json_t *node, const json_t *disk, const char *uuid)
{
	const char *type = disk_dev_type(disk);
	const char *path =
		json_string_value(json_array_get(disk_logical_id(disk), 1));
	const json_t *children = disk_children(disk);

	if (str_eq(type, template) && path != NULL) {
		note(r, adopt_device(template, DRIVER, path), path, uuid);
		return;
	}
	if (!json_array_has_str(disk_nodes(disk), node_uuid(node)))
		return;
	if (template_is_volume(type))
		note_volume(lu, r, node, disk, uuid);
	for (size_t i = 0; i < json_array_size(children); i++)
		note_volume(lu, r, node, json_array_get(children, i), uuid);
}

static void list_recorded(struct lu *lu, const char *template,
			  const char *node_uuid, struct recorded *ret)
{
	struct config *c = lu->m->config;
	const json_t *node = config_get(c, CONFIG_NODE, node_uuid);
	const char *uuid;
	json_t *disk;

	json_object_foreach (json_unconst(config_all(c, CONFIG_DISK)), uuid,
			     disk)
		note_disk(lu, ret, template, node, disk, uuid);
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

static WAITS int compare(struct lu *lu, const char *node,
			 const struct strv *paths, const struct strv *numbers,
			 const struct recorded *r, struct error *err)
{
	auto_strv struct strv used = {0};

	if (ask(lu, node, r->disks, &used, err) < 0)
		return -1;
	for (size_t i = 0; i < paths->n; i++) {
		size_t k = find(&used, used.n, numbers->items[i]);

		if (*numbers->items[i] != '\0' && k < used.n)
			return is_used(lu, paths->items[i], r->names.items[k],
				       r->uuids.items[k], err);
	}
	return 0;
}

WAITS int adopt_check_devices(struct lu *lu, const char *template,
			      const char *node, const struct strv *paths,
			      struct error *err)
{
	auto_json json_t *disks = json_array();
	auto_strv struct strv numbers = {0};
	struct recorded r = {.disks = json_array()};
	int rc;

	for (size_t i = 0; i < paths->n; i++)
		json_array_append_new(
			disks, adopt_device(template, DRIVER, paths->items[i]));
	rc = ask(lu, node, disks, &numbers, err);
	if (rc == 0)
		rc = take_numbers(lu, node, paths, &numbers, err);
	list_recorded(lu, template, node, &r);
	if (rc == 0)
		rc = compare(lu, node, paths, &numbers, &r, err);
	json_decref(r.disks);
	strv_done(&r.names);
	strv_done(&r.uuids);
	return rc;
}
