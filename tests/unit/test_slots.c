/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots tell, where they tell anything, what emptying a node would. */
#include "iallocators/nplus1/slots.h"

#include "tests/lib/placed.h"

#define ROUNDS 200
#define INSTANCES 24

static const char *const mixed[] = {"drbd", "plain", "ext", "plain"};

static int n_verdicts[3];

static void judge(struct cluster *c, const struct nodeset *all, int x,
		  struct slot_table *slots)
{
	const struct node *n = &c->nodes[x];
	struct evacuees evacuees = slots_evacuees(c, n);
	enum slots_verdict v = slots_judge(c, all, n, &evacuees, false);
	enum slots_verdict kept;

	n_verdicts[v]++;
	kept = slots_judge_kept(slots, n, &evacuees);
	slots_evacuees_done(&evacuees);
	cr_assert(kept == v || kept == SLOTS_UNCLEAR);
	for (int i = 0; i < n->primaries.n; i++) {
		int k = n->primaries.items[i];
		int s = c->instances[k].secondary;

		/* These are about what does not fail over. */
		if (c->instances[k].template == TEMPLATE_DRBD &&
		    c->nodes[s].s.usable_mem <= slots_drbd_load(c, n, s))
			return;
	}
	if (v != SLOTS_UNCLEAR)
		cr_assert_eq(v == SLOTS_ENOUGH, placed_empties(c, all, x));
}

Test(slots, verdicts_are_those_of_emptying_the_node)
{
	for (unsigned seed = 0; seed < ROUNDS; seed++) {
		struct cluster c;
		struct nodeset all;
		struct slot_table slots;

		placed_load(&c, seed, INSTANCES, mixed, 4);
		all = cluster_all_nodes(&c);
		slots_init(&slots, &c, &all);
		for (int x = 0; x < c.n_nodes; x++)
			judge(&c, &all, x, &slots);
		slots_done(&slots);
		cluster_done(&c);
	}
	for (int v = 0; v < 3; v++)
		cr_expect_gt(n_verdicts[v], 0, "verdict %d", v);
}

Test(slots, shared_storage_leaves_first_then_the_biggest)
{
	struct cluster c;
	int leaving[INSTANCES];
	bool local = false;
	int n;

	placed_load(&c, 3, INSTANCES, mixed, 4);
	n = slots_list_evacuees(&c, c.nodes[0].primaries.items,
				c.nodes[0].primaries.n, leaving);
	cr_assert_gt(n, 2);
	for (int i = 0; i < n; i++) {
		const struct instance *inst = &c.instances[leaving[i]];

		cr_expect_neq(inst->template, TEMPLATE_DRBD);
		cr_expect(!local || !slots_migrates(inst));
		if (local)
			cr_expect_leq(inst->memory,
				      c.instances[leaving[i - 1]].memory);
		local = !slots_migrates(inst);
	}
	cluster_done(&c);
}

Test(slots, a_change_changes_the_sums)
{
	struct cluster c;
	struct nodeset all;
	struct slot_table slots;
	struct slot_need needs[INSTANCES];
	struct evacuees evacuees;
	int64_t before;
	int n;

	placed_load(&c, 5, INSTANCES, mixed, 4);
	all = cluster_all_nodes(&c);
	slots_init(&slots, &c, &all);
	evacuees = slots_evacuees(&c, &c.nodes[0]);
	n = slots_needs(&slots, &c.nodes[0], &evacuees, needs);
	slots_evacuees_done(&evacuees);
	cr_assert_gt(n, 0);
	before = slots_total(&slots, needs[0].row);
	c.nodes[2].s.usable_mem = 0;
	slots_changed(&slots, 2);
	cr_expect_eq(slots_of_node(&slots, needs[0].row, 2), 0);
	cr_expect_leq(slots_total(&slots, needs[0].row), before);
	cr_expect_not(slots_peaks_rose(&slots));
	c.nodes[2].s.usable_mem = c.nodes[2].s.free_disk = INT64_C(1) << 40;
	slots_changed(&slots, 2);
	cr_expect(slots_peaks_rose(&slots));
	slots_peaks_noted(&slots);
	cr_expect_not(slots_peaks_rose(&slots), "that is told once");
	slots_done(&slots);
	cluster_done(&c);
}
