/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

Test(str, nice_order_counts_numbers)
{
	static const char *const sorted[] = {"a",   "a1",   "a01", "a2",
					     "a10", "a10b", "b"};

	for (size_t i = 0; i + 1 < ARRAY_SIZE(sorted); i++) {
		int c = str_nice_cmp(sorted[i], sorted[i + 1]);

		cr_expect(i == 1 ? c != 0 : c < 0, "%s %s", sorted[i],
			  sorted[i + 1]);
		cr_expect_eq(str_nice_cmp(sorted[i], sorted[i]), 0);
	}
}

Test(str, split_keeps_empty_parts)
{
	auto_strv struct strv v = {0};
	auto_free char *joined = NULL;

	str_split(&v, "a::b:", ':');
	cr_assert_eq(v.n, 4);
	cr_assert_str_eq(v.items[1], "");
	cr_assert_str_eq(v.items[3], "");
	joined = strv_join(&v, ":");
	cr_assert_str_eq(joined, "a::b:");
}

Test(str, buf_grows_and_consumes)
{
	auto_buf struct buf b = {0};

	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "%d,", i);
	buf_consume(&b, 2);
	cr_assert(str_starts(b.data, "1,2,3"));
	cr_assert(str_ends(b.data, "998,999,"));
}

Test(str, utf8_refuses_what_is_not)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
		{"abc", true},
		{"\xc3\xa4", true},
		{"\xe2\x82\xac", true},
		{"\xf0\x9f\x98\x80", true},
		{"\xc0\x80", false},	     /* overlong */
		{"\xed\xa0\x80", false},     /* surrogate */
		{"\xf4\x90\x80\x80", false}, /* above U+10FFFF */
		{"\xc3", false},
		{"\xff", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_eq(
			str_valid_utf8(cases[i].text, strlen(cases[i].text)),
			cases[i].valid, "case %zu", i);
	cr_expect_not(str_valid_utf8("a\0b", 3));
}

Test(str, names_that_could_leave_a_folder_are_invalid)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "-x", "a\nb"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect_not(str_valid_filename(bad[i]), "%s", bad[i]);
	cr_expect(str_valid_filename("hail"));
	cr_expect_not(str_valid_hostname("a b"));
	cr_expect_not(str_valid_hostname("-a"));
	cr_expect(str_valid_hostname("web1.example.com"));
}

Test(str, a_number_is_bounded)
{
	const char *rest;
	uint64_t n = 7;

	cr_assert(str_to_number("18446744073709551615", UINT64_MAX, &n, NULL));
	cr_assert_eq(n, UINT64_MAX);
	cr_assert_not(
		str_to_number("18446744073709551616", UINT64_MAX, &n, NULL));
	cr_assert(str_to_number("12 x", 12, &n, &rest));
	cr_assert_eq(n, 12);
	cr_assert_str_eq(rest, " x");
	cr_assert_not(str_to_number("12 x", 12, &n, NULL));
	cr_assert_not(str_to_number("13", 12, &n, &rest));
	cr_assert_not(str_to_number("9", 8, &n, &rest));
	cr_assert_not(str_to_number("", 8, &n, &rest));
	cr_assert_not(str_to_number("-1", 8, &n, &rest));
	cr_assert_not(str_to_number(" 1", 8, &n, &rest));
}

Test(str, numbers_are_whole_or_nothing)
{
	int64_t n = 7;
	double d;

	cr_expect(str_to_int64("-12", &n));
	cr_expect_eq(n, -12);
	cr_expect_not(str_to_int64("12x", &n));
	cr_expect_not(str_to_int64("", &n));
	cr_expect_not(str_to_int64("99999999999999999999", &n));
	cr_expect_eq(n, -12, "untouched on failure");
	cr_expect(str_to_double("0.5", &d) && d == 0.5);
	cr_expect_not(str_to_double("inf", &d));
	cr_expect_not(str_to_double("-nan", &d));
}

Test(str, blanks_at_the_ends_go)
{
	char some[] = " \t a b\n", only[] = "  ";

	cr_expect_str_eq(str_trim(some), "a b");
	cr_expect_str_eq(str_trim(only), "");
}

Test(str, bytes_travel_as_digits)
{
	static const char bytes[] = {0, 1, '\x7f', (char)0x80, (char)0xff};
	auto_free char *hex = str_from_bytes(bytes, sizeof(bytes));
	auto_free char *back = NULL, *none = NULL;
	size_t len = 99;

	cr_assert_str_eq(hex, "00017f80ff");
	back = str_to_bytes(hex, strlen(hex), &len);
	cr_assert_not_null(back);
	cr_assert_eq(len, sizeof(bytes));
	cr_assert_arr_eq(back, bytes, sizeof(bytes));
	none = str_from_bytes(bytes, 0);
	cr_assert_str_eq(none, "");
	cr_assert_null(str_to_bytes("123", 3, &len));
	cr_assert_null(str_to_bytes("0g", 2, &len));
	cr_assert_null(str_to_bytes("AB", 2, &len), "lower case only");
}
