/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster's pool of user ids, for virtual machines that run under ids of
 * their own: a list of ranges [[first, last], ...] as the configuration has it.
 * All functions refuse with ERR_PREREQ and name the range. */
#ifndef MODEL_CONFIG_UID_POOL_H
#define MODEL_CONFIG_UID_POOL_H

#include <jansson.h>

#include "lib/base/error.h"

/* From text such as "1000-1009,2000": a sorted list of ranges, to be freed; an
 * empty text is an empty pool, and nothing between two commas is no range. NULL
 * with err when the text is not valid. */
json_t *uid_pool_parse(const char *text, struct error *err);

/* Each range as it is written: "1000-1009", "2000". */
struct strv;
void uid_pool_texts(const json_t *pool, struct strv *ret);

/* 0 if these are valid ranges of user ids. */
int uid_pool_check(const json_t *pool, struct error *err);

/* Add ranges to the pool, or remove them (NULL: none).  One that is there
 * already is not added again; only a whole range of the pool can be removed. */
int uid_pool_add(json_t *pool, const json_t *ranges, struct error *err);
int uid_pool_remove(json_t *pool, const json_t *ranges, struct error *err);

#endif
