/* SPDX-License-Identifier: BSD-2-Clause */
/* An instance moves with its disks while it runs: a process on the target waits
 * for it and lets its new disks be written to; the instance copies its disks
 * there and goes on writing to both; its memory follows, and at the moment
 * when it is paused for the last of that, the disks are completed.
 *
 * The disks are encrypted on their way, with a key that the target makes for
 * this time.  The memory is not, as with each migration.  Both go over the
 * secondary addresses. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/live_copy.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/instance/instance_move.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"

static struct inst_move *own(struct lu *lu)
{
	return container_of(move_of(lu), struct inst_move, base);
}

WAITS int instance_move_check_live(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	bool can = false;

	m->live = true;
	if (live_copy_can(lu, m->inst, &can, err) < 0)
		return -1;
	if (can)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instance %s cannot move while it runs: only those of "
			 "the hypervisor kvm that are running can; without "
			 "--live it is stopped for the time of the copy",
			 inst_name(m->inst));
}

/* A process on the target that waits, and how its disks can be written to; to
 * be freed, NULL with err. */
static WAITS json_t *wait_there(struct lu *lu, const json_t *info,
				const char *address, struct error *err)
{
	struct move *m = move_of(lu);

	if (disks_start(lu, m->inst, m->target, err) < 0 ||
	    move_accept(lu, info, err) < 0)
		return NULL;
	return lu_call(lu, m->target,
		       rpc_instance_mirror_serve(
			       inst_rpc(lu, m->inst, NULL, NULL), address),
		       err);
}

static struct rpc_request end_source(struct lu *lu)
{
	struct move *m = move_of(lu);

	return rpc_instance_finalize_migration_src(
		inst_rpc(lu, m->inst, NULL, NULL), false, true);
}

/* What a killed job cannot call itself, in the order of move_abort().  The
 * target's process is ended whatever the source says, and the disks are removed
 * only when the source has the instance; so it is asked twice. */
static void end_later(struct lu *lu, const json_t *info)
{
	struct move *m = move_of(lu);
	const json_t *disks = own(lu)->disks;
	struct aftermath *later = aftermath_create(lu->m);

	aftermath_add(later, m->source, end_source(lu));
	aftermath_add_needed(later, m->target,
			     rpc_instance_finalize_migration_dst(
				     inst_rpc(lu, m->inst, NULL, NULL),
				     json_string_value(info), false));
	aftermath_add_needed(later, m->source, end_source(lu));
	for (size_t i = 0; i < json_array_size(disks); i++)
		aftermath_add_needed(later, m->target,
				     rpc_blockdev_remove(json_ref(
					     json_array_get(disks, i))));
	aftermath_begin(later);
}

/* The instance may have arrived, although the answer that said so was lost:
 * then a node refuses to go back.  Its disks on the target are removed only
 * when both have gone back; else they stay noted, and another job sees where it
 * is.
 */
static WAITS void give_up(struct lu *lu, const json_t *info)
{
	struct move *m = move_of(lu);
	struct error ignored;

	if (lu->run->killed) {
		end_later(lu, info);
	} else if (move_abort(lu, info) == 0) {
		disks_stop(lu, m->inst, m->target, true, &ignored);
		return;
	}
	own(lu)->has_disks = false;
	live_settle_later(lu, m->inst);
}

static WAITS int send_all(struct lu *lu, const json_t *info, struct error *err)
{
	const struct op_instance_move *op = lu->op;
	struct move *m = move_of(lu);
	auto_free char *address = xstrdup(node_secondary_ip(
		config_get(lu->m->config, CONFIG_NODE, m->target)));
	auto_json json_t *peer = wait_there(lu, info, address, err);
	const struct live_copy copy = {
		.inst = m->inst,
		.node = m->source,
		.disks = own(lu)->disks,
		.peer = peer,
		.speed_mib = op->bandwidth_limit,
	};

	if (peer == NULL || live_copy_run(lu, &copy, err) < 0)
		return -1;
	if (move_send(lu, err) == 0)
		return 0;
	live_copy_cancel(lu, &copy);
	return -1;
}

static WAITS int take_over(struct lu *lu, const json_t *info, struct error *err)
{
	struct inst_move *m = own(lu);

	/* The target runs and writes: whatever fails now, its disks stay. */
	m->has_disks = false;
	if (instance_move_put_primary(lu, err) < 0 ||
	    move_end_both(lu, info, err) < 0)
		return -1;
	disks_drop_copies(lu, m->base.inst);
	lu_balloon_freed(lu, m->base.source);
	lu_balloon_freed(lu, m->base.target);
	return 0;
}

static WAITS int move_in_turn(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *info = NULL;

	if (live_settle(lu, m->inst, err) < 0 ||
	    lu_balloon_move(lu, m->inst, m->target, false, err) < 0)
		return -1;
	info = move_info(lu, err);
	if (info == NULL || instance_move_make_disks(lu, err) < 0)
		return -1;
	if (send_all(lu, info, err) < 0) {
		give_up(lu, info);
		lu_balloon_freed(lu, m->source);
		lu_balloon_freed(lu, m->target);
		return -1;
	}
	if (take_over(lu, info, err) == 0)
		return 0;
	live_settle_later(lu, m->inst); /* it may not be recorded where it is */
	return -1;
}

WAITS int instance_move_live(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	int rc;

	lu_feedback(lu, "Moving instance %s to %s while it runs",
		    inst_name(m->inst), lu_node_name(lu, m->target));
	if (move_take_turn(lu, err) < 0)
		return -1;
	rc = move_in_turn(lu, err);
	move_give_turn(lu);
	return rc;
}
