/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are images of QEMU's format qcow2: files that grow as they are
 * written to.
 *
 * QEMU's own programs make and change them, and hold a lock while they do: an
 * image that a guest has open is refused.  A file is named by an open folder
 * and its name there, so that no link leads elsewhere. */
#ifndef NODED_STORAGE_QCOW2_H
#define NODED_STORAGE_QCOW2_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "noded/storage/file_place.h"

/* Whether the disk is such an image: its parameter "format". */
bool qcow2_is(const json_t *disk);

/* What a guest sees of an open image, in bytes; -1 with err. */
int64_t qcow2_bytes(int fd, const char *virtual_path, struct error *err);

/* A file that is there becomes an image without data. */
WAITS int qcow2_make(const struct file_place *place, int64_t bytes,
		     struct error *err);
/* What a guest sees becomes so large. */
WAITS int qcow2_resize(const struct file_place *place, int64_t bytes,
		       struct error *err);
/* This part reads as zeros from now on. */
WAITS int qcow2_zero(const struct file_place *place, int64_t offset,
		     int64_t bytes, struct error *err);

/* Keep what is in the image under a name, in place of one of that name; or only
 * let that go. */
WAITS int qcow2_snapshot(const struct file_place *place, const char *name,
			 bool keep, struct error *err);
/* Whether it can be the name of one. */
bool qcow2_snapshot_is_valid(const char *name);

#endif
