/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/jobs.h"

#include <stdio.h>
#include <string.h>

#include "iallocators/opcodes.h"
#include "iallocators/tool.h"
#include "lib/base/mem.h"

/* One command of a step. */
static void print_command(const struct cluster *c, const struct balance_step *s,
			  bool full_name, bool failover, int target)
{
	const struct instance *inst = &c->instances[s->instance];
	const char *node = target == NO_INDEX ? "" : c->nodes[target].name;
	const char *verb = !failover		 ? "replace-disks"
			   : instance_runs(inst) ? "migrate -f"
						 : "failover -f";

	printf("    gnt-instance %s", verb);
	if (target != NO_INDEX)
		printf(" -n %.*s", tool_alias_len(c, node), node);
	printf(" %.*s\n",
	       full_name ? (int)strlen(inst->name)
			 : tool_alias_len(c, inst->name),
	       inst->name);
}

static void print_commands_of(const struct cluster *c,
			      const struct balance_step *s, bool full)
{
	if (s->move == MOVE_FAILOVER_TO) {
		print_command(c, s, full, true, s->target);
		return;
	}
	if (s->move == MOVE_FAILOVER || s->move == MOVE_FRF ||
	    s->move == MOVE_FR)
		print_command(c, s, full, true, NO_INDEX);
	if (s->move != MOVE_FAILOVER)
		print_command(c, s, full, false, s->target);
	if (s->move == MOVE_RF || s->move == MOVE_FRF)
		print_command(c, s, full, true, NO_INDEX);
}

static bool mark(bool *used, int node, bool set)
{
	if (node == NO_INDEX)
		return false;
	if (set)
		used[node] = true;
	return used[node];
}

/* Whether a step touches nodes that are in use; set: from now on they are. */
static bool touches(const struct balance_step *s, bool *used, bool set)
{
	bool a = mark(used, s->old_primary, set);
	bool b = mark(used, s->old_secondary, set);
	bool c = mark(used, s->new_primary, set);
	bool d = mark(used, s->new_secondary, set);

	return a || b || c || d;
}

/* Divide the steps into sets without common nodes, from the last one
 * backwards; starts[i] says whether a set begins with step i. */
static void divide(const struct cluster *c, const struct balance_step *steps,
		   int n, bool *starts)
{
	size_t nodes = (size_t)c->n_nodes + 1;
	auto_free bool *used = xcalloc(nodes, sizeof(bool));

	for (int i = n - 1; i >= 0; i--) {
		if (touches(&steps[i], used, false)) {
			starts[i + 1] = true;
			memset(used, 0, nodes * sizeof(*used));
		}
		touches(&steps[i], used, true);
	}
	starts[0] = true;
}

void jobs_print(const struct cluster *c, const struct balance_step *steps,
		int n, bool first_only, bool full_names)
{
	auto_free bool *starts = xcalloc((size_t)n + 1, sizeof(bool));

	divide(c, steps, n, starts);
	for (int i = 0, set = 1; i < n; set++) {
		int size = 1;

		while (i + size < n && !starts[i + size])
			size++;
		printf("  \n  echo jobset %d, %d jobs\n", set, size);
		for (int j = 0; j < size; j++) {
			printf("    echo job %d/%d\n", set, j + 1);
			print_commands_of(c, &steps[i + j], full_names);
		}
		i += size;
		if (first_only)
			return;
	}
}

int jobs_set_size(const struct cluster *c, const struct balance_step *steps,
		  int n, int first)
{
	auto_free bool *starts = xcalloc((size_t)n + 1, sizeof(bool));
	int size = 1;

	divide(c, steps, n, starts);
	while (first + size < n && !starts[first + size])
		size++;
	return size;
}

/* The same commands as print_commands_of(). */
void jobs_opcodes(const struct cluster *c, const struct balance_step *s,
		  struct buf *ret)
{
	const struct instance *inst = &c->instances[s->instance];
	const char *target = c->nodes[s->target].name;
	bool back = s->move == MOVE_RF || s->move == MOVE_FRF;

	buf_addc(ret, '[');
	if (s->move == MOVE_FAILOVER_TO)
		opcode_move(ret, inst, target);
	if (s->move == MOVE_FAILOVER || s->move == MOVE_FRF ||
	    s->move == MOVE_FR)
		opcode_move(ret, inst, NULL);
	if (s->move == MOVE_FRF || s->move == MOVE_FR)
		buf_addc(ret, ',');
	if (s->move != MOVE_FAILOVER && s->move != MOVE_FAILOVER_TO)
		opcode_replace(ret, inst, target);
	if (back) {
		buf_addc(ret, ',');
		opcode_move(ret, inst, NULL);
	}
	buf_addc(ret, ']');
}
