/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: the disks as they will be.  A detached disk stays in
 * the configuration, without an instance and without iv_name. */
#include <string.h>
#include <strings.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/modify/instance_modify.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_adopt.h"
#include "masterd/lu/spec/instance_spec.h"

static bool is_recorded(struct lu *lu, const json_t *disk)
{
	return config_get(lu->m->config, CONFIG_DISK, disk_uuid(disk)) != NULL;
}

static const char *template_of(struct lu *lu)
{
	return config_instance_template(lu->m->config, modify_of(lu)->inst);
}

static void report_size(json_t *rows, const char *what, size_t i,
			const json_t *disk)
{
	modify_row(rows,
		   json_sprintf("%s:size=%jd,mode=%s", what,
				(intmax_t)disk_size_mib(disk), disk_mode(disk)),
		   "disk/%zu", i);
}

/* --- a disk is added --- */

/* The form of a new disk of this template. */
static json_t *new_disk(struct lu *lu, const char *template,
			const json_t *wanted, size_t i, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	const json_t *inst = modify_of(lu)->inst;
	auto_free char *folder = disks_file_dir(lu, inst_name(inst), template,
						op->file_storage_dir);
	auto_strv struct strv others = {0};
	struct new_disk new = {.template = template,
			       .folder = folder,
			       .driver = op->file_driver,
			       .instance = inst_uuid(inst),
			       .hypervisor = inst_hypervisor(inst),
			       .primary = inst_primary_node(inst)};

	config_instance_secondaries(lu->m->config, inst, &others);
	new.secondary = others.n > 0 ? others.items[0] : NULL;
	return disks_new(lu, &new, wanted, i, err);
}

/* Without a wait for the sync, warn that somebody has to do it later. */
static int check_comes(struct lu *lu, const char *action, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);

	if (json_array_size(m->disks) >= SPEC_DISKS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance has too many disks (%d), cannot add "
				 "more",
				 SPEC_DISKS_MAX);
	if (op->wait_for_sync || inst_disks_active(m->inst))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Can't %s a disk to an instance with deactivated "
			 "disks and --no-wait-for-sync given",
			 action);
}

/* A device of the host is looked for as by a new instance, and its size filled
 * in.  What would have to be renamed can only be adopted by a new one. */
static WAITS int find_adopted(struct lu *lu, const struct template_info *t,
			      json_t *wanted, size_t i, struct error *err)
{
	auto_json json_t *disks = json_make("[O]", wanted);
	struct inst_spec spec = {.template = t->name, .disks = disks};
	bool always = t->adopts == ADOPTS_ALWAYS;

	if (spec_adopts(&spec) != always)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 always ? "Disk %zu: template '%s' requires "
					  "disk adoption"
					: "Disk %zu: only a new instance can "
					  "adopt disks of the template '%s'",
				 i, t->name);
	return adopt_find(lu, &spec, inst_primary_node(modify_of(lu)->inst),
			  err);
}

static WAITS int add_disk(struct lu *lu, size_t i, const json_t *given,
			  struct error *err)
{
	struct modify *m = modify_of(lu);
	const struct template_info *t = template_get(template_of(lu));
	auto_json json_t *wanted = NULL, *disk = NULL;

	if (t->no_disks)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Must specify disk type on diskless instance: "
				 "disks can only be attached to it");
	wanted = spec_disk(t->name, given, i, err);
	if (wanted == NULL ||
	    disks_check_spindles(wanted, disks_exclusive(lu, m->inst), true,
				 err) < 0 ||
	    check_comes(lu, "add", err) < 0 ||
	    find_adopted(lu, t, wanted, i, err) < 0)
		return -1;
	disk = new_disk(lu, t->name, wanted, i, err);
	if (disk == NULL)
		return -1;
	json_array_insert(m->disks, i, disk);
	report_size(modify_step(m->disk_steps, "add", i, disk), "add", i, disk);
	return 0;
}

static const json_t *several(const struct strv *uuids, const char *name,
			     struct error *err)
{
	auto_free char *list = strv_join(uuids, ", ");

	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "Several detached disks have the name %s; name one by its "
		  "UUID: %s",
		  name, list);
	return NULL;
}

/* The detached disk of this name, or else any of this name; borrowed.  Names
 * are not unique in the cluster. */
static const json_t *named_disk(struct lu *lu, const char *name,
				struct error *err)
{
	const struct config *c = lu->m->config;
	const json_t *found = NULL;
	auto_strv struct strv detached = {0};
	const char *uuid;
	json_t *disk;

