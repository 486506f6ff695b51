/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of tags, for LUs that create objects with tags. */
#ifndef MASTERD_LU_PARTS_TAGS_H
#define MASTERD_LU_PARTS_TAGS_H

#include <jansson.h>

#include "lib/base/error.h"

/* ERR_TAG unless each is a valid tag, and there are not too many. */
int tags_check(const json_t *tags, struct error *err);

#endif
