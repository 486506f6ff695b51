/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "lib/model/config/balloon.h"

#define N 3

Test(balloon, all_give_in_proportion)
{
	struct balloon_guest g[N] = {{1000, 200, 1000, false},
				     {600, 200, 1000, false},
				     {100, 100, 100, false}};

	cr_expect_eq(balloon_shrink(g, N, 600), 0);
	cr_expect_eq(g[0].size, 600);
	cr_expect_eq(g[1].size, 400);
	cr_expect_eq(g[2].size, 100);
}

Test(balloon, nobody_goes_below_its_minimum)
{
	struct balloon_guest g[N] = {{300, 200, 1000, false},
				     {100, 200, 1000, false}, /* forced there */
				     {250, 200, 250, true}};

	cr_expect_eq(balloon_shrink(g, N, 1000), 1000 - 100 - 50);
	cr_expect_eq(g[0].size, 200);
	cr_expect_eq(g[1].size, 100);
	cr_expect_eq(g[2].size, 200);
}

Test(balloon, a_chosen_size_is_touched_last)
{
	struct balloon_guest g[2] = {{500, 100, 1000, true},
				     {500, 100, 1000, false}};

	cr_expect_eq(balloon_shrink(g, 2, 400), 0);
	cr_expect_eq(g[0].size, 500);
	cr_expect_eq(g[1].size, 100);
	cr_expect_eq(balloon_shrink(g, 2, 1), 0);
	cr_expect_eq(g[0].size, 499);
}

Test(balloon, what_is_free_goes_to_those_that_lack)
{
	struct balloon_guest g[N] = {{100, 100, 400, false},
				     {100, 100, 200, false},
				     {500, 100, 500, false}};

	cr_expect_eq(balloon_grow(g, N, 201), 0);
	cr_expect_eq(g[0].size + g[1].size, 401);
	cr_expect_geq(g[0].size, 250);
	cr_expect_eq(g[2].size, 500);
	cr_expect_eq(balloon_grow(g, N, 1000), 1000 - 199);
	cr_expect_eq(g[0].size, 400);
	cr_expect_eq(g[1].size, 200);
	cr_expect_eq(balloon_grow(g, N, -5), 0);
	cr_expect_eq(balloon_shrink(g, N, -5), 0);
}
