/* SPDX-License-Identifier: BSD-2-Clause */
/* What moves cost, and what balancing makes of it. */
#include "iallocators/balance/cost.h"

#include <criterion/criterion.h>
#include <string.h>

#include "iallocators/balance/balance.h"
#include "iallocators/input/text.h"
#include "iallocators/model/change.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

#define GIB 1024

static struct cluster c;
static char *text;

/* The text is kept until done(). */
static void load(const char *nodes, const char *instances)
{
	struct load_options o = {.max_cpu_ratio = -1};
	struct error err;

	text = xprintf("g|u|preferred||\n\n%s\n%s\n\n", nodes, instances);
	cr_assert_eq(text_read(&c, text, &err), 0, "%s", err.text);
	cluster_finish(&c, &o);
}

static void done(void)
{
	cluster_done(&c);
	free(text);
	text = NULL;
	memset(&c, 0, sizeof(c));
}

TestSuite(cost, .fini = done);

/* name, memory total and free, disk total and free, cpus, spindles and speed:
 * n1 is slow, n2 has four disks and fast processors, n3 two disks and slow
 * ones. */
#define NODES                                                                  \
	"n1|65536|1024|60000|9000000|8000000|8|N|u|1||N|0|1|1\n"               \
	"n2|65536|1024|60000|9000000|8000000|8|N|u|4||N|0|1|2\n"               \
	"n3|65536|1024|60000|9000000|8000000|8|N|u|2||N|0|1|0.5\n"             \
	"n4|65536|1024|60000|9000000|8000000|8|N|u|4||N|0|1|2\n"
#define INSTANCES                                                              \
	"up|4096|102400|1|running|Y|n1|n2|drbd||1|-|N\n"                       \
	"down|4096|102400|1|ADMIN_down|Y|n1|n2|drbd||1|-|N\n"                  \
	"shared|4096|102400|1|running|Y|n2||ext||1|-|N\n"                      \
	"fast|4096|512000|1|running|Y|n2|n1|drbd||1|-|N\n"                     \
	"planned|4096|102400|1|running|Y|n1|n2|drbd||1|-|Y\n"

enum { UP, DOWN, SHARED, FAST, PLANNED };
enum { N1, N2, N3, N4 };

Test(cost, of_each_move)
{
	static const struct {
		int instance;
		enum balance_move move;
		int target;
		double cost;
	} cases[] = {
		/* 4096 MiB of memory, at the lower speed of 1 and 2 */
		{UP, MOVE_FAILOVER, NO_INDEX, 4096},
		/* 102400 MiB of disk from n1, which has one spindle */
		{UP, MOVE_R, N3, 102400},
		/* and then the memory to n3, at half the speed */
		{UP, MOVE_RF, N3, 102400 + 8192},
		/* memory to n2; disk from n2 to n3, which has two spindles */
		{UP, MOVE_FR, N3, 4096 + 51200},
		/* and from there the memory to n3 */
		{UP, MOVE_FRF, N3, 4096 + 51200 + 8192},
		/* fast nodes only */
		{UP, MOVE_FRF, N4, 4096 + 25600 + 2048},
		/* nothing runs, so no memory travels */
		{DOWN, MOVE_FAILOVER, NO_INDEX, 0},
		{DOWN, MOVE_FRF, N3, 51200},
		/* nobody copies disks that are shared */
		{SHARED, MOVE_FAILOVER_TO, N4, 2048},
		{SHARED, MOVE_FAILOVER_TO, N1, 4096},
		/* 500 GiB between fast nodes and 100 GiB between slow ones */
		{FAST, MOVE_R, N4, 128000},
		/* it is not there yet */
		{PLANNED, MOVE_FRF, N3, 0},
	};

	load(NODES, INSTANCES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct instance *inst = &c.instances[cases[i].instance];

		cr_assert_eq(
			cost_of_move(&c, inst, cases[i].move, cases[i].target),
			cases[i].cost, "case %zu: %f", i,
			cost_of_move(&c, inst, cases[i].move, cases[i].target));
	}
}

Test(cost, is_never_below_the_one_for_a_target_as_fast_as_need_be)
{
	load(NODES, INSTANCES);
	for (int i = UP; i <= PLANNED; i++)
		for (int m = 0; m < BALANCE_MOVES; m++) {
			enum balance_move move = (enum balance_move)m;
			const struct instance *inst = &c.instances[i];

			if ((move == MOVE_FAILOVER_TO) != (i == SHARED))
				continue;
			cr_assert_leq(cost_of_move(&c, inst, move, NO_INDEX),
				      cost_of_move(&c, inst, move, N3));
		}
}

