/* SPDX-License-Identifier: BSD-2-Clause */
/* Node groups: add, change, rename, remove. */
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/json/repr.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/params/params.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/group/communication.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/node/node_state.h"

struct group_lu {
	struct lu lu;
	const json_t *group; /* as it was; NULL for a new one */
	json_t *changed;
	json_t *report; /* of set-params: [[what, value], ...] */
	char uuid[37];
};

static struct group_lu *group_of(struct lu *lu)
{
	return container_of(lu, struct group_lu, lu);
}

static const char *master_uuid(struct lu *lu)
{
	return node_uuid(config_master(lu->m->config));
}

static void group_done(struct lu *lu)
{
	json_decref(group_of(lu)->changed);
	json_decref(group_of(lu)->report);
}

static void master_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	strv_add(ret_pre, master_uuid(lu));
	strv_add(ret_post, master_uuid(lu));
}

/* Want the exclusive lock of the group. */
static int want_group(struct lu *lu, const char *name, struct error *err)
{
	struct group_lu *g = group_of(lu);

	g->group = lu_group(lu, name, err);
	if (g->group == NULL)
		return -1;
	lu_want(lu, LOCK_NODEGROUP, group_uuid(g->group), true);
	return 0;
}

static const char *name_of_group(struct lu *lu)
{
	return group_name(group_of(lu)->group);
}

static int check_name_is_free(struct lu *lu, const char *name,
			      const char *sentence, struct error *err)
{
	const json_t *other = config_find(lu->m->config, CONFIG_GROUP, name);

	if (other == NULL)
		return config_check_new_name(name, err);
	return error_set(err, ERR_PREREQ, ECODE_EXISTS, sentence, name,
			 group_uuid(other));
}

/* --- parameters --- */

/* What OP_GROUP_ADD and OP_GROUP_SET_PARAMS have in common. */
struct group_params {
	const char *alloc_policy;
	const json_t *ndparams, *diskparams, *hv_state, *disk_state, *ipolicy;
};

static int set_diskparams(const json_t *cluster, json_t *group,
			  const json_t *changes, struct error *err)
{
	auto_json json_t *all =
		json_copy(json_unconst(group_diskparams(group)));
	const char *template;
	json_t *one;

	json_object_foreach (json_unconst(changes), template, one) {
		json_t *updated;

		if (params_update_disk(template, json_object_get(all, template),
				       one, &updated, err) < 0)
			return -1;
		json_object_set_new(all, template, updated);
	}
	group_set_diskparams(group, json_ref(all));
	return params_check_disk(cluster, group, err);
}

static bool is_nothing(const json_t *value)
{
	if (json_is_array(value))
		return json_array_size(value) == 0;
	if (json_is_object(value))
		return json_object_size(value) == 0;
	return json_is_null(value) || str_eq(json_string_value(value), "");
}

/* A group's policy has only what differs from the cluster's; "default" removes
 * a value, and so does an empty one, as with Ganeti. */
static int set_ipolicy(json_t *group, const json_t *changes, struct error *err)
{
	json_t *policy = params_overlay_ipolicy(group_ipolicy(group), changes);
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(changes), key, value)
		if (params_ipolicy_is_default(value) || is_nothing(value))
			json_object_del(policy, key);
	group_set_ipolicy(group, policy);
	return params_check_ipolicy(policy, false, err);
}

static bool is_empty(const json_t *changes)
{
	return json_object_size(changes) == 0;
}

static int set_params(struct lu *lu, json_t *group,
		      const struct group_params *p, struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);

	if (p->alloc_policy != NULL)
		group_set_alloc_policy(group, p->alloc_policy);
	if (!is_empty(p->diskparams) &&
	    (set_diskparams(cluster, group, p->diskparams, err) < 0 ||
	     group_check_access(lu, cluster, group, p->diskparams, err) < 0))
		return -1;
	if (!is_empty(p->ipolicy) &&
	    (set_ipolicy(group, p->ipolicy, err) < 0 ||
	     params_check_ipolicy_enabled(
		     group_ipolicy(group),
		     cluster_enabled_disk_templates(cluster), err) < 0))
		return -1;
	if (node_state_set_ndparams(group, p->ndparams, err) < 0 ||
	    state_set_hv(group, p->hv_state, err) < 0)
		return -1;
	return state_set_disk(group, p->disk_state, err);
}

/* --- add --- */