	json_object_foreach (json_unconst(config_all(c, CONFIG_DISK)), uuid,
			     disk) {
		bool loose = config_disk_owner(c, uuid) == NULL;

		if (!str_eq(disk_name(disk), name))
			continue;
		if (loose)
			strv_add(&detached, uuid);
		if (loose || found == NULL)
			found = disk;
	}
	if (detached.n > 1)
		return several(&detached, name, err);
	if (found == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "No disk was found with this name: %s", name);
	return found;
}

/* The disk that {"uuid": ...} or {"name": ...} means; borrowed. */
static const json_t *find_disk(struct lu *lu, const json_t *given,
			       struct error *err)
{
	const char *uuid = json_str(given, "uuid", NULL);
	const char *name = json_str(given, "name", NULL);
	const json_t *disk;

	if (json_object_size(given) != 1 || (uuid == NULL && name == NULL)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Only one argument is permitted in attach op, either "
			  "name or uuid");
		return NULL;
	}
	if (name != NULL)
		return named_disk(lu, name, err);
	disk = config_get(lu->m->config, CONFIG_DISK, uuid);
	if (disk == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "No disk was found with this UUID: %s", uuid);
	return disk;
}

/* An instance has its disks on the same nodes: a disk with sides elsewhere
 * could neither move nor fail over with the others. */
static int check_nodes(struct lu *lu, const json_t *disk, struct error *err)
{
	const struct modify *m = modify_of(lu);
	const char *primary = inst_primary_node(m->inst);
	const json_t *nodes = disk_nodes(disk);
	auto_strv struct strv wanted = {0};

	strv_add(&wanted, primary);
	for (size_t i = 0; i < json_array_size(m->disks); i++)
		config_disk_secondaries(json_array_get(m->disks, i), primary,
					&wanted);
	for (size_t i = 0; json_array_size(nodes) > 0 && i < wanted.n; i++)
		if (!json_array_has_str(nodes, wanted.items[i]))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Disk %s is not on %s, the instance's "
					 "%s node",
					 disk_uuid(disk),
					 lu_node_name(lu, wanted.items[i]),
					 i == 0 ? "primary" : "secondary");
	return 0;
}

/* Check that the disk belongs to no instance, also of another job, and fits
 * this one's template and nodes. */
static int check_attach(struct lu *lu, const json_t *disk, struct error *err)
{
	const char *template = template_of(lu);
	const char *type = disk_dev_type(disk);
	const char *owner = config_disk_owner(lu->m->config, disk_uuid(disk));

	if (owner != NULL)
		return error_set(
			err, ERR_PREREQ, ECODE_STATE,
			"Disk %s is attached to instance %s", disk_uuid(disk),
			config_name(lu->m->config, CONFIG_INSTANCE, owner));
	if (!template_get(template)->no_disks && strcmp(template, type) != 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance has '%s' template while disk has "
				 "'%s' template",
				 template, type);
	if (check_nodes(lu, disk, err) < 0)
		return -1;
	if (reserve_disk(lu->m->reserve, lu->job_id, disk_uuid(disk)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Disk %s is just being attached to an instance",
			 disk_uuid(disk));
}

static int attach_disk(struct lu *lu, size_t i, const json_t *given,
		       struct error *err)
{
	struct modify *m = modify_of(lu);
	const json_t *disk = find_disk(lu, given, err);
	auto_json json_t *own = NULL;

	if (disk == NULL || check_comes(lu, "attach", err) < 0 ||
	    check_attach(lu, disk, err) < 0)
		return -1;
	own = json_copy(json_unconst(disk));
	if (template_get(disk_dev_type(disk))->named == NAMED_AS_FILE) {
		auto_json json_t *here =
			new_disk(lu, disk_dev_type(disk), disk, i, err);

		if (here == NULL)
			return -1;
		disk_set_logical_id(own, json_ref(disk_logical_id(here)));
	}
	json_array_insert(m->disks, i, own);
	report_size(modify_step(m->disk_steps, "attach", i, own), "attach", i,
		    own);
	return 0;
}

/* --- a disk is changed --- */

/* What the program of external storage is told; "default" takes it away. */
static int change_param(json_t *disk, size_t i, const char *key, json_t *value,
			json_t *rows, struct error *err)
{
	json_t *params;

	if (strcmp(key, "access") == 0 || strcmp(key, "provider") == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk '%s' parameter change is not possible",
				 key);
	params = json_overlay(disk_params(disk), NULL);
	if (json_is_string(value) &&
	    strcasecmp(json_string_value(value), "default") == 0)
		json_object_del(params, key);
	else
		json_object_set(params, key, value);
	disk_set_params(disk, params);
	modify_row(rows, json_incref(value), "disk.params:%s/%zu", key, i);
	return 0;
}

static int change_member(json_t *disk, size_t i, const char *key, json_t *given,
			 json_t *rows, struct error *err)
{
	const char *text = json_string_value(given);
	bool is_mode = strcmp(key, "mode") == 0;
	json_t *value;

	if (strcmp(key, "size") == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk size change not possible, use "
				 "grow-disk");
	if (!is_mode && strcmp(key, "name") != 0 &&
	    template_get(disk_dev_type(disk))->provider)
		return change_param(disk, i, key, given, rows, err);
	if (is_mode && (str_eq(text, "rw") || str_eq(text, "ro")))
		disk_set_mode(disk, text);
	else if (strcmp(key, "name") == 0 &&
		 (text == NULL || strcasecmp(text, "none") == 0))
		disk_drop_name(disk);
	else if (strcmp(key, "name") == 0)
		disk_set_name(disk, text);
	else
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk %zu: '%s' can't be changed to this; "
				 "only mode (rw or ro) and name can be changed",
				 i, key);
	value = json_object_get(disk, key);
	modify_row(rows, value == NULL ? json_null() : json_incref(value),
		   "disk.%s/%zu", key, i);
	return 0;
}

