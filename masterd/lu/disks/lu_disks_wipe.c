/* SPDX-License-Identifier: BSD-2-Clause */
/* New disk space contains what somebody else wrote there; the cluster can
 * demand that it is wiped before an instance sees it (prealloc_wipe_disks). */
#include "lib/base/units.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/frame/progress.h"
#include "masterd/lu/parts/lu_instance.h"

/* One call wipes a tenth of the disk, at most this many MiB. */
#define CHUNK_MAX_MIB 1024

static int64_t chunk_of(int64_t size)
{
	int64_t chunk = size / 10 < CHUNK_MAX_MIB ? size / 10 : CHUNK_MAX_MIB;

	return chunk > 0 ? chunk : 1;
}

/* What the node has may be larger than what is recorded, and the instance sees
 * all of it. */
static WAITS int64_t end_of(struct lu *lu, const char *node, const json_t *disk)
{
	struct error ignored;
	auto_json json_t *all = lu_call(
		lu, node, rpc_blockdev_getdimensions(json_make("[O]", disk)),
		&ignored);
	const json_t *bytes = json_array_get(json_array_get(all, 0), 0);
	int64_t mib = json_integer_value(bytes) / MIB; /* only whole ones */

	return mib > disk_size_mib(disk) ? mib : disk_size_mib(disk);
}

static WAITS int wipe_range(struct lu *lu, const char *node, const json_t *disk,
			    size_t i, int64_t from, struct error *err)
{
	int64_t size = disk_size_mib(disk), chunk = chunk_of(size);
	struct progress progress;

	progress_begin(&progress, "wiping");
	for (int64_t at = from; at < size; at += chunk) {
		int64_t n = size - at < chunk ? size - at : chunk;
		auto_json json_t *done =
			lu_call(lu, node,
				rpc_blockdev_wipe(json_ref(disk), at, n), err);

		if (done == NULL)
			return error_wrap(err,
					  "Could not wipe disk %zu at offset "
					  "%jd for size %jd",
					  i, (intmax_t)at, (intmax_t)n);
		progress_tell(&progress, lu,
			      (double)(at + n - from) / (double)(size - from));
	}
	return 0;
}

static bool inst_wipes(struct lu *lu)
{
	return cluster_prealloc_wipe_disks(config_cluster(lu->m->config));
}

int disks_wipe_begin(struct lu *lu, const json_t *inst, const json_t *disk,
		     size_t i, int64_t *ret_mib, struct error *err)
{
	auto_free char *node = xstrdup(inst_primary_node(inst));
	auto_json json_t *all = NULL;

	if (!inst_wipes(lu)) {
		*ret_mib = INT64_MAX;
		return 0;
	}
	all = lu_call(lu, node,
		      rpc_blockdev_getdimensions(
			      json_make("[o]", inst_rpc_disk(lu, inst, disk))),
		      err);
	if (all == NULL)
		return -1;
	*ret_mib = disks_told_mib(json_array_get(all, 0));
	if (*ret_mib < 0)
		return error_set(err, ERR_EXEC, NULL,
				 "Node %s does not tell the size of disk %zu "
				 "of instance %s, so what is new of it can't "
				 "be wiped",
				 lu_node_name(lu, node), i, inst_name(inst));
	return 0;
}

/* It is somebody's device, taken with what is on it. */
static bool holds_data(const json_t *disk)
{
	return template_get(disk_dev_type(disk))->adopts == ADOPTS_ALWAYS;
}

int disks_wipe_one(struct lu *lu, const json_t *inst, const json_t *disk,
		   size_t i, int64_t from_mib, struct error *err)
{
	auto_free char *node = xstrdup(inst_primary_node(inst));
	auto_json json_t *carried = inst_rpc_disk(lu, inst, disk);
	int rc;

	if (!inst_wipes(lu) || holds_data(disk))
		return 0;
	/* A node daemon of Ganeti's wipes up to the size that it is told. */
	disk_set_size_mib(carried, end_of(lu, node, carried));
	if (from_mib >= disk_size_mib(carried))
		return 0;
	if (from_mib == 0)
		lu_info(lu, "* Wiping disk %zu", i);
	else
		lu_info(lu, "* Wiping disk %zu (from %jdM to %jdM)", i,
			(intmax_t)from_mib, (intmax_t)disk_size_mib(carried));
	disks_pause_mirror(lu, node, carried, true);
	rc = wipe_range(lu, node, carried, i, from_mib, err);
	disks_pause_mirror(lu, node, carried, false);
	return rc;
}

int disks_wipe(struct lu *lu, const json_t *inst, struct error *err)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);

	if (!inst_wipes(lu))
		return 0;
	lu_feedback(lu, "* wiping instance disks...");
	for (size_t i = 0; i < json_array_size(disks); i++)
		if (disks_wipe_one(lu, inst, json_array_get(disks, i), i, 0,
				   err) < 0)
			return -1;
	return 0;
}
