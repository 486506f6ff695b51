/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/core/slices.h"

#include <criterion/criterion.h>

#include "lib/base/str.h"
#include "tests/lib/root.h"

static struct slices slices;
static struct buf trace;

static void setup(void)
{
	mem_init();
	test_loop_start();
	slices_init(&slices);
}

static void teardown(void)
{
	test_run_tasks();
	test_loop_stop();
	buf_done(&trace);
}

TestSuite(slices, .init = setup, .fini = teardown, .timeout = 30);

/* Works for so many slices, in steps of 100. */
struct worker {
	const char *name;
	unsigned slices;
	struct slice_work work;
};

static void work(void *arg)
{
	struct worker *w = arg;

	slice_begin(&w->work, &slices);
	for (unsigned i = 0; i < w->slices * SLICE_STEPS / 100; i++)
		if (slice_steps(&w->work, 100))
			buf_adds(&trace, w->name);
	slice_rest(&w->work);
	buf_addc(&trace, '.');
}

static void bystander(void *arg)
{
	for (int i = 0; i < 5; i++) {
		buf_adds(&trace, arg);
		task_yield();
	}
}

Test(slices, others_run_between_two_of_them)
{
	struct worker a = {.name = "a", .slices = 4};

	task_spawn("a", work, &a);
	task_spawn("bystander", bystander, "-");
	test_run_tasks();
	cr_assert_str_eq(trace.data, "-a-a-a-a.-");
	cr_assert_eq(slices.longest, SLICE_STEPS);
	cr_assert_eq(slices.ended, 4);
	cr_assert_eq(slices.steps, 4 * SLICE_STEPS);
}

/* The first slice is everybody's; then the one that has done least goes on. */
Test(slices, a_small_request_passes_long_ones)
{
	struct worker a = {.name = "a", .slices = 6},
		      b = {.name = "b", .slices = 6},
		      c = {.name = "c", .slices = 2};

	task_spawn("a", work, &a);
	task_spawn("b", work, &b);
	for (int i = 0; i < 4; i++)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	buf_done(&trace);
	task_spawn("c", work, &c);
	test_run_tasks();
	/* Each of its slices waits for one of the others at most. */
	cr_assert_not_null(strstr(trace.data, "c."), "%s", trace.data);
	cr_assert_leq(strstr(trace.data, "c.") - trace.data, 4, "%s",
		      trace.data);
	cr_assert_eq(strchr(trace.data, '.'), strstr(trace.data, "c.") + 1);
}

Test(slices, who_waits_for_something_else_holds_up_nobody)
{
	struct worker a = {.name = "a", .slices = 1},
		      b = {.name = "b", .slices = 3};

	slice_begin(&a.work, &slices);
	a.work.holds = slices.taken = true;
	slice_rest(&a.work);
	task_spawn("b", work, &b);
	test_run_tasks();
	cr_assert_str_eq(trace.data, "bbb.");
}

Test(slices, on_the_loop_they_only_count)
{
	struct slice_work w;

	slice_begin(&w, &slices);
	cr_assert(!slice_steps(&w, 3 * SLICE_STEPS));
	slice_rest(&w);
	cr_assert_eq(slices.steps, 3 * SLICE_STEPS);
}
