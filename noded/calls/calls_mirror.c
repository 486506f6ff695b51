/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about copies of disks that a running instance makes itself: onto
 * another disk of this node, or onto that of the process that waits on another
 * node for its migration. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/hv/hv.h"
#include "noded/instance/instance.h"
#include "noded/storage/bdev.h"

/* The class of the instance if it can do that. */
static const struct hv_class *copying(const json_t *instance, struct error *err)
{
	const struct hv_class *hv = hv_of(instance, err);

	if (hv == NULL || hv->mirror_start != NULL)
		return hv;
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Hypervisor %s cannot copy disks of an instance that runs",
		  hv->name);
	return NULL;
}

/* Make the new disk usable; its path, to be freed. */
static WAITS char *open_new(struct call *c, const json_t *disk,
			    struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	auto_free char *path =
		class == NULL ? NULL : class->assemble(c->paths, disk, err);

	if (path == NULL || calls_in_force(c, err) < 0)
		return NULL;
	if (class->open != NULL && class->open(c->paths, disk, true, err) < 0)
		return NULL;
	return calls_in_force(c, err) < 0 ? NULL : steal(&path);
}

WAITS json_t *
call_instance_mirror_start(struct call *c,
			   const struct rpc_args_instance_mirror_start *args,
			   struct error *err)
{
	const struct hv_class *hv = copying(args->instance, err);
	const struct hv_caller caller = calls_caller(c);
	auto_free char *path = NULL;
	struct hv_mirror m = {
		.disk = args->disk,
		.index = args->index < 0 ? 0 : (size_t)args->index,
		.peer = args->peer,
		.speed_mib = args->speed_mib < 0 ? 0 : args->speed_mib,
		.caller = &caller,
	};

	if (hv == NULL ||
	    instance_need_running(c->paths, args->instance, err) < 0 ||
	    calls_in_force(c, err) < 0)
		return NULL;
	if (json_object_size(args->peer) == 0) {
		path = open_new(c, args->disk, err);
		if (path == NULL)
			return NULL;
	}
	m.path = path;
	return hv->mirror_start(c->paths, args->instance, &m, err) < 0
		       ? NULL
		       : json_null();
}

/* The path of the new disk, to be freed; NULL: it is not here. */
static WAITS char *find_new(struct call *c, const json_t *disk)
{
	struct error ignored;
	const struct bdev_class *class = bdev_of(disk, &ignored);
	auto_free char *path = NULL;

	return class != NULL &&
			       class->find(c->paths, disk, &path, &ignored) == 1
		       ? steal(&path)
		       : NULL;
}

WAITS json_t *
call_instance_mirror_status(struct call *c,
			    const struct rpc_args_instance_mirror_status *args,
			    struct error *err)
{
	const struct hv_class *hv = copying(args->instance, err);
	auto_free char *path = hv == NULL ? NULL : find_new(c, args->disk);
	const struct hv_mirror m = {
		.disk = args->disk,
		.index = args->index < 0 ? 0 : (size_t)args->index,
		.path = path,
	};

	if (hv == NULL ||
	    instance_need_running(c->paths, args->instance, err) < 0)
		return NULL;
	return hv->mirror_status(c->paths, args->instance, &m, err);
}

static int read_end(const char *how, enum hv_mirror_end *ret, struct error *err)
{
	static const char *const words[] = {[MIRROR_PIVOT] = "pivot",
					    [MIRROR_LEAVE] = "leave",
					    [MIRROR_CANCEL] = "cancel"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], how) == 0) {
			*ret = (enum hv_mirror_end)i;
			return 0;
		}
	return error_set(err, ERR_REQUEST, NULL,
			 "A copy of a disk cannot end as '%s'", how);
}

WAITS json_t *
call_instance_mirror_end(struct call *c,
			 const struct rpc_args_instance_mirror_end *args,
			 struct error *err)
{
	const struct hv_class *hv = copying(args->instance, err);
	const struct hv_caller caller = calls_caller(c);
	auto_free char *path = hv == NULL ? NULL : find_new(c, args->disk);
	const struct hv_mirror m = {
		.disk = args->disk,
		.index = args->index < 0 ? 0 : (size_t)args->index,
		.path = path,
		.caller = &caller,
	};
	enum hv_mirror_end how = MIRROR_CANCEL;

	if (hv == NULL || read_end(args->how, &how, err) < 0 ||
	    instance_need_running(c->paths, args->instance, err) < 0 ||
	    calls_in_force(c, err) < 0)
		return NULL;
	return hv->mirror_end(c->paths, args->instance, &m, how, err) < 0
		       ? NULL
		       : json_null();
}

WAITS json_t *
call_instance_mirror_serve(struct call *c,
			   const struct rpc_args_instance_mirror_serve *args,
			   struct error *err)
{
	const struct hv_class *hv = copying(args->instance, err);
	struct hv_disk *disks;
	json_t *peer = NULL;
	size_t n;

	if (hv == NULL ||
	    instance_need_running(c->paths, args->instance, err) < 0)
		return NULL;
	disks = instance_disks(c->paths, args->instance, &n, err);
	if (disks == NULL)
		return NULL;
	if (calls_in_force(c, err) == 0)
		peer = hv->mirror_serve(c->paths, args->instance, disks, n,
					args->address, err);
	instance_disks_free(disks, n);
	return peer;
}
