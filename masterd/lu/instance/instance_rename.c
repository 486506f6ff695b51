/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_RENAME: a new name, in the configuration, for the folder of
 * file-based disks, and for the guest (by the rename script of the OS
 * definition).  With the name that it has already, only the guest is told
 * again. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

struct rename {
	struct lu lu;
	const json_t *inst;
	const char *new_name;	       /* as it is resolved */
	char *old_folder, *new_folder; /* NULL: its disks have none */
	bool moved;		       /* or it is not known whether */
};

static struct rename *rename_of(struct lu *lu)
{
	return container_of(lu, struct rename, lu);
}

static bool keeps_name(const struct rename *r)
{
	return strcmp(r->new_name, inst_name(r->inst)) == 0;
}

static WAITS int rename_arguments(struct lu *lu, struct error *err)
{
	const struct op_instance_rename *op = lu->op;
	struct rename *r = rename_of(lu);
	const char *ip;

	r->new_name = lu_keep_str(lu, str_lower(op->new_name));
	if (op->ip_check && !op->name_check)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "IP address check requires a name check");
	if (!str_valid_hostname(op->new_name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' is not a valid instance name",
				 op->new_name);
	if (!op->name_check)
		return 0;
	if (inst_resolve(lu, op->new_name, &r->new_name, &ip, err) < 0)
		return -1;
	return op->ip_check ? inst_check_ip(lu, r->new_name, ip, err) : 0;
}

static int rename_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_rename *op = lu->op;
	struct rename *r = rename_of(lu);

	r->inst = lu_instance(lu, op->instance_name, err);
	if (r->inst == NULL)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(r->inst), true);
	lu_want(lu, LOCK_INSTANCE, r->new_name, true);
	lu_want(lu, LOCK_NODE, inst_primary_node(r->inst), false);
	return 0;
}

static int check_name(struct lu *lu, struct error *err)
{
	struct rename *r = rename_of(lu);

	if (keeps_name(r))
		return 0;
	if (inst_check_name_is_free(lu, r->new_name, err) < 0)
		return -1;
	return reserve_name(lu->m->reserve, lu->job_id, r->new_name, err);
}

/* The folder of the first disk; only its last part is renamed. */
static void find_folders(struct lu *lu)
{
	struct rename *r = rename_of(lu);
	auto_json json_t *disks = config_instance_disks(lu->m->config, r->inst);
	const json_t *first = json_array_get(disks, 0);
	const char *file =
		json_string_value(json_array_get(disk_logical_id(first), 1));
	auto_free char *parent = NULL;
	char *slash;

	if (keeps_name(r) || file == NULL || strchr(file, '/') == NULL ||
	    template_get(disk_dev_type(first))->named != NAMED_AS_FILE)
		return;
	r->old_folder = xstrndup(file, (size_t)(strrchr(file, '/') - file));
	parent = xstrdup(r->old_folder);
	slash = strrchr(parent, '/');
	if (slash == NULL || strcmp(slash + 1, inst_name(r->inst)) != 0) {
		free(steal(&r->old_folder)); /* not named after it */
		return;
	}
	*slash = '\0';
	r->new_folder = xprintf("%s/%s", parent, r->new_name);
}

/* Whether its OS has a rename script.  If a node has lost the whole definition,
 * the rename is done, with a warning. */
static WAITS int check_script(struct lu *lu, struct error *err)
{
	const json_t *inst = rename_of(lu)->inst;
	const char *os = inst_os(inst);

	if (*os == '\0' || json_array_size(inst_disks(inst)) == 0)
		return 0;
	return inst_check_os_supports(lu, inst_primary_node(inst), os, NULL,
				      "rename", false, err);
}

static WAITS int rename_check(struct lu *lu, struct error *err)
{
	struct rename *r = rename_of(lu);

	if (inst_check_node(lu, inst_primary_node(r->inst), false, err) < 0 ||
	    inst_check_down(lu, r->inst, "cannot rename", err) < 0 ||
	    check_name(lu, err) < 0)
		return -1;
	find_folders(lu);
	return check_script(lu, err);
}

static void rename_env(struct lu *lu, json_t *env)
{
	struct rename *r = rename_of(lu);

	inst_hook_env(lu, r->inst, env);
	json_set_str(env, "INSTANCE_NEW_NAME", r->new_name);
}

static void rename_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	inst_hook_nodes(lu, rename_of(lu)->inst, ret_pre);
	inst_hook_nodes(lu, rename_of(lu)->inst, ret_post);
}

static WAITS int move_folder(struct lu *lu, struct error *err)
{
	struct rename *r = rename_of(lu);
	auto_json json_t *done = NULL;

	if (r->new_folder == NULL)
		return 0;
	done = lu_call(
		lu, inst_primary_node(r->inst),
		rpc_file_storage_dir_rename(r->old_folder, r->new_folder), err);
	/* That it has not, the node alone says. */
	r->moved = done != NULL || err->kind != ERR_EXEC;
	if (done != NULL)
		return 0;
	return error_wrap(err,
			  "Could not rename folder '%s' to '%s' on node %s",
			  r->old_folder, r->new_folder,
			  lu_node_name(lu, inst_primary_node(r->inst)));
}

