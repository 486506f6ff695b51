/* SPDX-License-Identifier: BSD-2-Clause */
/* The file system on an instance's disk, for hypervisors whose instances are
 * programs of this host. */
#ifndef NODED_HV_HV_MOUNT_H
#define NODED_HV_HV_MOUNT_H

#include <sys/types.h>

#include "noded/hv/hv.h"

/* Mount the disk, or its first partition if it has partitions, on the folder,
 * which is made if it is missing.  Something that is mounted there stays. */
WAITS int hv_mount(const struct hv_disk *disk, const char *folder,
		   struct error *err);

/* Whether a file system is mounted there; then its device. */
bool hv_mount_is_there(const char *folder, dev_t *ret_device);

/* Unmount it, and all that is mounted below, and remove the folder.  It is no
 * error if it is not there. */
WAITS int hv_mount_undo(const char *folder, struct error *err);

#endif
