/* SPDX-License-Identifier: BSD-2-Clause */
/* Opcodes: struct op_<name> for each, and their form as JSON.
 *
 * lib/model/opcode/opcodes.def has every opcode of Ganeti 3.0.2 (and those
 * parameters that 3.1 added), with the parameters' types and defaults.
 * Parameters all opcodes have (dry_run, debug_level, priority, depends,
 * comment, reason) are in struct op_common.
 */
#ifndef MODEL_OPCODE_OPCODE_H
#define MODEL_OPCODE_OPCODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

/* Types of fields.  The comment says what a field has whose parameter is null
 * and has no other default; a flag always has one. */
typedef const char *op_string; /* NULL */
typedef bool op_flag;	       /* false */
typedef int op_tri;	       /* -1; a boolean that may be unset: -1, 0, 1 */
typedef int64_t op_number;     /* OP_UNSET; an integer */
typedef double op_real;	       /* NaN */
typedef const json_t *op_json; /* NULL; anything else: list, dict, any */

#define OP_UNSET INT64_MIN

/* What the lines of opcodes.def mean.  Here each opcode becomes a struct.
 *
 * OPCODE(name, id, summary) begins struct op_<name>.
 *   id       as on the wire, "OP_INSTANCE_CREATE"
 *   summary  the parameter that a job's summary shows, as text, or NULL
 * PARAM(op, type, name, need, check, default) is one parameter of it.
 *   type     one of the types above, without "op_"
 *   name     as on the wire; only "static", a word of C, is static_
 *   need     REQUIRED: the opcode is refused without it.
 *            OPTIONAL: it gets the default when it is null or left out.
 *            ADDED: Ganeti 3.0 does not know it, but 3.1 does, or it is ours.
 *            A parameter that you add is ADDED.  Ganeti 3.0 reads our job
 *            files after a change back, and refuses opcodes with members that
 *            it does not know.  So the default of such a parameter is never
 *            written down: the opcode has it only where somebody gave it, and
 *            op_parse() puts the default into the struct (of a string or a
 *            structure always NULL).
 *   check    a name from opcode_checks.h: ANY, NONEMPTY, DISK_TEMPLATE ...
 *   default  JSON text: "null", "false", "120", "[]"
 * OPCODE_END ends it. */
#define OPCODE(name, id, summary) struct op_##name {
#define PARAM(op, type, name, need, check, def) op_##type name;
#define OPCODE_END                                                             \
	}                                                                      \
	;
#include "lib/model/opcode/opcodes.def"
#undef OPCODE
#undef PARAM
#undef OPCODE_END

struct op_common {
	bool dry_run;
	int64_t debug_level, priority; /* 0 when null */
	const json_t *depends;	       /* NULL or [[id, [states]], ...] */
	const char *comment;
	const json_t *reason;	/* [[source, text, ns], ...] */
	int64_t lock_timeout_s; /* 0: wait for locks as long as it takes */
};

struct op_class {
	const char *id;		   /* "OP_INSTANCE_CREATE" */
	size_t size;		   /* of struct op_<name> */
	const char *summary_field; /* NULL, or the one shown in the summary */
	const struct op_param *params;
};

#define OPCODE(name, id, summary) extern const struct op_class op_class_##name;
#define PARAM(op, type, name, need, check, def)
#define OPCODE_END
#include "lib/model/opcode/opcodes.def"
#undef OPCODE
#undef PARAM
#undef OPCODE_END

/* The class with that OP_ID, or NULL. */
const struct op_class *op_class_find(const char *id);

/* Check an opcode from outside and return its complete form: every parameter
 * present in the table's order, OP_ID last.  What was left out has its default;
 * only what is ADDED stays left out.  Unknown parameters, wrong types and
 * values are ERR_PREREQ/ECODE_INVAL naming the opcode and the parameter, an
 * unknown OP_ID is ERR_OPCODE.  To be freed. */
json_t *op_check(const json_t *value, struct error *err);

/* Fill *op (struct op_<name>, class->size bytes) from a complete form, which
 * has to outlive it. */
void op_parse(const struct op_class *class, const json_t *value, void *op);
void op_parse_common(const json_t *value, struct op_common *ret);

/* For clients: an opcode with the default of each parameter; set others with
 * the json_set functions before sending it.  To be freed. */
json_t *op_new(const struct op_class *class);

/* Whether it has this parameter; those that all opcodes have do not count. */
bool op_has_param(const struct op_class *class, const char *name);

/* Whether it is one of those. */
bool op_is_common(const char *name);

/* "INSTANCE_CREATE(web1.example.com)", "TEST_DELAY(1.0e-2)"; to be freed. */
char *op_summary(const json_t *value);

/* A JSON Schema of the opcode's parameters, with those that all opcodes have
 * and a client may give; to be freed. */
json_t *op_schema(const struct op_class *class);

/* The classes of all opcodes; NULL ends the array. */
const struct op_class *const *op_classes(void);

#endif
