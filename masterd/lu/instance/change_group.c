/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves to another node group by the plan of an allocator:
 * OP_INSTANCE_CHANGE_GROUP one instance, OP_GROUP_EVACUATE all instances with a
 * node in a group. */
#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/plan.h"

struct change {
	struct lu lu;
	const json_t *object;  /* the instance, or the group that is left */
	struct strv instances; /* names, sorted */
	struct strv from, to;  /* UUIDs of groups: left, and allowed */
	const json_t *wanted;  /* names of target groups; may be empty */
	const char *iallocator;
};

static struct change *change_of(struct lu *lu)
{
	return container_of(lu, struct change, lu);
}

static void clear(struct change *c)
{
	strv_done(&c->instances);
	strv_done(&c->from);
	strv_done(&c->to);
	c->instances = c->from = c->to = (struct strv){0};
}

static int choose_allocator(struct lu *lu, const char *given, struct error *err)
{
	struct change *c = change_of(lu);

	c->iallocator = plan_iallocator(lu, given);
	if (c->iallocator != NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "No iallocator was specified, neither in the opcode "
			 "nor as a cluster-wide default");
}

/* Whether an instance could be placed in that group at all. */
static bool has_room(struct lu *lu, const char *group)
{
	auto_strv struct strv nodes = {0};

	config_group_nodes(lu->m->config, group, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, nodes.items[i]);

		if (node_vm_capable(node) && !node_offline(node) &&
		    !node_drained(node))
			return true;
	}
	return false;
}

/* The target groups that were given, or all but those that are left. */
static int find_targets(struct lu *lu, struct error *err)
{
	struct change *c = change_of(lu);
	auto_strv struct strv all = {0};

	for (size_t i = 0; i < json_array_size(c->wanted); i++) {
		const json_t *group = lu_group(
			lu, json_string_value(json_array_get(c->wanted, i)),
			err);

		if (group == NULL)
			return -1;
		strv_add_unique(&c->to, group_uuid(group));
	}
	if (json_array_size(c->wanted) > 0)
		return 0;
	config_sorted(lu->m->config, CONFIG_GROUP, &all);
	for (size_t i = 0; i < all.n; i++)
		if (!strv_has(&c->from, all.items[i]))
			strv_add(&c->to, all.items[i]);
	return 0;
}

static void want_groups(struct lu *lu, const struct strv *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		auto_strv struct strv nodes = {0};

		lu_want(lu, LOCK_NODEGROUP, groups->items[i], false);
		config_group_nodes(lu->m->config, groups->items[i], &nodes);
		for (size_t k = 0; k < nodes.n; k++) {
			lu_want(lu, LOCK_NODE, nodes.items[k], false);
			/* Lock the resources, so that nobody else places
			 * there. */
			lu_want(lu, LOCK_NODE_RES, nodes.items[k], true);
		}
	}
}

static int want_all(struct lu *lu, struct error *err)
{
	struct change *c = change_of(lu);

	if (find_targets(lu, err) < 0)
		return -1;
	for (size_t i = 0; i < c->instances.n; i++)
		lu_want(lu, LOCK_INSTANCE, c->instances.items[i], false);
	want_groups(lu, &c->from);
	want_groups(lu, &c->to);
	return 0;
}

static int check_targets(struct lu *lu, struct error *err)
{
	const struct strv *to = &change_of(lu)->to;
	auto_free char *names = NULL;
	auto_strv struct strv full = {0};

	if (to->n == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There are no possible target groups");
	for (size_t i = 0; i < to->n; i++)
		if (has_room(lu, to->items[i]))
			return 0;
		else
			strv_add(&full, config_name(lu->m->config, CONFIG_GROUP,
						    to->items[i]));
	names = strv_join(&full, ", ");
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "No instance can get a place in node group %s: there "
			 "is no node that is online, not drained, and "
			 "vm_capable (gnt-group assign-nodes)",
			 names);
}

static void target_env(struct lu *lu, json_t *ret_env)
{
	auto_free char *groups = strv_join(&change_of(lu)->to, " ");

	json_set_str(ret_env, "TARGET_GROUPS", groups);
}

