/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/model/files/content.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

TestSuite(content, .init = mem_init);

static struct error err;

static void assert_round_trip(const char *text, size_t len)
{
	auto_json json_t *packed = content_pack(text, len);
	size_t len_again = 0;
	auto_free char *again = content_read(packed, &len_again, &err);

	cr_assert_not_null(again, "%s", err.text);
	cr_assert_eq(len_again, len);
	cr_assert_eq(memcmp(again, text, len), 0);
}

static void add_json(struct buf *b, int n)
{
	for (int i = 0; i < n; i++)
		buf_addf(b, "{\"name\": \"inst%d\", \"serial_no\": %d},", i,
			 i * 7);
}

Test(content, short_ones_stay_readable)
{
	auto_json json_t *packed = content_pack("node1\n", 6);
	auto_free char *text = json_text(packed);

	cr_assert_str_eq(text, "[0,\"node1\\n\"]");
	assert_round_trip("node1\n", 6);
	assert_round_trip("", 0);
}

Test(content, long_ones_shrink_and_come_back)
{
	auto_buf struct buf b = {0};
	auto_json json_t *packed = NULL;

	add_json(&b, 5000);
	packed = content_pack(b.data, b.len);
	cr_assert_eq(json_integer_value(json_array_get(packed, 0)), 1);
	cr_assert_lt(json_string_length(json_array_get(packed, 1)), b.len / 3);
	assert_round_trip(b.data, b.len);
}

Test(content, what_cannot_shrink_comes_back_as_well)
{
	auto_buf struct buf b = {0};
	uint32_t x = 1;

	for (int i = 0; i < 3000; i++) {
		x = x * 1664525 + 1013904223;
		buf_addc(&b, (char)(33 + (x >> 24) % 90));
	}
	assert_round_trip(b.data, b.len);
}
