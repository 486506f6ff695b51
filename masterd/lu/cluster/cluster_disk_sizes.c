/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_REPAIR_DISK_SIZES: the sizes of disks as their nodes see them go
 * into the configuration, and on how many spindles they are where storage is
 * exclusive.  The disks themselves stay as they are. */
#include "lib/base/units.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"

struct sizes {
	struct lu lu;
	struct strv instances; /* UUIDs, in nice order of the names */
	/* [[instance, index, "size" or "spindles", value], ...] */
	json_t *changed;
};

static struct sizes *sizes_of(struct lu *lu)
{
	return container_of(lu, struct sizes, lu);
}

static int find_instances(struct lu *lu, struct error *err)
{
	const struct op_cluster_repair_disk_sizes *op = lu->op;
	struct sizes *z = sizes_of(lu);

	strv_done(&z->instances);
	z->instances = (struct strv){0};
	if (json_array_size(op->instances) == 0)
		config_sorted(lu->m->config, CONFIG_INSTANCE, &z->instances);
	for (size_t i = 0; i < json_array_size(op->instances); i++) {
		const json_t *inst = lu_instance(
			lu, json_string_value(json_array_get(op->instances, i)),
			err);

		if (inst == NULL)
			return -1;
		strv_add_unique(&z->instances, inst_uuid(inst));
	}
	return 0;
}

static int sizes_expand(struct lu *lu, struct error *err)
{
	struct sizes *z = sizes_of(lu);

	if (find_instances(lu, err) < 0)
		return -1;
	for (size_t i = 0; i < z->instances.n; i++) {
		const json_t *inst = config_get(lu->m->config, CONFIG_INSTANCE,
						z->instances.items[i]);

		/* Diskless instances have nothing to repair; their lock would
		 * be refused. */
		if (inst_forthcoming(inst))
			continue;
		lu_want(lu, LOCK_INSTANCE, inst_name(inst), true);
		lu_want(lu, LOCK_NODE_RES, inst_primary_node(inst), false);
	}
	return 0;
}

/* The data volume of a mirror must be at least as large; whether it was not. */
static bool fit_children(json_t *disk)
{
	const json_t *children = disk_children(disk);
	int64_t size = disk_size_mib(disk);
	json_t *first;

	if (!template_is_pair(disk_dev_type(disk)) ||
	    disk_size_mib_or(json_array_get(children, 0), size) >= size)
		return false;
	first = config_edit(json_array_get(children, 0));
	disk_set_size_mib(first, size);
	disk_set_children(disk, json_copy(json_unconst(children)));
	json_array_set_new(disk_own_children(disk), 0, first);
	return true;
}

static void add_change(struct lu *lu, const json_t *inst, size_t i,
		       const char *what, int64_t value)
{
	json_array_append_new(sizes_of(lu)->changed,
			      json_make("[s, i, s, I]", inst_name(inst), (int)i,
					what, (json_int_t)value));
}

static bool correct_size(struct lu *lu, const json_t *inst, size_t i,
			 json_t *disk, int64_t size)
{
	int64_t recorded = disk_size_mib(disk);

	if (size != recorded)
		lu_info(lu,
			"Disk %zu of instance %s has mismatched size, "
			"correcting: recorded %jd, actual %jd",
			i, inst_name(inst), (intmax_t)recorded, (intmax_t)size);
	disk_set_size_mib(disk, size);
	if (!fit_children(disk) && size == recorded)
		return false;
	add_change(lu, inst, i, "size", size);
	return true;
}

/* They count where a disk has physical volumes for itself. */
static bool correct_spindles(struct lu *lu, const json_t *inst, size_t i,
			     json_t *disk, const json_t *spindles)
{
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary_node(inst));
	auto_free char *recorded = NULL;
	int64_t actual;

	if (!resources_exclusive(lu->m->config, node))
		return false;
	if (!json_is_integer(spindles)) {
		lu_warn(lu,
			"Disk %zu of instance %s did not return spindles "
			"information, ignoring",
			i, inst_name(inst));
		return false;
	}
	actual = json_integer_value(spindles);
	if (disk_has_spindles(disk) && disk_spindles(disk) == actual)
		return false;
	recorded = disk_has_spindles(disk)
			   ? xprintf("%jd", (intmax_t)disk_spindles(disk))
			   : xstrdup("none");
	lu_info(lu,
		"Disk %zu of instance %s has mismatched spindles, correcting: "
		"recorded %s, actual %jd",
		i, inst_name(inst), recorded, (intmax_t)actual);
	disk_set_spindles(disk, actual);
	add_change(lu, inst, i, "spindles", actual);
	return true;
}

/* What the node says of disk i: [bytes, spindles], or null. */
static void compare(struct lu *lu, const json_t *inst, size_t i,
		    const json_t *disk, const json_t *answer)
{
	const json_t *bytes = json_array_get(answer, 0);
	auto_json json_t *copy = NULL;
	bool changed;

	if (!json_is_integer(bytes)) {
		lu_warn(lu,
			"Disk %zu of instance %s did not return size "
			"information, ignoring",
			i, inst_name(inst));
		return;
	}
	copy = config_edit(disk);
	changed = correct_size(lu, inst, i, copy,
			       json_integer_value(bytes) / MIB);
	changed |=
		correct_spindles(lu, inst, i, copy, json_array_get(answer, 1));
	if (changed)
		config_put(lu->m->config, CONFIG_DISK, steal(&copy));
}

/* A node that does not answer leaves its instances as they are. */
static WAITS void repair(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	auto_json json_t *answer = NULL;
	const char *node = inst_primary_node(inst);
	struct error err;

	if (json_array_size(disks) == 0)
		return;
	answer = lu_call(lu, node,
			 rpc_blockdev_getdimensions(inst_rpc_disks(lu, inst)),
			 &err);
	if (json_array_size(answer) != json_array_size(disks)) {
		lu_warn(lu,
			"Node %s did not tell the sizes of the disks of "
			"instance %s, ignoring%s%s",
			lu_node_name(lu, node), inst_name(inst),
			answer == NULL ? ": " : "",
			answer == NULL ? err.text : "");
		return;
	}
	for (size_t i = 0; i < json_array_size(disks); i++)
		compare(lu, inst, i, json_array_get(disks, i),
			json_array_get(answer, i));
}

static WAITS json_t *sizes_exec(struct lu *lu, struct error *err)
{
	struct sizes *z = sizes_of(lu);

	z->changed = json_array();
	for (size_t i = 0; i < z->instances.n; i++) {
		const json_t *inst = config_get(lu->m->config, CONFIG_INSTANCE,
						z->instances.items[i]);

		if (inst != NULL && lu_has(lu, LOCK_INSTANCE, inst_name(inst)))
			repair(lu, lu_keep(lu, inst));
	}
	if (json_array_size(z->changed) > 0 &&
	    config_commit(lu->m->config, err) < 0)
		return NULL;
	return json_incref(z->changed);
}

static void sizes_done(struct lu *lu)
{
	strv_done(&sizes_of(lu)->instances);
	json_decref(sizes_of(lu)->changed);
}

const struct lu_class lu_cluster_repair_disk_sizes = {
	.op = &op_class_cluster_repair_disk_sizes,
	.size = sizeof(struct sizes),
	.expand = sizes_expand,
	.exec = sizes_exec,
	.done = sizes_done,
};
