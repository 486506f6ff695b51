/* SPDX-License-Identifier: BSD-2-Clause */
/* The types of storage that nodes can be asked for ("file", "lvm-vg" ...). */
#ifndef MASTERD_LU_NODE_STORAGE_TYPES_H
#define MASTERD_LU_NODE_STORAGE_TYPES_H

#include "masterd/lu/frame/lu.h"

/* The type itself, a literal, if an enabled disk template uses it; type NULL:
 * that of the first template that has one.  NULL with ERR_PREREQ. */
const char *storage_type_used(struct lu *lu, const char *type,
			      struct error *err);

/* The arguments for node calls about it; to be freed. */
json_t *storage_type_args(struct lu *lu, const char *type);

#endif
