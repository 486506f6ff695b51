/* SPDX-License-Identifier: BSD-2-Clause */
/* Moving instances off a node, a job each: OP_NODE_EVACUATE by the plan of an
 * allocator (or secondaries to a given node), OP_NODE_MIGRATE.
 *
 * An allocator is told instances, not which node they have to leave.  So
 * primaries and secondaries are planned one after the other.  Only the side of
 * mirrors that is on this node is moved, the other one keeps its disks. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/plan.h"

struct evacuate {
	struct lu lu;
	const json_t *node;
	const char *iallocator; /* NULL: remote_node */
	const char *remote;	/* name */
	struct strv instances;	/* names, sorted */
};

static struct evacuate *evacuate_of(struct lu *lu)
{
	return container_of(lu, struct evacuate, lu);
}

static int choose_remote(struct lu *lu, struct error *err)
{
	struct evacuate *e = evacuate_of(lu);
	const struct op_node_evacuate *op = lu->op;
	const json_t *remote;

	if (op->remote_node == NULL)
		return 0;
	remote = lu_node(lu, op->remote_node, err);
	if (remote == NULL)
		return -1;
	e->remote = node_name(remote);
	if (remote == e->node)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Can't use evacuated node as a new secondary "
				 "node");
	if (!str_eq(op->mode, "secondary-only"))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Without the use of an iallocator only "
				 "secondary instances can be evacuated");
	return 0;
}

/* The names of the instances on the node that the mode concerns. */
static void find_instances(struct lu *lu, const char *mode, struct strv *ret)
{
	struct config *c = lu->m->config;
	const char *uuid = node_uuid(evacuate_of(lu)->node);
	auto_strv struct strv uuids = {0};

	if (!str_eq(mode, "secondary-only"))
		config_node_primaries(c, uuid, &uuids);
	if (!str_eq(mode, "primary-only"))
		config_node_secondaries(c, uuid, &uuids);
	strv_done(ret);
	*ret = (struct strv){0};
	for (size_t i = 0; i < uuids.n; i++)
		strv_add_unique(
			ret, config_name(c, CONFIG_INSTANCE, uuids.items[i]));
	strv_sort_nice(ret);
}

