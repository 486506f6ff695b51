/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps are in one set as long as no two of them touch the same node; divide()
 * looks for the borders from the last step backwards.  add_commands() and
 * jobs_opcodes() write the same steps in two forms and have to agree. */
#include "iallocators/tools/jobs.h"

#include <stdio.h>
#include <string.h>

#include "iallocators/model/opcodes.h"
#include "iallocators/options/tool.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"

/* Stops between two jobs when somebody asks for it. */
static const char script_head[] =
	"#!/bin/sh\n\n"
	"# Auto-generated script for executing cluster rebalancing\n\n"
	"# To stop, touch the file /tmp/stop-htools\n\n"
	"set -e\n\n"
	"check() {\n"
	"  if [ -f /tmp/stop-htools ]; then\n"
	"    echo 'Stop requested, exiting'\n"
	"    exit 0\n"
	"  fi\n"
	"}\n\n";

/* One command of a step. */
static void add_command(const struct cluster *c, const struct balance_step *s,
			const struct jobs_style *style, bool failover,
			int target, struct buf *out)
{
	const struct instance *inst = &c->instances[s->instance];
	const char *node = target == NO_INDEX ? "" : c->nodes[target].name;
	const char *verb = !failover		 ? "replace-disks"
			   : instance_runs(inst) ? "migrate -f"
						 : "failover -f";

	buf_addf(out, "%s  gnt-instance %s", style->indent, verb);
	if (target != NO_INDEX)
		buf_addf(out, " -n %.*s", cluster_alias_len(c, node), node);
	buf_addf(out, " %.*s\n",
		 style->full_names ? (int)strlen(inst->name)
				   : cluster_alias_len(c, inst->name),
		 inst->name);
}

static void add_commands(const struct cluster *c, const struct balance_step *s,
			 const struct jobs_style *style, struct buf *out)
{
	if (s->move == MOVE_FAILOVER_TO) {
		add_command(c, s, style, true, s->target, out);
		return;
	}
	if (s->move == MOVE_FAILOVER || s->move == MOVE_FRF ||
	    s->move == MOVE_FR)
		add_command(c, s, style, true, NO_INDEX, out);
	if (s->move != MOVE_FAILOVER)
		add_command(c, s, style, false, s->target, out);
	if (s->move == MOVE_RF || s->move == MOVE_FRF)
		add_command(c, s, style, true, NO_INDEX, out);
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

void jobs_add(const struct cluster *c, const struct balance_step *steps, int n,
	      const struct jobs_style *style, struct buf *out)
{
	auto_free bool *starts = xcalloc((size_t)n + 1, sizeof(bool));

	divide(c, steps, n, starts);
	for (int i = 0, set = 1; i < n; set++) {
		int size = 1;

		while (i + size < n && !starts[i + size])
			size++;
		buf_addf(out, "%s\n%secho jobset %d, %d jobs\n", style->indent,
			 style->indent, set, size);
		for (int j = 0; j < size; j++) {
			buf_addf(out, "%s  echo job %d/%d\n", style->indent,
				 set, j + 1);
			if (style->check != NULL)
				buf_addf(out, "%s  %s\n", style->indent,
					 style->check);
			add_commands(c, &steps[i + j], style, out);
		}
		i += size;
		if (style->first_only)
			return;
	}
}

struct jobs_style jobs_style(bool script)
{
	return script ? (struct jobs_style){.indent = "", .check = "check"}
		      : (struct jobs_style){.indent = "  "};
}

int jobs_write(const struct buf *commands, const char *path, struct error *err)
{
	auto_buf struct buf out = {0};

	buf_adds(&out, script_head);
	buf_add(&out, commands->data, commands->len);
	if (fs_write_atomic(path, out.data, out.len, 0644, err) < 0)
		return -1;
	printf("The commands have been written to file '%s'\n", path);
	return 0;
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

static void add_move(struct buf *b, const struct instance *inst,
		     const char *target)
{
	const struct opcode op = opcode_of_move(inst, target);

	opcode_write(b, &op);
}

static void add_replace(struct buf *b, const struct instance *inst,
			const char *target)
{
	const struct opcode op = opcode_of_replace(inst, target);

	opcode_write(b, &op);
}

/* The same commands as add_commands(). */
void jobs_opcodes(const struct cluster *c, const struct balance_step *s,
		  struct buf *ret)
{
	const struct instance *inst = &c->instances[s->instance];
	const char *target = c->nodes[s->target].name;
	bool back = s->move == MOVE_RF || s->move == MOVE_FRF;

	buf_addc(ret, '[');
	if (s->move == MOVE_FAILOVER_TO)
		add_move(ret, inst, target);
	if (s->move == MOVE_FAILOVER || s->move == MOVE_FRF ||
	    s->move == MOVE_FR)
		add_move(ret, inst, NULL);
	if (s->move == MOVE_FRF || s->move == MOVE_FR)
		buf_addc(ret, ',');
	if (s->move != MOVE_FAILOVER && s->move != MOVE_FAILOVER_TO)
		add_replace(ret, inst, target);
	if (back) {
		buf_addc(ret, ',');
		add_move(ret, inst, NULL);
	}
	buf_addc(ret, ']');
}
