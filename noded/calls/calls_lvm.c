/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about logical volumes, volume groups and physical volumes. */
#include "noded/calls/calls_lvm.h"

#include <math.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/storage/bdev.h"
#include "noded/storage/bdev_device.h"
#include "noded/storage/lvm.h"
#include "noded/storage/lvm_thin.h"
#include "noded/storage/storage_tool.h"

/* --- volumes --- */

static const char *row_str(const json_t *row, const char *key)
{
	return json_str(row, key, "");
}

/* A row for each device of each of the volume's pieces; the position is cut off
 * the device's name: "/dev/sda1(0),/dev/sdb1(0)". */
static void add_volume(json_t *rows, const json_t *volume)
{
	auto_strv struct strv devices = {0};
	double bytes = 0;

	str_to_double(row_str(volume, "lv_size"), &bytes);
	str_split(&devices, row_str(volume, "devices"), ',');
	for (size_t i = 0; i < devices.n; i++) {
		devices.items[i][strcspn(devices.items[i], "(")] = '\0';
		json_array_append_new(rows,
				      json_make("{s:s, s:f, s:s, s:s}", "name",
						row_str(volume, "lv_name"),
						"size", bytes / (double)MIB,
						"dev", devices.items[i], "vg",
						row_str(volume, "vg_name")));
	}
}

WAITS json_t *call_node_volumes(struct call *c, struct error *err)
{
	auto_json json_t *volumes = lvm_volumes(c->paths, err);
	json_t *result;

	if (volumes == NULL) {
		error_wrap(err, "Failed to list logical volumes");
		return NULL;
	}
	result = json_array();
	for (size_t i = 0; i < json_array_size(volumes); i++)
		add_volume(result, json_array_get(volumes, i));
	return result;
}

WAITS json_t *call_lv_list(struct call *c, const struct rpc_args_lv_list *args,
			   struct error *err)
{
	auto_json json_t *volumes = lvm_volumes(c->paths, err);

	if (volumes != NULL)
		return lvm_list(volumes, args->groups);
	error_wrap(err, "Failed to list logical volumes");
	return NULL;
}

WAITS json_t *call_vg_list(struct call *c, struct error *err)
{
	auto_json json_t *groups = lvm_groups(c->paths, err);

	if (groups != NULL)
		return lvm_group_sizes(groups);
	error_wrap(err, "Failed to list volume groups");
	return NULL;
}

/* {path: MiB} of those that are there; only devices are told of. */
WAITS json_t *call_bdev_sizes(struct call *c,
			      const struct rpc_args_bdev_sizes *args,
			      struct error *err)
{
	json_t *sizes = json_object();
	const json_t *device;
	size_t i;

	(void)err;
	json_array_foreach (args->devices, i, device) {
		const char *path = json_string_value(device);
		auto_free char *local = NULL;
		struct error ignored;
		int64_t bytes;

		if (path == NULL || !paths_is_normal(path) ||
		    !paths_is_below(path, "/dev"))
			continue;
		local = paths_local(c->paths, path);
		bytes = bdev_device_bytes(local, &ignored);
		if (bytes >= 0)
			json_set_int(sizes, path, bytes / MIB);
	}
	return sizes;
}

/* --- space --- */

static WAITS bool group_space(struct call *c, const char *name, bool exclusive,
			      int64_t *ret_size, int64_t *ret_free)
{
	auto_json json_t *groups = NULL, *physical = NULL, *volumes = NULL;
	auto_free struct lvm_pv *pvs = NULL;
	double mib, free_mib;
	struct error ignored;
	size_t n, empty = 0;

	groups = lvm_groups(c->paths, &ignored);
	if (lvm_group_space(groups, name, &mib, &free_mib, &ignored) != 1)
		return false;
	volumes = lvm_volumes(c->paths, &ignored);
	free_mib = fmin(mib, free_mib + lvm_thin_free_mib(volumes, name));
	*ret_size = (int64_t)round(mib);
	*ret_free = (int64_t)round(free_mib);
	if (!exclusive)
		return true;
	physical = lvm_physical(c->paths, &ignored);
	pvs = lvm_pvs_of(physical, name, false, &n);
	for (size_t i = 0; i < n; i++)
		empty += lvm_pv_is_empty(&pvs[i]);
	*ret_free = (int64_t)((double)empty * lvm_pv_usable_mib(pvs, n));
	return physical != NULL;
}

static WAITS bool pv_space(struct call *c, const char *name, bool exclusive,
			   int64_t *ret_size, int64_t *ret_free)
{
	auto_json json_t *physical = NULL;
	auto_free struct lvm_pv *pvs = NULL;
	struct error ignored;
	size_t n;

	*ret_size = *ret_free = 0;
	if (!exclusive)
		return true;
	physical = lvm_physical(c->paths, &ignored);
	pvs = lvm_pvs_of(physical, name, false, &n);
	*ret_size = (int64_t)n;
	for (size_t i = 0; i < n; i++)
		*ret_free += lvm_pv_is_empty(&pvs[i]);
	return physical != NULL;
}

