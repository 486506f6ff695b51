/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks before disks are replaced.  They also choose the disks and nodes:
 * either the node whose storage is made anew (target) and its peer (other), or
 * a new secondary node, which the user or an allocator names.  They end with
 * booking the room, after which locks can be released. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/group/group_mirror.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/lu/parts/plan.h"
#include "masterd/lu/replace/instance_replace_disks.h"

/* Of a mirror's local storage, in a node's answer. */
#define LDISK_FAULTY 4

static bool mode_is(struct lu *lu, const char *mode)
{
	const struct op_instance_replace_disks *op = lu->op;

	return str_eq(op->mode, mode);
}

/* --- arguments --- */

/* The allocator that is asked: the one given, or the cluster's. */
static int choose_allocator(struct lu *lu, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);

	r->iallocator = op->iallocator == NULL
				? NULL
				: plan_iallocator(lu, op->iallocator);
	if (op->iallocator == NULL || r->iallocator != NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The cluster has no default iallocator; name one, or "
			 "a node");
}

int replace_check_arguments(struct lu *lu, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	bool moves = mode_is(lu, "replace_new_secondary");

	if (!moves && (op->remote_node != NULL || op->iallocator != NULL))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The iallocator and new node options can only "
				 "be used when changing the secondary node");
	if (moves && op->remote_node == NULL && op->iallocator == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "When changing the secondary either an "
				 "iallocator script must be used or the new "
				 "node given");
	if (op->remote_node != NULL && op->iallocator != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Do not specify both, iallocator and node");
	if ((moves || mode_is(lu, "replace_auto")) &&
	    json_array_size(op->disks) > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot specify disks to be replaced in mode "
				 "%s",
				 op->mode);
	return choose_allocator(lu, err);
}

/* --- the instance --- */

static int check_layout(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);
	const char *template = config_instance_template(lu->m->config, r->inst);
	auto_strv struct strv secondaries = {0};

	config_instance_secondaries(lu->m->config, r->inst, &secondaries);
	if (secondaries.n != 1)
		return error_set(err, ERR_PREREQ, ECODE_FAULT,
				 "The instance has a strange layout, expected "
				 "one secondary but found %zu",
				 secondaries.n);
	if (template_is_pair(template))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Disks of instance %s can't be replaced: its template "
			 "is '%s', it must be drbd",
			 inst_name(r->inst), template);
}

static int choose_disks(struct lu *lu, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);
	size_t given = json_array_size(op->disks);

	free(r->wanted);
	r->n = json_array_size(inst_disks(r->inst));
	r->wanted = xcalloc(r->n + 1, sizeof(*r->wanted));
	for (size_t i = 0; i < r->n; i++)
		r->wanted[i] = given == 0;
	for (size_t i = 0; i < given; i++) {
		json_int_t index =
			json_integer_value(json_array_get(op->disks, i));

		if (index < 0 || (size_t)index >= r->n)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Invalid disk index %lld: instance %s "
					 "has %zu disk(s)",
					 (long long)index, inst_name(r->inst),
					 r->n);
		r->wanted[index] = true;
	}
	return 0;
}

/* --- what is broken, in mode auto --- */

/* How many disks have faulty storage on the node; flags them. */
static WAITS int find_faulty(struct lu *lu, const char *node, bool *ret_faulty,
			     struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_json json_t *disks = inst_rpc_disks(lu, r->inst);
	auto_json json_t *all = NULL;
	const json_t *at = config_get(lu->m->config, CONFIG_NODE, node);
	int n = 0;

	if (node_offline(at))
		return 0; /* what its disks are nobody knows */
	all = lu_call(lu, node, rpc_blockdev_getmirrorstatus(json_ref(disks)),
		      err);
	if (all == NULL) {
		error_wrap(err, "Failed to get disk status from node %s",
			   lu_node_name(lu, node));
		return error_as(err, ERR_PREREQ, ECODE_ENVIRON);
	}
	for (size_t i = 0; i < r->n; i++) {
		ret_faulty[i] = json_int(json_array_get(all, i), "ldisk_status",
					 0) == LDISK_FAULTY;
		n += ret_faulty[i];
	}
	return n;
}

