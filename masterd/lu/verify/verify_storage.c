/* SPDX-License-Identifier: BSD-2-Clause */
/* LVM and DRBD of a group's nodes.  Nodes are asked for LVM where the cluster
 * has a volume group, and for DRBD where it has a helper and the template. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/volumes.h"
#include "masterd/lu/verify/verify_group.h"

/* As Ganeti's: what sizes may differ. */
#define PV_MARGIN 0.01

static const char *volume_group(const struct verify_group *g)
{
	return cluster_volume_group_name_or(config_cluster(g->lu.m->config),
					    NULL);
}

/* --- LVM of one node --- */

static void check_vg(struct verify_group *g, const struct node_result *r,
		     const char *name, const char *vg)
{
	const json_t *list = json_get(r->payload, "vglist");
	const json_t *size = json_get(list, vg);

	if (json_object_size(list) == 0)
		verify_error(&g->v, "ENODELVM", name,
			     "unable to check volume groups%s%s",
			     json_is_string(list) ? ": " : "",
			     json_is_string(list) ? json_string_value(list)
						  : "");
	else if (!json_is_number(size))
		verify_error(&g->v, "ENODELVM", name,
			     "volume group '%s' missing", vg);
	else
		verify_if(&g->v, json_number_value(size) < VG_MIN_MIB,
			  "ENODELVM", name,
			  "volume group '%s' too small (%d MiB required, %.0f "
			  "MiB found)",
			  vg, VG_MIN_MIB, json_number_value(size));
}

static double pv_size(const json_t *pv)
{
	return json_number_value(json_get(pv, "size"));
}

/* The sizes of the smallest and the largest; false without any. */
static bool pv_range(const struct node_result *r, double *ret_min,
		     double *ret_max)
{
	const json_t *list = json_get(r->payload, "pvlist");

	for (size_t i = 0; i < json_array_size(list); i++) {
		double size = pv_size(json_array_get(list, i));

		if (i == 0 || size < *ret_min)
			*ret_min = size;
		if (i == 0 || size > *ret_max)
			*ret_max = size;
	}
	return json_array_size(list) > 0;
}

static bool differ_too_much(double min, double max)
{
	return min * (1 + PV_MARGIN) < max * (1 - PV_MARGIN);
}

static void check_shared_pvs(struct verify_group *g,
			     const struct node_result *r, const char *name)
{
	const json_t *shared = json_get(r->payload, "exclusive-pvs");
	double min = 0, max = 0;

	for (size_t i = 0; i < json_array_size(shared); i++) {
		const json_t *row = json_array_get(shared, i);
		auto_strv struct strv volumes = {0};
		auto_free char *list = NULL;

		json_to_strv(json_array_get(row, 1), &volumes);
		list = strv_join(&volumes, ", ");
		verify_error(&g->v, "ENODELVM", name,
			     "PV %s is shared among unrelated LVs (%s)",
			     json_string_value(json_array_get(row, 0)) ?: "",
			     list);
	}
	if (pv_range(r, &min, &max) && differ_too_much(min, max))
		verify_error(&g->v, "ENODELVM", name,
			     "Sizes of PVs are too different: min=%.0f "
			     "max=%.0f",
			     min, max);
}

static void check_pvs(struct verify_group *g, const struct node_result *r,
		      const char *name)
{
	const json_t *list = json_get(r->payload, "pvlist");

	verify_if(&g->v, !json_is_array(list), "ENODELVM", name,
		  "Can't get PV list from node");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *pv = json_str(json_array_get(list, i), "name", "");

		/* lvcreate would take the rest of such a name for a range. */
		verify_if(&g->v, strchr(pv, ':') != NULL, "ENODELVM", name,
			  "Invalid character ':' in PV '%s'", pv);
	}
	if (g->exclusive)
		check_shared_pvs(g, r, name);
}

static const json_t *volumes_of(const struct node_result *r)
{
	const json_t *list = r == NULL ? NULL : json_get(r->payload, "lvlist");

	return json_is_object(list) ? list : NULL;
}

static void check_lvs(struct verify_group *g, const struct node_result *r,
		      const char *name)
{
	const char *why = json_str(r->payload, "lvlist", "no answer");

	verify_if(&g->v, volumes_of(r) == NULL, "ENODELVM", name,
		  "LVM problem on node: %s", why);
}

/* --- DRBD of one node --- */

