/* SPDX-License-Identifier: BSD-2-Clause */
/* The disks of an instance: activated and deactivated without it, grown. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/live_copy.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/resources/resources.h"

struct disks {
	struct lu lu;
	const json_t *inst;
	size_t n; /* disks */

	/* grow */
	const json_t *disk;
	int64_t delta, target;
};

static struct disks *disks_of(struct lu *lu)
{
	return container_of(lu, struct disks, lu);
}

/* The instance and its nodes; the resources too when sizes change. */
static int disks_expand(struct lu *lu, const char *name, bool sizes,
			struct error *err)
{
	struct disks *d = disks_of(lu);
	auto_strv struct strv nodes = {0};

	d->inst = lu_instance(lu, name, err);
	if (d->inst == NULL)
		return -1;
	d->n = json_array_size(inst_disks(d->inst));
	lu_want(lu, LOCK_INSTANCE, inst_name(d->inst), true);
	strv_add(&nodes, inst_primary_node(d->inst));
	config_instance_secondaries(lu->m->config, d->inst, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		lu_want(lu, LOCK_NODE, nodes.items[i], false);
		if (sizes)
			lu_want(lu, LOCK_NODE_RES, nodes.items[i], true);
	}
	return 0;
}

static void disks_nodes(struct lu *lu, struct strv *ret_pre,
			struct strv *ret_post)
{
	inst_hook_nodes(lu, disks_of(lu)->inst, ret_pre);
	inst_hook_nodes(lu, disks_of(lu)->inst, ret_post);
}

/* --- activate --- */

static int activate_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_activate_disks *op = lu->op;

	return disks_expand(lu, op->instance_name, false, err);
}

static int activate_check(struct lu *lu, struct error *err)
{
	return inst_check_node(lu, inst_primary_node(disks_of(lu)->inst), false,
			       err);
}

/* [[node, disk, device], ...] */
static WAITS json_t *assemble(struct lu *lu, struct error *err)
{
	struct disks *d = disks_of(lu);
	auto_json json_t *disks = inst_rpc_disks(lu, d->inst);
	auto_json json_t *owner = inst_rpc(lu, d->inst, NULL, NULL);
	auto_json json_t *result = json_array();
	const char *node = inst_primary_node(d->inst);

	if (disks_connect(lu, d->inst, err) < 0)
		return NULL;
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		auto_json json_t *device =
			lu_call(lu, node,
				rpc_blockdev_assemble(json_ref(disk),
						      json_ref(owner), true, i),
				err);

		if (device == NULL) {
			error_wrap(err, "Cannot activate block devices");
			return NULL;
		}
		json_array_append_new(
			result, json_make("[s, s, O]", lu_node_name(lu, node),
					  disk_iv_name_or(disk, ""),
					  json_array_get(device, 0) != NULL
						  ? json_array_get(device, 0)
						  : device));
	}
	return steal(&result);
}

/* An instance goes on with one side of a mirror.  But whoever activates disks
 * hears of sides that do not find each other, as only somebody who knows what
 * happened can tell which of them is right. */
static WAITS int check_linked(struct lu *lu, struct error *err)
{
	const json_t *inst = disks_of(lu)->inst;
	auto_json json_t *mirrors = disks_mirrors_of(lu, inst);
	auto_free char *primary = xstrdup(inst_primary_node(inst));
	auto_strv struct strv others = {0};
	const char *nodes[2] = {primary};

	config_instance_secondaries(lu->m->config, inst, &others);
	if (json_array_size(mirrors) == 0 || others.n == 0 ||
	    node_offline(
		    config_get(lu->m->config, CONFIG_NODE, others.items[0])))
		return 0;
	nodes[1] = others.items[0];
	if (disks_mirror_check(lu, mirrors, nodes, err) == 0)
		return 0;
	return error_wrap(
		err,
		"The disks of instance %s are active, but a mirror is "
		"not whole",
		inst_name(inst));
}

/* Whether somebody may use the disks who did before this activation.  Where
 * the node does not say what runs, the instance does what it shall do. */
static WAITS bool in_use(struct lu *lu)
{
	const json_t *inst = disks_of(lu)->inst;
	struct error ignored;
	bool running;

	if (inst_disks_active(inst))
		return true;
	if (inst_is_running(lu, inst, NULL, &running, &ignored) < 0)
		return str_eq(inst_admin_state(inst), "up");
	return running;
}

/* As they were before, for who did not use them then. */
static WAITS void inactive_again(struct lu *lu)
{
	const json_t *inst = disks_of(lu)->inst;
	struct error ignored;

	disks_stop(lu, inst, NULL, true, &ignored);
	inst_mark(lu, inst_name(inst), NULL, 0, &ignored);
}

/* Who kills the job does not want to wait, but may use the disks. */
static WAITS int await_sync(struct lu *lu, struct error *err)
{
	const struct op_instance_activate_disks *op = lu->op;

	if (!op->wait_for_sync ||
	    disks_wait_sync(lu, disks_of(lu)->inst, NULL, false, err) == 0)
		return 0;
	if (!lu->run->killed && !in_use(lu))
		inactive_again(lu);
	return -1;
}