static WAITS int choose_faulty(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_free bool *first = xcalloc(r->n + 1, sizeof(bool));
	auto_free bool *second = xcalloc(r->n + 1, sizeof(bool));
	int on_primary = find_faulty(lu, r->primary, first, err);
	int on_secondary = on_primary < 0
				   ? -1
				   : find_faulty(lu, r->secondary, second, err);

	if (on_secondary < 0)
		return -1;
	if (on_primary > 0 && on_secondary > 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance %s has faulty disks on more than "
				 "one node and can not be repaired "
				 "automatically",
				 inst_name(r->inst));
	if (on_primary > 0) {
		r->target = r->primary;
		r->other = r->secondary;
	}
	for (size_t i = 0; i < r->n; i++)
		r->wanted[i] = first[i] || second[i];
	return 0;
}

/* --- the new secondary --- */

static WAITS int ask_allocator(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_strv struct strv from = {0};
	auto_json json_t *nodes = NULL;
	const json_t *node;

	strv_add(&from, lu_node_name(lu, r->secondary));
	nodes = lu_allocator(lu, iallocator_relocate(lu->m, r->inst, &from),
			     (struct iallocator_how){
				     .name = r->iallocator,
				     .disk_template = config_instance_template(
					     lu->m->config, r->inst),
			     },
			     err);
	if (nodes == NULL)
		return -1;
	node = lu_node(lu, json_string_value(json_array_get(nodes, 0)), err);
	if (node == NULL)
		return -1;
	r->new_node = node_uuid(node);
	lu_info(lu, "Selected new secondary for instance '%s': %s",
		inst_name(r->inst), node_name(node));
	return 0;
}

static int check_new_node(struct lu *lu, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);

	if (str_eq(r->new_node, r->primary))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The specified node is the primary node of "
				 "the instance");
	if (str_eq(r->new_node, r->secondary))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The specified node is already the secondary "
				 "node of the instance");
	if (inst_check_node(lu, r->new_node, true, err) < 0)
		return -1;
	return group_mirror_room(
		lu,
		&(struct group_mirror){r->inst, r->primary, r->new_node,
				       r->new_node, op->ignore_ipolicy},
		err);
}

/* Its room is booked: others may place. */
static void keep_new_node(struct lu *lu)
{
	struct replace *r = replace_of(lu);
	auto_strv struct strv nodes = {0};

	lu_book(lu, r->inst, r->new_node, BOOK_DISKS);
	strv_add(&nodes, r->new_node);
	strv_add(&nodes, r->primary);
	strv_add(&nodes, r->secondary);
	lu_release(lu, LOCK_NODE_RES);
	lu_release_but(lu, LOCK_NODE, &nodes);
	lu_release(lu, LOCK_NODEGROUP);
}

static WAITS int choose_secondary(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);

	r->other = r->primary;
	if (r->iallocator != NULL) {
		r->new_node = NULL;
		if (ask_allocator(lu, err) < 0)
			return -1;
	} else {
		lu_unbook(lu, r->inst, r->new_node, BOOK_DISKS);
	}
	if (check_new_node(lu, err) < 0 ||
	    inst_check_node(lu, r->primary, false, err) < 0)
		return -1;
	keep_new_node(lu);
	return 0;
}

WAITS int replace_check(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);

	if (check_layout(lu, err) < 0 || choose_disks(lu, err) < 0)
		return -1;
	if (mode_is(lu, "replace_new_secondary"))
		return choose_secondary(lu, err);
	r->target =
		mode_is(lu, "replace_on_primary") ? r->primary : r->secondary;
	r->other = r->target == r->primary ? r->secondary : r->primary;
	if (mode_is(lu, "replace_auto") && choose_faulty(lu, err) < 0)
		return -1;
	if (inst_check_node(lu, r->target, false, err) < 0 ||
	    inst_check_node(lu, r->other, false, err) < 0)
		return -1;
	/* The old storage goes only when the new one is in use. */
	lu_book(lu, r->inst, r->target, BOOK_COPY);
	lu_release(lu, LOCK_NODE_RES);
	return 0;
}
