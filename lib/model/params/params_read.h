/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading filled parameters: from each line of params.def's tables be, nic and
 * nd comes a function, be_maxmem(be), nicparams_link(filled), nd_ssh_port(nd).
 * What it returns is borrowed from the object.  A parameter that is missing,
 * and one of NULL, reads as its default. */
#ifndef MODEL_PARAMS_PARAMS_READ_H
#define MODEL_PARAMS_PARAMS_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/json/json.h"

/* The types of params.def; the defaults there are texts. */
typedef const char *params_take_STRING, *params_take_MAYBE;
typedef bool params_take_BOOL;
typedef int64_t params_take_INT, params_take_SIZE;
typedef double params_take_FLOAT;

#define PARAMS_READ_STRING(from, name, preset) json_str(from, name, preset)
#define PARAMS_READ_MAYBE(from, name, preset) json_str(from, name, "")
#define PARAMS_READ_BOOL(from, name, preset)                                   \
	json_bool(from, name, (preset)[0] == 't')
#define PARAMS_READ_INT(from, name, preset)                                    \
	json_int(from, name, strtoll(preset, NULL, 10))
#define PARAMS_READ_SIZE PARAMS_READ_INT
#define PARAMS_READ_FLOAT(from, name, preset)                                  \
	json_num(from, name, strtod(preset, NULL))

#define TABLE(id, family, name)
#define PARAM(name, type, preset, check, arg)
#define OWN(prefix, name, type, preset, check, arg)                            \
	static inline params_take_##type prefix##_##name(const json_t *filled) \
	{                                                                      \
		return PARAMS_READ_##type(filled, #name, preset);              \
	}
#define ADDED(name, type, check, arg)
#define TABLE_END
#include "lib/model/params/params.def"
#undef TABLE
#undef PARAM
#undef OWN
#undef ADDED
#undef TABLE_END

#endif
