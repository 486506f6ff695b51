/* SPDX-License-Identifier: BSD-2-Clause */
/* Places of which there are only some. */
#include <criterion/criterion.h>
#include <string.h>
#include <uv.h>

#include "lib/event/task.h"
#include "rapi/places.h"

static struct places places;
static char order[20]; /* who got a place */
static unsigned most;

static WAITS void worker(void *arg)
{
	const char *name = arg;

	cr_assert(places_take(&places, NULL, NULL));
	if (places.taken > most)
		most = places.taken;
	strcat(order, name);
	task_sleep(10);
	places_give(&places);
}

static void run(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static void setup(void)
{
	tasks_init(uv_default_loop());
	order[0] = '\0';
	most = 0;
}

static void teardown(void)
{
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(uv_default_loop()), 0);
}

TestSuite(rapi_places, .init = setup, .fini = teardown, .timeout = 60);

Test(rapi_places, who_finds_none_waits_for_his_turn)
{
	places_init(&places, 2);
	task_spawn("a", worker, "a");
	task_spawn("b", worker, "b");
	task_spawn("c", worker, "c");
	task_spawn("d", worker, "d");
	task_spawn("e", worker, "e");
	run();
	cr_expect_eq(most, 2);
	cr_expect_eq(places.taken, 0);
	cr_expect_str_eq(order, "abcde");
}

static bool is_gone(void *arg)
{
	(void)arg;
	return true;
}

static WAITS void impatient(void *arg)
{
	(void)arg;
	if (places_take(&places, is_gone, NULL))
		strcat(order, "+");
	else
		strcat(order, "-");
}

Test(rapi_places, who_goes_is_not_waited_for)
{
	places_init(&places, 1);
	task_spawn("a", worker, "a");
	task_spawn("impatient", impatient, NULL);
	task_spawn("b", worker, "b");
	run();
	cr_expect_str_eq(order, "a-b");
	cr_expect_eq(places.taken, 0);
	/* Where there is a place nobody is asked. */
	task_spawn("impatient", impatient, NULL);
	run();
	cr_expect_str_eq(order, "a-b+");
}

Test(rapi_places, what_was_given_back_is_there_again)
{
	places_init(&places, 1);
	for (int i = 0; i < 3; i++) {
		task_spawn("a", worker, "a");
		run();
	}
	cr_expect_str_eq(order, "aaa");
	cr_expect_eq(places.taken, 0);
}