/* Disks are found in the new folder from now on. */
static void move_disks(struct lu *lu)
{
	struct rename *r = rename_of(lu);
	auto_json json_t *disks = config_instance_disks(lu->m->config, r->inst);
	const json_t *disk;
	size_t i;

	json_array_foreach (disks, i, disk) {
		const json_t *id = disk_logical_id(disk);
		const char *file = json_string_value(json_array_get(id, 1));
		auto_free char *new_file = NULL;
		json_t *changed;

		if (r->new_folder == NULL || file == NULL)
			return;
		new_file = xprintf("%s%s", r->new_folder, strrchr(file, '/'));
		changed = config_edit(disk);
		disk_set_logical_id(
			changed,
			json_make("[O, s]", json_array_get(id, 0), new_file));
		config_put(lu->m->config, CONFIG_DISK, changed);
	}
}

static WAITS int record(struct lu *lu, struct error *err)
{
	struct rename *r = rename_of(lu);
	json_t *changed = config_edit(r->inst);

	inst_set_name(changed, r->new_name);
	move_disks(lu);
	config_put(lu->m->config, CONFIG_INSTANCE, changed);
	return config_commit(lu->m->config, err);
}

/* Storage may keep the name of the instance with a disk. */
static WAITS void tell_storage(struct lu *lu, const json_t *inst,
			       const json_t *disk, size_t i)
{
	auto_free char *info = xprintf("originstname+%s", inst_name(inst));
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, inst_primary_node(inst));
	config_disk_secondaries(disk, inst_primary_node(inst), &nodes);
	for (size_t k = 0; k < nodes.n; k++) {
		struct error err;
		auto_json json_t *done = lu_call(
			lu, nodes.items[k],
			rpc_blockdev_setinfo(json_ref(disk), info), &err);

		if (done == NULL)
			lu_warn(lu,
				"Could not note the new name with disk %zu on "
				"node %s, ignoring: %s",
				i, lu_node_name(lu, nodes.items[k]), err.text);
	}
}

static WAITS void tell_guest(struct lu *lu, const json_t *inst)
{
	struct rename *r = rename_of(lu);
	auto_json json_t *done = NULL;
	struct error err;

	if (*inst_os(inst) == '\0')
		return;
	done = lu_call(lu, inst_primary_node(inst),
		       rpc_instance_run_rename(inst_rpc(lu, inst, NULL, NULL),
					       inst_name(r->inst),
					       lu->common.debug_level),
		       &err);
	if (done == NULL)
		lu_warn(lu,
			"Could not run OS rename script for instance %s on "
			"node %s (but the instance has been renamed): %s",
			inst_name(inst),
			lu_node_name(lu, inst_primary_node(inst)), err.text);
}

/* Tell those who know the old name; a failure does not undo the rename. */
static WAITS void tell_others(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	size_t n = json_array_size(disks);
	struct error err;

	if (n == 0)
		return;
	if (disks_start(lu, inst, NULL, &err) == 0) {
		for (size_t i = 0; i < n; i++)
			tell_storage(lu, inst, json_array_get(disks, i), i);
		tell_guest(lu, inst);
	} else {
		lu_warn(lu,
			"The disks of instance %s cannot be told its new name "
			"(but it has been renamed): %s",
			inst_name(inst), err.text);
	}
	disks_stop(lu, inst, NULL, true, &err);
}

static WAITS json_t *rename_exec(struct lu *lu, struct error *err)
{
	struct rename *r = rename_of(lu);
	const json_t *inst;

	if (move_folder(lu, err) < 0 || record(lu, err) < 0)
		return NULL;
	inst = lu_instance(lu, r->new_name, err);
	if (inst == NULL)
		return NULL;
	tell_others(lu, inst);
	return json_string(r->new_name);
}

/* The folder gets its name back, unless the instance has the new one: a change
 * that could not be written may be in force all the same. */
static WAITS void rename_undo(struct lu *lu)
{
	struct rename *r = rename_of(lu);
	const json_t *now =
		config_find(lu->m->config, CONFIG_INSTANCE, inst_name(r->inst));
	const char *node = inst_primary_node(r->inst);
	struct error err;

	if (!r->moved || now == NULL)
		return;
	if (aftermath_undo(
		    lu, node,
		    rpc_file_storage_dir_rename(r->new_folder, r->old_folder),
		    &err) < 0)
		lu_warn(lu,
			"The disks are in folder '%s' on node %s, rename it "
			"back to '%s': %s",
			r->new_folder, lu_node_name(lu, node), r->old_folder,
			err.text);
}

static void rename_done(struct lu *lu)
{
	free(rename_of(lu)->old_folder);
	free(rename_of(lu)->new_folder);
}

const struct lu_class lu_instance_rename = {
	.op = &op_class_instance_rename,
	.size = sizeof(struct rename),
	.hook_path = "instance-rename",
	.object_type = "INSTANCE",
	.arguments = rename_arguments,
	.expand = rename_expand,
	.check = rename_check,
	.hook_env = rename_env,
	.hook_nodes = rename_nodes,
	.exec = rename_exec,
	.undo = rename_undo,
	.done = rename_done,
};
