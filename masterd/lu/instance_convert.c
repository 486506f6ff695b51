/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/lu/instance_convert.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/params.h"
#include "masterd/aftermath.h"
#include "masterd/lu/instance_modify.h"
#include "masterd/lu_instance.h"
#include "masterd/lu_resources.h"
#include "masterd/resources.h"
#include "masterd/transfer.h"

/* --- check --- */

static int check_pair(const char *old, const char *new, struct error *err)
{
	if (strcmp(old, "diskless") == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Conversion from the '%s' disk template is "
				 "not supported",
				 old);
	if (strcmp(new, "diskless") == 0 || strcmp(new, "blockdev") == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Conversion to the '%s' disk template is not "
				 "supported",
				 new);
	if (strcmp(old, new) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance already has disk template %s", new);
	return 0;
}

/* Enabled on the cluster, and allowed by the policy of the node's group. */
static int check_allowed(struct lu *lu, const json_t *inst,
			 const char *template, struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary(inst));
	const json_t *group = config_get(lu->m->config, CONFIG_GROUP,
					 json_str(node, "group", ""));
	auto_json json_t *policy = params_fill_ipolicy(cluster, group);

	if (!json_array_has_str(json_get(cluster, "enabled_disk_templates"),
				template))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Disk template '%s' is not enabled on this "
				 "cluster (gnt-cluster modify "
				 "--enabled-disk-templates)",
				 template);
	if (json_array_has_str(json_get(policy, "disk-templates"), template))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Disk template '%s' is not allowed by the policy of "
			 "group %s",
			 template, json_str(group, "name", ""));
}

WAITS int convert_check(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, struct error *err)
{
	auto_json json_t *disks = NULL;

	if (op->disk_template == NULL)
		return 0;
	if (json_array_size(op->disks) > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk template conversion and other disk "
				 "changes not supported at the same time");
	if (check_pair(config_instance_template(lu->m->config, inst),
		       op->disk_template, err) < 0 ||
	    check_allowed(lu, inst, op->disk_template, err) < 0 ||
	    inst_check_down(lu, inst, "cannot change disk template", err) < 0)
		return -1;
	disks = config_instance_disks(lu->m->config, inst);
	return lu_check_space(lu, inst_primary(inst), op->disk_template,
			      resources_disk_sum(disks, op->disk_template),
			      err);
}

/* --- exec --- */

/* What a new disk shall have of the old one. */
static json_t *wanted_as(const json_t *old)
{
	static const char *const keys[] = {"size", "mode", "name"};
	json_t *wanted = json_object();

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (json_get(old, keys[i]) != NULL)
			json_object_set(wanted, keys[i],
					json_object_get(old, keys[i]));
	return wanted;
}

/* The disks there will be, as large as those there are. */
static json_t *plan_disks(struct lu *lu,
			  const struct op_instance_set_params *op,
			  const json_t *inst, const json_t *old,
			  struct error *err)
{
	auto_free char *folder = inst_file_dir(
		lu, inst_name(inst), op->disk_template, op->file_storage_dir);
	const struct new_disk new = {.template = op->disk_template,
				     .folder = folder,
				     .driver = op->file_driver,
				     .instance = json_str(inst, "uuid", ""),
				     .primary = inst_primary(inst)};
	auto_json json_t *disks = json_array();

	for (size_t i = 0; i < json_array_size(old); i++) {
		auto_json json_t *wanted = wanted_as(json_array_get(old, i));
		json_t *disk = inst_new_disk(lu, &new, wanted, i, err);

		if (disk == NULL)
			return NULL;
		json_array_append_new(disks, disk);
	}
	return steal(&disks);
}

/* The first n of the new disks go again. */
static WAITS void drop_new(struct lu *lu, const json_t *inst,
			   const json_t *disks, size_t n)
{
	auto_json json_t *made = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(made,
				      inst_rpc_disk(json_array_get(disks, i)));
	for (size_t i = 0; i < n && lu->run->killed; i++)
		aftermath_call(lu->m, inst_primary(inst), "blockdev_remove",
			       json_make("[O]", json_array_get(made, i)));
	if (n > 0 && !lu->run->killed)
		inst_remove_disks_on(lu, made, inst_primary(inst));
}

