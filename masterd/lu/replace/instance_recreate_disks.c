/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_RECREATE_DISKS: lost disks are made anew, empty, on the nodes of
 * the instance or on others.  A device that exists already is left alone, as it
 * holds somebody's data. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/plan.h"
#include "masterd/resources/resources.h"

struct recreate {
	struct lu lu;
	const json_t *inst;
	const char *iallocator; /* NULL: the nodes are given, or stay */
	struct strv nodes;	/* UUIDs of other nodes; none: they stay */
	size_t n;		/* disks */
	bool *wanted;		/* a flag for each */
	const json_t **changes; /* parameters of each, or NULL */
};

static struct recreate *recreate_of(struct lu *lu)
{
	return container_of(lu, struct recreate, lu);
}

/* --- expand --- */

static void want_node(struct lu *lu, const char *uuid)
{
	lu_want(lu, LOCK_NODE, uuid, false);
	lu_want(lu, LOCK_NODE_RES, uuid, true);
}

/* An allocator may choose any node of the group. */
static void want_group(struct lu *lu)
{
	struct config *c = lu->m->config;
	const json_t *node = config_get(
		c, CONFIG_NODE, inst_primary_node(recreate_of(lu)->inst));
	auto_strv struct strv members = {0};

	config_group_nodes(c, node_group(node), &members);
	for (size_t i = 0; i < members.n; i++)
		want_node(lu, members.items[i]);
}

static void want_own(struct lu *lu)
{
	const json_t *inst = recreate_of(lu)->inst;
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, inst_primary_node(inst));
	config_instance_secondaries(lu->m->config, inst, &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		want_node(lu, nodes.items[i]);
}

static int want_given(struct lu *lu, const json_t *names, struct error *err)
{
	struct recreate *r = recreate_of(lu);

	for (size_t i = 0; i < json_array_size(names); i++) {
		const json_t *node = lu_node(
			lu, json_string_value(json_array_get(names, i)), err);

		if (node == NULL)
			return -1;
		strv_add(&r->nodes, node_uuid(node));
		want_node(lu, node_uuid(node));
	}
	return 0;
}

static int recreate_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_recreate_disks *op = lu->op;
	struct recreate *r = recreate_of(lu);

	strv_done(&r->nodes);
	r->inst = lu_instance(lu, op->instance_name, err);
	if (r->inst == NULL)
		return -1;
	if (op->iallocator != NULL && json_array_size(op->nodes) > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Do not specify both, iallocator and node");
	r->n = json_array_size(inst_disks(r->inst));
	r->iallocator = op->iallocator == NULL
				? NULL
				: plan_iallocator(lu, op->iallocator);
	if (op->iallocator != NULL && r->iallocator == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The cluster has no default iallocator; name "
				 "one, or a node");
	lu_want(lu, LOCK_INSTANCE, inst_name(r->inst), true);
	if (r->iallocator != NULL)
		want_group(lu);
	else if (json_array_size(op->nodes) == 0)
		want_own(lu);
	return want_given(lu, op->nodes, err);
}

/* --- check --- */

static int check_changes(json_int_t index, const json_t *given,
			 struct error *err)
{
	static const char *const known[] = {"size", "mode", "spindles"};
	const char *key, *mode = json_str(given, "mode", "rw");
	json_t *value;

	json_object_foreach (json_unconst(given), key, value) {
		size_t k = 0;

		while (k < 3 && strcmp(known[k], key) != 0)
			k++;
		if (k == 3)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Parameters for disk %jd try to "
					 "change unmodifyable parameter(s): %s",
					 (intmax_t)index, key);
		if (k != 1 &&
		    (!json_is_integer(value) || json_integer_value(value) <= 0))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Disk %jd: invalid %s",
					 (intmax_t)index, key);
	}
	if (strcmp(mode, "rw") == 0 || strcmp(mode, "ro") == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Disk %jd: invalid access mode '%s', must be rw or ro",
			 (intmax_t)index, mode);
}

