/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: snapshots inside of images that QEMU has open, and their size, which
 * nobody else may change meanwhile. */
#include <string.h>

#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

/* QEMU's words for a snapshot that it does not know. */
#define NOT_THERE "does not exist"

static WAITS int order(const struct paths *p, const char *name,
		       const char *command, const json_t *disk,
		       const char *snapshot, struct error *err)
{
	auto_free char *id = kvm_device_id("disk", disk, 0);
	auto_free char *root = kvm_disk_root(p, name, id, err);

	return root == NULL ? -1
			    : kvm_order(p, name, command,
					json_make("{s:s, s:s}", "device", root,
						  "name", snapshot),
					err);
}

WAITS int kvm_snapshot(const struct paths *p, const char *name,
		       const json_t *disk, const char *snapshot, bool keep,
		       struct error *err)
{
	if (order(p, name, "blockdev-snapshot-delete-internal-sync", disk,
		  snapshot, err) < 0 &&
	    strstr(err->text, NOT_THERE) == NULL)
		return -1;
	return keep ? order(p, name, "blockdev-snapshot-internal-sync", disk,
			    snapshot, err)
		    : 0;
}

WAITS int kvm_resize(const struct paths *p, const char *name,
		     const json_t *disk, int64_t bytes, struct error *err)
{
	auto_free char *id = kvm_device_id("disk", disk, 0);
	auto_free char *root = kvm_disk_root(p, name, id, err);

	return root == NULL
		       ? -1
		       : kvm_order(p, name, "block_resize",
				   json_make("{s:s, s:I}", "node-name", root,
					     "size", (json_int_t)bytes),
				   err);
}
