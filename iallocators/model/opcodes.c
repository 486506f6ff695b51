/* SPDX-License-Identifier: BSD-2-Clause */
/* A table says which members an opcode of each kind has; the JSON is written as
 * text, so that they stand in that order.  A move is a migration that allows a
 * failover; for an instance that does not exist yet, which cannot be migrated,
 * it is a failover. */
#include "iallocators/model/opcodes.h"

#include "iallocators/model/hformat.h"

#define TEXT(key, text)                                                        \
	{                                                                      \
		key, OPCODE_TEXT, text, 0                                      \
	}
#define NUMBER(key, number)                                                    \
	{                                                                      \
		key, OPCODE_NUMBER, NULL, number                               \
	}
#define FLAG(key, flag)                                                        \
	{                                                                      \
		key, OPCODE_FLAG, NULL, flag                                   \
	}
/* Their texts are those of the opcode at hand. */
#define INSTANCE TEXT("instance_name", NULL)
#define TARGET_OF(key) TEXT(key, NULL)

static const struct opcode_member members_of[OPCODE_KINDS][OPCODE_MEMBERS_MAX] =
	{
		[OPCODE_MIGRATE] = {TEXT("OP_ID", "OP_INSTANCE_MIGRATE"),
				    INSTANCE, TARGET_OF("target_node"),
				    FLAG("allow_runtime_changes", false),
				    FLAG("ignore_ipolicy", false),
				    FLAG("cleanup", false),
				    FLAG("allow_failover", true),
				    FLAG("ignore_hvversions", true)},
		[OPCODE_FAILOVER] = {TEXT("OP_ID", "OP_INSTANCE_FAILOVER"),
				     INSTANCE, NUMBER("shutdown_timeout", 120),
				     FLAG("ignore_consistency", false),
				     TARGET_OF("target_node"),
				     FLAG("ignore_ipolicy", false),
				     FLAG("cleanup", false)},
		[OPCODE_REPLACE] = {TEXT("OP_ID", "OP_INSTANCE_REPLACE_DISKS"),
				    INSTANCE,
				    FLAG("early_release", false),
				    FLAG("ignore_ipolicy", false),
				    TEXT("mode", "replace_new_secondary"),
				    {"disks", OPCODE_EMPTY_LIST, NULL, 0},
				    TARGET_OF("remote_node")},
};

struct opcode opcode_of_move(const struct instance *inst, const char *target)
{
	return (struct opcode){inst->forthcoming ? OPCODE_FAILOVER
						 : OPCODE_MIGRATE,
			       inst->name, target};
}

struct opcode opcode_of_replace(const struct instance *inst, const char *target)
{
	return (struct opcode){OPCODE_REPLACE, inst->name, target};
}

size_t opcode_members(const struct opcode *op,
		      struct opcode_member ret[OPCODE_MEMBERS_MAX])
{
	const struct opcode_member *table = members_of[op->kind];
	size_t n = 0;

	for (size_t i = 0; i < OPCODE_MEMBERS_MAX && table[i].key != NULL;
	     i++) {
		struct opcode_member m = table[i];

		if (m.value == OPCODE_TEXT && m.text == NULL)
			m.text = str_eq(m.key, "instance_name") ? op->instance
								: op->target;
		if (m.value != OPCODE_TEXT || m.text != NULL)
			ret[n++] = m;
	}
	return n;
}

static void write_value(struct buf *b, const struct opcode_member *m)
{
	switch (m->value) {
	case OPCODE_TEXT:
		hf_json_string(b, m->text);
		break;
	case OPCODE_NUMBER:
		buf_addf(b, "%jd", (intmax_t)m->number);
		break;
	case OPCODE_FLAG:
		buf_adds(b, m->number ? "true" : "false");
		break;
	case OPCODE_EMPTY_LIST:
		buf_adds(b, "[]");
		break;
	}
}

void opcode_write(struct buf *b, const struct opcode *op)
{
	struct opcode_member members[OPCODE_MEMBERS_MAX];
	size_t n = opcode_members(op, members);

	for (size_t i = 0; i < n; i++) {
		buf_addf(b, "%s\"%s\":", i == 0 ? "{" : ",", members[i].key);
		write_value(b, &members[i]);
	}
	buf_addc(b, '}');
}
