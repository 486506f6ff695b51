/* SPDX-License-Identifier: BSD-2-Clause */
/* The model under changes: what is put on nodes and taken off again. */
#include "iallocators/model/score.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "iallocators/model/change.h"
#include "iallocators/model/contest.h"
#include "iallocators/model/move.h"
#include "lib/base/mem.h"

#define NODES 4
#define GIB 1024

static struct cluster c;
static struct nodeset all;

static void add_node(int i, const char *name)
{
	c.nodes[i] = (struct node){.name = name,
				   .total_mem = 32 * GIB,
				   .free_mem = 31 * GIB,
				   .own_mem = 1 * GIB,
				   .total_disk = 1000 * GIB,
				   .total_cpus = 8,
				   .cpu_speed = 1,
				   .total_spindles = 1,
				   .s = {.free_disk = 1000 * GIB}};
}

static void add_instance(int i, const char *name, int primary, int secondary,
			 int64_t memory)
{
	c.instances[i] = (struct instance){.name = name,
					   .memory = memory,
					   .disk = 10 * GIB,
					   .vcpus = 1,
					   .spindle_use = 1,
					   .template = TEMPLATE_DRBD,
					   .auto_balance = true,
					   .primary = primary,
					   .secondary = secondary};
	c.nodes[primary].free_mem -= memory;
}

static void setup(void)
{
	static const char *const names[] = {"a.x", "b.x", "c.x", "d.x"};
	struct load_options o = {.max_cpu_ratio = -1};

	c.groups = arena_calloc(&c.arena, 1, sizeof(*c.groups));
	c.groups[0] = (struct group){
		.name = "g", .policy = {.vcpu_ratio = 4, .spindle_ratio = 32}};
	c.n_groups = 1;
	c.nodes = arena_calloc(&c.arena, NODES, sizeof(*c.nodes));
	c.n_nodes = NODES;
	for (int i = 0; i < NODES; i++)
		add_node(i, names[i]);
	c.instances = arena_calloc(&c.arena, 3, sizeof(*c.instances));
	c.n_instances = 2;
	add_instance(0, "i.x", 0, 1, 4 * GIB);
	add_instance(1, "j.x", 0, 1, 2 * GIB);
	cluster_finish(&c, &o);
	all = cluster_all_nodes(&c);
}

static void done(void)
{
	cluster_done(&c);
}

TestSuite(score, .init = setup, .fini = done);

Test(score, the_common_suffix_begins_at_a_dot)
{
	cr_assert_eq(c.suffix_len, 2);
}

Test(score, a_secondary_keeps_memory_for_its_primary)
{
	cr_assert_eq(c.nodes[1].s.reserved_mem, 6 * GIB);
	cr_assert_eq(c.nodes[0].s.reserved_mem, 0);
	cr_assert_eq(c.nodes[0].s.usable_mem, 25 * GIB);
	cr_assert_not(c.nodes[1].s.fails_n1);
}

Test(score, a_change_taken_back_leaves_no_trace)
{
	double before = score_nodes(&c, &all);
	size_t mark = change_mark(&c);
	struct instance inst = c.instances[0];

	cr_assert_eq(move_replace_secondary(&c, &inst, 0, 2, false), FAIL_NONE);
	cr_assert_eq(move_failover(&c, &inst, 0, false), FAIL_NONE);
	cr_assert_eq(c.instances[0].primary, 2);
	cr_assert_eq(c.nodes[1].s.reserved_mem, 2 * GIB);
	cr_assert_neq(score_nodes(&c, &all), before);
	change_undo(&c, mark);
	cr_assert_eq(score_nodes(&c, &all), before);
	cr_assert_eq(c.instances[0].primary, 0);
	cr_assert_eq(c.nodes[0].primaries.n, 2);
	cr_assert_eq(c.nodes[0].primaries.items[0], 0);
}

Test(score, estimates_are_near_the_truth)
{
	struct stats stats;
	struct instance inst = c.instances[0];
	size_t mark = change_mark(&c);

	score_stats(&c, &all, &stats);
	move_replace_secondary(&c, &inst, 0, 2, false);
	contest_update(&c, &all, mark, &stats);
	cr_assert_lt(fabs(score_total(&stats) - score_nodes(&c, &all)), 1e-9);
}

Test(score, an_exact_fit_is_refused)
{
	struct instance inst = c.instances[0];

	inst.memory = c.nodes[2].s.usable_mem;
	cr_assert_eq(change_add_primary(&c, 2, &inst, 2, 0), FAIL_MEM);
	inst.memory--;
	cr_assert_eq(change_add_primary(&c, 2, &inst, 2, 0), FAIL_NONE);
}

Test(score, reserved_memory_counts_in_strict_checks_only)
{
	struct instance inst = c.instances[0];

	inst.memory = c.nodes[1].s.usable_mem - 5 * GIB;
	cr_assert_eq(change_add_primary(&c, 1, &inst, 2, CHANGE_STRICT),
		     FAIL_MEM);
	cr_assert_eq(change_add_primary(&c, 1, &inst, 2, 0), FAIL_NONE);
	cr_assert(c.nodes[1].s.fails_n1);
}

Test(score, offline_nodes_count_in_their_own_metrics)
{
	struct stats stats;

	c.nodes[0].offline = true;
	score_stats(&c, &all, &stats);
	cr_assert_eq(stats.n, NODES - 1);
	cr_assert_eq(stats.sum[METRIC_OFFLINE_ALL], 2);
	cr_assert_eq(stats.sum[METRIC_OFFLINE_PRI], 2);
}

Test(score, counts_vanish_at_zero)
{
	struct counts counts = {0};

	counts_add(&counts, 7, 2);
	counts_add(&counts, 9, 1);
	counts_add(&counts, 7, -2);
	cr_assert_eq(counts.n, 1);
	cr_assert_eq(counts_get(&counts, 7), 0);
	cr_assert_eq(counts_get(&counts, 9), 1);
	free(counts.items);
}
