/* SPDX-License-Identifier: BSD-2-Clause */
/* The opcodes that move instances: as values, and as text in JSON. */
#ifndef IALLOCATORS_MODEL_OPCODES_H
#define IALLOCATORS_MODEL_OPCODES_H

#include "iallocators/model/model.h"
#include "lib/base/str.h"

enum opcode_kind {
	OPCODE_MIGRATE,
	OPCODE_FAILOVER,
	OPCODE_REPLACE, /* the secondary */
	OPCODE_KINDS
};

struct opcode {
	enum opcode_kind kind;
	const char *instance;
	const char *target; /* NULL: the secondary */
};

/* The primary goes to the target; NULL: to the secondary. */
struct opcode opcode_of_move(const struct instance *inst, const char *target);
/* The secondary goes to the target. */
struct opcode opcode_of_replace(const struct instance *inst,
				const char *target);

enum opcode_value {
	OPCODE_TEXT,
	OPCODE_NUMBER,
	OPCODE_FLAG,
	OPCODE_EMPTY_LIST
};

struct opcode_member {
	const char *key;
	enum opcode_value value;
	const char *text;
	int64_t number; /* also of a flag */
};

#define OPCODE_MEMBERS_MAX 8

/* The members of its JSON object, in their order; returns how many. */
size_t opcode_members(const struct opcode *op,
		      struct opcode_member ret[OPCODE_MEMBERS_MAX]);

/* Add its JSON text. */
void opcode_write(struct buf *b, const struct opcode *op);

#endif