WAITS bool call_lvm_space(struct call *c, const char *type, const char *name,
			  bool exclusive, int64_t *ret_size, int64_t *ret_free)
{
	if (strcmp(type, "lvm-vg") == 0)
		return group_space(c, name, exclusive, ret_size, ret_free);
	if (strcmp(type, "lvm-pv") == 0)
		return pv_space(c, name, exclusive, ret_size, ret_free);
	return false;
}

/* --- storage_list --- */

struct unit {
	const char *name;
	double mib, free_mib;
	bool allocatable;
};

/* NULL: there is no such field. */
static json_t *unit_field(const struct unit *u, const char *field)
{
	if (strcmp(field, "name") == 0)
		return json_string(u->name);
	if (strcmp(field, "size") == 0)
		return json_integer((json_int_t)round(u->mib));
	if (strcmp(field, "used") == 0)
		return json_integer((json_int_t)round(u->mib) -
				    (json_int_t)round(u->free_mib));
	if (strcmp(field, "free") == 0)
		return json_integer((json_int_t)round(u->free_mib));
	return strcmp(field, "allocatable") == 0 ? json_boolean(u->allocatable)
						 : NULL;
}

static int add_unit(const struct unit *u, const json_t *fields, json_t *rows,
		    struct error *err)
{
	auto_json json_t *row = json_array();
	const json_t *field;
	size_t i;

	json_array_foreach (fields, i, field) {
		const char *text = json_string_value(field);
		json_t *value = unit_field(u, text != NULL ? text : "");

		if (value == NULL)
			return error_set(err, ERR_STORAGE, NULL,
					 "Unknown field: \"%s\"",
					 text != NULL ? text : "");
		json_array_append_new(row, value);
	}
	json_array_append(rows, row);
	return 0;
}

static WAITS json_t *group_rows(struct call *c, const char *name,
				const json_t *fields, struct error *err)
{
	auto_json json_t *groups = lvm_groups(c->paths, err);
	auto_json json_t *rows = json_array();
	const json_t *group;
	size_t i;

	if (groups == NULL)
		return NULL;
	json_array_foreach (groups, i, group) {
		struct unit u = {.name = json_str(group, "vg_name", ""),
				 .allocatable = true};
		struct error ignored;

		if (name != NULL && strcmp(name, u.name) != 0)
			continue;
		if (lvm_group_space(groups, u.name, &u.mib, &u.free_mib,
				    &ignored) == 1 &&
		    add_unit(&u, fields, rows, err) < 0)
			return NULL;
	}
	return steal(&rows);
}

static WAITS json_t *pv_rows(struct call *c, const char *name,
			     const json_t *fields, struct error *err)
{
	auto_json json_t *physical = lvm_physical(c->paths, err);
	auto_json json_t *rows = json_array();
	auto_free struct lvm_pv *pvs = NULL;
	size_t n;

	if (physical == NULL)
		return NULL;
	pvs = lvm_pvs_of(physical, NULL, true, &n);
	for (size_t i = 0; i < n; i++) {
		struct unit u = {
			.name = pvs[i].name,
			.mib = pvs[i].mib,
			.free_mib = pvs[i].free_mib,
			.allocatable = pvs[i].attr[0] == 'a',
		};

		if ((name == NULL || strcmp(name, u.name) == 0) &&
		    add_unit(&u, fields, rows, err) < 0)
			return NULL;
	}
	return steal(&rows);
}

WAITS json_t *call_lvm_rows(struct call *c, const char *type, const char *name,
			    const json_t *fields, struct error *err)
{
	if (strcmp(type, "lvm-vg") == 0)
		return group_rows(c, name, fields, err);
	return pv_rows(c, name, fields, err);
}

/* --- verify --- */

WAITS json_t *call_lvm_check_volumes(struct call *c, const json_t *what)
{
	auto_json json_t *volumes = NULL;
	struct error err;

	(void)what; /* all groups */
	volumes = lvm_volumes(c->paths, &err);
	return volumes != NULL ? lvm_list(volumes, NULL)
			       : json_string(err.text);
}

WAITS json_t *call_lvm_check_groups(struct call *c)
{
	struct error err;
	auto_json json_t *groups = lvm_groups(c->paths, &err);

	return groups != NULL ? lvm_group_sizes(groups) : json_string(err.text);
}

static json_t *pv_object(const struct lvm_pv *pv)
{
	return json_make("{s:s, s:s, s:f, s:f, s:s, s:[]}", "name", pv->name,
			 "vg_name", pv->group, "size", pv->mib, "free",
			 pv->free_mib, "attributes", pv->attr, "lv_list");
}

