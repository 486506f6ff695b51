/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/jobs/job_views.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"

static struct job_views *views;
static int64_t now_us;

static int64_t now(void)
{
	return now_us;
}

static void setup(void)
{
	mem_init();
	now_us = 1000000;
	clock_replace(now);
	views = job_views_create();
}

static void teardown(void)
{
	job_views_destroy(views);
	clock_replace(NULL);
}

TestSuite(job_views, .init = setup, .fini = teardown);

/* Asked for the second time. */
static struct job_view *known(const char *key)
{
	struct job_view *view;

	cr_assert_null(job_view_get(views, key));
	view = job_view_get(views, key);
	cr_assert_not_null(view);
	return view;
}

static void keep(struct job_view *view, uint64_t number, uint64_t state,
		 const char *rows)
{
	auto_buf struct buf text = {0};

	buf_adds(&text, rows);
	job_view_keep(view, &(struct queue_page){number, state}, &text);
}

static void expect(const struct job_view *view, uint64_t number, uint64_t state,
		   const char *rows)
{
	const struct buf *kept =
		job_view_page(view, &(struct queue_page){number, state});

	if (rows == NULL)
		cr_expect_null(kept);
	else
		cr_expect_str_eq(kept->data, rows);
}

Test(job_views, pages_are_known_in_the_state_they_were_in)
{
	struct job_view *view = known("q");

	keep(view, 7, 1, "seven");
	keep(view, 3, 2, "three");
	keep(view, 5, 3, "");
	expect(view, 3, 2, "three");
	expect(view, 5, 3, "");
	expect(view, 7, 1, "seven");
	expect(view, 7, 4, NULL);
	expect(view, 4, 1, NULL);
	expect(view, 8, 1, NULL);
	keep(view, 7, 4, "again");
	expect(view, 7, 4, "again");
	expect(view, 7, 1, NULL);
	job_view_skip(view, 4, 7);
	expect(view, 5, 3, NULL);
	expect(view, 3, 2, "three");
	expect(view, 7, 4, "again");
	job_view_done(view);
}

Test(job_views, one_that_is_asked_once_takes_no_place)
{
	struct job_view *view = known("often");
	char key[20];

	keep(view, 1, 1, "kept");
	job_view_done(view);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "once %d", i);
		now_us += 1000;
		cr_assert_null(job_view_get(views, key));
		view = job_view_get(views, "often");
		expect(view, 1, 1, "kept");
		job_view_done(view);
	}
}

Test(job_views, what_nobody_asks_for_is_given_back)
{
	struct job_view *view = known("q");

	keep(view, 1, 1, "kept");
	job_view_done(view);
	now_us += (JOB_VIEW_S + 1) * INT64_C(1000000);
	cr_assert_null(job_view_get(views, "q"));
}

Test(job_views, long_ones_are_not_kept)
{
	auto_free char *long_text = xalloc(1024 * 1024 + 1);
	struct job_view *view = known("q");

	memset(long_text, 'x', 1024 * 1024);
	for (uint64_t i = 0; i < 5; i++)
		keep(view, i, 1, long_text);
	expect(view, 0, 1, NULL);
	expect(view, 4, 1, NULL);
	job_view_done(view);
	cr_assert_null(job_view_get(views, "q"));
}