static WAITS int make_all(struct lu *lu, const json_t *inst,
			  const json_t *disks, struct error *err)
{
	for (size_t i = 0; i < json_array_size(disks); i++)
		if (inst_create_disk(lu, inst, json_array_get(disks, i), i,
				     err) < 0) {
			drop_new(lu, inst, disks, i);
			return -1;
		}
	return 0;
}

static WAITS int copy_one(struct lu *lu, const json_t *carried, size_t i,
			  const json_t *new, struct error *err)
{
	const json_t *old = json_array_get(json_get(carried, "disks_info"), i);
	auto_json json_t *target = inst_rpc_disk(new);
	auto_json json_t *from = transfer_raw(old), *to = transfer_raw(target);
	const char *node = json_str(carried, "primary_node", "");
	struct transfer t = {
		.index = i,
		.inst = carried,
		.source = node,
		.target = node,
		.from = from,
		.to = to,
		.compress = "none",
	};

	lu_feedback(lu, " - copying data from disk %zu (%s), size %jdM", i,
		    json_str(old, "dev_type", ""),
		    (intmax_t)json_int(old, "size", 0));
	return transfer_run(lu, &t, err);
}

static WAITS int copy_all(struct lu *lu, const json_t *inst,
			  const json_t *disks, struct error *err)
{
	auto_json json_t *carried = inst_rpc(lu, inst, NULL, NULL);

	for (size_t i = 0; i < json_array_size(disks); i++)
		if (copy_one(lu, carried, i, json_array_get(disks, i), err) < 0)
			return error_wrap(err, "Error while converting the "
					       "instance's template");
	return lu_check_killed(lu, err);
}

/* From here on the new disks are the instance's. */
static WAITS int record(struct lu *lu, const json_t *inst, const json_t *disks,
			const json_t *old, struct error *err)
{
	json_t *changed = config_edit(config_get(lu->m->config, CONFIG_INSTANCE,
						 json_str(inst, "uuid", "")));
	json_t *uuids = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk =
			config_put(lu->m->config, CONFIG_DISK,
				   json_deep_copy(json_array_get(disks, i)));

		json_array_append(uuids, json_object_get(disk, "uuid"));
	}
	json_object_set_new(changed, "disks", uuids);
	config_put(lu->m->config, CONFIG_INSTANCE, changed);
	for (size_t i = 0; i < json_array_size(old); i++)
		config_remove(lu->m->config, CONFIG_DISK,
			      json_str(json_array_get(old, i), "uuid", ""));
	return config_commit(lu->m->config, err);
}

WAITS int convert_disks(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, json_t *rows, struct error *err)
{
	const char *to = op->disk_template;
	auto_json json_t *old = NULL, *disks = NULL, *old_carried = NULL;

	if (to == NULL)
		return 0;
	old = config_instance_disks(lu->m->config, inst);
	old_carried = inst_rpc_disks(lu, inst);
	disks = plan_disks(lu, op, inst, old, err);
	if (disks == NULL)
		return -1;
	lu_feedback(lu, "Converting disk template from '%s' to '%s'",
		    config_instance_template(lu->m->config, inst), to);
	lu_feedback(lu, "Creating new empty disks of type '%s'...", to);
	if (make_all(lu, inst, disks, err) < 0)
		return -1;
	lu_feedback(lu, "Populating the new empty disks of type '%s'...", to);
	if (copy_all(lu, inst, disks, err) < 0) {
		drop_new(lu, inst, disks, json_array_size(disks));
		return -1;
	}
	if (record(lu, inst, disks, old, err) < 0)
		return -1;
	lu_feedback(lu, "Removing old block devices...");
	inst_remove_disks_on(lu, old_carried, inst_primary(inst));
	modify_row(rows, json_string(to), "disk_template");
	return 0;
}