WAITS json_t *call_lvm_check_pvs(struct call *c, const json_t *groups)
{
	struct error err;
	auto_json json_t *physical = lvm_physical(c->paths, &err);
	auto_free struct lvm_pv *pvs = NULL;
	json_t *list;
	size_t n;

	if (physical == NULL)
		return json_string(err.text);
	list = json_array();
	pvs = lvm_pvs_of(physical, NULL, true, &n);
	for (size_t i = 0; i < n; i++)
		if (json_array_size(groups) == 0 ||
		    json_array_has_str(groups, pvs[i].group))
			json_array_append_new(list, pv_object(&pvs[i]));
	return list;
}

WAITS json_t *call_lvm_check_exclusive(struct call *c, const json_t *groups)
{
	struct error err;
	auto_json json_t *physical = lvm_physical(c->paths, &err);
	auto_json json_t *volumes =
		physical == NULL ? NULL : lvm_volumes(c->paths, &err);

	return volumes == NULL ? json_array()
			       : lvm_shared_pvs(physical, volumes, groups);
}

/* Groups that miss physical volumes, with the volumes whose data are lost. */
WAITS json_t *call_lvm_check_partial(struct call *c)
{
	struct error err;
	auto_json json_t *groups = lvm_groups(c->paths, &err);
	auto_json json_t *volumes =
		groups == NULL ? NULL : lvm_volumes(c->paths, &err);

	return volumes == NULL ? json_string(err.text)
			       : lvm_partial(groups, volumes);
}

/* --- changes --- */

/* A valid name, which LVM cannot take for an option. */
static int check_name(const char *name, struct error *err)
{
	if (name != NULL && *name != '\0' && *name != '-')
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "\"%s\" is not a name of a storage unit",
			 name != NULL ? name : "");
}

/* Whether physical volumes of the group are missing: its attributes say
 * "partial". */
static WAITS int is_partial(const struct paths *p, const char *name,
			    struct error *err)
{
	auto_json json_t *groups = lvm_groups(p, err);
	const json_t *group;
	size_t i;

	if (groups == NULL)
		return -1;
	json_array_foreach (groups, i, group)
		if (strcmp(json_str(group, "vg_name", ""), name) == 0)
			return strchr(json_str(group, "vg_attr", ""), 'p') !=
			       NULL;
	return error_set(err, ERR_STORAGE, NULL,
			 "There is no volume group %s on this node", name);
}

/* Volumes that were on what is missing stand in the way of the first command;
 * they are lost, and the second one removes what is left of them. */
static WAITS int repair_group(const struct paths *p, const char *name,
			      struct error *err)
{
	const char *const gentle[] = {"vgreduce", "--removemissing", name,
				      NULL};
	const char *const force[] = {"vgreduce", "--removemissing", "--force",
				     name, NULL};
	int rc = storage_tool_check(p, gentle, err);

	if (rc == 0)
		rc = is_partial(p, name, err);
	if (rc != 0)
		rc = storage_tool_check(p, force, err);
	if (rc == 0)
		rc = is_partial(p, name, err);
	if (rc == 0)
		return 0;
	if (rc > 0)
		error_set(err, ERR_STORAGE, NULL,
			  "it still misses physical volumes");
	return error_wrap_as(err, ERR_STORAGE,
			     "Volume group '%s' still not consistent", name);
}

WAITS json_t *call_storage_execute(struct call *c,
				   const struct rpc_args_storage_execute *args,
				   struct error *err)
{
	if (strcmp(args->type, "lvm-vg") != 0 ||
	    strcmp(args->operation, "fix-consistency") != 0) {
		error_set(err, ERR_STORAGE, NULL,
			  "Storage of type '%s' has no operation '%s'",
			  args->type, args->operation);
		return NULL;
	}
	if (check_name(args->name, err) < 0 ||
	    repair_group(c->paths, args->name, err) < 0)
		return NULL;
	return json_null();
}

/* Changes: {"allocatable": bool}. */
WAITS json_t *call_storage_modify(struct call *c,
				  const struct rpc_args_storage_modify *args,
				  struct error *err)
{
	const json_t *allocatable =
		json_object_get(args->changes, "allocatable");
	const char *value = json_is_true(allocatable) ? "y" : "n";

	if (strcmp(args->type, "lvm-pv") != 0 ||
	    json_object_size(args->changes) != 1 ||
	    !json_is_boolean(allocatable)) {
		error_set(err, ERR_STORAGE, NULL,
			  "Storage of type '%s' cannot be changed so",
			  args->type);
		return NULL;
	}
	if (check_name(args->name, err) < 0 ||
	    storage_tool_check(c->paths,
			       (const char *const[]){"pvchange",
						     "--allocatable", value,
						     args->name, NULL},
			       err) < 0)
		return NULL;
	return json_null();
}
