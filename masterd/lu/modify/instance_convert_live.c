/* SPDX-License-Identifier: BSD-2-Clause */
/* The disks of an instance go to another storage while it runs.
 *
 * The new ones have the UUIDs of the old ones, by which the hypervisor knows
 * its devices.  They are recorded when they are complete, before the instance
 * leaves the old ones: until then it writes to both, so whichever the
 * configuration names has everything. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/live_copy.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/modify/instance_convert_private.h"
#include "masterd/lu/parts/lu_instance.h"

/* Both sides of new mirrors are connected. */
static WAITS int prepare(struct lu *lu, const json_t *owner,
			 const struct conversion *c, const json_t *carried,
			 struct error *err)
{
	for (size_t i = 0; i < json_array_size(carried); i++) {
		auto_json json_t *done = NULL;

		if (c->secondary == NULL)
			return 0;
		done = lu_call(lu, c->secondary,
			       rpc_blockdev_assemble(
				       json_ref(json_array_get(carried, i)),
				       json_ref(json_unconst(owner)), false,
				       (int64_t)i),
			       err);
		if (done == NULL)
			return -1;
	}
	return 0;
}

/* From now on the links of the instance's disks lead to the new ones. */
static WAITS void link_new(struct lu *lu, const json_t *owner, const char *node,
			   const json_t *carried)
{
	struct error err;

	for (size_t i = 0; i < json_array_size(carried); i++) {
		auto_json json_t *done =
			lu_call(lu, node,
				rpc_blockdev_assemble(
					json_ref(json_array_get(carried, i)),
					json_ref(json_unconst(owner)), true,
					(int64_t)i),
				&err);

		if (done == NULL)
			lu_warn(lu,
				"%s; gnt-instance activate-disks repeats it",
				err.text);
	}
}

/* The old disks are the recorded ones again. */
static WAITS int record_old(struct lu *lu, const struct conversion *c)
{
	const struct conversion back = {
		.inst = c->inst, .old = c->disks, .disks = c->old};
	struct error err;

	if (convert_record(lu, &back, &err) == 0)
		return 0;
	lu_warn(lu, "%s", err.text);
	return -1;
}

static WAITS int change_over(struct lu *lu, const struct conversion *c,
			     const struct live_copy *copy, bool *ret_used,
			     struct error *err)
{
	enum live_copy_use use;

	if (convert_record(lu, c, err) < 0) {
		*ret_used = !convert_is_undone(lu, c);
		return -1;
	}
	*ret_used = true;
	if (live_copy_pivot(lu, copy, &use, err) == 0)
		return 0;
	if (use == LIVE_COPY_OLD && !lu->run->killed) {
		/* What the configuration names is not removed. */
		*ret_used = record_old(lu, c) < 0;
		return -1;
	}
	live_settle_later(lu, c->inst);
	return error_wrap(err,
			  "The new disks of instance %s are recorded, and it "
			  "is not known to use them; gnt-instance "
			  "activate-disks %s sees to that. Its old disks are "
			  "left, remove them then",
			  inst_name(c->inst), inst_name(c->inst));
}

WAITS int convert_live(struct lu *lu, const struct conversion *c,
		       bool *ret_used, struct error *err)
{
	auto_json json_t *old = inst_rpc_disks(lu, c->inst);
	auto_json json_t *owner = inst_rpc(lu, c->inst, NULL, NULL);
	auto_json json_t *carried = json_array();
	auto_free char *node = xstrdup(inst_primary_node(c->inst));
	const struct live_copy copy = {
		.inst = c->inst,
		.node = node,
		.disks = carried,
		.speed_mib = c->op->bandwidth_limit,
	};

	for (size_t i = 0; i < json_array_size(c->disks); i++)
		json_array_append_new(
			carried, inst_rpc_disk(lu, c->inst,
					       json_array_get(c->disks, i)));
	if (prepare(lu, owner, c, carried, err) < 0 ||
	    live_copy_run(lu, &copy, err) < 0)
		return -1;
	if (change_over(lu, c, &copy, ret_used, err) < 0) {
		if (!*ret_used)
			live_copy_cancel(lu, &copy);
		return -1;
	}
	link_new(lu, owner, node, carried);
	convert_remove_old(lu, c, old);
	return 0;
}
