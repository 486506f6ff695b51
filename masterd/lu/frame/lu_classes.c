/* SPDX-License-Identifier: BSD-2-Clause */
/* Which LU executes which opcode. */
#include <string.h>

#include "lib/base/array.h"
#include "masterd/lu/frame/lu.h"

#define LU(name) extern const struct lu_class lu_##name;
#include "masterd/lu/frame/lu_list.def"
#undef LU

static const struct lu_class *const classes[] = {
#define LU(name) &lu_##name,
#include "masterd/lu/frame/lu_list.def"
#undef LU
};

const struct lu_class *lu_class_find(const char *op_id)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strcmp(classes[i]->op->id, op_id) == 0)
			return classes[i];
	return NULL;
}