static int add_expand(struct lu *lu, struct error *err)
{
	struct group_lu *g = group_of(lu);

	(void)err;
	if (g->uuid[0] == '\0')
		uuid_new(g->uuid);
	lu_want(lu, LOCK_NODEGROUP, g->uuid, true);
	return 0;
}

#define NAME_TAKEN                                                             \
	"Desired group name '%s' already exists as a node group (UUID: %s)"

static int add_check(struct lu *lu, struct error *err)
{
	struct group_lu *g = group_of(lu);
	const struct op_group_add *op = lu->op;
	struct group_params p = {
		.alloc_policy = op->alloc_policy,
		.ndparams = op->ndparams,
		.diskparams = op->diskparams,
		.hv_state = op->hv_state,
		.disk_state = op->disk_state,
		.ipolicy = op->ipolicy,
	};

	if (check_name_is_free(lu, op->group_name, NAME_TAKEN, err) < 0)
		return -1;
	g->changed = json_make("{s:s, s:s, s:{}, s:s, s:{}, s:{}, s:{}, s:[]}",
			       "uuid", g->uuid, "name", op->group_name,
			       "ndparams", "alloc_policy", "preferred",
			       "ipolicy", "diskparams", "networks", "tags");
	return set_params(lu, g->changed, &p, err);
}

static void add_env(struct lu *lu, json_t *env)
{
	const struct op_group_add *op = lu->op;

	json_set_str(env, "GROUP_NAME", op->group_name);
}

static WAITS json_t *add_exec(struct lu *lu, struct error *err)
{
	const struct op_group_add *op = lu->op;

	/* Check again: another job may have added a group of this name. */
	if (check_name_is_free(lu, op->group_name, NAME_TAKEN, err) < 0)
		return NULL;
	config_put(lu->m->config, CONFIG_GROUP,
		   json_copy(group_of(lu)->changed));
	if (config_commit(lu->m->config, err) < 0)
		return NULL;
	return communication_in_group(lu, group_of(lu)->uuid, err);
}

const struct lu_class lu_group_add = {
	.op = &op_class_group_add,
	.size = sizeof(struct group_lu),
	.hook_path = "group-add",
	.object_type = "GROUP",
	.expand = add_expand,
	.check = add_check,
	.hook_env = add_env,
	.hook_nodes = master_nodes,
	.exec = add_exec,
	.done = group_done,
};

/* --- set params --- */

static int modify_expand(struct lu *lu, struct error *err)
{
	const struct op_group_set_params *op = lu->op;

	return want_group(lu, op->group_name, err);
}

/* Warn of instances that the new policy makes violators. */
static void warn_violations(struct lu *lu)
{
	struct group_lu *g = group_of(lu);
	auto_strv struct strv names = {0};

	group_new_violations(lu, config_cluster(lu->m->config), g->group,
			     g->changed, &names);
	group_warn_violations(lu, &names);
}

static void report(struct group_lu *g, const char *key, const json_t *changes)
{
	auto_free char *text = NULL;

	if (is_empty(changes))
		return;
	text = json_repr(json_get(g->changed, key));
	json_array_append_new(g->report, json_make("[s, s]", key, text));
}

