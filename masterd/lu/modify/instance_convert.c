/* SPDX-License-Identifier: BSD-2-Clause */
/* Converting disks, in one of three ways: volumes become mirrors, mirrors
 * become volumes (both keep the data volumes and are in another file), and
 * everything else by a copy.  A copy makes all new disks, copies the data,
 * records the new disks, and only then removes the old ones. */
#include "masterd/lu/modify/instance_convert.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/lu/disks/live_copy.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/disks/transfer.h"
#include "masterd/lu/modify/instance_convert_private.h"
#include "masterd/lu/modify/instance_modify.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/lu/parts/plan.h"
#include "masterd/resources/resources.h"

/* --- check --- */

static int check_pair(const char *old, const char *new, struct error *err)
{
	const struct template_info *from = template_get(old);
	const struct template_info *to = template_get(new);

	if (from->no_disks)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Conversion from the '%s' disk template is "
				 "not supported",
				 old);
	if (to->no_disks || to->adopts == ADOPTS_ALWAYS)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Conversion to the '%s' disk template is not "
				 "supported",
				 new);
	if (strcmp(old, new) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance already has disk template %s", new);
	return 0;
}

/* The template has to be enabled on the cluster, and allowed by the policy of
 * the node's group. */
static int check_allowed(struct lu *lu, const json_t *inst,
			 const char *template, struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary_node(inst));
	const json_t *group =
		config_get(lu->m->config, CONFIG_GROUP, node_group(node));
	auto_json json_t *policy = params_fill_ipolicy(cluster, group);

	if (!json_array_has_str(cluster_enabled_disk_templates(cluster),
				template))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Disk template '%s' is not enabled on this "
				 "cluster (gnt-cluster modify "
				 "--enabled-disk-templates)",
				 template);
	if (json_array_has_str(ipolicy_disk_templates(policy), template))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Disk template '%s' is not allowed by the policy of "
			 "group %s",
			 template, group_name(group));
}

static bool is_mirrored(const char *template)
{
	return template_is_pair(template);
}

/* Whether the disks of the first are made of disks of the other. */
static bool is_made_of(const char *mirror, const char *volumes)
{
	return str_eq(template_get(mirror)->below, volumes);
}

static const json_t *cluster_of(struct lu *lu)
{
	return config_cluster(lu->m->config);
}

/* --- expand --- */

/* A secondary that is not chosen yet may be any node of the primary's group. */
static void want_group(struct lu *lu, const json_t *inst)
{
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary_node(inst));
	auto_strv struct strv nodes = {0};

	config_group_nodes(lu->m->config, node_group(node), &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		lu_want(lu, LOCK_NODE_RES, nodes.items[i], true);
}

int convert_expand(struct lu *lu, const struct op_instance_set_params *op,
		   const json_t *inst, struct error *err)
{
	const char *iallocator;
	auto_strv struct strv secondaries = {0};
	const json_t *node;

	if (op->disk_template == NULL)
		return 0;
	config_instance_secondaries(lu->m->config, inst, &secondaries);
	for (size_t i = 0; i < secondaries.n; i++)
		lu_want(lu, LOCK_NODE_RES, secondaries.items[i], true);
	if (!is_mirrored(op->disk_template))
		return 0;
	if (plan_choose(lu, op->remote_node, op->iallocator, &iallocator, err) <
	    0)
		return -1;
	if (op->remote_node == NULL) {
		want_group(lu, inst);
		return 0;
	}
	node = lu_node(lu, op->remote_node, err);
	if (node == NULL)
		return -1;
	lu_want(lu, LOCK_NODE_RES, node_uuid(node), true);
	return 0;
}

/* --- check --- */

static WAITS int check_remote(struct lu *lu, const json_t *inst,
			      const char *node, const char *template,
			      const json_t *disks, struct error *err)
{
	if (strcmp(node, inst_primary_node(inst)) == 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Given new secondary node %s is the same as "
				 "the primary node of the instance",
				 lu_node_name(lu, node));
	if (inst_check_node(lu, node, true, err) < 0)
		return -1;
	return lu_check_space(lu, node, template,
			      resources_disk_sum(disks, template), err);
}

