/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON of moves: who went where, who could not, and the opcodes to do
 * it. */
#include "iallocators/allocate/evacuate.h"
#include "iallocators/model/hformat.h"
#include "iallocators/model/opcodes.h"

static void add_opcode(struct buf *b, const struct cluster *c,
		       const struct instance *inst,
		       const struct evac_step *step)
{
	const char *target = step->kind == STEP_FAILOVER
				     ? NULL
				     : c->nodes[step->target].name;

	if (step->kind == STEP_REPLACE)
		opcode_replace(b, inst, target);
	else
		opcode_move(b, inst, target);
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
