/* SPDX-License-Identifier: BSD-2-Clause */
/* The disks of an instance on its nodes: made, started, stopped, removed. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"

char *disks_file_dir(struct lu *lu, const char *name, const char *template,
		     const char *sub_dir)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *key = template_storage(template_get(template))->place;
	const char *base = key == NULL ? "" : json_str(cluster, key, "");

	if (sub_dir == NULL || *sub_dir == '\0')
		return xprintf("%s/%s", base, name);
	return xprintf("%s/%s/%s", base, sub_dir, name);
}

/* The folder of a file-based disk, to be freed; NULL for other disks. */
static char *folder_of(const json_t *disk)
{
	const char *path =
		json_string_value(json_array_get(disk_logical_id(disk), 1));
	const char *slash = path == NULL ? NULL : strrchr(path, '/');

	if (template_get(disk_dev_type(disk))->named != NAMED_AS_FILE ||
	    slash == NULL)
		return NULL;
	return xstrndup(path, (size_t)(slash - path));
}

static WAITS int make_folder(struct lu *lu, const char *node,
			     const json_t *disks, struct error *err)
{
	auto_free char *folder = folder_of(json_array_get(disks, 0));
	auto_json json_t *made = NULL;

	if (folder == NULL)
		return 0;
	made = lu_call(lu, node, rpc_file_storage_dir_create(folder), err);
	return made == NULL ? -1 : 0;
}

/* Make the call to the node.  If it cannot be reached, and the storage is
 * shared by all nodes, make it to another one. */
static WAITS int remove_call(struct lu *lu, const char *node,
			     struct rpc_request request, bool shared,
			     struct error *err)
{
	auto_json json_t *args = request.args;
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, node);
	if (shared)
		config_sorted(lu->m->config, CONFIG_NODE, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		auto_json json_t *done = NULL;

		json_incref(args);
		done = lu_call(lu, nodes.items[i], request, err);
		if (done != NULL)
			return 0;
		if (err->kind != ERR_RPC && err->kind != ERR_PREREQ)
			return -1; /* the node answered with a refusal */
	}
	return -1;
}

static bool is_shared(const json_t *disks)
{
	return template_is_everywhere(disk_dev_type(json_array_get(disks, 0)));
}

/* Remove one disk from this node, and from the secondary if it is mirrored. */
static WAITS int remove_device(struct lu *lu, const char *node,
			       const json_t *disk, size_t i)
{
	bool shared = template_is_everywhere(disk_dev_type(disk));
	auto_strv struct strv nodes = {0};
	struct error err;
	int rc = 0;

	strv_add(&nodes, node);
	config_disk_secondaries(disk, node, &nodes);
	for (size_t k = 0; k < nodes.n; k++) {
		if (remove_call(lu, nodes.items[k],
				rpc_blockdev_remove(json_ref(disk)), shared,
				&err) == 0)
			continue;
		lu_warn(lu, "Could not remove disk %zu, ignoring: %s", i,
			err.text);
		rc = -1;
	}
	return rc;
}

/* The same, with the devices below it, after the job was killed. */
static void remove_later(struct lu *lu, const char *node, const json_t *disk)
{
	auto_strv struct strv nodes = {0};
	auto_json json_t *made = json_array();

	strv_add(&nodes, node);
	config_disk_secondaries(disk, node, &nodes);
	for (size_t k = 0; k < nodes.n; k++)
		json_array_append_new(
			made, json_make("[s, O]", nodes.items[k], disk));
	aftermath_remove(lu->m, made);
}

static WAITS int remove_devices(struct lu *lu, const char *node,
				const json_t *disks, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (remove_device(lu, node, json_array_get(disks, i), i) < 0)
			rc = -1;
	return rc;
}

static WAITS int remove_some(struct lu *lu, const char *node,
			     const json_t *disks, size_t n)
{
	auto_free char *folder = folder_of(json_array_get(disks, 0));
	struct error err;
	int rc = remove_devices(lu, node, disks, n);

	if (folder == NULL)
		return rc;
	if (remove_call(lu, node, rpc_file_storage_dir_remove(folder),
			is_shared(disks), &err) == 0)
		return rc;
	lu_warn(lu, "Could not remove folder %s, ignoring: %s", folder,
		err.text);
	return -1;
}