Test(cost, a_speed_that_is_no_positive_number_counts_as_one)
{
	load("n1|65536|1024|60000|9000000|8000000|8|N|u|0||N|0|1|0\n"
	     "n2|65536|1024|60000|9000000|8000000|8|N|u|0||N|0|1|-3\n"
	     "n3|65536|1024|60000|9000000|8000000|8|N|u|8||N|0|1|8\n",
	     "a|4096|102400|1|running|Y|n1|n2|drbd||1|-|N\n");
	cr_assert_eq(cost_of_move(&c, &c.instances[0], MOVE_FRF, 2),
		     4096 + 102400 + 4096);
}

static const struct balance_options options = {
	.max_steps = 1, .min_score = 1e-9, .min_gain_limit = 0.1};

/* Of two instances that differ in their disks only, on nodes with disks so big
 * that this hardly shows, one should be moved. */
#define BIG_NODES                                                              \
	"n1|65536|1024|56000|900000000|890000000|8|N|u|1||N|0|1|1\n"           \
	"n2|65536|1024|64000|900000000|890000000|8|N|u|1||N|0|1|1\n"           \
	"n3|65536|1024|64000|900000000|892000000|8|N|u|1||N|0|1|1\n"
#define BIG_AND_SMALL                                                          \
	"big|4096|512000|1|running|Y|n1|n2|drbd||1|-|N\n"                      \
	"small|4096|20480|1|running|Y|n1|n2|drbd||1|-|N\n"

/* The seed's picture: 500 GiB for a score that is lower by next to nothing. */
Test(cost, an_infinitesimal_gain_does_not_move_500_gib)
{
	struct balance_options with_price = options;
	auto_free struct balance_step *without = NULL, *with = NULL;
	struct nodeset nodes;

	load(BIG_NODES, BIG_AND_SMALL);
	nodes = cluster_group_nodes(&c, 0);
	cr_assert_eq(balance_run(&c, &nodes, &options, &without), 1);
	cr_assert_str_eq(c.instances[without->instance].name, "big");
	cr_assert_geq(without->cost, 512000);
	change_undo(&c, 0);

	with_price.move_price = COST_PRICE / COST_TIB;
	cr_assert_eq(balance_run(&c, &nodes, &with_price, &with), 1);
	cr_assert_str_eq(c.instances[with->instance].name, "small");
	cr_assert_leq(with->cost, 20480 + 2 * 4096);
	cr_assert_lt(with->score - without->score, 0.01);
}

Test(cost, nothing_is_moved_when_it_costs_more_than_it_gains)
{
	struct balance_options dear = options;
	auto_free struct balance_step *steps = NULL;
	struct nodeset nodes;

	load(BIG_NODES, BIG_AND_SMALL);
	nodes = cluster_group_nodes(&c, 0);
	dear.move_price = 1;
	cr_assert_eq(balance_run(&c, &nodes, &dear, &steps), 0);
}

/* The failover of one (4096) is in the limit, any copy is not. */
Test(cost, what_the_limit_does_not_allow_is_left_out)
{
	struct balance_options limited = options;
	auto_free struct balance_step *steps = NULL;
	struct nodeset nodes;

	load(BIG_NODES, BIG_AND_SMALL);
	nodes = cluster_group_nodes(&c, 0);
	limited.max_steps = -1;
	limited.limit_cost = true;
	limited.max_cost = 5 * GIB;
	cr_assert_eq(balance_run(&c, &nodes, &limited, &steps), 1);
	cr_assert_eq(steps[0].move, MOVE_FAILOVER);
	cr_assert_eq(steps[0].cost, 4096);
}

Test(cost, the_limit_is_for_all_steps_together)
{
	struct balance_options limited = options;
	auto_free struct balance_step *all = NULL, *some = NULL;
	struct nodeset nodes;
	double sum = 0;
	int n, n_some;

	load(BIG_NODES, "a|4096|20480|1|running|Y|n1|n2|drbd||1|-|N\n"
			"b|4096|20480|1|running|Y|n1|n2|drbd||1|-|N\n"
			"c|4096|20480|1|running|Y|n1|n2|drbd||1|-|N\n"
			"d|4096|20480|1|running|Y|n1|n2|drbd||1|-|N\n");
	nodes = cluster_group_nodes(&c, 0);
	limited.max_steps = -1;
	n = balance_run(&c, &nodes, &limited, &all);
	change_undo(&c, 0);
	for (int i = 0; i < n; i++)
		sum += all[i].cost;
	limited.limit_cost = true;
	limited.max_cost = sum;
	cr_assert_eq(balance_run(&c, &nodes, &limited, &some), n);
	change_undo(&c, 0);
	free(steal(&some));
	limited.max_cost = sum - 1;
	n_some = balance_run(&c, &nodes, &limited, &some);
	sum = 0;
	for (int i = 0; i < n_some; i++)
		sum += some[i].cost;
	cr_assert_leq(sum, limited.max_cost);
}