/* Get the plan's jobs while nobody else places. */
static WAITS json_t *make_plan(struct lu *lu, bool early_release,
			       struct error *err)
{
	struct change *c = change_of(lu);

	return plan_jobs(lu,
			 &(struct plan_wish){c->iallocator, &c->instances,
					     false, early_release},
			 iallocator_change_group(&c->instances, &c->to), err);
}

static void change_done(struct lu *lu)
{
	clear(change_of(lu));
}

/* --- one instance --- */

/* The groups of its nodes. */
static void add_groups(struct lu *lu, const json_t *inst, struct strv *ret)
{
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, inst_primary_node(inst));
	config_instance_secondaries(lu->m->config, inst, &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		strv_add_unique(
			ret, node_group(config_get(lu->m->config, CONFIG_NODE,
						   nodes.items[i])));
}

static int instance_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_change_group *op = lu->op;
	struct change *c = change_of(lu);

	clear(c);
	c->object = lu_instance(lu, op->instance_name, err);
	if (c->object == NULL || choose_allocator(lu, op->iallocator, err) < 0)
		return -1;
	strv_add(&c->instances, inst_name(c->object));
	add_groups(lu, c->object, &c->from);
	c->wanted = op->target_groups;
	return want_all(lu, err);
}

static int instance_check(struct lu *lu, struct error *err)
{
	struct change *c = change_of(lu);
	auto_strv struct strv used = {0};
	auto_free char *names = NULL;

	for (size_t i = 0; i < c->to.n; i++)
		if (strv_has(&c->from, c->to.items[i]))
			strv_add(&used, c->to.items[i]);
	if (used.n == 0)
		return check_targets(lu, err);
	names = strv_join(&used, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Can't use group(s) '%s' as targets, they are used by "
			 "the instance '%s'",
			 names, inst_name(c->object));
}

static void instance_env(struct lu *lu, json_t *ret_env)
{
	inst_hook_env(lu, change_of(lu)->object, ret_env);
	target_env(lu, ret_env);
}

static void instance_hook_nodes(struct lu *lu, struct strv *ret_pre,
				struct strv *ret_post)
{
	const char *master = node_uuid(config_master(lu->m->config));

	strv_add(ret_pre, master);
	strv_add(ret_post, master);
}

static WAITS json_t *instance_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_change_group *op = lu->op;
	struct change *c = change_of(lu);
	json_t *jobs = make_plan(lu, op->early_release, err);

	if (jobs == NULL)
		return NULL;
	lu_info(lu,
		"Iallocator returned %zu job(s) for changing group of instance "
		"'%s'",
		json_array_size(jobs), inst_name(c->object));
	return plan_submit(lu, jobs, err);
}

const struct lu_class lu_instance_change_group = {
	.op = &op_class_instance_change_group,
	.size = sizeof(struct change),
	.hook_path = "instance-change-group",
	.object_type = "INSTANCE",
	.expand = instance_expand,
	.check = instance_check,
	.hook_env = instance_env,
	.hook_nodes = instance_hook_nodes,
	.exec = instance_exec,
	.done = change_done,
};

/* --- all of a group --- */

static const char *target_name(struct lu *lu)
{
	return group_name(change_of(lu)->object);
}

/* Those with a primary or secondary node in it. */
static void find_instances(struct lu *lu, const char *group, struct strv *ret)
{
	struct config *config = lu->m->config;
	auto_strv struct strv nodes = {0}, uuids = {0};

	config_group_nodes(config, group, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		config_node_primaries(config, nodes.items[i], &uuids);
		config_node_secondaries(config, nodes.items[i], &uuids);
	}
	for (size_t i = 0; i < uuids.n; i++)
		strv_add_unique(ret, config_name(config, CONFIG_INSTANCE,
						 uuids.items[i]));
	strv_sort_nice(ret);
}

