/* SPDX-License-Identifier: BSD-2-Clause */
/* Shrinking and growing are one function, spread(): only the sign and the
 * measure of what each guest can contribute differ.  Shares are rounded down; a
 * second pass takes the rest from the first guests that have some left. */
#include "lib/model/config/balloon.h"

/* How much of a change a guest can take part in. */
typedef int64_t (*part_of)(const struct balloon_guest *g);

static int64_t positive(int64_t n)
{
	return n > 0 ? n : 0;
}

static int64_t free_above(const struct balloon_guest *g)
{
	return g->chosen ? 0 : positive(g->size - g->min);
}

static int64_t chosen_above(const struct balloon_guest *g)
{
	return g->chosen ? positive(g->size - g->min) : 0;
}

static int64_t lacking(const struct balloon_guest *g)
{
	return positive(g->most - g->size);
}

/* Spread the amount over all parts, sign says up or down: proportionally, and
 * what rounding leaves to the first that have some.  Returns the rest. */
static int64_t spread(struct balloon_guest *guests, size_t n, int64_t amount,
		      int sign, part_of part)
{
	int64_t total = 0, rest = positive(amount);

	for (size_t i = 0; i < n; i++)
		total += part(&guests[i]);
	if (total < rest)
		amount = total;
	for (size_t i = 0; total > 0 && rest > 0 && i < n; i++) {
		int64_t share = (int64_t)((double)part(&guests[i]) *
					  (double)amount / (double)total);

		guests[i].size += sign * share;
		rest -= share;
	}
	for (size_t i = 0; rest > 0 && i < n; i++) {
		int64_t share = part(&guests[i]);

		share = share < rest ? share : rest;
		guests[i].size += sign * share;
		rest -= share;
	}
	return rest;
}

int64_t balloon_shrink(struct balloon_guest *guests, size_t n, int64_t missing)
{
	missing = spread(guests, n, missing, -1, free_above);
	return spread(guests, n, missing, -1, chosen_above);
}

int64_t balloon_grow(struct balloon_guest *guests, size_t n, int64_t mib)
{
	return spread(guests, n, mib, 1, lacking);
}
