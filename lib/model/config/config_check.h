/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a configuration is what its objects must be: each member of the type
 * that config_fields.def has for it, and UUIDs that lead somewhere.  Damage
 * that is still JSON is found by it, wherever the text comes from. */
#ifndef MODEL_CONFIG_CONFIG_CHECK_H
#define MODEL_CONFIG_CONFIG_CHECK_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* Highest serial number: nobody counted so far, and there is a next one. */
#define CONFIG_NUMBER_MAX INT64_C(999999999999999)

/* Add a sentence for each fault, at most max: "/instances/UUID/nics/0/mac: a
 * string expected, not 7", a JSON Pointer (RFC 6901) in front. */
void config_check_all(const json_t *top, size_t max, struct strv *ret_faults);

/* The first fault, as ERR_CONFIG; 0 when there is none. */
int config_check(const json_t *top, struct error *err);

#endif
