/* SPDX-License-Identifier: BSD-2-Clause */
/* Three kinds of devices can be adopted: logical volumes, image files and block
 * devices below /dev/disk.  Their names are first checked against the
 * configuration; then the node is asked for their sizes.  Volumes and files are
 * renamed, and renamed back if the creation fails. */
#include "masterd/lu/spec/instance_adopt.h"

#include <string.h>

#include "lib/base/units.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_adopt_devices.h"

/* Other block devices belong to the host. */
#define BLOCKDEV_ROOT "/dev/disk/"

static bool is_volume(const struct inst_spec *s)
{
	return template_is_volume(s->template);
}

static bool is_file(const struct inst_spec *s)
{
	return template_is_file(s->template);
}

/* Volumes and files are renamed to the names of new disks. */
static bool renames(const struct inst_spec *s)
{
	return is_volume(s) || is_file(s);
}

/* The word for it in messages. */
static const char *word(const struct inst_spec *s)
{
	return is_volume(s) ? "logical volume"
	       : is_file(s) ? "image file"
			    : "block device";
}

/* "group/volume", or the path of a device or file; to be freed. */
static char *device_of(struct lu *lu, const struct inst_spec *s, size_t i)
{
	const json_t *disk = json_array_get(s->disks, i);
	const char *name = json_str(disk, "adopt", "");
	const json_t *cluster = config_cluster(lu->m->config);

	if (!is_volume(s))
		return xstrdup(name);
	return xprintf("%s/%s",
		       json_str(disk, "vg", cluster_volume_group_name(cluster)),
		       name);
}

/* With another spelling of the path its user would not be found.  The node
 * decides which folders are allowed. */
static int check_files(const struct strv *files, struct error *err)
{
	for (size_t i = 0; i < files->n; i++) {
		const char *path = files->items[i];

		if (*path != '/' || strstr(path, "//") != NULL ||
		    strstr(path, "/./") != NULL || strstr(path, "/../") != NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "The path of an image file must be "
					 "absolute and plain, not '%s'",
					 path);
	}
	return 0;
}

static int check_paths(const struct inst_spec *s, const struct strv *devices,
		       struct error *err)
{
	if (is_file(s))
		return check_files(devices, err);
	for (size_t i = 0; i < devices->n && !is_volume(s); i++)
		if (strncmp(devices->items[i], BLOCKDEV_ROOT,
			    strlen(BLOCKDEV_ROOT)) != 0 ||
		    strstr(devices->items[i], "/../") != NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Device node %s lies outside %s and "
					 "cannot be adopted",
					 devices->items[i], BLOCKDEV_ROOT);
	return 0;
}

/* Whether a disk of another instance uses it. */
static bool is_file_used(const struct config *c, const char *path)
{
	const char *uuid;
	json_t *disk;

	json_object_foreach (json_unconst(config_all(c, CONFIG_DISK)), uuid,
			     disk)
		if (template_is_file(disk_dev_type(disk)) &&
		    str_eq(json_string_value(
				   json_array_get(disk_logical_id(disk), 1)),
			   path))
			return true;
	return false;
}

static bool is_volume_used(const struct config *c, const char *volume)
{
	const char *uuid;
	json_t *disk;

	json_object_foreach (json_unconst(config_all(c, CONFIG_DISK)), uuid,
			     disk) {
		const json_t *id = disk_logical_id(disk);
		auto_free char *name = xprintf(
			"%s/%s", json_string_value(json_array_get(id, 0)),
			json_string_value(json_array_get(id, 1)));

		if (template_is_volume(disk_dev_type_or(disk, NULL)) &&
		    strcmp(name, volume) == 0)
			return true;
	}
	return false;
}

static int list_devices(struct lu *lu, const struct inst_spec *s,
			struct strv *ret, struct error *err)
{
	for (size_t i = 0; i < json_array_size(s->disks); i++) {
		auto_free char *device = device_of(lu, s, i);

		if (strv_has(ret, device))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Duplicate %s names given for "
					 "adoption: %s",
					 is_volume(s) ? "volume" : "disk",
					 device);
		if (is_file(s) && is_file_used(lu->m->config, device))
			return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
					 "Image file %s used by another "
					 "instance",
					 device);
		/* It keeps its name, so a second user would find it, too. */
		if (!renames(s) &&
		    !reserve_path(lu->m->reserve, lu->job_id, device))
			return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
					 "Block device %s used by another "
					 "instance",
					 device);
		if (is_volume(s) && is_volume_used(lu->m->config, device))
			return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
					 "LV named %s used by another instance",
					 device);
		strv_add(ret, device);
	}
	return check_paths(s, ret, err);
}