/* An element is an index, or [index, {parameters}]. */
static int choose_one(struct recreate *r, json_t *entry, struct error *err)
{
	bool plain = json_is_integer(entry);
	json_int_t index =
		json_integer_value(plain ? entry : json_array_get(entry, 0));
	const json_t *given = plain ? NULL : json_array_get(entry, 1);

	if (index < 0 || (size_t)index >= r->n)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid disk index '%jd': instance %s has "
				 "%zu disks",
				 (intmax_t)index, inst_name(r->inst), r->n);
	if (r->wanted[index] && !plain)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Some disks have been specified more than "
				 "once: %jd",
				 (intmax_t)index);
	r->wanted[index] = true;
	r->changes[index] = given;
	return check_changes(index, given, err);
}

static int choose(struct lu *lu, struct error *err)
{
	const struct op_instance_recreate_disks *op = lu->op;
	struct recreate *r = recreate_of(lu);
	size_t n = json_array_size(op->disks);
	bool all = true;

	r->wanted = xcalloc(r->n + 1, sizeof(*r->wanted));
	r->changes = xcalloc(r->n + 1, sizeof(*r->changes));
	for (size_t i = 0; i < r->n; i++)
		r->wanted[i] = n == 0;
	for (size_t i = 0; i < n; i++)
		if (choose_one(r, json_array_get(op->disks, i), err) < 0)
			return -1;
	for (size_t i = 0; i < r->n; i++)
		all &= r->wanted[i];
	if (all || (r->nodes.n == 0 && r->iallocator == NULL))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Can't recreate disks partially and change the nodes "
			 "at the same time");
}

/* As many nodes as it has now. */
static int check_nodes(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);
	auto_strv struct strv secondaries = {0};

	config_instance_secondaries(lu->m->config, r->inst, &secondaries);
	if (r->nodes.n > 0 && r->nodes.n != secondaries.n + 1)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance %s currently has %zu nodes, but %zu "
				 "replacement nodes were specified",
				 inst_name(r->inst), secondaries.n + 1,
				 r->nodes.n);
	if (r->iallocator != NULL)
		return 0;
	for (size_t i = 0; i < r->nodes.n; i++)
		if (inst_check_node(lu, r->nodes.items[i], true, err) < 0)
			return -1;
	return r->nodes.n > 0 ? 0
			      : inst_check_node(lu, inst_primary_node(r->inst),
						false, err);
}

/* If the old primary does not answer, nobody knows whether the instance
 * runs. */
static WAITS int check_down(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);
	const json_t *primary = config_get(lu->m->config, CONFIG_NODE,
					   inst_primary_node(r->inst));
	bool moves = r->nodes.n > 0 || r->iallocator != NULL;

	return moves && node_offline(primary)
		       ? 0
		       : inst_check_down(lu, r->inst, "cannot recreate disks",
					 err);
}

static const json_t *group_of(struct lu *lu)
{
	const struct config *c = lu->m->config;
	const json_t *node = config_get(
		c, CONFIG_NODE, inst_primary_node(recreate_of(lu)->inst));

	return config_get(c, CONFIG_GROUP, node_group(node));
}

/* Placed like a new instance, in its group. */
static json_t *request(struct lu *lu)
{
	const json_t *inst = recreate_of(lu)->inst;
	auto_json json_t *be = inst_filled_be(lu, inst);
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	auto_json json_t *nics = json_make("[{}]");
	auto_json json_t *sizes = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		json_array_append_new(sizes,
				      json_make("{s:I, s:s}", "size",
						(json_int_t)disk_size_mib(disk),
						"mode", disk_mode(disk)));
	}
	return iallocator_allocate(
		lu->m, &(struct iallocator_instance){
			       .name = inst_name(inst),
			       .os = inst_os(inst),
			       .disk_template = config_instance_template(
				       lu->m->config, inst),
			       .hypervisor = inst_hypervisor(inst),
			       .group_name = group_name(group_of(lu)),
			       .memory = be_maxmem(be),
			       .minmem = be_minmem(be),
			       .vcpus = be_vcpus(be),
			       .spindle_use = be_spindle_use(be),
			       .disks = sizes,
			       .nics = nics,
			       .tags = inst_tags(inst)});
}

