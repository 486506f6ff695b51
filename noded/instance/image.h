/* SPDX-License-Identifier: BSD-2-Clause */
/* OS images are written to disks by a process of their own: a transfer
 * (noded/instance/transfer.h) that reads a file of this node or a URL.  Its
 * name comes from the disk, so that the master can compute it, too. */
#ifndef NODED_INSTANCE_IMAGE_H
#define NODED_INSTANCE_IMAGE_H

#include <jansson.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "noded/core/noded.h"

/* Write the image to the disk, whose device or file is at `path` and has that
 * many bytes.  Nothing is written beyond them, and nothing at all if the image
 * is known to be bigger. */
WAITS int image_put(const struct noded *n, const json_t *disk, const char *path,
		    const char *image, int64_t bytes, struct error *err);

/* End the transfer of an image to this disk, if there is one. */
WAITS int image_end(const struct paths *p, const json_t *disk,
		    struct error *err);

/* The size of a URL's image, as its server says; -1 with err. */
WAITS int64_t image_size(const char *url, struct error *err);

#endif
