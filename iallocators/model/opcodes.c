/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON is written as text, so that its members stand in the order given
 * here.  A move is a migration that allows a failover; for an instance that
 * does not exist yet it is a failover. */
#include "iallocators/model/opcodes.h"

#include "iallocators/model/hformat.h"

static void add_string(struct buf *b, const char *key, const char *value)
{
	buf_addf(b, "\"%s\":", key);
	hf_json_string(b, value);
}

static void add_migrate(struct buf *b, const char *name, const char *target)
{
	buf_adds(b, "{\"OP_ID\":\"OP_INSTANCE_MIGRATE\",");
	add_string(b, "instance_name", name);
	buf_addc(b, ',');
	if (target != NULL) {
		add_string(b, "target_node", target);
		buf_addc(b, ',');
	}
	buf_adds(b, "\"allow_runtime_changes\":false,\"ignore_ipolicy\":false,"
		    "\"cleanup\":false,\"allow_failover\":true,"
		    "\"ignore_hvversions\":true}");
}

static void add_failover(struct buf *b, const char *name, const char *target)
{
	buf_adds(b, "{\"OP_ID\":\"OP_INSTANCE_FAILOVER\",");
	add_string(b, "instance_name", name);
	buf_adds(b, ",\"shutdown_timeout\":120,\"ignore_consistency\":false,");
	if (target != NULL) {
		add_string(b, "target_node", target);
		buf_addc(b, ',');
	}
	buf_adds(b, "\"ignore_ipolicy\":false,\"cleanup\":false}");
}

void opcode_replace(struct buf *b, const struct instance *inst,
		    const char *target)
{
	buf_adds(b, "{\"OP_ID\":\"OP_INSTANCE_REPLACE_DISKS\",");
	add_string(b, "instance_name", inst->name);
	buf_adds(b, ",\"early_release\":false,\"ignore_ipolicy\":false,"
		    "\"mode\":\"replace_new_secondary\",\"disks\":[],");
	add_string(b, "remote_node", target);
	buf_addc(b, '}');
}

/* An instance that does not exist yet cannot be migrated. */
void opcode_move(struct buf *b, const struct instance *inst, const char *target)
{
	if (inst->forthcoming)
		add_failover(b, inst->name, target);
	else
		add_migrate(b, inst->name, target);
}