static int modify_check(struct lu *lu, struct error *err)
{
	struct group_lu *g = group_of(lu);
	const struct op_group_set_params *op = lu->op;
	struct group_params p = {
		.alloc_policy = op->alloc_policy,
		.ndparams = op->ndparams,
		.diskparams = op->diskparams,
		.hv_state = op->hv_state,
		.disk_state = op->disk_state,
		.ipolicy = op->ipolicy,
	};

	if (op->alloc_policy == NULL && op->ndparams == NULL &&
	    op->diskparams == NULL && op->hv_state == NULL &&
	    op->disk_state == NULL && op->ipolicy == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Please pass at least one modification");
	g->changed = config_edit(g->group);
	if (set_params(lu, g->changed, &p, err) < 0)
		return -1;
	if (!is_empty(op->ipolicy))
		warn_violations(lu);
	g->report = json_array();
	report(g, "ndparams", op->ndparams);
	report(g, "diskparams", op->diskparams);
	return 0;
}

static void modify_env(struct lu *lu, json_t *env)
{
	const struct op_group_set_params *op = lu->op;

	json_set_str(env, "GROUP_NAME", op->group_name);
	json_set_str(env, "NEW_ALLOC_POLICY",
		     op->alloc_policy != NULL ? op->alloc_policy : "None");
}

static WAITS json_t *modify_exec(struct lu *lu, struct error *err)
{
	struct group_lu *g = group_of(lu);

	config_put(lu->m->config, CONFIG_GROUP, json_copy(g->changed));
	if (config_commit(lu->m->config, err) < 0)
		return NULL;
	return json_copy(g->report);
}

const struct lu_class lu_group_set_params = {
	.op = &op_class_group_set_params,
	.size = sizeof(struct group_lu),
	.hook_path = "group-modify",
	.object_type = "GROUP",
	.expand = modify_expand,
	.check = modify_check,
	.hook_env = modify_env,
	.hook_nodes = master_nodes,
	.exec = modify_exec,
	.done = group_done,
};

/* --- remove --- */

static int remove_expand(struct lu *lu, struct error *err)
{
	const struct op_group_remove *op = lu->op;

	return want_group(lu, op->group_name, err);
}

static int check_removable(struct lu *lu, struct error *err)
{
	struct config *c = lu->m->config;
	auto_strv struct strv uuids = {0}, names = {0};
	auto_free char *list = NULL;

	config_group_nodes(c, group_uuid(group_of(lu)->group), &uuids);
	for (size_t i = 0; i < uuids.n; i++)
		strv_add(&names, config_name(c, CONFIG_NODE, uuids.items[i]));
	strv_sort(&names);
	list = strv_join(&names, " ");
	if (names.n > 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Group '%s' not empty, has the following "
				 "nodes: %s",
				 name_of_group(lu), list);
	if (json_object_size(config_all(c, CONFIG_GROUP)) == 1)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Group '%s' is the only group, cannot be "
				 "removed",
				 name_of_group(lu));
	return 0;
}

static void remove_env(struct lu *lu, json_t *env)
{
	json_set_str(env, "GROUP_NAME", name_of_group(lu));
}

static WAITS json_t *remove_exec(struct lu *lu, struct error *err)
{
	if (check_removable(lu, err) < 0) /* by another job */
		return NULL;
	config_remove(lu->m->config, CONFIG_GROUP,
		      group_uuid(group_of(lu)->group));
	return config_commit(lu->m->config, err) < 0 ? NULL : json_null();
}

const struct lu_class lu_group_remove = {
	.op = &op_class_group_remove,
	.size = sizeof(struct group_lu),
	.hook_path = "group-remove",
	.object_type = "GROUP",
	.expand = remove_expand,
	.check = check_removable,
	.hook_env = remove_env,
	.hook_nodes = master_nodes,
	.exec = remove_exec,
	.done = group_done,
};

/* --- rename --- */

#define NAME_CLASHES                                                           \
	"Desired new name '%s' clashes with existing node group (UUID: %s)"

static int rename_expand(struct lu *lu, struct error *err)
{
	const struct op_group_rename *op = lu->op;

	return want_group(lu, op->group_name, err);
}

static int rename_check(struct lu *lu, struct error *err)
{
	const struct op_group_rename *op = lu->op;

	return check_name_is_free(lu, op->new_name, NAME_CLASHES, err);
}

static void rename_env(struct lu *lu, json_t *env)
{
	const struct op_group_rename *op = lu->op;

	json_set_str(env, "OLD_NAME", op->group_name);
	json_set_str(env, "NEW_NAME", op->new_name);
}

static void rename_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	const char *uuid = group_uuid(group_of(lu)->group);

	master_nodes(lu, ret_pre, ret_post);
	config_group_nodes(lu->m->config, uuid, ret_pre);
	config_group_nodes(lu->m->config, uuid, ret_post);
}

static WAITS json_t *rename_exec(struct lu *lu, struct error *err)
{
	const struct op_group_rename *op = lu->op;
	json_t *changed;

	if (check_name_is_free(lu, op->new_name, NAME_CLASHES, err) < 0)
		return NULL;
	changed = config_edit(group_of(lu)->group);
	group_set_name(changed, op->new_name);
	config_put(lu->m->config, CONFIG_GROUP, changed);
	return config_commit(lu->m->config, err) < 0
		       ? NULL
		       : json_string(op->new_name);
}

const struct lu_class lu_group_rename = {
	.op = &op_class_group_rename,
	.size = sizeof(struct group_lu),
	.hook_path = "group-rename",
	.object_type = "GROUP",
	.expand = rename_expand,
	.check = rename_check,
	.hook_env = rename_env,
	.hook_nodes = rename_nodes,
	.exec = rename_exec,
	.done = group_done,
};