static int check_ext(const struct op_instance_set_params *op, struct error *err)
{
	bool ext = template_get(op->disk_template)->provider;

	if (ext && json_str(op->ext_params, "provider", NULL) == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Missing required parameter 'provider' when "
				 "converting to an ExtStorage disk template");
	if (!ext && json_object_size(op->ext_params) > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Parameters of an ExtStorage provider need "
				 "the disk template ext");
	return 0;
}

static int check_lvm(struct lu *lu, const char *template, struct error *err)
{
	if (!template_is_on_volumes(template) ||
	    *cluster_volume_group_name(cluster_of(lu)) != '\0')
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Disk template conversions to lvm-based instances are "
			 "not supported by the cluster");
}

/* What has whole physical volumes for itself can only become that again. */
static int check_exclusive(struct lu *lu, const json_t *inst,
			   const char *template, struct error *err)
{
	if (template_get(template)->exclusive || !disks_exclusive(lu, inst))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Cannot convert disk template from %s to %s when "
			 "exclusive storage is enabled",
			 config_instance_template(lu->m->config, inst),
			 template);
}

static WAITS int check_room(struct lu *lu,
			    const struct op_instance_set_params *op,
			    const json_t *inst, bool live, struct error *err)
{
	const char *from = config_instance_template(lu->m->config, inst);
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	/* These two take over the volumes that there are. */
	bool in_place = !live && (is_made_of(from, op->disk_template) ||
				  is_made_of(op->disk_template, from));
	const char *secondary;

	if (!in_place &&
	    lu_check_space(lu, inst_primary_node(inst), op->disk_template,
			   resources_disk_sum(disks, op->disk_template),
			   err) < 0)
		return -1;
	if (!is_mirrored(op->disk_template) || op->remote_node == NULL)
		return 0;
	secondary = node_uuid(lu_node(lu, op->remote_node, err));
	if (check_remote(lu, inst, secondary, op->disk_template, disks, err) <
	    0)
		return -1;
	inst_warn_of_split(lu, inst_primary_node(inst), secondary);
	return 0;
}

WAITS int convert_check(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, struct error *err)
{
	bool live = false;

	if (op->disk_template == NULL)
		return 0;
	if (json_array_size(op->disks) > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk template conversion and other disk "
				 "changes not supported at the same time");
	if (!is_mirrored(op->disk_template) && op->remote_node != NULL)
		lu_warn(lu, "Changing the disk template to a non-mirrored one, "
			    "the secondary node will be ignored");
	if (check_pair(config_instance_template(lu->m->config, inst),
		       op->disk_template, err) < 0 ||
	    check_allowed(lu, inst, op->disk_template, err) < 0 ||
	    check_lvm(lu, op->disk_template, err) < 0 ||
	    check_exclusive(lu, inst, op->disk_template, err) < 0 ||
	    check_ext(op, err) < 0 || live_copy_can(lu, inst, &live, err) < 0)
		return -1;
	if (!live &&
	    inst_check_down(lu, inst, "cannot change disk template", err) < 0)
		return -1;
	return check_room(lu, op, inst, live, err);
}

/* --- exec --- */

static WAITS int choose_secondary(struct lu *lu, struct conversion *c,
				  struct error *err)
{
	const char *iallocator = plan_iallocator(lu, c->op->iallocator);
	auto_json json_t *answer = NULL;
	const json_t *node = NULL;

