/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

static struct buf trace;
static struct cond changed;
static bool flag;

static void waiter(void *arg)
{
	buf_addf(&trace, "%s? ", (const char *)arg);
	while (!flag)
		cond_wait(&changed);
	buf_addf(&trace, "%s! ", (const char *)arg);
}

static void setter(void *arg)
{
	(void)arg;
	flag = true;
	cond_signal(&changed);
	buf_adds(&trace, "set ");
}

static void leaver(void *arg)
{
	task_leave();
	task_enter();
	buf_addf(&trace, "%s ", (const char *)arg);
}

static void setup(void)
{
	tasks_init(uv_default_loop());
	cond_init(&changed);
}

static void teardown(void)
{
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(uv_default_loop()), 0);
	buf_done(&trace);
}

static void run_all(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

TestSuite(task, .init = setup, .fini = teardown);

Test(task, waiters_run_in_order)
{
	task_spawn("a", waiter, "a");
	task_spawn("b", waiter, "b");
	task_spawn("s", setter, NULL);
	run_all();
	cr_assert_str_eq(trace.data, "a? b? set a! b! ");
}

Test(task, leaves_and_comes_back)
{
	for (int i = 0; i < 100; i++)
		task_spawn("l", leaver, "x");
	run_all();
	cr_assert_eq(trace.len, 200);
}

static void timed(void *arg)
{
	int64_t deadline = clock_mono_us() + 2000;

	(void)arg;
	while (cond_wait_until(&changed, deadline))
		;
	buf_adds(&trace, "timeout ");
	task_sleep(1);
	buf_adds(&trace, "slept ");
}

Test(task, waits_end_at_their_deadline)
{
	task_spawn("t", timed, NULL);
	run_all();
	cr_assert_str_eq(trace.data, "timeout slept ");
}

static void cleaned(const char **name)
{
	buf_addf(&trace, "cleanup-%s ", *name);
}

static void victim(void *arg)
{
	__attribute__((cleanup(cleaned), unused)) const char *name = arg;

	waiter(arg);
}

Test(task, killed_tasks_unwind_and_only_those)
{
	static int owner;

	tasks_set_simulated(true);
	task_set_owner(&owner);
	task_spawn("a", victim, "a");
	task_set_owner(NULL);
	task_spawn("b", waiter, "b");
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	tasks_kill(&owner);
	cr_assert_str_eq(trace.data, "a? b? cleanup-a ");
	cr_assert_eq(tasks_count(), 1);
	task_spawn("s", setter, NULL);
	run_all();
	cr_assert_str_eq(trace.data, "a? b? cleanup-a set b! ");
	tasks_set_simulated(false);
}

/* As after SIGSTOP: what would run waits until the owner is thawed. */
Test(task, frozen_tasks_stand_still)
{
	static int owner;

	task_set_owner(&owner);
	task_spawn("a", waiter, "a");
	task_set_owner(NULL);
	task_spawn("b", waiter, "b");
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	tasks_freeze(&owner);
	task_spawn("s", setter, NULL);
	for (int i = 0; i < 5; i++)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	cr_assert_str_eq(trace.data, "a? b? set b! ");
	cr_assert_not(tasks_ready());
	tasks_thaw(&owner);
	run_all();
	cr_assert_str_eq(trace.data, "a? b? set b! a! ");
}
