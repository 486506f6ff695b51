/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration for the eyes of others, as in the report of a bug. */
#ifndef MODEL_CONFIG_SANITIZE_H
#define MODEL_CONFIG_SANITIZE_H

#include <jansson.h>
#include <stdbool.h>

/* A copy without secrets: mirrors' keys, private and secret OS parameters,
 * whatever is called a password, and passwords in URLs.  anonymous: also with
 * other names, tags, addresses and public parameters of OSes, the same one for
 * the same everywhere; networks keep their sizes and places in them.  UUIDs,
 * links, volume groups and names of OSes stay, for they are what one looks at.
 * To be freed. */
json_t *sanitize_config(const json_t *config, bool anonymous);

#endif