static void check_helper(struct verify_group *g, const struct node_result *r,
			 const char *name, const char *helper)
{
	const json_t *answer = json_get(r->payload, "drbd-helper");
	const json_t *payload = json_array_get(answer, 1);
	const char *text = json_string_value(payload);

	if (json_array_size(answer) != 2) {
		verify_error(&g->v, "ENODEDRBDHELPER", name,
			     "no drbd usermode helper returned");
		return;
	}
	verify_if(&g->v, !json_is_true(json_array_get(answer, 0)),
		  "ENODEDRBDHELPER", name,
		  "drbd usermode helper check unsuccessful: %s",
		  text == NULL ? "" : text);
	verify_if(&g->v,
		  json_is_true(json_array_get(answer, 0)) &&
			  !str_eq(text, helper),
		  "ENODEDRBDHELPER", name, "wrong drbd usermode helper: %s",
		  text == NULL ? "" : text);
}

static bool has_minor(const json_t *used, int64_t minor)
{
	for (size_t i = 0; i < json_array_size(used); i++)
		if (json_integer_value(json_array_get(used, i)) == minor)
			return true;
	return false;
}

/* The minor of the disk on that node; -1 when it has no part there. */
static int64_t minor_on(const json_t *disk, const char *node)
{
	const json_t *id = disk_logical_id(disk);

	if (!str_eq(disk_dev_type(disk), "drbd"))
		return -1;
	for (size_t side = 0; side < 2; side++)
		if (str_eq(json_string_value(json_array_get(id, side)), node))
			return json_integer_value(json_array_get(id, 3 + side));
	return -1;
}

/* Check one instance's minors; those that are allocated go to *ret. */
static void check_instance_minors(struct verify_group *g,
				  const struct node_result *r,
				  const struct config *c, const json_t *inst,
				  json_t *ret)
{
	const json_t *used = json_get(r->payload, "drbd-list");
	auto_json json_t *disks = config_instance_disks(c, inst);
	bool active = inst_disks_active(inst) && c == g->lu.m->config;

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		int64_t minor = minor_on(disk, node_uuid(r->node));

		if (minor < 0)
			continue;
		json_array_append_new(ret, json_integer(minor));
		verify_if(&g->v, active && !has_minor(used, minor), "ENODEDRBD",
			  node_name(r->node),
			  "drbd minor %jd of disk %s (attached in instance "
			  "'%s') is not active",
			  (intmax_t)minor, disk_uuid(disk), inst_name(inst));
	}
}

static void check_minors(struct verify_group *g, const struct node_result *r,
			 const char *name)
{
	const json_t *used = json_get(r->payload, "drbd-list");
	const struct config *both[] = {g->lu.m->config, g->live->config};
	auto_json json_t *allocated = json_array();
	const char *uuid;
	json_t *inst;

	verify_if(&g->v, !json_is_array(used), "ENODEDRBD", name,
		  "cannot parse drbd status file: %s",
		  json_is_string(used) ? json_string_value(used) : "");
	if (!json_is_array(used))
		return;
	for (int i = 0; i < 2; i++)
		json_object_foreach (
			json_unconst(config_all(both[i], CONFIG_INSTANCE)),
			uuid, inst)
			check_instance_minors(g, r, both[i], inst, allocated);
	for (size_t i = 0; i < json_array_size(used); i++) {
		int64_t minor = json_integer_value(json_array_get(used, i));

		verify_if(&g->v, !has_minor(allocated, minor), "ENODEDRBD",
			  name, "unallocated drbd minor %jd is in use",
			  (intmax_t)minor);
	}
}

void verify_storage(struct verify_group *g, const struct node_result *r)
{
	const char *name = node_name(r->node);
	const char *helper =
		cluster_drbd_usermode_helper(config_cluster(g->lu.m->config));
	const char *vg = volume_group(g);

	if (vg != NULL) {
		check_vg(g, r, name, vg);
		check_pvs(g, r, name);
		if (verify_has_storage(&g->lu, &storage_table[STORAGE_LVM_VG]))
			check_lvs(g, r, name);
	}
	if (verify_has_template(&g->lu, "drbd") && *helper != '\0') {
		check_helper(g, r, name, helper);
		check_minors(g, r, name);
	}
}

/* --- between nodes --- */

static void check_pv_sizes(struct verify_group *g)
{
	double min = 0, max = 0;
	const char *min_node = NULL, *max_node = NULL;

	for (size_t i = 0; i < g->n; i++) {
		double small, big;

		if (!pv_range(&g->results[i], &small, &big))
			continue;
		if (min_node == NULL || small < min) {
			min = small;
			min_node = node_name(g->results[i].node);
		}
		if (max_node == NULL || big > max) {
			max = big;
			max_node = node_name(g->results[i].node);
		}
	}
	if (min_node != NULL && differ_too_much(min, max))
		verify_error(&g->v, "EGROUPDIFFERENTPVSIZE",
			     group_name(g->group),
			     "PV sizes differ too much in the group; smallest "
			     "(%.0f MB) is on %s, biggest (%.0f MB) is on %s",
			     min, min_node, max, max_node);
}

