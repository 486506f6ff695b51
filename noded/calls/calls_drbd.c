/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about mirrored disks. */
#include <string.h>

#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/storage/bdev.h"
#include "noded/storage/drbd.h"

static json_t *null_or_error(int rc)
{
	return rc < 0 ? NULL : json_null();
}

static int need_mirror(const json_t *disk, struct error *err)
{
	const char *type = json_str(disk, "dev_type", "");

	if (strcmp(type, bdev_drbd.dev_type) == 0)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "Disks of type '%s' are no mirrors", type);
}

WAITS json_t *
call_blockdev_addchildren(struct call *c,
			  const struct rpc_args_blockdev_addchildren *args,
			  struct error *err)
{
	if (need_mirror(args->disk, err) < 0)
		return NULL;
	return null_or_error(
		drbd_add_children(c->paths, args->disk, args->children, err));
}

WAITS json_t *call_blockdev_removechildren(
	struct call *c, const struct rpc_args_blockdev_removechildren *args,
	struct error *err)
{
	if (need_mirror(args->disk, err) < 0)
		return NULL;
	return null_or_error(drbd_remove_children(c->paths, args->disk,
						  args->children, err));
}

/* [[changed, text or null], ...]; disks that are no mirrors need nothing. */
WAITS json_t *call_blockdev_pause_resume_sync(
	struct call *c, const struct rpc_args_blockdev_pause_resume_sync *args,
	struct error *err)
{
	json_t *result = json_array();
	const json_t *disk;
	size_t i;

	(void)err;
	json_array_foreach (args->disks, i, disk) {
		struct error bad;
		auto_free char *text = NULL;

		if (need_mirror(disk, &bad) < 0 ||
		    drbd_pause_sync(c->paths, disk, args->pause, &bad) == 0) {
			json_array_append_new(result, json_make("[b, n]", 1));
			continue;
		}
		text = xprintf("%s for device %s failed: %s",
			       args->pause ? "Pause" : "Resume",
			       json_str(disk, "iv_name", "?"), bad.text);
		json_array_append_new(result, json_make("[b, s]", 0, text));
	}
	return result;
}

WAITS json_t *call_drbd_attach_net(struct call *c,
				   const struct rpc_args_drbd_attach_net *args,
				   struct error *err)
{
	return null_or_error(
		drbd_attach_net(c->paths, args->disks, args->multimaster, err));
}

WAITS json_t *
call_drbd_disconnect_net(struct call *c,
			 const struct rpc_args_drbd_disconnect_net *args,
			 struct error *err)
{
	return null_or_error(drbd_disconnect_net(c->paths, args->disks, err));
}

WAITS json_t *call_drbd_wait_sync(struct call *c,
				  const struct rpc_args_drbd_wait_sync *args,
				  struct error *err)
{
	return drbd_wait_sync(c->paths, args->disks, err);
}

WAITS json_t *
call_drbd_needs_activation(struct call *c,
			   const struct rpc_args_drbd_needs_activation *args,
			   struct error *err)
{
	return drbd_needs_activation(c->paths, args->disks, err);
}

WAITS json_t *call_drbd_helper(struct call *c, struct error *err)
{
	auto_free char *helper = drbd_helper(c->paths, err);

	return helper != NULL ? json_string(helper) : NULL;
}

WAITS json_t *call_drbd_advice(struct call *c,
			       const struct rpc_args_drbd_advice *args,
			       struct error *err)
{
	return drbd_advice(c->paths, args->disks, err);
}