static WAITS json_t *activate_exec(struct lu *lu, struct error *err)
{
	const char *name = inst_name(disks_of(lu)->inst);
	auto_json json_t *result = NULL;

	/* Record it first, so that an observer of active disks knows why they
	 * are active. */
	if (inst_mark(lu, name, NULL, 1, err) < 0)
		return NULL;
	result = assemble(lu, err);
	if (result == NULL) {
		if (!in_use(lu))
			inactive_again(lu);
		return NULL;
	}
	/* From here on they stay active: the instance may use some of them. */
	if (live_settle(lu, disks_of(lu)->inst, err) < 0 ||
	    check_linked(lu, err) < 0 || await_sync(lu, err) < 0)
		return NULL;
	return steal(&result);
}

const struct lu_class lu_instance_activate_disks = {
	.op = &op_class_instance_activate_disks,
	.size = sizeof(struct disks),
	.expand = activate_expand,
	.check = activate_check,
	.exec = activate_exec,
};

/* --- deactivate --- */

static int deactivate_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_deactivate_disks *op = lu->op;

	return disks_expand(lu, op->instance_name, false, err);
}

static WAITS int deactivate_check(struct lu *lu, struct error *err)
{
	const struct op_instance_deactivate_disks *op = lu->op;

	if (op->force)
		return 0;
	return inst_check_down(lu, disks_of(lu)->inst, "cannot shutdown disks",
			       err);
}

static WAITS json_t *deactivate_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_deactivate_disks *op = lu->op;
	struct disks *d = disks_of(lu);

	if (disks_stop(lu, d->inst, NULL, op->force, err) < 0 ||
	    inst_mark(lu, inst_name(d->inst), NULL, 0, err) < 0)
		return NULL;
	return json_null();
}

const struct lu_class lu_instance_deactivate_disks = {
	.op = &op_class_instance_deactivate_disks,
	.size = sizeof(struct disks),
	.expand = deactivate_expand,
	.check = deactivate_check,
	.exec = deactivate_exec,
};

/* --- grow --- */

static int grow_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_grow_disk *op = lu->op;

	return disks_expand(lu, op->instance_name, true, err);
}

static int grow_find_disk(struct lu *lu, struct error *err)
{
	const struct op_instance_grow_disk *op = lu->op;
	struct disks *d = disks_of(lu);
	auto_json json_t *disks = config_instance_disks(lu->m->config, d->inst);

	if ((size_t)op->disk >= d->n)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid disk index %jd: instance '%s' has "
				 "%zu disks",
				 (intmax_t)op->disk, inst_name(d->inst), d->n);
	d->disk = lu_keep(lu, json_array_get(disks, (size_t)op->disk));
	return 0;
}

static int grow_compute(struct lu *lu, struct error *err)
{
	const struct op_instance_grow_disk *op = lu->op;
	struct disks *d = disks_of(lu);
	int64_t size = disk_size_mib(d->disk);
	auto_free char *is = disks_size_text(size), *wanted = NULL;

	d->target = op->absolute ? op->amount : size + op->amount;
	d->delta = d->target - size;
	if (d->delta >= 0)
		return 0;
	wanted = disks_size_text(d->target);
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Requested size (%s) is smaller than current disk "
			 "size (%s)",
			 wanted, is);
}

static int grow_check_policy(struct lu *lu, struct error *err)
{
	const struct op_instance_grow_disk *op = lu->op;
	struct disks *d = disks_of(lu);
	const json_t *node = config_get(lu->m->config, CONFIG_NODE,
					inst_primary_node(d->inst));
	const json_t *group =
		config_get(lu->m->config, CONFIG_GROUP, node_group(node));
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(lu->m->config), group);
	auto_strv struct strv sentences = {0};
	auto_free char *text = NULL;

	group_violations_with_disk(lu, d->inst, policy, (size_t)op->disk,
				   d->target, &sentences);
	if (sentences.n == 0)
		return 0;
	text = strv_join(&sentences, ", ");
	if (op->ignore_ipolicy) {
		lu_warn(lu, "%s", text);
		return 0;
	}
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Growing disk %jd violates the policy of group %s: %s",
			 (intmax_t)op->disk, group_name(group), text);
}

static WAITS int grow_check(struct lu *lu, struct error *err)
{
	struct disks *d = disks_of(lu);
	auto_strv struct strv nodes = {0};

	if (inst_check_node(lu, inst_primary_node(d->inst), false, err) < 0 ||
	    grow_find_disk(lu, err) < 0 || grow_compute(lu, err) < 0 ||
	    grow_check_policy(lu, err) < 0)
		return -1;
	strv_add(&nodes, inst_primary_node(d->inst));
	config_disk_secondaries(d->disk, inst_primary_node(d->inst), &nodes);
	return lu_check_spaces(lu, &nodes, disk_dev_type(d->disk), d->delta,
			       err);
}