char *disks_size_text(int64_t mib)
{
	if (mib < 1024)
		return xprintf("%jdM", (intmax_t)mib);
	if (mib < 1024 * 1024)
		return xprintf("%.1fG", (double)mib / 1024);
	return xprintf("%.1fT", (double)mib / (1024 * 1024));
}

void disks_say_one(struct lu *lu, const json_t *disk, size_t i)
{
	auto_free char *size = disks_size_text(disk_size_mib(disk));

	if (!template_is_pair(disk_dev_type(disk)))
		lu_feedback(lu, "* disk %zu, size %s", i, size);
}

void disks_say(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);

	for (size_t i = 0; i < json_array_size(disks); i++)
		disks_say_one(lu, json_array_get(disks, i), i);
}

/* What a node says that it has made is noted: [[node, device, index], ...] */
static WAITS int create_one(struct lu *lu, const json_t *inst, const char *node,
			    const json_t *disk, size_t index, json_t *made,
			    struct error *err)
{
	auto_free char *info = xprintf("originstname+%s", inst_name(inst));
	bool primary = strcmp(node, inst_primary_node(inst)) == 0;
	bool exclusive = resources_exclusive(
		lu->m->config, config_get(lu->m->config, CONFIG_NODE, node));
	auto_json json_t *done = lu_call(
		lu, node,
		rpc_blockdev_create(json_ref(disk), disk_size_mib(disk),
				    inst_name(inst), primary, info, exclusive),
		err);

	if (done != NULL) {
		json_array_append_new(made, json_make("[s, O, I]", node, disk,
						      (json_int_t)index));
		return 0;
	}
	return error_wrap(err,
			  "Can't create disk %zu of instance %s on node %s",
			  index, inst_name(inst), lu_node_name(lu, node));
}

/* Create the devices below a disk first. */
static WAITS int create_on(struct lu *lu, const json_t *inst, const char *node,
			   const json_t *disk, size_t index, json_t *made,
			   struct error *err)
{
	const json_t *children = disk_children(disk);

	for (size_t i = 0; i < json_array_size(children); i++)
		if (create_one(lu, inst, node, json_array_get(children, i),
			       index, made, err) < 0)
			return -1;
	return create_one(lu, inst, node, disk, index, made, err);
}

/* Create it on this node, and on the secondary if it is mirrored. */
static WAITS int create_device(struct lu *lu, const json_t *inst,
			       const char *node, const json_t *disk,
			       size_t index, json_t *made, struct error *err)
{
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, node);
	config_disk_secondaries(disk, node, &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		if (create_on(lu, inst, nodes.items[i], disk, index, made,
			      err) < 0)
			return -1;
	return 0;
}

/* Undo: remove what was made, the last one first, and nothing else. */
static WAITS void remove_made(struct lu *lu, const json_t *made)
{
	if (lu->run->killed) {
		aftermath_remove(lu->m, made);
		return;
	}
	for (size_t i = json_array_size(made); i-- > 0;) {
		const json_t *one = json_array_get(made, i);
		const json_t *device = json_array_get(one, 1);
		struct error err;

		if (remove_call(lu, json_string_value(json_array_get(one, 0)),
				rpc_blockdev_remove(json_ref(device)),
				template_is_everywhere(disk_dev_type(device)),
				&err) < 0)
			lu_warn(lu,
				"Could not remove disk %" JSON_INTEGER_FORMAT
				", ignoring: %s",
				json_integer_value(json_array_get(one, 2)),
				err.text);
	}
}

/* The names are new.  So a device with one of these names was made by this
 * call, even if the node did not answer or a mirror is only half made, and can
 * be removed.  When a node has answered with an error it has left nothing; a
 * device that was in the way holds somebody's data. */
int disks_copy_on(struct lu *lu, const json_t *inst, const char *node_uuid,
		  struct error *err)
{
	auto_free char *node = xstrdup(node_uuid);
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_json json_t *made = json_array();
	size_t n = json_array_size(disks);

