/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits until both sides of mirrored disks have the same data. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

/* How often in a row a node may fail to report on its mirrors, and how often
 * they may be degraded after the sync, before that is taken as the result. */
#define SYNC_TRIES 10
#define SYNC_RETRY_MS 6000
#define SYNC_POLL_MAX_MS 60000
#define SYNC_POLL_MIN_MS 1000

/* Of a mirror's local storage, in a node's answer. */
#define LDISK_OKAY 1

json_t *disks_mirror_status(struct lu *lu, const char *node,
			    const json_t *disks, struct error *err)
{
	auto_json json_t *all = lu_call(
		lu, node, rpc_blockdev_getmirrorstatus(json_ref(disks)), err);

	if (all == NULL)
		return NULL;
	if (json_array_size(all) == json_array_size(disks))
		return steal(&all);
	error_set(err, ERR_EXEC, NULL,
		  "Node %s does not tell the state of each disk",
		  lu_node_name(lu, node));
	return NULL;
}

struct sync {
	bool done, degraded;
	int64_t seconds; /* the longest estimate, 0 for none */
};

static struct sync sync_state(const json_t *statuses)
{
	struct sync s = {.done = true};

	for (size_t i = 0; i < json_array_size(statuses); i++) {
		const json_t *one = json_array_get(statuses, i);
		const json_t *percent = json_get(one, "sync_percent");
		int64_t left = json_int(one, "estimated_time", 0);

		if (json_is_number(percent))
			s.done = false;
		else
			s.degraded |= json_bool(one, "is_degraded", false);
		if (left > s.seconds)
			s.seconds = left;
	}
	return s;
}

/* A sync begins slowly, so the first estimates are too long. */
static unsigned poll_ms(const struct sync *s)
{
	int64_t half_ms = s->seconds * 500;

	if (half_ms >= SYNC_POLL_MAX_MS)
		return SYNC_POLL_MAX_MS;
	return half_ms <= SYNC_POLL_MIN_MS ? SYNC_POLL_MIN_MS
					   : (unsigned)half_ms;
}

static void say_progress(struct lu *lu, const json_t *disks,
			 const json_t *statuses)
{
	for (size_t i = 0; i < json_array_size(statuses); i++) {
		const json_t *one = json_array_get(statuses, i);
		const json_t *percent = json_get(one, "sync_percent");
		int64_t left = json_int(one, "estimated_time", -1);
		auto_free char *estimate =
			left < 0 ? xstrdup("no time estimate")
				 : xprintf("%jds remaining (estimated)",
					   (intmax_t)left);

		if (json_is_number(percent))
			lu_info(lu, "- device %s: %5.2f%% done, %s",
				disk_iv_name(json_array_get(disks, i)),
				json_number_value(percent), estimate);
	}
}

json_t *disks_mirrors_of(struct lu *lu, const json_t *inst)
{
	auto_json json_t *all = inst_rpc_disks(lu, inst);
	json_t *mirrors = json_array(), *disk;
	size_t i;

	json_array_foreach (all, i, disk)
		if (template_is_pair(disk_dev_type_or(disk, NULL)))
			json_array_append(mirrors, disk);
	return mirrors;
}

static int lacks_data(struct lu *lu, const json_t *inst, const json_t *disk,
		      struct error *err)
{
	return error_set(
		err, ERR_PREREQ, ECODE_STATE,
		"Disk %s of instance %s does not have all data on its primary "
		"node %s: gnt-instance activate-disks --wait-for-sync brings "
		"them from the other side, gnt-instance replace-disks -p makes "
		"this side anew where its storage is broken",
		disk_iv_name(disk), inst_name(inst),
		lu_node_name(lu, inst_primary_node(inst)));
}

WAITS int disks_mirror_check_primary(struct lu *lu, const json_t *inst,
				     struct error *err)
{
	auto_json json_t *mirrors = disks_mirrors_of(lu, inst);
	auto_json json_t *all = NULL;

	if (json_array_size(mirrors) == 0)
		return 0;
	all = disks_mirror_status(lu, inst_primary_node(inst), mirrors, err);
	if (all == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *status = json_array_get(all, i);

		if (json_int(status, "ldisk_status", 0) != LDISK_OKAY)
			return lacks_data(lu, inst, json_array_get(mirrors, i),
					  err);
	}
	return 0;
}

static int still_degraded(const json_t *inst, struct error *err)
{
	return error_set(err, ERR_EXEC, NULL,
			 "Disks of instance %s are still degraded after their "
			 "sync",
			 inst_name(inst));
}

/* There is no time limit: over a slow network mirrors may take days.  A user
 * who does not want to wait kills the job. */
static WAITS int follow(struct lu *lu, const json_t *inst, const json_t *disks,
			bool once, bool *ret_done, struct error *err)
{
	int failures = 0, degraded = 0;

	for (;;) {
		auto_json json_t *all = disks_mirror_status(
			lu, inst_primary_node(inst), disks, err);
		struct sync s = sync_state(all);
		bool ends = all != NULL && (s.done || once);

		*ret_done = s.done;
		if (lu->run->killed)
			return lu_check_killed(lu, err);
		failures = all == NULL ? failures + 1 : 0;
		if (failures >= SYNC_TRIES)
			return error_wrap(err, "Can't follow the sync of the "
					       "disks");
		if (ends && !s.degraded)
			return 0;
		if (ends && ++degraded >= SYNC_TRIES)
			return still_degraded(inst, err);
		say_progress(lu, disks, all);
		task_sleep(all == NULL ? SYNC_RETRY_MS : poll_ms(&s));
	}
}

int disks_wait_sync(struct lu *lu, const json_t *inst, const json_t *disks,
		    bool once, struct error *err)
{
	auto_json json_t *mirrors =
		disks == NULL ? disks_mirrors_of(lu, inst) : json_ref(disks);

	bool done = true;

	if (!once)
		lu_info(lu, "Waiting for instance %s to sync disks",
			inst_name(inst));
	if (json_array_size(mirrors) > 0 &&
	    follow(lu, inst, mirrors, once, &done, err) < 0)
		return -1;
	if (done)
		lu_info(lu, "Instance %s's disks are in sync", inst_name(inst));
	return 0;
}

void disks_pause_mirror(struct lu *lu, const char *node, const json_t *disk,
			bool pause)
{
	struct rpc_request request;
	auto_json json_t *done = NULL;
	struct error err;

	if (json_array_size(disk_children(disk)) == 0)
		return;
	request = rpc_blockdev_pause_resume_sync(json_make("[O]", disk), pause);
	if (lu->run->killed) {
		aftermath_call(lu->m, node, request);
		return;
	}
	done = lu_call(lu, node, request, &err);
	if (done == NULL)
		lu_warn(lu,
			"Failed to %s disk synchronization on node '%s': %s",
			pause ? "pause" : "resume", lu_node_name(lu, node),
			err.text);
}
