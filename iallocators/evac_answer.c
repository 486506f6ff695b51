/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON of moves: who went where, who could not, and the opcodes to do
 * it. */
#include "iallocators/evacuate.h"
#include "iallocators/hformat.h"

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

static void add_replace(struct buf *b, const char *name, const char *target)
{
	buf_adds(b, "{\"OP_ID\":\"OP_INSTANCE_REPLACE_DISKS\",");
	add_string(b, "instance_name", name);
	buf_adds(b, ",\"early_release\":false,\"ignore_ipolicy\":false,"
		    "\"mode\":\"replace_new_secondary\",\"disks\":[],");
	add_string(b, "remote_node", target);
	buf_addc(b, '}');
}

/* An instance that does not exist yet cannot be migrated. */
static void add_opcode(struct buf *b, const struct cluster *c,
		       const struct instance *inst,
		       const struct evac_step *step)
{
	const char *target = step->kind == STEP_FAILOVER
				     ? NULL
				     : c->nodes[step->target].name;

	if (step->kind == STEP_REPLACE)
		add_replace(b, inst->name, target);
	else if (inst->forthcoming)
		add_failover(b, inst->name, target);
	else
		add_migrate(b, inst->name, target);
}

static void separate(struct buf *b)
{
	if (b->len > 0)
		buf_addc(b, ',');
}

void evac_answer_moved(struct evac_answer *a, const struct cluster *c,
		       const struct instance *inst, int group,
		       const struct evac_steps *steps)
{
	separate(&a->moved);
	buf_addc(&a->moved, '[');
	hf_json_string(&a->moved, inst->name);
	buf_addc(&a->moved, ',');
	hf_json_string(&a->moved, c->groups[group].name);
	buf_adds(&a->moved, ",[");
	hf_json_string(&a->moved, c->nodes[inst->primary].name);
	if (inst->template == TEMPLATE_DRBD && inst->secondary != NO_INDEX) {
		buf_addc(&a->moved, ',');
		hf_json_string(&a->moved, c->nodes[inst->secondary].name);
	}
	buf_adds(&a->moved, "]]");
	separate(&a->jobs);
	buf_addc(&a->jobs, '[');
	for (int i = 0; i < steps->n; i++) {
		if (i > 0)
			buf_addc(&a->jobs, ',');
		add_opcode(&a->jobs, c, inst, &steps->items[i]);
	}
	buf_addc(&a->jobs, ']');
	a->n_moved++;
}

void evac_answer_failed(struct evac_answer *a, const struct instance *inst,
			const char *reason)
{
	separate(&a->failed);
	buf_addc(&a->failed, '[');
	hf_json_string(&a->failed, inst->name);
	buf_addc(&a->failed, ',');
	hf_json_string(&a->failed, reason);
	buf_addc(&a->failed, ']');
	a->n_failed++;
}

void evac_answer_done(struct evac_answer *a)
{
	buf_done(&a->moved);
	buf_done(&a->failed);
	buf_done(&a->jobs);
}
