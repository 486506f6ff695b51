/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether a configuration is valid: each member has the type that
 * config_fields.def gives it, and each UUID leads to an object.  So damage is
 * found that is still JSON, whatever has caused it. */
#ifndef MODEL_CONFIG_CONFIG_CHECK_H
#define MODEL_CONFIG_CONFIG_CHECK_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* The highest valid serial number: no count reaches it, so there is always a
 * next one. */
#define CONFIG_NUMBER_MAX INT64_C(999999999999999)

/* Add a sentence for each fault, at most max: "/instances/UUID/nics/0/mac: a
 * string expected, not 7", a JSON Pointer (RFC 6901) in front. */
void config_check_all(const json_t *top, size_t max, struct strv *ret_faults);

/* The first fault, as ERR_CONFIG; 0 when there is none. */
int config_check(const json_t *top, struct error *err);

#endif
