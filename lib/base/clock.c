/* SPDX-License-Identifier: BSD-2-Clause */
/* One function can replace both clocks, so that under it wall time and
 * monotonic time are the same, unless the wall clock has one of its own. */
#include "lib/base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t (*replaced)(void), (*replaced_wall)(void);

static int64_t read_clock(clockid_t which)
{
	struct timespec ts;

	if (replaced != NULL)
		return replaced();
	clock_gettime(which, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
	return replaced_wall != NULL ? replaced_wall()
				     : read_clock(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void clock_replace(int64_t (*fn)(void))
{
	replaced = fn;
}

void clock_replace_wall(int64_t (*fn)(void))
{
	replaced_wall = fn;
}

double clock_seconds(void)
{
	return (double)clock_wall_us() / 1e6;
}