/* An allocator is not obliged to stay in the group, the nodes of which are
 * locked. */
static int take_chosen(struct lu *lu, const struct strv *names,
		       struct error *err)
{
	struct recreate *r = recreate_of(lu);

	for (size_t i = 0; i < names->n; i++) {
		const json_t *node = lu_node(lu, names->items[i], err);

		if (node == NULL)
			return -1;
		if (!lu_has(lu, LOCK_NODE_RES, node_uuid(node)))
			return error_set(err, ERR_EXEC, NULL,
					 "Iallocator %s chose node %s, which "
					 "is not of the instance's group",
					 r->iallocator, names->items[i]);
		if (inst_check_node(lu, node_uuid(node), true, err) < 0)
			return -1;
		strv_add(&r->nodes, node_uuid(node));
	}
	return 0;
}

static WAITS int ask_allocator(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);
	auto_json json_t *names = NULL;
	auto_strv struct strv found = {0};
	auto_free char *text = NULL;

	if (r->iallocator == NULL)
		return 0;
	names = lu_allocator(lu, request(lu),
			     (struct iallocator_how){
				     .name = r->iallocator,
				     .disk_template = config_instance_template(
					     lu->m->config, r->inst)},
			     err);
	if (names == NULL)
		return -1;
	json_to_strv(names, &found);
	text = strv_join(&found, ", ");
	if (take_chosen(lu, &found, err) < 0)
		return -1;
	lu_info(lu, "Selected nodes for instance %s via iallocator %s: %s",
		inst_name(r->inst), r->iallocator, text);
	lu_release_but(lu, LOCK_NODE, &r->nodes);
	lu_release_but(lu, LOCK_NODE_RES, &r->nodes);
	return 0;
}

static int check_spindles(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);
	bool exclusive = r->nodes.n == 0 && disks_exclusive(lu, r->inst);

	for (size_t i = 0; i < r->nodes.n; i++)
		exclusive |= resources_exclusive(
			lu->m->config, config_get(lu->m->config, CONFIG_NODE,
						  r->nodes.items[i]));
	for (size_t i = 0; i < r->n; i++)
		if (r->changes[i] != NULL &&
		    disks_check_spindles(r->changes[i], exclusive, false, err) <
			    0)
			return -1;
	return 0;
}

static WAITS int recreate_check(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);

	if (check_nodes(lu, err) < 0)
		return -1;
	if (r->n == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance '%s' has no disks",
				 inst_name(r->inst));
	if (check_down(lu, err) < 0 || choose(lu, err) < 0)
		return -1;
	return ask_allocator(lu, err) < 0 ? -1 : check_spindles(lu, err);
}

/* --- hooks --- */

static void recreate_env(struct lu *lu, json_t *env)
{
	inst_hook_env(lu, recreate_of(lu)->inst, env);
}

static void recreate_nodes(struct lu *lu, struct strv *ret_pre,
			   struct strv *ret_post)
{
	inst_hook_nodes(lu, recreate_of(lu)->inst, ret_pre);
	inst_hook_nodes(lu, recreate_of(lu)->inst, ret_post);
}

/* --- exec --- */

/* A mirror between the new nodes: [node, node, port, minor, minor, secret]. */
static json_t *moved_id(struct lu *lu, const json_t *id)
{
	struct recreate *r = recreate_of(lu);
	int64_t minors[2];

	for (size_t i = 0; i < 2; i++)
		minors[i] = reserve_minor(lu->m->reserve, lu->job_id,
					  r->nodes.items[i]);
	return json_make("[s, s, O, I, I, O]", r->nodes.items[0],
			 r->nodes.items[1], json_array_get(id, 2),
			 (json_int_t)minors[0], (json_int_t)minors[1],
			 json_array_get(id, 5));
}

