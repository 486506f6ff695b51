/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "noded/impexp/impexp_pace.h"

#define MIB (INT64_C(1024) * 1024)
#define SECOND INT64_C(1000000)

/* How long this many pieces take that cost no time themselves; each pause is
 * longer than asked for by `late_us`. */
static int64_t run(int64_t mib_per_s, int64_t pieces, int64_t late_us)
{
	struct impexp_pace pace = {.bytes_per_s = mib_per_s * MIB};
	int64_t begin = 77 * SECOND, now = begin;

	for (int64_t i = 0; i < pieces; i++) {
		int64_t pause = impexp_pace_us(&pace, MIB / 4, now);

		if (pause > 0)
			now += pause + late_us;
	}
	return now - begin;
}

Test(impexp_pace, a_limit_is_kept)
{
	cr_assert_eq(run(10, 400, 0), 10 * SECOND - SECOND / 10);
	cr_assert_eq(run(1, 40, 0), 10 * SECOND - SECOND / 10);
}

Test(impexp_pace, pauses_that_last_too_long_do_not_add_up)
{
	cr_assert_lt(run(10, 400, 5000), 10 * SECOND + SECOND / 10);
}

Test(impexp_pace, without_a_limit_there_is_no_pause)
{
	cr_assert_eq(run(0, 1000, 0), 0);
}

Test(impexp_pace, what_was_not_used_is_not_made_up_for)
{
	struct impexp_pace pace = {.bytes_per_s = MIB};

	impexp_pace_us(&pace, MIB, SECOND);
	cr_assert_eq(impexp_pace_us(&pace, MIB, 100 * SECOND),
		     SECOND - SECOND / 10);
}
