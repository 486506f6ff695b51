/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: snapshots inside of images that QEMU has open, and their size, which
 * nobody else may change meanwhile. */
#include <string.h>

#include "lib/base/array.h"
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
	auto_json json_t *done = kvm_monitor(
		p, name, command,
		json_make("{s:s, s:s}", "device", id, "name", snapshot), err);

	return done != NULL ? 0 : -1;
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

/* A disk of the command line is a device, one that was plugged is a node. */
WAITS int kvm_resize(const struct paths *p, const char *name,
		     const json_t *disk, int64_t bytes, struct error *err)
{
	static const char *const keys[] = {"device", "node-name"};
	auto_free char *id = kvm_device_id("disk", disk, 0);
	int rc = -1;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && rc < 0; i++)
		rc = kvm_order(p, name, "block_resize",
			       json_make("{s:s, s:I}", keys[i], id, "size",
					 (json_int_t)bytes),
			       err);
	return rc;
}