static void check_drbd_versions(struct verify_group *g)
{
	const char *first = NULL;
	bool differ = false;

	for (size_t i = 0; i < g->n; i++) {
		const char *version =
			json_str(g->results[i].payload, "drbd-version", NULL);

		if (version == NULL)
			continue;
		if (first == NULL)
			first = version;
		differ |= !str_eq(version, first);
	}
	for (size_t i = 0; i < g->n && differ; i++)
		verify_warning(&g->v, "ENODEDRBDVERSION",
			       node_name(g->results[i].node),
			       "DRBD version mismatch: %s",
			       json_str(g->results[i].payload, "drbd-version",
					"unknown"));
}

void verify_group_storage(struct verify_group *g)
{
	if (volume_group(g) != NULL && g->exclusive)
		check_pv_sizes(g);
	check_drbd_versions(g);
}

/* --- volumes that are there, and that should be --- */

static void collect_volumes(struct verify_group *g, const struct config *c)
{
	const char *uuid;
	json_t *inst;

	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     inst) {
		auto_json json_t *disks = config_instance_disks(c, inst);

		for (size_t i = 0; i < json_array_size(disks); i++)
			volumes_add(g->should, inst, json_array_get(disks, i));
	}
}

void verify_collect_volumes(struct verify_group *g)
{
	json_decref(g->should);
	g->should = json_object();
	collect_volumes(g, g->lu.m->config);
	collect_volumes(g, g->live->config);
}

static bool is_reserved(const struct verify_group *g, const char *volume)
{
	const json_t *patterns =
		cluster_reserved_lvs(config_cluster(g->lu.m->config));

	for (size_t i = 0; i < json_array_size(patterns); i++)
		if (volumes_match(json_string_value(json_array_get(patterns, i))
					  ?: "",
				  volume))
			return true;
	return false;
}

void verify_orphan_volumes(struct verify_group *g)
{
	const char *vg = volume_group(g), *volume;
	json_t *row;

	for (size_t i = 0; i < g->n && vg != NULL; i++) {
		const struct node_result *r = &g->results[i];
		const json_t *known = json_get(g->should, node_uuid(r->node));

		json_object_foreach (json_unconst(volumes_of(r)), volume, row)
			if (strncmp(volume, vg, strlen(vg)) == 0 &&
			    volume[strlen(vg)] == '/' &&
			    json_get(known, volume) == NULL &&
			    !is_reserved(g, volume))
				verify_warning(&g->v, "ENODEORPHANLV",
					       node_name(r->node),
					       "volume %s is unknown", volume);
	}
}

/* Into {node: {file: true}}. */
static void collect_files(const struct config *c, json_t *ret)
{
	const char *uuid;
	json_t *inst;

	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     inst) {
		auto_json json_t *disks = config_instance_disks(c, inst);
		const char *node = inst_primary_node(inst);

		for (size_t i = 0; i < json_array_size(disks); i++) {
			const json_t *disk = json_array_get(disks, i);
			const char *file = json_string_value(
				json_array_get(disk_logical_id(disk), 1));

			if (!str_eq(disk_dev_type(disk), "file") ||
			    file == NULL)
				continue;
			if (json_get(ret, node) == NULL)
				json_object_set_new(ret, node, json_object());
			json_object_set_new(json_object_get(ret, node), file,
					    json_true());
		}
	}
}

void verify_orphan_files(struct verify_group *g)
{
	auto_json json_t *should = json_object();

	collect_files(g->lu.m->config, should);
	collect_files(g->live->config, should);
	for (size_t i = 0; i < g->n; i++) {
		const struct node_result *r = &g->results[i];
		const json_t *known = json_get(should, node_uuid(r->node));
		const json_t *list = json_get(r->payload, "file-storage-files");

		for (size_t k = 0; k < json_array_size(list); k++) {
			const char *file =
				json_string_value(json_array_get(list, k));

			if (file != NULL && json_get(known, file) == NULL)
				verify_warning(&g->v, "ENODEORPHANFILE",
					       node_name(r->node),
					       "file %s is no instance's disk; "
					       "remove it if nobody needs it",
					       file);
		}
	}
}

void verify_missing_volumes(struct verify_group *g, const json_t *inst)
{
	const char *node, *volume;
	json_t *volumes, *owner;

	json_object_foreach (g->should, node, volumes) {
		const struct node_result *r = verify_find(g, node);
		const json_t *there = volumes_of(r);

		if (there == NULL || r->offline)
			continue;
		json_object_foreach (volumes, volume, owner)
			if (str_eq(json_string_value(owner), inst_name(inst)))
				verify_if(
					&g->v, json_get(there, volume) == NULL,
					"EINSTANCEMISSINGDISK", inst_name(inst),
					"volume %s missing on node %s", volume,
					node_name(r->node));
	}
}