static int evacuate_expand(struct lu *lu, struct error *err)
{
	struct evacuate *e = evacuate_of(lu);
	const struct op_node_evacuate *op = lu->op;
	auto_strv struct strv nodes = {0};
	const char *group;

	e->node = lu_node(lu, op->node_name, err);
	if (e->node == NULL ||
	    plan_choose(lu, op->remote_node, op->iallocator, &e->iallocator,
			err) < 0 ||
	    choose_remote(lu, err) < 0)
		return -1;
	group = node_group(e->node);
	find_instances(lu, op->mode, &e->instances);
	for (size_t i = 0; i < e->instances.n; i++)
		lu_want(lu, LOCK_INSTANCE, e->instances.items[i], false);
	lu_want(lu, LOCK_NODEGROUP, group, false);
	config_group_nodes(lu->m->config, group, &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		lu_want(lu, LOCK_NODE, nodes.items[i], false);
	if (e->remote == NULL)
		lu_want_all(lu, LOCK_NODE_RES, true); /* nobody else places */
	else
		lu_want(lu, LOCK_NODE,
			node_uuid(config_find(lu->m->config, CONFIG_NODE,
					      e->remote)),
			false);
	return 0;
}

static int evacuate_check(struct lu *lu, struct error *err)
{
	struct evacuate *e = evacuate_of(lu);
	auto_free char *names = strv_join(&e->instances, ", ");

	(void)err;
	if (e->instances.n == 0)
		lu_info(lu, "No instances to evacuate from node '%s'",
			node_name(e->node));
	else
		lu_info(lu, "Evacuating instances from node '%s': %s",
			node_name(e->node), names);
	return 0;
}

/* The opcode that gives the instance another secondary, yet to be named. */
static json_t *new_secondary(struct lu *lu, const char *instance)
{
	const struct op_node_evacuate *op = lu->op;
	json_t *new = op_new(&op_class_instance_replace_disks);

	json_set_str(new, "instance_name", instance);
	json_set_str(new, "mode", "replace_new_secondary");
	json_set_bool(new, "early_release", op->early_release);
	json_object_del(new, "reason"); /* ours is inherited */
	return new;
}

/* One job for each instance: a new secondary. */
static json_t *replace_jobs(struct lu *lu)
{
	struct evacuate *e = evacuate_of(lu);
	json_t *jobs = json_array();

	for (size_t i = 0; i < e->instances.n; i++) {
		json_t *new = new_secondary(lu, e->instances.items[i]);

		json_set_str(new, "remote_node", e->remote);
		json_array_append_new(jobs, json_make("[o]", new));
	}
	return jobs;
}

/* The jobs by which the instances of this role on the node leave it. */
static WAITS json_t *plan_role(struct lu *lu, const char *role,
			       struct error *err)
{
	const struct op_node_evacuate *op = lu->op;
	struct evacuate *e = evacuate_of(lu);
	auto_strv struct strv names = {0};

	find_instances(lu, role, &names);
	if (names.n == 0)
		return json_array();
	return plan_jobs(lu,
			 &(struct plan_wish){e->iallocator, &names,
					     op->ignore_soft_errors == 1,
					     op->early_release},
			 iallocator_node_evacuate(&names, role), err);
}

/* Whether a planned job only exchanges the two nodes of a mirrored instance. */
static bool only_exchanges(struct lu *lu, const json_t *ops)
{
	const json_t *op = json_array_get(ops, 0);
	const json_t *inst = config_find(lu->m->config, CONFIG_INSTANCE,
					 json_str(op, "instance_name", ""));

	return inst != NULL && json_array_size(ops) == 1 &&
	       json_str(op, "target_node", NULL) == NULL &&
	       template_is_pair(config_instance_template(lu->m->config, inst));
}

/* Mirrored instances that have gone to their secondary node leave their disks
 * on this one: they get another secondary when they are there, as only then an
 * allocator knows which side has to be replaced. */
static void add_replacements(struct lu *lu, json_t *jobs)
{
	struct evacuate *e = evacuate_of(lu);
	auto_strv struct strv names = {0};
	auto_free char *text = NULL;
	json_t *ops;
	size_t i;

	json_array_foreach (jobs, i, ops) {
		const char *name;
		json_t *new;

		if (!only_exchanges(lu, ops))
			continue;
		name = json_str(json_array_get(ops, 0), "instance_name", "");
		new = new_secondary(lu, name);
		json_set_str(new, "iallocator", e->iallocator);
		json_array_append_new(ops, new);
		strv_add(&names, name);
	}
	text = strv_join(&names, ", ");
	if (names.n > 0)
		lu_info(lu,
			"Instances that get another secondary node instead of "
			"'%s' then: %s",
			node_name(e->node), text);
}

static WAITS json_t *plan_both(struct lu *lu, struct error *err)
{
	auto_json json_t *primaries = plan_role(lu, "primary-only", err);
	auto_json json_t *secondaries = NULL;

	if (primaries == NULL)
		return NULL;
	plan_book(lu, primaries);
	secondaries = plan_role(lu, "secondary-only", err);
	if (secondaries == NULL)
		return NULL;
	add_replacements(lu, primaries);
	json_array_extend(primaries, secondaries);
	return steal(&primaries);
}

static WAITS json_t *plan(struct lu *lu, struct error *err)
{
	const struct op_node_evacuate *op = lu->op;

	return str_eq(op->mode, "all") ? plan_both(lu, err)
				       : plan_role(lu, op->mode, err);
}

static WAITS json_t *evacuate_exec(struct lu *lu, struct error *err)
{
	struct evacuate *e = evacuate_of(lu);
	json_t *jobs = e->remote != NULL ? replace_jobs(lu) : plan(lu, err);

	if (jobs == NULL)
		return NULL;
	/* A node that was named may be too small for all of them: each job
	 * checks that. */
	return e->remote == NULL ? plan_submit(lu, jobs, err)
				 : lu_submit_jobs(lu, jobs, NULL, err);
}

static void evacuate_done(struct lu *lu)
{
	strv_done(&evacuate_of(lu)->instances);
}

const struct lu_class lu_node_evacuate = {
	.op = &op_class_node_evacuate,
	.size = sizeof(struct evacuate),
	.expand = evacuate_expand,
	.check = evacuate_check,
	.exec = evacuate_exec,
	.done = evacuate_done,
};

/* --- migrate --- */

struct node_migrate {
	struct lu lu;
	const json_t *node;
};

static const json_t *migrated(struct lu *lu)
{
	return container_of(lu, struct node_migrate, lu)->node;
}

static int migrate_expand(struct lu *lu, struct error *err)
{
	struct node_migrate *m = container_of(lu, struct node_migrate, lu);
	const struct op_node_migrate *op = lu->op;

	m->node = lu_node(lu, op->node_name, err);
	if (m->node == NULL)
		return -1;
	lu_want(lu, LOCK_NODE, node_uuid(m->node), false);
	return 0;
}

static void migrate_hook_env(struct lu *lu, json_t *env)
{
	const struct op_node_migrate *op = lu->op;

	json_set_str(env, "NODE_NAME", node_name(migrated(lu)));
	json_set_str(env, "ALLOW_RUNTIME_CHANGES",
		     op->allow_runtime_changes ? "True" : "False");
}

static void migrate_hook_nodes(struct lu *lu, struct strv *ret_pre,
			       struct strv *ret_post)
{
	const char *master = node_uuid(config_master(lu->m->config));

	strv_add(ret_pre, master);
	strv_add(ret_post, master);
}

static json_t *migrate_job(const struct op_node_migrate *op, const char *name)
{
	json_t *new = op_new(&op_class_instance_migrate);

	json_set_str(new, "instance_name", name);
	json_set_str(new, "mode", op->mode);
	if (op->live >= 0)
		json_set_bool(new, "live", op->live);
	json_set_str(new, "target_node", op->target_node);
	json_set_str(new, "iallocator", op->iallocator);
	json_set_bool(new, "allow_runtime_changes", op->allow_runtime_changes);
	json_set_bool(new, "ignore_ipolicy", op->ignore_ipolicy);
	json_object_del(new, "reason"); /* ours is inherited */
	return json_make("[o]", new);
}

static WAITS json_t *migrate_exec(struct lu *lu, struct error *err)
{
	auto_strv struct strv uuids = {0};
	json_t *jobs = json_array();

	config_node_primaries(lu->m->config, inst_uuid(migrated(lu)), &uuids);
	for (size_t i = 0; i < uuids.n; i++)
		json_array_append_new(
			jobs, migrate_job(lu->op, config_name(lu->m->config,
							      CONFIG_INSTANCE,
							      uuids.items[i])));
	return lu_submit_jobs(lu, jobs, NULL, err);
}

const struct lu_class lu_node_migrate = {
	.op = &op_class_node_migrate,
	.size = sizeof(struct node_migrate),
	.hook_path = "node-migrate",
	.object_type = "NODE",
	.expand = migrate_expand,
	.hook_env = migrate_hook_env,
	.hook_nodes = migrate_hook_nodes,
	.exec = migrate_exec,
};