	if (n == 0)
		return 0;
	if (make_folder(lu, node, disks, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const json_t *disk = json_array_get(disks, i);
		bool unsure;

		if (create_device(lu, inst, node, disk, i, made, err) == 0)
			continue;
		unsure = err->kind == ERR_RPC ||
			 json_array_size(disk_children(disk)) > 0;
		if (!lu->run->killed)
			remove_some(lu, node, disks, unsure ? i + 1 : i);
		return -1;
	}
	return 0;
}

int disks_create(struct lu *lu, const json_t *inst, struct error *err)
{
	return disks_copy_on(lu, inst, inst_primary_node(inst), err);
}

/* A device that exists already is left alone: it holds somebody's data. */
int disks_recreate(struct lu *lu, const json_t *inst, const bool *wanted,
		   struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_json json_t *made = json_array();
	auto_free char *node = xstrdup(inst_primary_node(inst));

	if (make_folder(lu, node, disks, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		if (!wanted[i] ||
		    create_device(lu, inst, node, disk, i, made, err) == 0)
			continue;
		remove_made(lu, made);
		return -1;
	}
	return 0;
}

int disks_create_one(struct lu *lu, const json_t *inst, const json_t *disk,
		     size_t i, struct error *err)
{
	auto_json json_t *one = inst_rpc_disk(lu, inst, disk);
	auto_json json_t *disks = json_make("[O]", one);
	auto_json json_t *made = json_array();
	auto_free char *node = xstrdup(inst_primary_node(inst));

	if (make_folder(lu, node, disks, err) < 0)
		return -1;
	if (create_device(lu, inst, node, one, i, made, err) == 0)
		return 0;
	/* A node that refused it has made nothing. */
	if (json_array_size(made) == 0 && err->kind == ERR_EXEC)
		return -1;
	if (lu->run->killed)
		remove_later(lu, node, one);
	else
		remove_device(lu, node, one, i);
	return -1;
}

int disks_remove_one(struct lu *lu, const json_t *inst, const json_t *disk,
		     size_t i)
{
	auto_json json_t *device = inst_rpc_disk(lu, inst, disk);
	auto_free char *node = xstrdup(inst_primary_node(inst));

	if (!lu->run->killed)
		return remove_device(lu, node, device, i);
	remove_later(lu, node, device);
	return 0;
}

int disks_remove_on(struct lu *lu, const json_t *disks, const char *node_uuid)
{
	return remove_some(lu, node_uuid, disks, json_array_size(disks));
}

int disks_remove(struct lu *lu, const json_t *inst)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_free char *node = xstrdup(inst_primary_node(inst));

	if (json_array_size(disks) == 0)
		return 0;
	return remove_some(lu, node, disks, json_array_size(disks));
}

static WAITS int assemble(struct lu *lu, const json_t *inst, const char *node,
			  bool primary, const json_t *disk, size_t i,
			  struct error *err)
{
	auto_json json_t *owner = inst_rpc(lu, inst, NULL, NULL);
	auto_json json_t *device =
		lu_call(lu, node,
			rpc_blockdev_assemble(json_ref(disk), json_ref(owner),
					      primary, i),
			err);

