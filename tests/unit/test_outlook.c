/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds of moves: no gain is more than the bound allows, and the steps of
 * balance_run() are the best of all moves. */
#include "iallocators/balance/outlook.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "iallocators/balance/balance.h"
#include "iallocators/balance/cost.h"
#include "iallocators/input/text.h"
#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "lib/base/mem.h"

#define NODES 7
#define INSTANCES 24
#define ROUNDS 12

static const struct balance_options options = {.max_steps = 6,
					       .min_score = 1e-9,
					       .min_gain = 0.01,
					       .min_gain_limit = 0.1};

static const char *tag(bool some)
{
	return some && rand() % 3 == 0 ? "x:a" : "";
}

/* A cluster with a bit of everything. */
static char *random_text(void)
{
	struct buf b = {0};

	buf_adds(&b, "g|u|preferred||\n\n");
	for (int i = 0; i < NODES; i++)
		buf_addf(&b,
			 "n%d.x|32768|1024|%d|1000000|%d|8|%s|u|1|rack:%d|"
			 "N|0|1\n",
			 i, 31744 - rand() % 3 * 3000, 600000 - rand() % 90000,
			 i == 1 && rand() % 2 ? "Y" : "N", i % 3);
	buf_addc(&b, '\n');
	for (int i = 0; i < INSTANCES; i++) {
		int p = rand() % NODES, s = (p + 1 + rand() % (NODES - 1));
		bool drbd = rand() % 4 > 0;

		buf_addf(&b, "i%d.x|%d|%d|%d|%s|Y|n%d.x|", i, 256 << rand() % 4,
			 1024 << rand() % 5, 1 + rand() % 2,
			 rand() % 5 ? "running" : "ADMIN_down", p);
		if (drbd)
			buf_addf(&b, "n%d.x|drbd", s % NODES);
		else
			buf_adds(&b, "|ext");
		buf_addf(&b, "|%s|1\n", tag(true));
	}
	buf_adds(&b, "\nhtools:iextags:x\nhtools:nlocation:rack\n");
	return b.data;
}

static void load(struct cluster *c, char *text)
{
	struct load_options o = {.max_cpu_ratio = -1};
	struct error err;

	cr_assert_eq(text_read(c, text, &err), 0, "%s", err.text);
	cluster_finish(c, &o);
}

static enum fail do_move(struct cluster *c, int index, enum balance_move move,
			 int target)
{
	struct instance inst = c->instances[index];

	switch (move) {
	case MOVE_FAILOVER:
		return move_failover(c, &inst, index, false);
	case MOVE_FAILOVER_TO:
		return move_failover_to(c, &inst, index, target, false);
	case MOVE_R:
		return move_replace_secondary(c, &inst, index, target, false);
	case MOVE_RF:
		return move_rf(c, &inst, index, target, false);
	case MOVE_FRF:
		return move_frf(c, &inst, index, target, false);
	default:
		return move_fr(c, &inst, index, target, false);
	}
}

/* The score after a move; HUGE_VAL if it is not possible. */
static double score_after(struct cluster *c, const struct nodeset *nodes,
			  int index, enum balance_move move, int target)
{
	size_t mark = change_mark(c);
	double score = HUGE_VAL;

	if (do_move(c, index, move, target) == FAIL_NONE)
		score = score_nodes(c, nodes);
	change_undo(c, mark);
	return score;
}

