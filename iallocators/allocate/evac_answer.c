/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer about moves: who went where, who could not, and the opcodes to do
 * it. */
#include "iallocators/allocate/evacuate.h"

#include <string.h>

void evac_answer_start(struct hail_result *ret, struct cluster *c, size_t n)
{
	ret->moved = arena_calloc(&c->arena, n, sizeof(*ret->moved));
	ret->failed = arena_calloc(&c->arena, n, sizeof(*ret->failed));
}

static struct opcode opcode_of(const struct cluster *c,
			       const struct instance *inst,
			       const struct evac_step *step)
{
	if (step->kind == STEP_FAILOVER)
		return opcode_of_move(inst, NULL);
	return step->kind == STEP_REPLACE
		       ? opcode_of_replace(inst, c->nodes[step->target].name)
		       : opcode_of_move(inst, c->nodes[step->target].name);
}

void evac_answer_moved(struct hail_result *ret, const struct cluster *c,
		       const struct instance *inst, int group,
		       const struct evac_steps *steps)
{
	struct hail_moved *moved = &ret->moved[ret->n_moved++];
	struct hail_nodes *nodes = &moved->nodes;

	moved->instance = inst->name;
	moved->group = c->groups[group].name;
	nodes->names[nodes->n++] = c->nodes[inst->primary].name;
	if (inst->template == TEMPLATE_DRBD && inst->secondary != NO_INDEX)
		nodes->names[nodes->n++] = c->nodes[inst->secondary].name;
	for (int i = 0; i < steps->n; i++)
		moved->ops[moved->n_ops++] =
			opcode_of(c, inst, &steps->items[i]);
}

void evac_answer_failed(struct hail_result *ret, struct cluster *c,
			const struct instance *inst, const char *reason)
{
	ret->failed[ret->n_failed++] = (struct hail_failed){
		inst->name, arena_strndup(&c->arena, reason, strlen(reason))};
}
