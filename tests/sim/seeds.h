/* SPDX-License-Identifier: BSD-2-Clause */
/* Many seeds, a process each (so that a crash of one names it and ends only
 * it), on as many CPUs as there are; the outcome is TAP. */
#ifndef TESTS_SIM_SEEDS_H
#define TESTS_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct seeds {
	uintmax_t from, to;
	bool until_caught; /* succeed at the first that fails, else at none */
	/* In a process of its own: 0, or 1 after a line that begins with "# "
	 * about what was wrong. */
	int (*run)(const struct seeds *s, uint64_t seed);
	void *arg; /* for run */
	/* How a seed is repeated: what stands before its number and after. */
	const char *repeat, *options;
};

/* Tasks hand control around: on one CPU that is ten times as fast. */
void seeds_pin(unsigned worker);

/* Run all (but the rest once one is caught), print the test "seeds A-B" as
 * number `test`, and say whether it is ok. */
bool seeds_run(const struct seeds *s, int test);

#endif
