/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_GROUP_ASSIGN_NODES: move nodes to another group.  An instance with
 * mirrored disks is split when its nodes are in different groups, which takes
 * force. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/lu_instance.h"

struct assign {
	struct lu lu;
	const json_t *group;
	struct strv nodes; /* UUIDs */
};

static struct assign *assign_of(struct lu *lu)
{
	return container_of(lu, struct assign, lu);
}

static int assign_expand(struct lu *lu, struct error *err)
{
	struct assign *a = assign_of(lu);
	const struct op_group_assign_nodes *op = lu->op;

	strv_done(&a->nodes);
	a->group = lu_group(lu, op->group_name, err);
	if (a->group == NULL)
		return -1;
	lu_want(lu, LOCK_NODEGROUP, group_uuid(a->group), true);
	for (size_t i = 0; i < json_array_size(op->nodes); i++) {
		const json_t *node = lu_node(
			lu, json_string_value(json_array_get(op->nodes, i)),
			err);

		if (node == NULL)
			return -1;
		strv_add(&a->nodes, node_uuid(node));
		lu_want(lu, LOCK_NODE, node_uuid(node), true);
		lu_want(lu, LOCK_NODEGROUP, node_group(node), true);
	}
	return 0;
}

/* The group that the node has now, or will have. */
static const char *group_of_node(const struct assign *a, const char *uuid,
				 bool after)
{
	const json_t *node = config_get(a->lu.m->config, CONFIG_NODE, uuid);

	return after && strv_has(&a->nodes, uuid) ? group_uuid(a->group)
						  : node_group(node);
}

static bool is_split(const struct assign *a, const json_t *inst, bool after)
{
	const char *first = group_of_node(a, inst_primary_node(inst), after);
	auto_strv struct strv secondaries = {0};

	config_instance_secondaries(a->lu.m->config, inst, &secondaries);
	for (size_t i = 0; i < secondaries.n; i++)
		if (!str_eq(first,
			    group_of_node(a, secondaries.items[i], after)))
			return true;
	return false;
}

static int assign_check(struct lu *lu, struct error *err)
{
	struct assign *a = assign_of(lu);
	const struct op_group_assign_nodes *op = lu->op;
	auto_strv struct strv split = {0}, still = {0};
	auto_free char *split_text = NULL, *still_text = NULL;
	const char *uuid;
	json_t *inst;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst) {
		bool before = is_split(a, inst, false);

		if (is_split(a, inst, true))
			strv_add(before ? &still : &split, inst_name(inst));
	}
	strv_sort(&split);
	strv_sort(&still);
	split_text = strv_join(&split, ", ");
	still_text = strv_join(&still, ", ");
	if (split.n > 0 && !op->force)
		return error_set(err, ERR_EXEC, ECODE_STATE,
				 "The following instances get split by this "
				 "change and --force was not given: %s",
				 split_text);
	if (split.n > 0)
		lu_warn(lu,
			"This operation will split the following instances: %s",
			split_text);
	if (still.n > 0)
		lu_warn(lu,
			"In addition, these already-split instances continue "
			"to be split across groups: %s",
			still_text);
	return 0;
}

static WAITS json_t *assign_exec(struct lu *lu, struct error *err)
{
	struct assign *a = assign_of(lu);
	struct config *config = lu->m->config;
	const char *target = group_uuid(a->group);
	auto_strv struct strv groups = {0};

	for (size_t i = 0; i < a->nodes.n; i++) {
		const json_t *node =
			config_get(config, CONFIG_NODE, a->nodes.items[i]);
		json_t *changed;

		if (str_eq(node_group(node), target))
			continue;
		strv_add_unique(&groups, node_group(node));
		strv_add_unique(&groups, target);
		changed = config_edit(node);
		node_set_group(changed, target);
		config_put(config, CONFIG_NODE, changed);
	}
	/* The members are not part of the group objects, but their serial
	 * numbers have to change for clients. */
	for (size_t i = 0; i < groups.n; i++)
		config_put(config, CONFIG_GROUP,
			   config_edit(config_get(config, CONFIG_GROUP,
						  groups.items[i])));
	return config_commit(config, err) < 0 ? NULL : json_null();
}

static void assign_done(struct lu *lu)
{
	strv_done(&assign_of(lu)->nodes);
}

const struct lu_class lu_group_assign_nodes = {
	.op = &op_class_group_assign_nodes,
	.size = sizeof(struct assign),
	.expand = assign_expand,
	.check = assign_check,
	.exec = assign_exec,
	.done = assign_done,
};
