/* SPDX-License-Identifier: BSD-2-Clause */
/* The opcodes that move instances, as text in JSON. */
#ifndef IALLOCATORS_MODEL_OPCODES_H
#define IALLOCATORS_MODEL_OPCODES_H

#include "iallocators/model/model.h"
#include "lib/base/str.h"

/* The primary goes to the target; NULL: to the secondary. */
void opcode_move(struct buf *b, const struct instance *inst,
		 const char *target);

/* The secondary goes to the target. */
void opcode_replace(struct buf *b, const struct instance *inst,
		    const char *target);

#endif
