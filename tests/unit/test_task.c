/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

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

/* --- driven --- */

static bool none_left(void *arg)
{
	(void)arg;
	return tasks_count() == 0;
}

static bool is_set(void *arg)
{
	(void)arg;
	return flag;
}

Test(task, driven_tasks_run_in_order)
{
	task_spawn("a", waiter, "a");
	task_spawn("b", waiter, "b");
	task_spawn("s", setter, NULL);
	tasks_drive(none_left, NULL);
	cr_assert_str_eq(trace.data, "a? b? set a! b! ");
}

/* More than there is room for in the pool. */
Test(task, driven_tasks_leave_and_come_back)
{
	for (int i = 0; i < 100; i++)
		task_spawn("l", leaver, "x");
	tasks_drive(none_left, NULL);
	cr_assert_eq(trace.len, 200);
	for (int i = 0; i < 100; i++)
		task_spawn("l", leaver, "x");
	tasks_drive(none_left, NULL);
	cr_assert_eq(trace.len, 400);
}

static void other(void *arg)
{
	int *fds = arg;

	buf_adds(&trace, "other ");
	if (fds != NULL)
		cr_assert_eq(write(fds[1], "x", 1), 1);
}

static void short_leaver(void *arg)
{
	(void)arg;
	task_leave_within(60000000);
	task_enter();
	buf_adds(&trace, "short ");
}

/* Nobody else runs meanwhile. */
Test(task, a_short_call_keeps_the_loop)
{
	for (int i = 0; i < 3; i++) {
		task_spawn("s", short_leaver, NULL);
		task_spawn("o", other, NULL);
	}
	tasks_drive(none_left, NULL);
	cr_assert_str_eq(trace.data, "short other short other short other ");
}

/* What it waits for comes from another task. */
static void long_leaver(void *arg)
{
	const int *fds = arg;
	char byte;

	task_leave_within(1000);
	cr_assert_eq(read(fds[0], &byte, 1), 1);
	task_enter();
	buf_adds(&trace, "long ");
}

Test(task, a_call_that_is_not_short_keeps_it_no_longer_than_that)
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	for (int i = 0; i < 3; i++) {
		task_spawn("l", long_leaver, fds);
		task_spawn("o", other, fds);
		tasks_drive(none_left, NULL);
	}
	cr_assert_str_eq(trace.data, "other long other long other long ");
	close(fds[0]);
	close(fds[1]);
}

/* Whether the time is over or not. */
static void just_in_time(void *arg)
{
	(void)arg;
	for (int i = 0; i < 300; i++) {
		task_leave_within(20);
		usleep(i % 3 * 10);
		task_enter();
		task_yield();
	}
	buf_adds(&trace, "x");
}

Test(task, both_ends_of_a_call_may_meet)
{
	for (int i = 0; i < 8; i++)
		task_spawn("j", just_in_time, NULL);
	tasks_drive(none_left, NULL);
	cr_assert_str_eq(trace.data, "xxxxxxxx");
}

struct seen {
	uv_timer_t timer;
	uv_thread_t task, callback;
	struct cond rang;
	bool done;
};

static void on_ring(uv_timer_t *timer)
{
	struct seen *seen = timer->data;

	seen->callback = uv_thread_self();
	cr_assert_null(task_self());
	seen->done = true;
	cond_signal(&seen->rang);
}

/* It may ring at the beginning of a turn of the loop, which then must not
 * sleep. */
static void wait_for_ring(void *arg)
{
	struct seen *seen = arg;
	uv_thread_t here = uv_thread_self();

	seen->task = here;
	uv_timer_start(&seen->timer, on_ring, 0, 0);
	while (!seen->done)
		cond_wait(&seen->rang);
	cr_assert_str_eq(task_name(), "w");
	here = uv_thread_self();
	cr_assert(uv_thread_equal(&seen->task, &here));
}

Test(task, who_waits_runs_the_loop)
{
	static struct seen seen;

	cond_init(&seen.rang);
	uv_timer_init(uv_default_loop(), &seen.timer);
	seen.timer.data = &seen;
	task_spawn("w", wait_for_ring, &seen);
	tasks_drive(none_left, NULL);
	cr_assert(uv_thread_equal(&seen.task, &seen.callback));
	uv_close((uv_handle_t *)&seen.timer, NULL);
}

struct chain {
	uv_timer_t timer;
	uv_thread_t first;
	int left;
};

static void add_thread(const struct chain *c, const char *what)
{
	uv_thread_t here = uv_thread_self();

	buf_addf(&trace, "%s %s ", what,
		 uv_thread_equal(&c->first, &here) ? "same" : "other");
}

static void chain_task(void *arg);

static void on_chain(uv_timer_t *timer)
{
	struct chain *c = timer->data;

	add_thread(c, "loop");
	task_spawn("c", chain_task, c);
}

static void chain_task(void *arg)
{
	struct chain *c = arg;

	if (trace.len == 0)
		c->first = uv_thread_self();
	add_thread(c, "task");
	if (--c->left > 0)
		uv_timer_start(&c->timer, on_chain, 0, 0);
}

static bool chain_over(void *arg)
{
	const struct chain *c = arg;

	return c->left == 0;
}

/* A task that has ended leaves its thread to the loop, and that to the next
 * one. */
Test(task, the_next_task_takes_the_thread)
{
	static struct chain c = {.left = 2};

	uv_timer_init(uv_default_loop(), &c.timer);
	c.timer.data = &c;
	task_spawn("c", chain_task, &c);
	tasks_drive(chain_over, &c);
	cr_assert_str_eq(trace.data, "task same loop same task same ");
	uv_close((uv_handle_t *)&c.timer, NULL);
}

static void set_and_wait(void *arg)
{
	struct cond *later = arg;

	flag = true;
	cond_wait(later);
	buf_adds(&trace, "later ");
}

/* What is ready, or waits, when it is over goes on in uv_run(). */
Test(task, what_is_left_goes_on)
{
	struct cond later;

	cond_init(&later);
	task_spawn("w", set_and_wait, &later);
	task_spawn("b", waiter, "b");
	tasks_drive(is_set, NULL);
	cr_assert_eq(tasks_count(), 1);
	cond_signal(&later);
	task_spawn("c", waiter, "c");
	run_all();
	cr_assert_str_eq(trace.data, "b? b! later c? c! ");
	flag = false;
	task_spawn("s", setter, NULL);
	tasks_drive(is_set, NULL);
	cr_assert_str_eq(trace.data, "b? b! later c? c! set ");
}