/* {path: size} of the files that exist; to be freed. */
static WAITS json_t *ask_files(struct lu *lu, const struct inst_spec *s,
			       const char *node, const struct strv *files,
			       struct error *err)
{
	auto_json json_t *disks = json_array(), *told = NULL;
	json_t *sizes;

	for (size_t i = 0; i < files->n; i++)
		json_array_append_new(disks, adopt_device(s->template, "loop",
							  files->items[i]));
	told = lu_call(lu, node, rpc_blockdev_getdimensions(json_ref(disks)),
		       err);
	if (told == NULL)
		return NULL;
	sizes = json_object();
	for (size_t i = 0; i < files->n; i++) {
		const json_t *bytes =
			json_array_get(json_array_get(told, i), 0);

		if (json_is_integer(bytes))
			json_set_int(sizes, files->items[i],
				     (json_integer_value(bytes) + MIB - 1) /
					     MIB);
	}
	return sizes;
}

/* {name: [size, inactive, online]} of volumes, {path: size} of the others; to
 * be freed. */
static WAITS json_t *ask(struct lu *lu, const struct inst_spec *s,
			 const char *node, const struct strv *devices,
			 struct error *err)
{
	auto_json json_t *groups = NULL, *names = json_array();
	const char *group;
	json_t *size;

	if (is_file(s))
		return ask_files(lu, s, node, devices, err);
	if (!is_volume(s))
		return lu_call(lu, node,
			       rpc_bdev_sizes(json_from_strv(devices)), err);
	groups = lu_call(lu, node, rpc_vg_list(), err);
	if (groups == NULL)
		return NULL;
	json_object_foreach (groups, group, size)
		json_array_append_new(names, json_string(group));
	return lu_call(lu, node, rpc_lv_list(json_ref(names)), err);
}

/* The size in MiB, which nodes report as a number or as text. */
static int64_t size_of(const json_t *told)
{
	const json_t *size =
		json_is_array(told) ? json_array_get(told, 0) : told;

	if (json_is_string(size))
		return (int64_t)strtod(json_string_value(size), NULL);
	return (int64_t)json_number_value(size);
}

static int take_size(const struct inst_spec *s, size_t i, const char *device,
		     const json_t *found, struct error *err)
{
	const json_t *told = json_get(found, device);

	if (told == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL, "Missing %s: %s",
				 word(s), device);
	if (json_is_true(json_array_get(told, 2)))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Online logical volume found, cannot adopt: "
				 "%s",
				 device);
	disk_set_size_mib(json_array_get(s->disks, i), size_of(told));
	return 0;
}

int adopt_find(struct lu *lu, struct inst_spec *s, const char *node,
	       struct error *err)
{
	auto_strv struct strv devices = {0};
	auto_json json_t *found = NULL;

	if (!spec_adopts(s))
		return 0;
	if (list_devices(lu, s, &devices, err) < 0)
		return -1;
	found = ask(lu, s, node, &devices, err);
	if (found == NULL) {
		error_as(err, ERR_PREREQ, ECODE_ENVIRON);
		return error_wrap(err,
				  "Cannot look for what is to be adopted on "
				  "node %s",
				  lu_node_name(lu, node));
	}
	for (size_t i = 0; i < devices.n; i++)
		if (take_size(s, i, devices.items[i], found, err) < 0)
			return -1;
	return renames(s) ? 0
			  : adopt_check_devices(lu, s->template, node, &devices,
						err);
}

/* From their names to those of new disks, or back: [[disk, logical id], ...] */
static json_t *rename_pairs(struct lu *lu, const struct inst_spec *s,
			    const json_t *inst, bool back)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	json_t *pairs = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++) {
		json_t *disk = json_array_get(disks, i);
		const json_t *id = disk_logical_id(disk);
		auto_json json_t *old = json_copy(disk);

		disk_set_logical_id(
			old, json_make("[O, s]", json_array_get(id, 0),
				       json_str(json_array_get(s->disks, i),
						"adopt", "")));
		json_array_append_new(
			pairs, json_make("[O, O]", back ? disk : old,
					 disk_logical_id(back ? old : disk)));
	}
	return pairs;
}

