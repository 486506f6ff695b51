/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "lib/base/clock.h"
#include "lib/event/task.h"
#include "lib/event/timer.h"

static int64_t now;

static int64_t virtual_now(void)
{
	return now;
}

static struct timer timers_[50];
static int fired[50], n_fired;

static void on_fired(struct timer *t)
{
	fired[n_fired++] = (int)(t - timers_);
}

static void setup(void)
{
	tasks_init(uv_default_loop());
}

static void teardown(void)
{
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

TestSuite(timer, .init = setup, .fini = teardown);

Test(timer, fires_in_order_of_deadline_then_start)
{
	clock_replace(virtual_now);
	timers_set_simulated(true);
	for (int i = 0; i < 50; i++) {
		timers_[i].fired = on_fired;
		timer_start(&timers_[i], 100 - 10 * (i % 7));
	}
	for (int i = 0; i < 50; i += 5)
		timer_stop(&timers_[i]);
	while (timers_next() >= 0) {
		now = timers_next();
		while (timers_fire_one())
			;
	}
	cr_assert_eq(n_fired, 40);
	for (int i = 0; i + 1 < n_fired; i++) {
		int a = fired[i], b = fired[i + 1];

		cr_assert(a % 7 > b % 7 || (a % 7 == b % 7 && a < b));
	}
	timers_set_simulated(false);
	clock_replace(NULL);
}

/* The deadlines of a frozen owner pass unnoticed and count again later. */
Test(timer, frozen_ones_fire_when_thawed)
{
	static int owner;

	clock_replace(virtual_now);
	timers_set_simulated(true);
	for (int i = 0; i < 4; i++) {
		timers_[i].fired = on_fired;
		task_set_owner(i % 2 == 0 ? &owner : NULL);
		timer_start(&timers_[i], 10 * (i + 1));
	}
	task_set_owner(NULL);
	timers_freeze(&owner);
	while (timers_next() >= 0) {
		now = timers_next();
		while (timers_fire_one())
			;
	}
	cr_assert_eq(n_fired, 2);
	cr_assert(fired[0] == 1 && fired[1] == 3);
	timers_thaw(&owner);
	cr_assert_eq(timers_next(), 10);
	while (timers_fire_one())
		;
	cr_assert(n_fired == 4 && fired[2] == 0 && fired[3] == 2);
	timers_set_simulated(false);
	clock_replace(NULL);
}

static void again(struct timer *t)
{
	if (++n_fired < 1000)
		timer_start(t, clock_mono_us());
}

/* A timer that is armed again for "now" must neither hang the loop nor cost a
 * millisecond each. */
Test(timer, rearming_for_now_ends)
{
	static struct timer t = {.fired = again};

	timer_start(&t, clock_mono_us());
	while (n_fired < 1000)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}
