/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are DRBD mirrors, beyond what all disks can (bdev_drbd.c): DRBD on
 * this host as a whole, the connection between the two sides (drbd_net.c), the
 * volumes below (drbd_local.c).
 *
 * A disk's minor, port and secret come from the configuration; which of its two
 * nodes this one is, the call says in `dynamic_params`.  A minor that is
 * configured with volumes or addresses of somebody else is never touched. */
#ifndef NODED_STORAGE_DRBD_H
#define NODED_STORAGE_DRBD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

/* --- DRBD on this host --- */

/* "8.4.11 (api:1/proto:86-101)", to be freed. */
char *drbd_version(const struct paths *p, struct error *err);
/* The minors in use, to be freed. */
WAITS json_t *drbd_minors(const struct paths *p, struct error *err);
/* The program that the kernel calls in trouble; to be freed. */
char *drbd_helper(const struct paths *p, struct error *err);

/* What is wrong with each disk and what to do, text or null; to be freed. */
WAITS json_t *drbd_advice(const struct paths *p, const json_t *disks,
			  struct error *err);

/* --- volumes below a device --- */

/* Attach volumes to a device that has none, with fresh metadata: all data come
 * from the peer.  Attached already they are no error. */
WAITS int drbd_add_children(const struct paths *p, const json_t *disk,
			    const json_t *children, struct error *err);
/* Detach the device from these volumes; it goes on with the peer's. */
WAITS int drbd_remove_children(const struct paths *p, const json_t *disk,
			       const json_t *children, struct error *err);
WAITS int drbd_pause_sync(const struct paths *p, const json_t *disk, bool pause,
			  struct error *err);

/* --- the connection --- */

/* Leave the peers, and wait until that is done. */
WAITS int drbd_disconnect_net(const struct paths *p, const json_t *disks,
			      struct error *err);
/* Connect to the peers that the disks have now, both sides as primaries if
 * wanted, and wait until all are connected (and equal, before both may be
 * primaries).  The peers have to do it at the same time. */
WAITS int drbd_attach_net(const struct paths *p, const json_t *disks,
			  bool multimaster, struct error *err);
/* [all in sync, the lowest percentage], to be freed.  An error if one is not
 * connected and does not become so. */
WAITS json_t *drbd_wait_sync(const struct paths *p, const json_t *disks,
			     struct error *err);
/* 0 if the other side of each mirror among the disks is connected and has all
 * that was written; else -1 with err, which says what to do. */
WAITS int drbd_check_whole(const struct paths *p, const json_t *disks,
			   struct error *err);
/* The UUIDs of those that are not there, have no peer and look for none, or
 * have no volumes; to be freed. */
WAITS json_t *drbd_needs_activation(const struct paths *p, const json_t *disks,
				    struct error *err);

#endif