	if (c->op->remote_node != NULL) {
		node = lu_node(lu, c->op->remote_node, err);
		c->secondary = node_uuid_or(node, NULL);
		return node == NULL ? -1 : 0;
	}
	lu_feedback(lu, "Using %s to choose new secondary", iallocator);
	answer = lu_allocator(lu, iallocator_allocate_secondary(c->inst),
			      (struct iallocator_how){.name = iallocator,
						      .disk_template = c->to},
			      err);
	if (answer == NULL)
		return error_wrap(err,
				  "Can't find secondary node using "
				  "iallocator %s",
				  iallocator);
	node = lu_node(lu,
		       json_is_string(answer)
			       ? json_string_value(answer)
			       : json_string_value(json_array_get(answer, 0)),
		       err);
	if (node == NULL)
		return -1;
	c->secondary = node_uuid(node);
	lu_feedback(lu, "%s choose %s as new secondary", iallocator,
		    node_name(node));
	return check_remote(lu, c->inst, c->secondary, c->to, c->old, err);
}

/* The properties of a new disk: those of the old one, and those asked for. */
static json_t *wanted_as(const json_t *old, int64_t size_mib,
			 const json_t *ext_params)
{
	static const char *const keys[] = {"mode", "name", "spindles"};
	json_t *wanted = json_overlay(ext_params, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_get(old, keys[i]) != NULL)
			json_object_set(wanted, keys[i],
					json_object_get(old, keys[i]));
	json_set_int(wanted, "size", size_mib);
	/* A volume gets another name, never another group. */
	if (template_is_volume(disk_dev_type(old)))
		json_object_set(wanted, "vg",
				json_array_get(disk_logical_id(old), 0));
	return wanted;
}

static json_t *plan_disk(struct lu *lu, const struct conversion *c, size_t i,
			 int64_t size_mib, struct error *err)
{
	const json_t *old = json_array_get(c->old, i);
	auto_free char *folder = disks_file_dir(lu, inst_name(c->inst), c->to,
						c->op->file_storage_dir);
	auto_json json_t *wanted = wanted_as(old, size_mib, c->op->ext_params);
	const struct new_disk new = {
		.template = c->to,
		.folder = folder,
		.driver = c->op->file_driver,
		.instance = inst_uuid(c->inst),
		.hypervisor = inst_hypervisor(c->inst),
		.primary = inst_primary_node(c->inst),
		.secondary = c->secondary,
	};

	return is_made_of(c->from, c->to) && !c->live
		       ? convert_data_of(c, old)
		       : disks_new(lu, &new, wanted, i, err);
}

/* A hypervisor knows its devices by the UUIDs of their disks. */
static void keep_uuid(const json_t *old, json_t *new)
{
	auto_free char *uuid = xstrdup(disk_uuid(old));

	disk_set_uuid(new, uuid);
}

/* What the data of an old disk are read from. */
static const json_t *source_of(const struct conversion *c, size_t i)
{
	const json_t *old = json_array_get(c->old, i);

	return is_mirrored(c->from) && !c->live
		       ? json_array_get(disk_children(old), 0)
		       : old;
}

/* The new disks, as large as the old ones really are. */
static WAITS int plan_disks(struct lu *lu, struct conversion *c,
			    struct error *err)
{
	auto_json json_t *sources = json_array(), *sizes = NULL;

	for (size_t i = 0; i < json_array_size(c->old); i++)
		json_array_append_new(
			sources, inst_rpc_disk(lu, c->inst, source_of(c, i)));
	sizes = disks_real_sizes(lu, inst_primary_node(c->inst), sources);
	c->disks = json_array();
	for (size_t i = 0; i < json_array_size(c->old); i++) {
		int64_t size = json_integer_value(json_array_get(sizes, i));
		json_t *disk = plan_disk(lu, c, i, size, err);

		if (disk == NULL)
			return -1;
		if (c->live)
			keep_uuid(json_array_get(c->old, i), disk);
		else if (is_made_of(c->to, c->from))
			convert_keep_name(json_array_get(c->old, i), disk);
		json_array_append_new(c->disks, disk);
	}
	return 0;
}