static int change_disk(struct modify *m, size_t i, const json_t *given,
		       struct error *err)
{
	json_t *disk = json_copy(json_array_get(m->disks, i));
	json_t *rows = modify_step(m->disk_steps, "modify", i, disk);
	const char *key;
	json_t *value;

	json_array_set_new(m->disks, i, disk);
	json_object_foreach (json_unconst(given), key, value)
		if (change_member(disk, i, key, value, rows, err) < 0)
			return -1;
	return 0;
}

/* --- a disk is removed --- */

/* A disk of a running instance can be removed only by hotplug.  A helper
 * machine's disk is removed although the instance is marked up: it is started
 * afterwards. */
static WAITS int check_removal(struct lu *lu, const json_t *disk,
			       struct error *err)
{
	static const char why[] = "can't remove volume from a running "
				  "instance without using hotplug";
	const struct modify *m = modify_of(lu);

	if (m->hotplug)
		return 0;
	return disk_has_reserved_by_job(disk)
		       ? inst_check_stopped(lu, m->inst, why, err)
		       : inst_check_down(lu, m->inst, why, err);
}

static void take_out(struct lu *lu, const char *action, size_t i)
{
	struct modify *m = modify_of(lu);
	const json_t *disk = json_array_get(m->disks, i);

	modify_row(modify_step(m->disk_steps, action, i, disk),
		   json_string(action), "disk/%zu", i);
	if (is_recorded(lu, disk))
		json_array_append_new(
			m->leaving,
			json_make("{s:O, s:I, s:b}", "disk", disk, "step",
				  (json_int_t)json_array_size(m->disk_steps) -
					  1,
				  "stays", *action == 'd'));
	json_array_remove(m->disks, i);
}

static WAITS int act(struct lu *lu, const json_t *change, struct error *err)
{
	struct modify *m = modify_of(lu);
	const char *action = json_string_value(json_array_get(change, 0));
	const json_t *given = json_array_get(change, 2);
	size_t i;

	if (modify_find(m->disks, "disk", action, json_array_get(change, 1), &i,
			err) < 0)
		return -1;
	if (strcmp(action, "add") == 0)
		return add_disk(lu, i, given, err);
	if (strcmp(action, "attach") == 0)
		return attach_disk(lu, i, given, err);
	if (strcmp(action, "modify") == 0)
		return change_disk(m, i, given, err);
	if (check_removal(lu, json_array_get(m->disks, i), err) < 0)
		return -1;
	take_out(lu, action, i);
	return 0;
}

WAITS int modify_disks(struct lu *lu, const json_t *actions, struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *changes = modify_changes("disk", actions, err);

	m->disks = config_instance_disks(lu->m->config, m->inst);
	m->leaving = json_array();
	m->disk_steps = json_array();
	if (changes == NULL)
		return -1;
	for (size_t k = 0; k < json_array_size(changes); k++)
		if (act(lu, json_array_get(changes, k), err) < 0)
			return -1;
	return modify_check_names("disk", m->disks, err);
}
