/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster's pool of user ids, for virtual machines that run under ids of
 * their own: a list of ranges [[first, last], ...] as the configuration has it.
 * All functions refuse with ERR_PREREQ and name the range. */
#ifndef MODEL_CONFIG_UID_POOL_H
#define MODEL_CONFIG_UID_POOL_H

#include <jansson.h>

#include "lib/base/error.h"

/* "1000-1009,2000": a list of ranges, to be freed; an empty text is an empty
 * pool.  NULL when it is none. */
json_t *uid_pool_parse(const char *text, struct error *err);

/* Each range as it is written: "1000-1009", "2000". */
struct strv;
void uid_pool_texts(const json_t *pool, struct strv *ret);

/* Are these ranges of user ids? */
int uid_pool_check(const json_t *pool, struct error *err);

/* Put ranges (NULL: none) into the pool, or take them out; they are added once
 * and removed as they were added. */
int uid_pool_add(json_t *pool, const json_t *ranges, struct error *err);
int uid_pool_remove(json_t *pool, const json_t *ranges, struct error *err);

#endif
