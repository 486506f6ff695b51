/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the reasons, from their table.  refusal_text.c makes sentences
 * of them. */
#include "iallocators/model/refusal.h"

const char *const refusal_names[REFUSAL_COUNT] = {
#define X(id, name) [REFUSAL_##id] = name,
	REFUSALS(X)
#undef X
};
