/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_MODIFY_STORAGE and OP_REPAIR_NODE_STORAGE: a storage unit of one
 * node is changed, or what is broken in it is taken out. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/node/storage_types.h"
#include "masterd/lu/parts/lu_instance.h"

/* Of what is below a disk on a node, in its answer. */
enum { LDISK_OKAY = 1, LDISK_FAULTY = 4 };

static int want_node(struct lu *lu, const char *name, struct error *err)
{
	const json_t *node = lu_node(lu, name, err);

	if (node == NULL)
		return -1;
	lu_want(lu, LOCK_NODE, node_uuid(node), true);
	return 0;
}

/* --- modify --- */

static int modify_expand(struct lu *lu, struct error *err)
{
	const struct op_node_modify_storage *op = lu->op;
	const char *key;
	json_t *value;

	if (strcmp(op->storage_type, "lvm-pv") != 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Storage units of type '%s' can not be "
				 "modified",
				 op->storage_type);
	json_object_foreach (json_unconst(op->changes), key, value)
		if (strcmp(key, "allocatable") != 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "The following fields can not be "
					 "modified for storage units of type "
					 "'%s': %s",
					 op->storage_type, key);
	return want_node(lu, op->node_name, err);
}

static int modify_check(struct lu *lu, struct error *err)
{
	const struct op_node_modify_storage *op = lu->op;

	return storage_type_used(lu, op->storage_type, err) == NULL ? -1 : 0;
}

static WAITS json_t *modify_exec(struct lu *lu, struct error *err)
{
	const struct op_node_modify_storage *op = lu->op;
	const json_t *node = lu_node(lu, op->node_name, err);
	auto_json json_t *done = NULL;

	if (node == NULL)
		return NULL;
	done = lu_call(
		lu, node_uuid(node),
		rpc_storage_modify(op->storage_type,
				   storage_type_args(lu, op->storage_type),
				   op->name, json_ref(op->changes)),
		err);
	if (done != NULL)
		return json_null();
	error_wrap(err, "Failed to modify storage unit '%s' on %s",
		   op->name == NULL ? "" : op->name, node_name(node));
	return NULL;
}

const struct lu_class lu_node_modify_storage = {
	.op = &op_class_node_modify_storage,
	.size = sizeof(struct lu),
	.expand = modify_expand,
	.check = modify_check,
	.exec = modify_exec,
};

/* --- repair --- */

static int repair_expand(struct lu *lu, struct error *err)
{
	const struct op_repair_node_storage *op = lu->op;

	if (strcmp(op->storage_type, "lvm-vg") != 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Storage units of type '%s' can not be "
				 "repaired",
				 op->storage_type);
	return want_node(lu, op->node_name, err);
}

/* What speaks against a side of mirrors as the only copy, or NULL.  A secondary
 * that is not connected does not know what it lacks. */
static const char *doubt(const json_t *status, bool is_primary)
{
	const char *doubt = json_array_size(status) > 0 ? NULL : "faulty disks";
	const json_t *state;
	size_t i;

	json_array_foreach (status, i, state) {
		int64_t local = json_int(state, "ldisk_status", LDISK_FAULTY);

		if (local == LDISK_FAULTY)
			return "faulty disks";
		if (local != LDISK_OKAY ||
		    (!is_primary && json_bool(state, "is_degraded", true)))
			doubt = "disks that are not in sync";
	}
	return doubt;
}

/* Are the instance's disks good on another node, too?  Otherwise the repair
 * would destroy the only copy. */
static WAITS int check_other(struct lu *lu, const json_t *inst,
			     const char *other, struct error *err)
{
	const struct op_repair_node_storage *op = lu->op;
	auto_json json_t *status = lu_call(
		lu, other,
		rpc_blockdev_getmirrorstatus(inst_rpc_disks(lu, inst)), err);
	const char *what =
		doubt(status, str_eq(inst_primary_node(inst), other));

	if (what == NULL)
		return 0;
	if (op->ignore_consistency) {
		lu_warn(lu, "Instance '%s' has %s on node '%s'",
			inst_name(inst), what, lu_node_name(lu, other));
		return 0;
	}
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instance '%s' has %s on node '%s'", inst_name(inst),
			 what, lu_node_name(lu, other));
}

static WAITS int check_instance(struct lu *lu, const json_t *inst,
				const char *node, struct error *err)
{
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, inst_primary_node(inst));
	config_instance_secondaries(lu->m->config, inst, &nodes);
	if (!strv_has(&nodes, node) || !inst_disks_active(inst))
		return 0;
	for (size_t i = 0; i < nodes.n; i++)
		if (strcmp(nodes.items[i], node) != 0 &&
		    check_other(lu, inst, nodes.items[i], err) < 0)
			return -1;
	return 0;
}

static WAITS int repair_check(struct lu *lu, struct error *err)
{
	const struct op_repair_node_storage *op = lu->op;
	const json_t *node = lu_node(lu, op->node_name, err);
	auto_strv struct strv uuids = {0};

	if (node == NULL ||
	    storage_type_used(lu, op->storage_type, err) == NULL)
		return -1;
	config_sorted(lu->m->config, CONFIG_INSTANCE, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *inst =
			lu_keep(lu, config_get(lu->m->config, CONFIG_INSTANCE,
					       uuids.items[i]));

		if (inst != NULL &&
		    check_instance(lu, inst, node_uuid(node), err) < 0)
			return -1;
	}
	return 0;
}

static WAITS json_t *repair_exec(struct lu *lu, struct error *err)
{
	const struct op_repair_node_storage *op = lu->op;
	const json_t *node = lu_node(lu, op->node_name, err);
	const char *name = op->name == NULL ? "" : op->name;
	auto_json json_t *done = NULL;

	if (node == NULL)
		return NULL;
	lu_feedback(lu, "Repairing storage unit '%s' on %s ...", name,
		    node_name(node));
	done = lu_call(
		lu, node_uuid(node),
		rpc_storage_execute(op->storage_type,
				    storage_type_args(lu, op->storage_type),
				    name, "fix-consistency"),
		err);
	if (done != NULL)
		return json_null();
	error_wrap(err, "Failed to repair storage unit '%s' on %s", name,
		   node_name(node));
	return NULL;
}

const struct lu_class lu_repair_node_storage = {
	.op = &op_class_repair_node_storage,
	.size = sizeof(struct lu),
	.expand = repair_expand,
	.check = repair_check,
	.exec = repair_exec,
};
