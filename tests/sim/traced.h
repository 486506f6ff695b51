/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of which calls nodes get, in which order: they set s.calls to
 * &traced. */
#ifndef TESTS_SIM_TRACED_H
#define TESTS_SIM_TRACED_H

#include "lib/base/str.h"
#include "tests/sim/fixture.h"

/* Longer than any helper machine may take. */
#define TRACED_LONG_MS (3 * 3600 * 1000)

static struct strv traced;

static inline void traced_teardown(void)
{
	s.calls = NULL;
	strv_done(&traced);
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	teardown();
}

/* Those that begin with one of `about` were these, as many and in this order.
 */
static inline void traced_expect(const char *const *about, size_t n,
				 const char *wanted)
{
	auto_buf struct buf got = {0};

	for (size_t i = 0; i < traced.n; i++)
		for (size_t k = 0; k < n; k++)
			if (str_starts(traced.items[i], about[k]))
				buf_adds(&got, about[k]);
	cr_expect_str_eq(got.data == NULL ? "" : got.data, wanted, "%s",
			 got.data);
}

#endif
