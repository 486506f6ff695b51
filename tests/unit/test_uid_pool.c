/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/base/array.h"
#include "lib/model/config/uid_pool.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"

static char *text_of(const char *ranges)
{
	struct error err = {.text = ""};
	auto_json json_t *pool = uid_pool_parse(ranges, &err);

	return pool == NULL ? xstrdup(err.text) : json_text(pool);
}

Test(uid_pool, ranges_and_single_ids_are_read)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", "[]"},
		{"1000", "[[1000,1000]]"},
		{"1000-1009,2000", "[[1000,1009],[2000,2000]]"},
		{"2000,1000-1009,", "[[1000,1009],[2000,2000]]"},
		{"9-8", "9-8 is no range"},
		{"0-4294967296", "no range"},
		{"-5", "neither a user id"},
		{"1-", "neither a user id"},
		{"1,,2", "[[1,1],[2,2]]"},
		{"root", "'root' is neither"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *got = text_of(rows[i].text);

		cr_expect_not_null(strstr(got, rows[i].want), "%s: %s",
				   rows[i].text, got);
	}
}

Test(uid_pool, ranges_come_once_and_go_as_they_came)
{
	struct error err = {.text = ""};
	auto_json json_t *pool = uid_pool_parse("1-5", &err);
	auto_json json_t *more = uid_pool_parse("7,9-12", &err);
	auto_json json_t *part = uid_pool_parse("1-2", &err);
	auto_free char *text = NULL;

	cr_assert_eq(uid_pool_add(pool, more, &err), 0);
	cr_assert_eq(uid_pool_add(pool, more, &err), 0);
	cr_assert_eq(json_array_size(pool), 3);
	cr_assert_eq(uid_pool_remove(pool, part, &err), -1);
	cr_assert_eq(uid_pool_remove(pool, more, &err), 0);
	cr_assert_eq(uid_pool_add(pool, NULL, &err), 0);
	text = json_text(pool);
	cr_assert_str_eq(text, "[[1,5]]");
}

Test(uid_pool, what_is_added_stands_in_order)
{
	struct error err;
	auto_json json_t *pool = uid_pool_parse("1000-1010,2000", &err);
	auto_json json_t *more = uid_pool_parse("1005,1011,1000", &err);
	auto_free char *text = NULL;

	cr_assert_eq(uid_pool_add(pool, more, &err), 0);
	text = json_text(pool);
	cr_assert_str_eq(text, "[[1000,1000],[1000,1010],[1005,1005],"
			       "[1011,1011],[2000,2000]]");
}
