/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: disks.  New ones are made before the configuration
 * knows them and removed again when it cannot; removed ones leave the
 * configuration first, so that none is named there that is half gone. */
#include <string.h>

#include "lib/json/json.h"
#include "masterd/lu/instance_modify.h"
#include "masterd/lu/instance_spec.h"
#include "masterd/lu_instance.h"

static bool is_recorded(struct lu *lu, const json_t *disk)
{
	return config_get(lu->m->config, CONFIG_DISK,
			  json_str(disk, "uuid", "")) != NULL;
}

static int add_disk(struct lu *lu, size_t i, const json_t *given,
		    struct error *err)
{
	struct modify *m = modify_of(lu);
	const struct op_instance_set_params *op = lu->op;
	const char *template = config_instance_template(lu->m->config, m->inst);
	auto_free char *folder = inst_file_dir(lu, inst_name(m->inst), template,
					       op->file_storage_dir);
	const struct new_disk new = {.template = template,
				     .folder = folder,
				     .driver = op->file_driver,
				     .primary = inst_primary(m->inst)};
	auto_json json_t *wanted = NULL;

	if (json_array_size(m->disks) >= SPEC_DISKS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance has too many disks (%zu), cannot "
				 "add more",
				 json_array_size(m->disks));
	wanted = spec_disk(given, i, err);
	if (wanted == NULL)
		return -1;
	json_array_insert_new(m->disks, i, inst_new_disk(&new, wanted, i));
	modify_row(m->disk_rows,
		   json_sprintf("add:size=%jd,mode=%s",
				(intmax_t)json_int(wanted, "size", 0),
				json_str(wanted, "mode", "rw")),
		   "disk/%zu", i);
	return 0;
}

static int change_disk(struct modify *m, size_t i, const json_t *given,
		       struct error *err)
{
	json_t *disk = json_copy(json_array_get(m->disks, i));
	const char *key;
	json_t *value;

	json_array_set_new(m->disks, i, disk);
	json_object_foreach ((json_t *)given, key, value) {
		const char *text = json_string_value(value);

		if (strcmp(key, "size") == 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Disk size change not possible, use "
					 "grow-disk");
		if (strcmp(key, "mode") == 0 &&
		    (str_eq(text, "rw") || str_eq(text, "ro")))
			json_set_str(disk, "mode", text);
		else if (strcmp(key, "name") == 0 && str_eq(text, "none"))
			json_object_del(disk, "name");
		else if (strcmp(key, "name") == 0 && text != NULL)
			json_set_str(disk, "name", text);
		else
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Disk %zu: '%s' can't be changed to "
					 "this; only mode (rw or ro) and name "
					 "can be changed",
					 i, key);
		modify_row(m->disk_rows, json_incref(value), "disk.%s/%zu", key,
			   i);
	}
	return 0;
}

static int act(struct lu *lu, const json_t *one, struct error *err)
{
	struct modify *m = modify_of(lu);
	const char *action = json_string_value(json_array_get(one, 0));
	const json_t *given = json_array_get(one, 2);
	size_t i;

	if (modify_find(m->disks, "disk", action, json_array_get(one, 1), &i,
			err) < 0)
		return -1;
	if (strcmp(action, "add") == 0)
		return add_disk(lu, i, given, err);
	if (strcmp(action, "remove") != 0)
		return change_disk(m, i, given, err);
	if (is_recorded(lu, json_array_get(m->disks, i)))
		json_array_append(m->removed, json_array_get(m->disks, i));
	json_array_remove(m->disks, i);
	modify_row(m->disk_rows, json_string("remove"), "disk/%zu", i);
	return 0;
}

int modify_disks(struct lu *lu, const json_t *actions, struct error *err)
{
	struct modify *m = modify_of(lu);

	m->disks = config_instance_disks(lu->m->config, m->inst);
	m->removed = json_array();
	if (json_array_size(actions) > 0 && json_array_size(m->disks) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk operations not supported for diskless "
				 "instances");
	for (size_t k = 0; k < json_array_size(actions); k++)
		if (act(lu, json_array_get(actions, k), err) < 0)
			return -1;
	return 0;
}

bool modify_has_new_disks(const struct modify *m)
{
	return json_array_size(m->disk_rows) > 0;
}

/* --- exec --- */

static WAITS void take_back(struct lu *lu, size_t end)
{
	struct modify *m = modify_of(lu);

	for (size_t i = 0; i < end; i++)
		if (!is_recorded(lu, json_array_get(m->disks, i)))
			inst_remove_disk(lu, m->inst,
					 json_array_get(m->disks, i), i);
}

static WAITS int make_new(struct lu *lu, struct error *err)
{
	struct modify *m = modify_of(lu);
	bool made = false;

	for (size_t i = 0; i < json_array_size(m->disks); i++) {
		const json_t *disk = json_array_get(m->disks, i);

		if (is_recorded(lu, disk))
			continue;
		inst_say_disk(lu, disk, i);
		if (inst_create_disk(lu, m->inst, disk, i, err) < 0) {
			take_back(lu, i + 1);
			return -1;
		}
		made = true;
	}
	if (made)
		inst_wait_sync(lu, m->inst);
	return 0;
}

/* The objects, numbered anew, and their list. */
static void put_all(struct lu *lu, json_t *inst)
{
	struct modify *m = modify_of(lu);
	json_t *uuids = json_array();

	for (size_t i = 0; i < json_array_size(m->disks); i++) {
		const json_t *disk = json_array_get(m->disks, i);
		const char *uuid = json_str(disk, "uuid", "");
		auto_free char *iv_name = xprintf("disk/%zu", i);
		json_t *copy = config_edit(disk);

		json_array_append_new(uuids, json_string(uuid));
		json_set_str(copy, "iv_name", iv_name);
		config_put(lu->m->config, CONFIG_DISK, copy);
	}
	json_object_set_new(inst, "disks", uuids);
	for (size_t i = 0; i < json_array_size(m->removed); i++)
		config_remove(
			lu->m->config, CONFIG_DISK,
			json_str(json_array_get(m->removed, i), "uuid", ""));
}

WAITS int modify_apply_disks(struct lu *lu, json_t *inst, struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *own = inst;

	if (make_new(lu, err) < 0)
		return -1;
	put_all(lu, own);
	config_put(lu->m->config, CONFIG_INSTANCE, steal(&own));
	if (config_commit(lu->m->config, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(m->removed); i++)
		inst_remove_disk(lu, m->inst, json_array_get(m->removed, i), i);
	return 0;
}