static int group_expand(struct lu *lu, struct error *err)
{
	const struct op_group_evacuate *op = lu->op;
	struct change *c = change_of(lu);
	const char *uuid;

	clear(c);
	c->object = lu_group(lu, op->group_name, err);
	if (c->object == NULL || choose_allocator(lu, op->iallocator, err) < 0)
		return -1;
	uuid = group_uuid(c->object);
	strv_add(&c->from, uuid);
	find_instances(lu, uuid, &c->instances);
	c->wanted = op->target_groups;
	if (want_all(lu, err) < 0)
		return -1;
	if (!strv_has(&c->to, uuid))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Group '%s' is the one to be evacuated, it can not be "
			 "used as a target group",
			 target_name(lu));
}

static int group_check(struct lu *lu, struct error *err)
{
	return check_targets(lu, err);
}

static void group_env(struct lu *lu, json_t *ret_env)
{
	json_set_str(ret_env, "OP_TARGET", target_name(lu));
	json_set_str(ret_env, "GROUP_NAME", target_name(lu));
	target_env(lu, ret_env);
}

static void add_members(struct lu *lu, struct strv *ret)
{
	auto_strv struct strv nodes = {0};

	strv_add(ret, node_uuid(config_master(lu->m->config)));
	config_group_nodes(lu->m->config, group_uuid(change_of(lu)->object),
			   &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		strv_add_unique(ret, nodes.items[i]);
}

static void group_hook_nodes(struct lu *lu, struct strv *ret_pre,
			     struct strv *ret_post)
{
	add_members(lu, ret_pre);
	add_members(lu, ret_post);
}

/* A failover in place of a migration that is not possible. */
static json_t *failover_for(const json_t *migration)
{
	static const char *const same[] = {"instance_name", "target_node",
					   "iallocator", "ignore_ipolicy"};
	json_t *op = op_new(&op_class_instance_failover);

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (json_get(migration, same[i]) != NULL)
			json_object_set(
				op, same[i],
				json_unconst(json_get(migration, same[i])));
	json_object_del(op, "reason"); /* this job's priority is inherited */
	return op;
}

static void insist_on_failovers(struct lu *lu, json_t *jobs)
{
	size_t i, k;
	json_t *job, *op;

	lu_info(lu, "Will insist on failovers");
	json_array_foreach (jobs, i, job)
		json_array_foreach (job, k, op)
			if (str_eq(json_str(op, "OP_ID", ""),
				   "OP_INSTANCE_MIGRATE"))
				json_array_set_new(job, k, failover_for(op));
}

/* Each job waits for the end of the one before it, whatever its outcome. */
static void put_in_a_row(struct lu *lu, json_t *jobs)
{
	size_t i, k;
	json_t *job, *op;

	lu_info(lu, "Jobs will be submitted to run sequentially");
	json_array_foreach (jobs, i, job)
		json_array_foreach (job, k, op)
			if (i > 0)
				json_object_set_new(op, "depends",
						    json_make("[[i, [s, s]]]",
							      -1, "error",
							      "success"));
}

static WAITS json_t *group_exec(struct lu *lu, struct error *err)
{
	const struct op_group_evacuate *op = lu->op;
	json_t *jobs;

	if (change_of(lu)->instances.n == 0) {
		lu_info(lu, "No instances to evacuate from node group '%s'",
			target_name(lu));
		return lu_submit_jobs(lu, json_array(), NULL, err);
	}
	jobs = make_plan(lu, op->early_release, err);
	if (jobs == NULL)
		return NULL;
	lu_info(lu,
		"Iallocator returned %zu job(s) for evacuating node group %s",
		json_array_size(jobs), target_name(lu));
	if (op->force_failover)
		insist_on_failovers(lu, jobs);
	if (op->sequential)
		put_in_a_row(lu, jobs);
	return plan_submit(lu, jobs, err);
}

const struct lu_class lu_group_evacuate = {
	.op = &op_class_group_evacuate,
	.size = sizeof(struct change),
	.hook_path = "group-evacuate",
	.object_type = "GROUP",
	.expand = group_expand,
	.check = group_check,
	.hook_env = group_env,
	.hook_nodes = group_hook_nodes,
	.exec = group_exec,
	.done = change_done,
};
