/* SPDX-License-Identifier: BSD-2-Clause */
/* The OS parameter os-image: what is put on an instance's first disk when it is
 * installed, a path on its node or a URL. */
#ifndef MODEL_OPCODE_OS_IMAGE_H
#define MODEL_OPCODE_OS_IMAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"

/* The schemes of URLs, as libcurl has them. */
#define OS_IMAGE_SCHEMES "http,https,ftp,ftps"

/* The image among an instance's own parameters; NULL: none. */
const char *os_image_of(const json_t *osparams);

/* Whether it is fetched over the network, rather than read from a path. */
bool os_image_is_url(const char *image);

/* Without what a URL says of a user and a password; to be freed. */
char *os_image_shown(const char *image);

/* ERR_PREREQ when it is neither an absolute path nor a URL. */
int os_image_check(const char *image, struct error *err);

/* The image among parameters that are given: *ret is NULL without one; it is
 * checked. */
int os_image_read(const json_t *osparams, const char **ret, struct error *err);

/* The name of the transfer that puts an image onto the disk (impexp_status and
 * impexp_cleanup know it); to be freed. */
char *os_image_transfer(const char *disk_uuid);

#endif
