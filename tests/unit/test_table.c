/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/table.h"

static void count(const char *key, void *value, void *arg)
{
	(void)key;
	(void)value;
	++*(size_t *)arg;
}

Test(table, finds_what_was_put_after_growing)
{
	struct table t = {0};
	char key[32];
	size_t n = 0;

	for (uintptr_t i = 1; i <= 1000; i++) {
		snprintf(key, sizeof(key), "key%zu", (size_t)i);
		cr_assert_null(table_put(&t, key, (void *)i));
	}
	for (uintptr_t i = 1; i <= 1000; i += 2) {
		snprintf(key, sizeof(key), "key%zu", (size_t)i);
		cr_assert_eq(table_remove(&t, key), (void *)i);
	}
	for (uintptr_t i = 1; i <= 1000; i++) {
		snprintf(key, sizeof(key), "key%zu", (size_t)i);
		cr_assert_eq(table_get(&t, key), i % 2 ? NULL : (void *)i);
	}
	table_each(&t, count, &n);
	cr_assert_eq(n, 500);
	table_done(&t, NULL);
}

Test(table, put_returns_the_old_value)
{
	struct table t = {0};
	int a, b;

	cr_assert_null(table_put(&t, "x", &a));
	cr_assert_eq(table_put(&t, "x", &b), &a);
	cr_assert_eq(t.n, 1);
	cr_assert_null(table_remove(&t, "y"));
	table_done(&t, NULL);
}
