/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_REPLACE_DISKS: new storage for mirrored disks, on one of their
 * nodes or on another one. */
#include "masterd/lu/replace/instance_replace_disks.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/parts/lu_instance.h"

static int want_nodes(struct lu *lu, const struct strv *nodes)
{
	for (size_t i = 0; i < nodes->n; i++) {
		lu_want(lu, LOCK_NODE, nodes->items[i], false);
		lu_want(lu, LOCK_NODE_RES, nodes->items[i], true);
	}
	return 0;
}

/* Want the nodes of the instance, and those that may become its secondary: the
 * one given, or, while an allocator chooses, all nodes of its groups. */
static int find_nodes(struct lu *lu, struct strv *ret, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);
	struct config *c = lu->m->config;
	const json_t *remote;

	strv_add(ret, r->primary);
	if (r->secondary != NULL)
		strv_add_unique(ret, r->secondary);
	r->new_node = NULL;
	if (op->remote_node != NULL) {
		remote = lu_node(lu, op->remote_node, err);
		if (remote == NULL)
			return -1;
		r->new_node = node_uuid(remote);
		strv_add_unique(ret, r->new_node);
	}
	for (size_t i = 0, own = ret->n; r->iallocator != NULL && i < own;
	     i++) {
		const json_t *node = config_get(c, CONFIG_NODE, ret->items[i]);
		auto_strv struct strv members = {0};

		lu_want(lu, LOCK_NODEGROUP, node_group(node), false);
		config_group_nodes(c, node_group(node), &members);
		for (size_t k = 0; k < members.n; k++)
			strv_add_unique(ret, members.items[k]);
	}
	return 0;
}

static int replace_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);
	auto_strv struct strv secondaries = {0}, nodes = {0};

	if (replace_check_arguments(lu, err) < 0)
		return -1;
	r->inst = lu_instance(lu, op->instance_name, err);
	if (r->inst == NULL)
		return -1;
	if (r->created == NULL)
		r->created = json_array();
	config_instance_secondaries(lu->m->config, r->inst, &secondaries);
	r->primary = inst_primary_node(r->inst);
	r->secondary = secondaries.n == 0
			       ? NULL
			       : lu_keep_str(lu, xstrdup(secondaries.items[0]));
	lu_want(lu, LOCK_INSTANCE, inst_name(r->inst), true);
	if (find_nodes(lu, &nodes, err) < 0)
		return -1;
	return want_nodes(lu, &nodes);
}

static void replace_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);

	inst_hook_env(lu, r->inst, ret_env);
	json_set_str(ret_env, "MODE", op->mode);
	json_set_str(ret_env, "NEW_SECONDARY",
		     r->new_node == NULL ? "None"
					 : lu_node_name(lu, r->new_node));
	json_set_str(ret_env, "OLD_SECONDARY", lu_node_name(lu, r->secondary));
}

static void add_nodes(struct lu *lu, struct strv *ret)
{
	struct replace *r = replace_of(lu);

	strv_add_unique(ret, node_uuid(config_master(lu->m->config)));
	strv_add_unique(ret, r->primary);
	if (r->new_node != NULL)
		strv_add_unique(ret, r->new_node);
}

static void replace_hook_nodes(struct lu *lu, struct strv *ret_pre,
			       struct strv *ret_post)
{
	add_nodes(lu, ret_pre);
	add_nodes(lu, ret_post);
}

/* "0, 2"; to be freed. */
static char *wanted_text(const struct replace *r)
{
	auto_strv struct strv numbers = {0};

	for (size_t i = 0; i < r->n; i++)
		if (r->wanted[i])
			strv_addf(&numbers, "%zu", i);
	return strv_join(&numbers, ", ");
}

static WAITS json_t *replace_exec(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_free char *disks = wanted_text(r);
	int rc;

	if (*disks == '\0') {
		lu_feedback(lu, "No disks need replacement for instance '%s'",
			    inst_name(r->inst));
		return json_null();
	}
	lu_feedback(lu, "Replacing disk(s) %s for instance '%s'", disks,
		    inst_name(r->inst));
	lu_feedback(lu, "Current primary node: '%s'",
		    lu_node_name(lu, r->primary));
	lu_feedback(lu, "Current secondary node: '%s'",
		    lu_node_name(lu, r->secondary));
	if (replace_activate(lu, err) < 0)
		return NULL;
	rc = r->new_node != NULL ? replace_secondary(lu, err)
				 : replace_on_node(lu, err);
	if (rc < 0)
		return NULL;
	replace_deactivate(lu);
	return json_null();
}

/* In the list, devices come after the volumes below them; so they are removed
 * first. */
static WAITS void remove_created(struct lu *lu)
{
	struct replace *r = replace_of(lu);
	const char *node = r->new_node != NULL ? r->new_node : r->target;

	if (json_array_size(r->created) == 0)
		return;
	if (lu->run->killed) {
		aftermath_remove_on(lu->m, node, r->created);
		return;
	}
	for (size_t i = json_array_size(r->created); i-- > 0;) {
		auto_json json_t *one =
			json_make("[O]", json_array_get(r->created, i));

		replace_remove(lu, node, one);
	}
}

static WAITS void replace_undo(struct lu *lu)
{
	replace_secondary_undo(lu);
	remove_created(lu);
	replace_deactivate(lu);
}

static void replace_done(struct lu *lu)
{
	struct replace *r = replace_of(lu);

	free(r->wanted);
	free(r->minors);
	json_decref(r->created);
	json_decref(r->before);
}

const struct lu_class lu_instance_replace_disks = {
	.op = &op_class_instance_replace_disks,
	.size = sizeof(struct replace),
	.hook_path = "mirrors-replace",
	.object_type = "INSTANCE",
	.expand = replace_expand,
	.check = replace_check,
	.hook_env = replace_env,
	.hook_nodes = replace_hook_nodes,
	.exec = replace_exec,
	.undo = replace_undo,
	.done = replace_done,
};
