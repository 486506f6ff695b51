/* SPDX-License-Identifier: BSD-2-Clause */
/* What Ceph's program rbd says of images and their devices.  It is input from
 * outside: what makes no sense is an error, or does not count. */
#ifndef NODED_STORAGE_RBD_H
#define NODED_STORAGE_RBD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

/* An image, or a snapshot of it. */
struct rbd_image {
	const char *pool;
	char *name;
	char *snapshot; /* NULL: the image itself */
};

#define auto_rbd __attribute__((cleanup(rbd_image_done), unused))

/* From the logical_id ["rbd", "NAME" or "NAME@SNAPSHOT"] and the parameter
 * "pool" of a disk; the pool is borrowed.  To be freed by rbd_image_done(). */
int rbd_image_of(const json_t *disk, struct rbd_image *ret, struct error *err);
void rbd_image_done(struct rbd_image *image);

/* From `rbd showmapped --format json`, a list (since Ceph 13) or an object by
 * number: 1 and the device ("/dev/rbd0"), borrowed; 0: it is not mapped; -1
 * with err: it has no device, or more than one. */
int rbd_device(const json_t *mapped, const struct rbd_image *image,
	       const char **ret, struct error *err);

/* From `rbd info --format json`: bytes, or -1 with err. */
int64_t rbd_bytes(const json_t *info, struct error *err);

#endif