/* Undo: remove the first n new disks. */
static WAITS void drop_new(struct lu *lu, const struct conversion *c, size_t n)
{
	auto_json json_t *made = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			made, inst_rpc_disk(lu, c->inst,
					    json_array_get(c->disks, i)));
	for (size_t i = 0; i < n && lu->run->killed; i++)
		disks_remove_one(lu, c->inst, json_array_get(c->disks, i), i);
	if (n > 0 && !lu->run->killed)
		disks_remove_on(lu, made, inst_primary_node(c->inst));
}

static WAITS int make_all(struct lu *lu, const struct conversion *c,
			  struct error *err)
{
	for (size_t i = 0; i < json_array_size(c->disks); i++)
		if (disks_create_one(lu, c->inst, json_array_get(c->disks, i),
				     i, err) < 0) {
			drop_new(lu, c, i);
			return -1;
		}
	return 0;
}

static WAITS int copy_one(struct lu *lu, const struct conversion *c,
			  const json_t *carried, size_t i, struct error *err)
{
	const json_t *old = json_array_get(c->old, i);
	auto_json json_t *source = inst_rpc_disk(lu, c->inst, source_of(c, i));
	auto_json json_t *target =
		inst_rpc_disk(lu, c->inst, json_array_get(c->disks, i));
	auto_json json_t *from = transfer_raw(source);
	auto_json json_t *to = transfer_raw(target);
	const char *node = inst_primary_node(carried);
	struct transfer t = {
		.index = i,
		.inst = carried,
		.source = node,
		.target = node,
		.from = from,
		.to = to,
		.compress = "none",
		.bandwidth_mib = c->op->bandwidth_limit,
	};

	lu_feedback(lu, " - copying data from disk %zu (%s), size %jdM", i,
		    disk_dev_type(old), (intmax_t)disk_size_mib(old));
	return transfer_run(lu, &t, err);
}

static WAITS int copy_all(struct lu *lu, const struct conversion *c,
			  struct error *err)
{
	auto_json json_t *carried = inst_rpc(lu, c->inst, NULL, NULL);

	for (size_t i = 0; i < json_array_size(c->disks); i++)
		if (copy_one(lu, c, carried, i, err) < 0)
			return error_wrap(err, "Error while converting the "
					       "instance's template");
	return lu_check_killed(lu, err);
}

WAITS int convert_record(struct lu *lu, const struct conversion *c,
			 struct error *err)
{
	struct config *config = lu->m->config;
	json_t *changed = config_edit(
		config_get(config, CONFIG_INSTANCE, inst_uuid(c->inst)));
	json_t *uuids = json_array();

	for (size_t i = 0; i < json_array_size(c->old); i++)
		config_remove(config, CONFIG_DISK,
			      disk_uuid(json_array_get(c->old, i)));
	for (size_t i = 0; i < json_array_size(c->disks); i++) {
		const json_t *disk =
			config_put(config, CONFIG_DISK,
				   json_deep_copy(json_array_get(c->disks, i)));

		json_array_append_new(uuids, json_string(disk_uuid(disk)));
	}
	inst_set_disks(changed, uuids);
	config_put(config, CONFIG_INSTANCE, changed);
	return config_commit(config, err);
}

bool convert_is_undone(struct lu *lu, const struct conversion *c)
{
	const json_t *old = json_array_get(c->old, 0), *now;

	if (old == NULL)
		return true;
	now = config_get(lu->m->config, CONFIG_DISK, disk_uuid(old));
	/* One that was copied while it ran keeps its UUID. */
	return now != NULL &&
	       json_equal(disk_logical_id(now), disk_logical_id(old));
}

WAITS void convert_remove_old(struct lu *lu, const struct conversion *c,
			      const json_t *old)
{
	lu_feedback(lu, "Removing old block devices...");
	disks_remove_on(lu, old, inst_primary_node(c->inst));
	for (size_t i = 0; i < json_array_size(c->old) && lu->run->killed; i++)
		disks_remove_one(lu, c->inst, json_array_get(c->old, i), i);
}

WAITS int convert_wait(struct lu *lu, const struct conversion *c,
		       struct error *err)
{
	auto_json json_t *carried = json_array();

