/* SPDX-License-Identifier: BSD-2-Clause */
/* What disks that are block devices have in common. */
#ifndef NODED_STORAGE_BDEV_DEVICE_H
#define NODED_STORAGE_BDEV_DEVICE_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

/* Its size, also of a regular file; -1 with err. */
WAITS int64_t bdev_device_bytes(const char *local, struct error *err);

/* Write zeros, by the device itself where it can.  -1 with err; the part must
 * be inside the device. */
WAITS int bdev_device_wipe(const char *local, int64_t offset_mib,
			   int64_t size_mib, struct error *err);

#endif
