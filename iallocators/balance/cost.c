/* SPDX-License-Identifier: BSD-2-Clause */
/* Each move is a sequence of migrations (F) and disk replacements (R), in the
 * order of the letters of its name.  A target that is not a node is infinitely
 * fast, so that the other node alone decides. */
#include "iallocators/balance/cost.h"

#include <math.h>

static double speed(double recorded)
{
	return recorded > 0 && isfinite(recorded) ? recorded : 1;
}

static double cpu_speed(const struct cluster *c, int node)
{
	return node == NO_INDEX ? HUGE_VAL : speed(c->nodes[node].cpu_speed);
}

static double disk_speed(const struct cluster *c, int node)
{
	return node == NO_INDEX ? HUGE_VAL
				: speed((double)c->nodes[node].total_spindles);
}

/* Of a running instance the memory travels; another one starts anew. */
static double migration(const struct cluster *c, const struct instance *inst,
			int from, int to)
{
	if (!instance_runs(inst))
		return 0;
	return (double)inst->memory /
	       fmin(cpu_speed(c, from), cpu_speed(c, to));
}

static double copy(const struct cluster *c, const struct instance *inst,
		   int from, int to)
{
	return (double)inst->disk /
	       fmin(disk_speed(c, from), disk_speed(c, to));
}

double cost_of_move(const struct cluster *c, const struct instance *inst,
		    enum balance_move move, int target)
{
	int p = inst->primary, s = inst->secondary;

	if (inst->forthcoming)
		return 0;
	switch (move) {
	case MOVE_FAILOVER:
		return migration(c, inst, p, s);
	case MOVE_FAILOVER_TO:
		return migration(c, inst, p, target);
	case MOVE_R:
		return copy(c, inst, p, target);
	case MOVE_RF:
		return copy(c, inst, p, target) + migration(c, inst, p, target);
	case MOVE_FR:
		return migration(c, inst, p, s) + copy(c, inst, s, target);
	default:
		return migration(c, inst, p, s) + copy(c, inst, s, target) +
		       migration(c, inst, s, target);
	}
}
