/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots tell, where they tell anything, what emptying a node would. */
#include "iallocators/nplus1/rooms.h"

#include "tests/lib/placed.h"

#define ROUNDS 200
#define INSTANCES 24

static const char *const mixed[] = {"drbd", "plain", "ext", "plain"};

static int n_verdicts[3];

static void judge(struct cluster *c, const struct nodeset *all, int x,
		  struct rooms *rooms)
{
	const struct node *n = &c->nodes[x];
	struct leavers leavers = rooms_leavers(c, n);
	enum rooms_verdict v = rooms_judge(c, all, n, &leavers, false);
	enum rooms_verdict kept;

	n_verdicts[v]++;
	kept = rooms_judge_kept(rooms, n, &leavers);
	rooms_leavers_done(&leavers);
	cr_assert(kept == v || kept == ROOMS_UNCLEAR);
	for (int i = 0; i < n->primaries.n; i++) {
		int k = n->primaries.items[i];
		int s = c->instances[k].secondary;

		/* These are about what does not fail over. */
		if (c->instances[k].template == TEMPLATE_DRBD &&
		    c->nodes[s].s.usable_mem <= rooms_drbd_load(c, n, s))
			return;
	}
	if (v != ROOMS_UNCLEAR)
		cr_assert_eq(v == ROOMS_ENOUGH, placed_empties(c, all, x));
}

Test(rooms, verdicts_are_those_of_emptying_the_node)
{
	for (unsigned seed = 0; seed < ROUNDS; seed++) {
		struct cluster c;
		struct nodeset all;
		struct rooms rooms;

		placed_load(&c, seed, INSTANCES, mixed, 4);
		all = cluster_all_nodes(&c);
		rooms_init(&rooms, &c, &all);
		for (int x = 0; x < c.n_nodes; x++)
			judge(&c, &all, x, &rooms);
		rooms_done(&rooms);
		cluster_done(&c);
	}
	for (int v = 0; v < 3; v++)
		cr_expect_gt(n_verdicts[v], 0, "verdict %d", v);
}

Test(rooms, shared_storage_leaves_first_then_the_biggest)
{
	struct cluster c;
	int leaving[INSTANCES];
	bool local = false;
	int n;

	placed_load(&c, 3, INSTANCES, mixed, 4);
	n = rooms_leaving(&c, c.nodes[0].primaries.items,
			  c.nodes[0].primaries.n, leaving);
	cr_assert_gt(n, 2);
	for (int i = 0; i < n; i++) {
		const struct instance *inst = &c.instances[leaving[i]];

		cr_expect_neq(inst->template, TEMPLATE_DRBD);
		cr_expect(!local || !rooms_migrates(inst));
		if (local)
			cr_expect_leq(inst->memory,
				      c.instances[leaving[i - 1]].memory);
		local = !rooms_migrates(inst);
	}
	cluster_done(&c);
}

Test(rooms, a_change_changes_the_sums)
{
	struct cluster c;
	struct nodeset all;
	struct rooms rooms;
	struct rooms_need needs[INSTANCES];
	struct leavers leavers;
	int64_t before;
	int n;

	placed_load(&c, 5, INSTANCES, mixed, 4);
	all = cluster_all_nodes(&c);
	rooms_init(&rooms, &c, &all);
	leavers = rooms_leavers(&c, &c.nodes[0]);
	n = rooms_needs(&rooms, &c.nodes[0], &leavers, needs);
	rooms_leavers_done(&leavers);
	cr_assert_gt(n, 0);
	before = rooms_total(&rooms, needs[0].room);
	c.nodes[2].s.usable_mem = 0;
	rooms_changed(&rooms, 2);
	cr_expect_eq(rooms_slots(&rooms, needs[0].room, 2), 0);
	cr_expect_leq(rooms_total(&rooms, needs[0].room), before);
	cr_expect_not(rooms_peaks_rose(&rooms));
	c.nodes[2].s.usable_mem = c.nodes[2].s.free_disk = INT64_C(1) << 40;
	rooms_changed(&rooms, 2);
	cr_expect(rooms_peaks_rose(&rooms));
	rooms_peaks_noted(&rooms);
	cr_expect_not(rooms_peaks_rose(&rooms), "that is told once");
	rooms_done(&rooms);
	cluster_done(&c);
}
