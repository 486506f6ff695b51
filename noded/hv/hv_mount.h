/* SPDX-License-Identifier: BSD-2-Clause */
/* The file system on an instance's disk, for hypervisors whose instances are
 * programs of this host. */
#ifndef NODED_HV_HV_MOUNT_H
#define NODED_HV_HV_MOUNT_H

#include <sys/types.h>

#include "noded/hv/hv.h"

/* Mount the disk, or its first partition if it has partitions, on the folder,
 * which is made if it is missing.  If this disk is mounted there it stays so;
 * anything else that is mounted there is unmounted, or -1 with err. */
WAITS int hv_mount(const struct hv_disk *disk, const char *folder,
		   struct error *err);

/* Whether a file system is mounted there; then its device. */
bool hv_mount_is_there(const char *folder, dev_t *ret_device);

/* Unmount it, and all that is mounted below, and remove the folder.  It is no
 * error if it is not there.  -1 with err, which names the mount and the
 * processes that use it. */
WAITS int hv_mount_undo(const char *folder, struct error *err);

/* --- who uses it (hv_mount_users.c) --- */

/* Send the signal (0: none) to all other processes that use the file system of
 * this device; whether there are any. */
WAITS bool hv_mount_signal(dev_t device, int sig);

/* Some of them, as "17 (sh), 23 (cat)"; to be freed.  "": there are none. */
WAITS char *hv_mount_users(dev_t device);

#endif
