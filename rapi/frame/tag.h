/* SPDX-License-Identifier: BSD-2-Clause */
/* Tags of answers (ETag): a hash of the answer, which changes exactly when the
 * answer does, also by what nodes report; before it stands the serial number of
 * a single object: who writes only if nothing has changed (If-Match) means
 * that. */
#ifndef RAPI_TAG_H
#define RAPI_TAG_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"

struct request;

/* The tag of an answer, whose text this is; to be freed. */
char *tag_of(const json_t *value, const char *text);

/* Whether the tag, or "*", is among those of If-None-Match. */
bool tag_is_among(const char *tag, const char *list);

/* For a request that writes: 0 if the object has one of the tags of
 * q->if_match, or there are none.  -1 with REPLY_CHANGED. */
int tag_check(struct request *q, const char *method, struct error *err);

#endif
