/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for one instance that starts, restarts or moves.  When less is free
 * than its maximum, it gets what is free.  Other instances shrink only when
 * even its minimum is not free, and only until it is.  lu_balloon_floor.c reads
 * and changes the sizes. */
#include "masterd/lu/parts/lu_balloon.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "masterd/lu/parts/lu_balloon_private.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/resources/resources.h"

/* To be called in the job's turn at the node. */
static WAITS int64_t make_room(struct lu *lu, const struct balloon_want *w,
			       struct error *err)
{
	auto_floor struct floor f = {
		.lu = lu, .node = w->node, .self = w->inst};
	auto_free int64_t *before = NULL;
	auto_json json_t *rows = json_array();
	int64_t mib, missing;

	if (floor_look(&f, err) < 0)
		return -1;
	if (f.runs_here && !w->restarts)
		return w->most;
	mib = floor_free(&f);
	if (mib < w->most && w->keep)
		return lu_balloon_refuse(lu, w, w->most, mib, err);
	if (mib < w->min) {
		before = floor_sizes(&f);
		missing = balloon_shrink(f.guests, f.n, w->min - mib);
		if (missing > 0)
			return lu_balloon_refuse(lu, w, w->min,
						 w->min - missing, err);
		if (floor_apply(&f, before, rows, true, err) < 0)
			return -1;
		mib = w->min;
	}
	mib = mib < w->most ? mib : w->most;
	if (!lu->common.dry_run && !lu_plans(lu))
		config_book_runtime(lu->m->config, lu->job_id,
				    inst_uuid(w->inst), w->node, mib);
	return mib;
}

int64_t lu_balloon_make(struct lu *lu, const struct balloon_want *want,
			struct error *err)
{
	auto_free char *node = xstrdup(want->node);
	int64_t got;

	if (!lu_balloon_is_tight(lu, node))
		return want->most;
	if (lu_balloon_take_turn(lu, node, err) < 0)
		return -1;
	got = make_room(lu, want, err);
	lu_balloon_give_turn(lu, node);
	return got;
}

/* --- starting --- */

int lu_balloon_forget_choice(struct lu *lu, const json_t *inst,
			     struct error *err)
{
	const char *uuid = inst_uuid(inst);
	const json_t *cluster = config_cluster(lu->m->config);
	json_t *changed;

	if (state_own(cluster, uuid, 0) == 0)
		return 0;
	changed = config_edit(cluster);
	state_forget_own(changed, uuid);
	config_put_cluster(lu->m->config, changed);
	return config_commit(lu->m->config, err);
}

/* It may have started with more than it may have: the node only knows what is
 * free at the moment, not what is guaranteed to others. */
static WAITS void limit(struct lu *lu, const json_t *inst, const char *node,
			int64_t mib)
{
	auto_floor struct floor f = {.lu = lu, .node = node};
	int64_t taken = floor_taken(&f, inst_uuid(inst));
	struct error err;

	/* Another job may have needed some of the memory since. */
	if (taken > 0 && taken < mib)
		mib = taken;
	if (lu_balloon_set_size(lu, inst, node, mib, &err) < 0)
		lu_warn(lu,
			"Could not set the memory of instance %s to %jd MiB, "
			"node %s may run out of it: %s",
			inst_name(inst), (intmax_t)mib, lu_node_name(lu, node),
			err.text);
	else
		lu_info(lu, "Memory of instance %s: %jd MiB", inst_name(inst),
			(intmax_t)mib);
}

int lu_start_instance(struct lu *lu, const json_t *inst,
		      const struct balloon_start *start, struct error *err)
{
	auto_json json_t *filled = inst_filled_be(lu, inst);
	auto_json json_t *be = json_overlay(filled, start->be);
	auto_json json_t *done = NULL;
	auto_free char *node = xstrdup(start->node);
	struct balloon_want want = {
		.node = node,
		.inst = inst,
		.min = be_minmem(be),
		.most = be_maxmem(be),
	};
	int64_t got = lu_balloon_make(lu, &want, err);

	if (got < 0)
		return -1;
	done = lu_call(
		lu, node,
		rpc_instance_start(inst_rpc(lu, inst, start->hv, start->be),
				   start->paused, lu_reason(lu)),
		err);
	if (done == NULL)
		return -1;
	if (got < want.most)
		limit(lu, inst, node, got);
	return lu_balloon_forget_choice(lu, inst, err);
}

int64_t lu_balloon_restart(struct lu *lu, const json_t *inst, bool anew,
			   struct error *err)
{
	auto_json json_t *be = inst_filled_be(lu, inst);
	const struct balloon_want want = {
		.node = inst_primary_node(inst),
		.inst = inst,
		.min = be_minmem(be),
		.most = be_maxmem(be),
		.restarts = true,
	};
	int64_t got = anew ? lu_balloon_make(lu, &want, err) : 0;

	return got == want.most ? 0 : got;
}

int lu_balloon_restarted(struct lu *lu, const json_t *inst, int64_t mib,
			 struct error *err)
{
	if (mib > 0)
		limit(lu, inst, inst_primary_node(inst), mib);
	return lu_balloon_forget_choice(lu, inst, err);
}

/* --- moving --- */

/* Its memory where it runs; -1 with err. */
static WAITS int64_t size_now(struct lu *lu, const json_t *inst,
			      struct error *err)
{
	const char *hypervisor = inst_hypervisor(inst);
	auto_json json_t *info =
		lu_call(lu, inst_primary_node(inst),
			rpc_instance_info(inst_name(inst), hypervisor,
					  inst_filled_hv(lu, inst)),
			err);

	return info == NULL ? -1 : json_int(info, "memory", 0);
}

/* Where nothing is recorded the node says what is free, as in Ganeti. */
static WAITS int64_t live_room(struct lu *lu, const struct balloon_want *w,
			       struct error *err)
{
	int64_t mib =
		lu_live_memory(lu, w->node, inst_hypervisor(w->inst), err);

	if (mib < 0 || mib >= w->most)
		return mib < 0 ? -1 : w->most;
	if (w->keep || mib < w->min)
		return lu_balloon_refuse(lu, w, w->keep ? w->most : w->min, mib,
					 err);
	return mib;
}

int lu_balloon_move(struct lu *lu, const json_t *inst, const char *target,
		    bool keep, struct error *err)
{
	auto_json json_t *be = inst_filled_be(lu, inst);
	int64_t size = size_now(lu, inst, err);
	int64_t min = be_minmem(be), got;
	struct balloon_want want = {
		.node = target,
		.inst = inst,
		.min = min < size ? min : size,
		.most = size,
		.keep = keep,
	};
	struct node_memory m;

	if (size < 0)
		return -1;
	resources_memory(lu->m->config, target, NULL, &m);
	got = m.recorded ? lu_balloon_make(lu, &want, err)
			 : live_room(lu, &want, err);
	if (got < 0 || got == size)
		return got < 0 ? -1 : 0;
	lu_feedback(lu, "* setting instance memory to %jd MiB", (intmax_t)got);
	return lu_balloon_set_size(lu, inst, inst_primary_node(inst), got, err);
}