	for (size_t i = 0; i < json_array_size(c->disks); i++)
		json_array_append_new(
			carried, inst_rpc_disk(lu, c->inst,
					       json_array_get(c->disks, i)));
	return disks_wait_sync(lu, c->inst, carried, !c->op->wait_for_sync,
			       err);
}

/* --- while it runs --- */

static WAITS int convert_running(struct lu *lu, const struct conversion *c,
				 struct error *err)
{
	bool used = false;

	if (live_settle(lu, c->inst, err) < 0)
		return -1;
	lu_feedback(lu, "Creating new empty disks of type '%s'...", c->to);
	if (make_all(lu, c, err) < 0)
		return -1;
	if (convert_live(lu, c, &used, err) < 0) {
		if (!used)
			drop_new(lu, c, json_array_size(c->disks));
		return -1;
	}
	return is_mirrored(c->to) ? convert_wait(lu, c, err) : 0;
}

/* --- with a copy --- */

static WAITS int convert_by_copy(struct lu *lu, const struct conversion *c,
				 struct error *err)
{
	auto_json json_t *old_carried = inst_rpc_disks(lu, c->inst);

	lu_feedback(lu, "Creating new empty disks of type '%s'...", c->to);
	if (make_all(lu, c, err) < 0)
		return -1;
	lu_feedback(lu, "Populating the new empty disks of type '%s'...",
		    c->to);
	if (copy_all(lu, c, err) < 0) {
		drop_new(lu, c, json_array_size(c->disks));
		return -1;
	}
	if (convert_record(lu, c, err) < 0) {
		if (convert_is_undone(lu, c))
			drop_new(lu, c, json_array_size(c->disks));
		return -1;
	}
	/* All data are on the primary's side of new mirrors. */
	convert_remove_old(lu, c, old_carried);
	return is_mirrored(c->to) ? convert_wait(lu, c, err) : 0;
}

/* --- all ways --- */

/* What is taken of a mirror is its volume on the primary, and that may be the
 * side without the newest data: then the instance was served by the other one.
 */
static WAITS int check_data(struct lu *lu, const struct conversion *c,
			    struct error *err)
{
	struct error ignored;
	int rc;

	if (!is_mirrored(c->from) || c->live)
		return 0;
	rc = disks_start(lu, c->inst, NULL, err);
	if (rc == 0)
		rc = disks_mirror_check_primary(lu, c->inst, err);
	if (!inst_disks_active(c->inst) && !lu->run->killed)
		disks_stop(lu, c->inst, NULL, true, &ignored);
	return rc;
}

static WAITS int convert(struct lu *lu, struct conversion *c, struct error *err)
{
	lu_feedback(lu, "Converting disk template from '%s' to '%s'", c->from,
		    c->to);
	if (check_data(lu, c, err) < 0 ||
	    (is_mirrored(c->to) && choose_secondary(lu, c, err) < 0) ||
	    plan_disks(lu, c, err) < 0)
		return -1;
	if (c->live)
		return convert_running(lu, c, err);
	if (is_made_of(c->to, c->from))
		return convert_mirror_volumes(lu, c, err);
	if (is_made_of(c->from, c->to))
		return convert_take_data(lu, c, err);
	return convert_by_copy(lu, c, err);
}

WAITS int convert_disks(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, json_t *rows, struct error *err)
{
	struct conversion c = {.op = op, .inst = inst, .to = op->disk_template};
	int rc;

	if (c.to == NULL)
		return 0;
	c.from = lu_keep_str(
		lu, xstrdup(config_instance_template(lu->m->config, inst)));
	if (live_copy_can(lu, inst, &c.live, err) < 0)
		return -1;
	c.old = config_instance_disks(lu->m->config, inst);
	rc = convert(lu, &c, err);
	json_decref(c.old);
	json_decref(c.disks);
	if (rc == 0)
		modify_row(rows, json_string(c.to), "disk_template");
	return rc;
}