	if (device != NULL)
		return 0;
	return error_wrap(err, "Can't start disk %zu of instance %s on node %s",
			  i, inst_name(inst), lu_node_name(lu, node));
}

static bool is_offline(struct lu *lu, const char *node)
{
	return node_offline(config_get(lu->m->config, CONFIG_NODE, node));
}

/* A migration that was cut off leaves two primaries, and two that lose each
 * other have a split brain.  A node where the device is in use refuses: the
 * instance may run there. */
static WAITS int step_down(struct lu *lu, const json_t *inst, const char *node,
			   const json_t *disk, size_t i, struct error *err)
{
	auto_json json_t *done = lu_call(
		lu, node,
		rpc_blockdev_close(inst_name(inst), json_make("[O]", disk)),
		err);

	if (done != NULL)
		return 0;
	return error_wrap(err,
			  "Disk %zu of instance %s does not become a secondary "
			  "on node %s",
			  i, inst_name(inst), lu_node_name(lu, node));
}

/* Both sides of a mirror are started as secondaries first, so that they are
 * connected before one becomes the primary.  One that nobody needs may be dead,
 * whether or not that is recorded. */
static WAITS int connect_mirror(struct lu *lu, const json_t *inst,
				const char *node, bool ignore_secondaries,
				const json_t *disk, size_t i, struct error *err)
{
	auto_strv struct strv nodes = {0};

	config_disk_secondaries(disk, node, &nodes);
	if (nodes.n == 0)
		return 0;
	strv_add(&nodes, node);
	for (size_t k = 0; k < nodes.n; k++) {
		const char *at = nodes.items[k];
		bool other = strcmp(at, node) != 0;

		if (assemble(lu, inst, at, false, disk, i, err) == 0 &&
		    (!other || step_down(lu, inst, at, disk, i, err) == 0))
			continue;
		if (!other || (!ignore_secondaries && !is_offline(lu, at)) ||
		    lu->run->killed)
			return -1;
		lu_warn(lu, "%s, ignoring", err->text);
	}
	return 0;
}

WAITS int disks_connect(struct lu *lu, const json_t *inst, struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_free char *node = xstrdup(inst_primary_node(inst));

	for (size_t i = 0; i < json_array_size(disks); i++)
		if (connect_mirror(lu, inst, node, false,
				   json_array_get(disks, i), i, err) < 0)
			return -1;
	return 0;
}

static WAITS int start_on(struct lu *lu, const json_t *inst,
			  const char *node_uuid, bool ignore_secondaries,
			  struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_free char *node = xstrdup(node_uuid);

	for (size_t i = 0; i < json_array_size(disks); i++)
		if (connect_mirror(lu, inst, node, ignore_secondaries,
				   json_array_get(disks, i), i, err) < 0)
			return -1;
	for (size_t i = 0; i < json_array_size(disks); i++)
		if (assemble(lu, inst, node, true, json_array_get(disks, i), i,
			     err) < 0)
			return -1;
	return 0;
}

/* When the instance moves to another node, the old one may be dead. */
int disks_start(struct lu *lu, const json_t *inst, const char *node_uuid,
		struct error *err)
{
	return node_uuid == NULL
		       ? start_on(lu, inst, inst_primary_node(inst), false, err)
		       : start_on(lu, inst, node_uuid, true, err);
}

int disks_start_primary(struct lu *lu, const json_t *inst,
			bool ignore_secondaries, struct error *err)
{
	return start_on(lu, inst, inst_primary_node(inst), ignore_secondaries,
			err);
}

static WAITS int stop_one(struct lu *lu, const char *node, const json_t *disk,
			  size_t i, struct error *err)
{
	auto_json json_t *done =
		lu_call(lu, node, rpc_blockdev_shutdown(json_ref(disk)), err);

	if (done != NULL)
		return 0;
	lu_warn(lu, "Could not shutdown block device %zu on node %s: %s", i,
		lu_node_name(lu, node), err->text);
	return -1;
}

int disks_stop(struct lu *lu, const json_t *inst, const char *node_uuid,
	       bool ignore_failures, struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_free char *node = xstrdup(
		node_uuid == NULL ? inst_primary_node(inst) : node_uuid);

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		auto_strv struct strv nodes = {0};

		strv_add(&nodes, node);
		if (node_uuid == NULL)
			config_disk_secondaries(disk, node, &nodes);
		for (size_t k = 0; k < nodes.n; k++) {
			if (stop_one(lu, nodes.items[k], disk, i, err) == 0)
				continue;
			if (lu->run->killed ||
			    (!ignore_failures &&
			     !is_offline(lu, nodes.items[k])))
				return -1;
		}
	}
	return 0;
}

int disks_stop_one(struct lu *lu, const json_t *inst, const json_t *disk,
		   size_t i, struct error *err)
{
	auto_free char *node = xstrdup(inst_primary_node(inst));
	auto_json json_t *carried = inst_rpc_disk(lu, inst, disk);
	auto_strv struct strv others = {0};
	struct error ignored;

	config_disk_secondaries(disk, node, &others);
	if (stop_one(lu, node, carried, i, err) < 0)
		return -1;
	for (size_t k = 0; k < others.n; k++)
		if (!is_offline(lu, others.items[k]))
			stop_one(lu, others.items[k], carried, i, &ignored);
	return 0;
}

int disks_make_folder(struct lu *lu, const json_t *inst, const json_t *disk,
		      struct error *err)
{
	auto_json json_t *disks = json_make("[O]", disk);
	auto_free char *node = xstrdup(inst_primary_node(inst));

	return make_folder(lu, node, disks, err);
}
