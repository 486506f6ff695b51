/* SPDX-License-Identifier: BSD-2-Clause */
/* What the keys of options mean: of parameters (key_texts.def), and of the
 * disks and network interfaces of --disk and --net. */
#ifndef CLI_VALUES_KEY_TEXTS_H
#define CLI_VALUES_KEY_TEXTS_H

#include <stddef.h>

#include "lib/model/params/params_table.h"

struct key_text {
	enum param_family family;
	const char *table; /* of params.def; "": any of the family */
	const char *name;  /* NULL ends a list */
	const char *text;  /* without a full stop */
};

/* All that stands in key_texts.def. */
extern const struct key_text key_texts[];

/* Keys of --disk and --net that are no parameters; NULL ends. */
extern const struct key_text key_texts_disk[], key_texts_nic[];

/* What a parameter of this table means, or NULL. */
const char *key_text(enum param_family family, const char *table,
		     const char *name);

#endif
