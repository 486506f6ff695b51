/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <math.h>

#include "iallocators/input/text.h"
#include "lib/base/array.h"

Test(text_number, whole_numbers_as_haskell_reads_them)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {{" 7", 7},
		     {"- 7", -7},
		     {"( -7 )", -7},
		     {"((7))", 7},
		     {"0x1F", 31},
		     {"-0o17", -15},
		     {"18446744073709551617", 1}};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t n;

		cr_assert_eq(text_int("x", cases[i].text, &n, &err), 0, "%s",
			     cases[i].text);
		cr_assert_eq(n, cases[i].value, "%s", cases[i].text);
	}
}

Test(text_number, what_is_none_is_told)
{
	static const char *const cases[][2] = {
		{"", "x: cannot parse string ''"},
		{"+7", "x: cannot parse string '+7'"},
		{"1.0", "x: cannot parse string '1.0'"},
		{"-(7)", "x: cannot parse string '-(7)'"},
		{"(7", "x: cannot parse string '(7'"},
		{"7 ", "x: leftover characters when parsing '7 ': ' '"},
		{"0b1", "x: leftover characters when parsing '0b1': 'b1'"},
	};
	struct error err;
	int64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_assert_lt(text_int("x", cases[i][0], &n, &err), 0);
		cr_assert_str_eq(err.text, cases[i][1]);
	}
}

Test(text_number, fractions_need_digits_on_both_sides)
{
	struct error err;
	double d;

	cr_assert_eq(text_double("x", "(-1.5e-1)", &d, &err), 0);
	cr_assert_eq(d, -0.15);
	cr_assert_eq(text_double("x", "-Infinity", &d, &err), 0);
	cr_assert_eq(d, -INFINITY);
	cr_assert_eq(text_double("x", "NaN", &d, &err), 0);
	cr_assert(isnan(d));
	cr_assert_lt(text_double("x", ".5", &d, &err), 0);
	cr_assert_lt(text_double("x", "5.", &d, &err), 0);
	cr_assert_str_eq(err.text,
			 "x: leftover characters when parsing '5.': '.'");
}