/* "is to was, ..."; to be freed. */
static char *pairs_text(const json_t *pairs)
{
	auto_strv struct strv texts = {0};

	for (size_t i = 0; i < json_array_size(pairs); i++) {
		const json_t *pair = json_array_get(pairs, i);
		const json_t *from = disk_logical_id(json_array_get(pair, 0));
		const json_t *to = json_array_get(pair, 1);

		strv_addf(&texts, "%s to %s",
			  json_string_value(json_array_get(from, 1)),
			  json_string_value(json_array_get(to, 1)));
	}
	return strv_join(&texts, ", ");
}

static WAITS int rename_all(struct lu *lu, const json_t *inst,
			    const json_t *pairs, struct error *err)
{
	auto_json json_t *done =
		lu_call(lu, inst_primary_node(inst),
			rpc_blockdev_rename(json_ref(pairs)), err);

	return done == NULL ? -1 : 0;
}

/* The folder of the instance, which its files go to; NULL or to be freed. */
static char *folder_of(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	const json_t *id = disk_logical_id(json_array_get(disks, 0));
	const char *path = json_string_value(json_array_get(id, 1));

	if (path == NULL || strrchr(path, '/') == NULL)
		return NULL;
	return xstrndup(path, (size_t)(strrchr(path, '/') - path));
}

static WAITS int call_folder(struct lu *lu, const json_t *inst,
			     struct rpc_request (*call)(const char *folder),
			     struct error *err)
{
	auto_free char *folder = folder_of(lu, inst);
	auto_json json_t *done = NULL;

	if (folder == NULL)
		return 0;
	done = lu_call(lu, inst_primary_node(inst), call(folder), err);
	return done == NULL ? -1 : 0;
}

int adopt_disks(struct lu *lu, const struct inst_spec *s, const json_t *inst,
		struct error *err)
{
	auto_json json_t *pairs = rename_pairs(lu, s, inst, false);

	if (is_file(s) &&
	    call_folder(lu, inst, rpc_file_storage_dir_create, err) < 0)
		return -1;
	if (!renames(s) || rename_all(lu, inst, pairs, err) == 0)
		return 0;
	return error_wrap(err, "Failed to rename adopted %s",
			  is_volume(s) ? "volumes" : "files");
}

/* One call for each, so that a failure leaves the others alone. */
static void leave_names(struct lu *lu, const struct inst_spec *s,
			const json_t *inst, const json_t *pairs)
{
	struct aftermath *a = aftermath_create(lu->m);
	auto_free char *folder = is_file(s) ? folder_of(lu, inst) : NULL;
	const char *node = inst_primary_node(inst);

	for (size_t i = 0; i < json_array_size(pairs); i++)
		aftermath_add(a, node,
			      rpc_blockdev_rename(json_make(
				      "[O]", json_array_get(pairs, i))));
	if (folder != NULL)
		aftermath_add(a, node, rpc_file_storage_dir_remove(folder));
	aftermath_begin(a);
}

static WAITS void give_names_back(struct lu *lu, const struct inst_spec *s,
				  const json_t *inst)
{
	auto_json json_t *pairs = rename_pairs(lu, s, inst, true);
	auto_free char *text = pairs_text(pairs);
	const char *what = is_volume(s) ? "Volumes" : "Files";
	struct error err;

	if (lu->run->killed) {
		lu_warn(lu,
			"%s that were to be adopted get their names back on "
			"node %s; rename by hand what does not: %s",
			what, lu_node_name(lu, inst_primary_node(inst)), text);
		leave_names(lu, s, inst, pairs);
	} else if (rename_all(lu, inst, pairs, &err) < 0)
		lu_warn(lu,
			"%s that were to be adopted may have the names of "
			"disks of %s, rename them by hand (%s): %s",
			what, inst_name(inst), text, err.text);
}

void adopt_undo(struct lu *lu, const struct inst_spec *s, const json_t *inst)
{
	struct error err;

	if (renames(s))
		give_names_back(lu, s, inst);
	if (is_file(s) && !lu->run->killed &&
	    call_folder(lu, inst, rpc_file_storage_dir_remove, &err) < 0)
		lu_warn(lu, "%s", err.text);
}
