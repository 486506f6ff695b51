/* SPDX-License-Identifier: BSD-2-Clause */
/* The OS parameter os-image: what is written onto an instance's first disk when
 * it is installed, a path on its node or a URL. */
#ifndef MODEL_OPCODE_OS_IMAGE_H
#define MODEL_OPCODE_OS_IMAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"

/* The schemes of URLs that are accepted, in libcurl's names. */
#define OS_IMAGE_SCHEMES "http,https,ftp,ftps"

/* The image among the instance's own OS parameters, borrowed; NULL: none. */
const char *os_image_of(const json_t *osparams);

/* Whether the image is fetched from a URL; otherwise it is a path. */
bool os_image_is_url(const char *image);

/* The image for messages: a URL without user and password; to be freed. */
char *os_image_shown(const char *image);

/* ERR_PREREQ when it is neither an absolute path nor a URL. */
int os_image_check(const char *image, struct error *err);

/* The image among OS parameters, checked: *ret is borrowed, NULL when there is
 * none. */
int os_image_read(const json_t *osparams, const char **ret, struct error *err);

/* The name of the transfer that writes the image onto the disk, as the node
 * calls impexp_status and impexp_cleanup know it; to be freed. */
char *os_image_transfer(const char *disk_uuid);

#endif