static void check_row(struct outlook *l, int index, enum balance_move move,
		      double score)
{
	double bound = outlook_row_bound(l, index, move);
	bool within[NODES] = {false};
	int list[NODES];
	int n = outlook_targets(l, index, move, 0, list);

	for (int i = 0; i < n; i++)
		within[list[i]] = true;
	for (int i = 0; i < NODES && bound < HUGE_VAL; i++) {
		const struct instance *inst = &l->c->instances[index];
		double after;

		if (i == inst->primary || i == inst->secondary ||
		    l->c->nodes[i].offline || move == MOVE_FAILOVER)
			continue;
		after = score_after(l->c, l->nodes, index, move, i) - score;
		if (after > 0)
			continue;
		cr_assert_geq(after, bound - 1e-9, "i%d move %d to n%d", index,
			      move, i);
		cr_assert(within[i], "i%d move %d to n%d is left out", index,
			  move, i);
	}
	if (move == MOVE_FAILOVER && bound < HUGE_VAL && bound > 1e-9)
		cr_assert_gt(score_after(l->c, l->nodes, index, move, 0),
			     score);
}

Test(outlook, no_move_is_better_than_its_bound)
{
	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		auto_free char *text = random_text();
		struct cluster c = {0};
		struct nodeset nodes;
		struct outlook l;
		struct stats stats;

		load(&c, text);
		nodes = cluster_group_nodes(&c, 0);
		score_stats(&c, &nodes, &stats);
		outlook_init(&l, &c, &nodes, &options);
		outlook_weigh(&l, &stats);
		for (int i = 0; i < INSTANCES; i++)
			for (int m = 0; m < BALANCE_MOVES; m++)
				check_row(&l, i, (enum balance_move)m,
					  score_total(&stats));
		outlook_done(&l);
		cluster_done(&c);
	}
}

/* The score after a move with its price. */
static double sum_after(struct cluster *c, const struct nodeset *nodes, int i,
			enum balance_move move, int target, double price)
{
	double cost = cost_of_move(c, &c->instances[i], move, target);

	return score_after(c, nodes, i, move, target) + price * cost;
}

/* The lowest score, with the price, that any one move leads to. */
static double best_of_all(struct cluster *c, const struct nodeset *nodes,
			  double price)
{
	double best = HUGE_VAL;

	for (int i = 0; i < INSTANCES; i++) {
		const struct instance *inst = &c->instances[i];
		bool drbd = inst->template == TEMPLATE_DRBD;

		if (drbd && !c->nodes[inst->secondary].offline)
			best = fmin(best, sum_after(c, nodes, i, MOVE_FAILOVER,
						    0, price));
		for (int t = 0; t < NODES; t++) {
			int m = drbd ? MOVE_R : MOVE_FAILOVER_TO;
			int end = drbd ? MOVE_FR : MOVE_FAILOVER_TO;

			if (drbd && c->nodes[inst->secondary].offline)
				end = MOVE_RF;
			for (; m <= end && t != inst->primary &&
			       t != inst->secondary && !c->nodes[t].offline;
			     m++)
				best = fmin(best,
					    sum_after(c, nodes, i,
						      (enum balance_move)m, t,
						      price));
		}
	}
	return best;
}

static void check_steps(const struct balance_options *o)
{
	for (int round = 0; round < ROUNDS; round++) {
		auto_free char *text = random_text();
		auto_free struct balance_step *steps = NULL;
		struct cluster c = {0};
		struct nodeset nodes;
		int n;

		load(&c, text);
		nodes = cluster_group_nodes(&c, 0);
		n = balance_run(&c, &nodes, o, &steps);
		cr_assert_gt(n, 0);
		change_undo(&c, 0);
		for (int i = 0; i < n; i++) {
			double best = best_of_all(&c, &nodes, o->move_price);
			double sum =
				steps[i].score + o->move_price * steps[i].cost;

			cr_assert_eq(sum, best, "%a and %a", sum, best);
			do_move(&c, steps[i].instance, steps[i].move,
				steps[i].target);
		}
		cluster_done(&c);
	}
}

Test(outlook, each_step_is_the_best_of_all_moves)
{
	srand(2);
	check_steps(&options);
}

Test(outlook, with_a_price_each_step_is_the_best_with_its_price)
{
	struct balance_options o = options;

	for (double price = 1e-7; price < 1e-4; price *= 10) {
		srand(3);
		o.move_price = price;
		check_steps(&o);
	}
}