static void grow_env(struct lu *lu, json_t *env)
{
	const struct op_instance_grow_disk *op = lu->op;

	inst_hook_env(lu, disks_of(lu)->inst, env);
	json_object_set_new(env, "DISK", json_integer(op->disk));
	json_object_set_new(env, "AMOUNT", json_integer(op->amount));
	json_set_str(env, "ABSOLUTE", op->absolute ? "True" : "False");
}

static bool is_exclusive(const struct lu *lu, const char *node_uuid)
{
	return resources_exclusive(
		lu->m->config,
		config_get(lu->m->config, CONFIG_NODE, node_uuid));
}

/* The devices that hold the data, or those above them. */
static WAITS int grow_round(struct lu *lu, bool dry_run, bool backing,
			    struct error *err)
{
	struct disks *d = disks_of(lu);
	auto_json json_t *disk = inst_rpc_disk(lu, d->inst, d->disk);
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, inst_primary_node(d->inst));
	if (backing)
		config_disk_secondaries(disk, inst_primary_node(d->inst),
					&nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		auto_json json_t *done = lu_call(
			lu, nodes.items[i],
			rpc_blockdev_grow(json_ref(disk), d->delta, dry_run,
					  backing,
					  is_exclusive(lu, nodes.items[i])),
			err);

		if (done == NULL)
			return error_wrap(err, "Disk grow request failed");
	}
	return 0;
}

static WAITS int grow_record(struct lu *lu, struct error *err)
{
	struct disks *d = disks_of(lu);
	json_t *changed = config_edit(d->disk);

	disks_set_size(changed, d->target);
	config_put(lu->m->config, CONFIG_DISK, changed);
	return config_commit(lu->m->config, err);
}

/* The size is recorded between storage and mirror: a mirror is started with
 * the size that is recorded, and one that is larger already is cut off. */
static WAITS int grow_on_nodes(struct lu *lu, int64_t *ret_wipe_mib,
			       struct error *err)
{
	const struct op_instance_grow_disk *op = lu->op;
	struct disks *d = disks_of(lu);

	if (grow_round(lu, true, true, err) < 0 ||
	    grow_round(lu, true, false, err) < 0 ||
	    disks_wipe_begin(lu, d->inst, d->disk, (size_t)op->disk,
			     ret_wipe_mib, err) < 0 ||
	    grow_round(lu, false, true, err) < 0 || grow_record(lu, err) < 0)
		return -1;
	if (grow_round(lu, false, false, err) == 0)
		return 0;
	return error_wrap(err,
			  "The storage of disk %jd of instance '%s' has grown, "
			  "the rest has to follow (gnt-instance grow-disk "
			  "--absolute %s %jd %jdm)",
			  (intmax_t)op->disk, inst_name(d->inst),
			  inst_name(d->inst), (intmax_t)op->disk,
			  (intmax_t)d->target);
}

static WAITS json_t *grow_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_grow_disk *op = lu->op;
	struct disks *d = disks_of(lu);
	bool was_active = inst_disks_active(d->inst);
	int64_t wipe_mib;
	auto_free char *more = disks_size_text(d->delta);
	auto_free char *all = disks_size_text(d->target);
	struct error ignored;

	if (disks_start(lu, d->inst, NULL, err) < 0)
		return NULL;
	lu_feedback(lu, "Growing disk %jd of instance '%s' by %s to %s",
		    (intmax_t)op->disk, inst_name(d->inst), more, all);
	if (grow_on_nodes(lu, &wipe_mib, err) < 0)
		return NULL;
	lu_release(lu, LOCK_NODE_RES);
	/* What is left takes long; the disks stay locked. */
	lu_share(lu, LOCK_INSTANCE);
	d->disk = config_get(lu->m->config, CONFIG_DISK, disk_uuid(d->disk));
	if (disks_wipe_one(lu, d->inst, lu_keep(lu, d->disk), (size_t)op->disk,
			   wipe_mib, err) < 0)
		return NULL;
	if (op->wait_for_sync &&
	    disks_wait_sync(lu, d->inst, NULL, false, err) < 0)
		return NULL;
	if (!was_active && op->wait_for_sync)
		disks_stop(lu, d->inst, NULL, true, &ignored);
	else if (!was_active)
		lu_warn(lu, "Not shutting down the disk even if the instance "
			    "is not supposed to be running because no wait "
			    "for sync mode was requested");
	return json_null();
}

const struct lu_class lu_instance_grow_disk = {
	.op = &op_class_instance_grow_disk,
	.size = sizeof(struct disks),
	.hook_path = "disk-grow",
	.object_type = "INSTANCE",
	.expand = grow_expand,
	.check = grow_check,
	.hook_env = grow_env,
	.hook_nodes = disks_nodes,
	.exec = grow_exec,
};