static json_t *changed_disk(struct lu *lu, const json_t *disk, size_t i)
{
	struct recreate *r = recreate_of(lu);
	json_t *changed = config_edit(disk);

	json_object_update(changed, json_unconst(r->changes[i]));
	disks_set_size(changed, disk_size_mib(changed));
	if (r->nodes.n == 0)
		return changed;
	if (str_eq(disk_dev_type(disk), "drbd"))
		disk_set_logical_id(changed,
				    moved_id(lu, disk_logical_id(disk)));
	/* Storage that all nodes see belongs to none of them. */
	if (json_array_size(disk_nodes(disk)) > 0)
		disk_set_nodes(changed, json_from_strv(&r->nodes));
	return changed;
}

static WAITS int record(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);
	auto_json json_t *disks = config_instance_disks(lu->m->config, r->inst);
	json_t *inst = config_edit(r->inst);

	for (size_t i = 0; i < r->n; i++)
		config_put(lu->m->config, CONFIG_DISK,
			   changed_disk(lu, json_array_get(disks, i), i));
	if (r->nodes.n > 0) {
		lu_warn(lu, "Changing the instance's nodes, you will have to "
			    "remove any disks left on the older nodes "
			    "manually");
		inst_set_primary_node(inst, r->nodes.items[0]);
	}
	config_put(lu->m->config, CONFIG_INSTANCE, inst);
	return config_commit(lu->m->config, err);
}

static WAITS int wipe(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);
	auto_json json_t *disks = config_instance_disks(lu->m->config, r->inst);

	for (size_t i = 0; i < r->n; i++)
		if (r->wanted[i] &&
		    disks_wipe_one(lu, r->inst, json_array_get(disks, i), i, 0,
				   err) < 0)
			return -1;
	return 0;
}

/* Undo: nothing was made, so record the disks as they were. */
static WAITS void record_back(struct lu *lu, const json_t *inst,
			      const json_t *disks)
{
	struct error err;

	for (size_t i = 0; i < json_array_size(disks); i++)
		config_put(lu->m->config, CONFIG_DISK,
			   config_edit(json_array_get(disks, i)));
	config_put(lu->m->config, CONFIG_INSTANCE, config_edit(inst));
	if (config_commit(lu->m->config, &err) < 0)
		lu_warn(lu, "%s", err.text);
}

static WAITS json_t *recreate_exec(struct lu *lu, struct error *err)
{
	struct recreate *r = recreate_of(lu);
	const json_t *before = r->inst;
	auto_json json_t *disks = config_instance_disks(lu->m->config, before);

	if (record(lu, err) < 0)
		return NULL;
	r->inst = lu_instance(lu, inst_name(before), err);
	if (r->inst == NULL)
		return NULL;
	if (disks_recreate(lu, r->inst, r->wanted, err) < 0) {
		record_back(lu, before, disks);
		return NULL;
	}
	return wipe(lu, err) < 0 ? NULL : json_null();
}

static void recreate_done(struct lu *lu)
{
	struct recreate *r = recreate_of(lu);

	strv_done(&r->nodes);
	free(r->wanted);
	free(r->changes);
}

const struct lu_class lu_instance_recreate_disks = {
	.op = &op_class_instance_recreate_disks,
	.size = sizeof(struct recreate),
	.hook_path = "instance-recreate-disks",
	.object_type = "INSTANCE",
	.expand = recreate_expand,
	.check = recreate_check,
	.hook_env = recreate_env,
	.hook_nodes = recreate_nodes,
	.exec = recreate_exec,
	.done = recreate_done,
};
