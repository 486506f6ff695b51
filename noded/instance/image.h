/* SPDX-License-Identifier: BSD-2-Clause */
/* OS images, put onto disks by a process of their own: a transfer
 * (noded/instance/transfer.h) with a file or a URL of this node on the other
 * side.  Its name, which the master can make as well, is that of the disk. */
#ifndef NODED_INSTANCE_IMAGE_H
#define NODED_INSTANCE_IMAGE_H

#include <jansson.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "noded/core/noded.h"

/* Put the image onto the disk, whose device or file is at `path` here and has
 * room for that many bytes; nothing is written behind them, and nothing at all
 * where it can be known before that the image is bigger. */
WAITS int image_put(const struct noded *n, const json_t *disk, const char *path,
		    const char *image, int64_t bytes, struct error *err);

/* End what puts an image onto the disk, if something does. */
WAITS int image_end(const struct paths *p, const json_t *disk,
		    struct error *err);

/* How many bytes the image of a URL has, as its server says; -1. */
WAITS int64_t image_size(const char *url, struct error *err);

#endif
