/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/base/log_rate.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

static int64_t now_us;
static struct log_rate rate;
static unsigned left_out;

static int64_t now(void)
{
	return now_us;
}

static void setup(void)
{
	now_us = 5000000;
	rate = (struct log_rate){0};
	left_out = 0;
	clock_replace(now);
}

TestSuite(log_rate, .init = setup);

static bool due(const char *cause)
{
	return log_rate_due(&rate, cause, &left_out);
}

static void pass(int seconds)
{
	now_us += seconds * INT64_C(1000000);
}

Test(log_rate, one_line_a_cause_and_minute)
{
	cr_assert(due("a"));
	cr_assert_eq(left_out, 0);
	cr_assert(due("b"));
	for (int i = 0; i < 59; i++) {
		pass(1);
		cr_assert(!due("a"));
	}
	pass(1);
	cr_assert(due("a"));
	cr_assert_eq(left_out, 59);
	cr_assert(due("b"));
	cr_assert_eq(left_out, 0);
}

/* Whoever takes a new name for each message gains nothing. */
Test(log_rate, many_causes_make_few_lines)
{
	unsigned lines = 0;
	char name[20];

	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "pid %d", i);
		lines += due(name);
	}
	cr_assert_eq(lines, LOG_RATE_CAUSES + 1);
	pass(120);
	cr_assert(due("pid 7000000"));
}
