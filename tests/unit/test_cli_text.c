/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cli/frame/cli_text.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

Test(cli_text, printable_is_ascii_on_one_line)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"", ""},
		{"all is \\ 'well'", "all is \\ 'well'"},
		{"a\nb\tc", "a\\nb\\tc"},
		{"\x1b[0m\x7f", "\\x1b[0m\\x7f"},
		{"gr\u00fcn", "gr\\xfcn"},
		{"\u20ac", "\\u20ac"},
		{"\U0001f600!", "\\U0001f600!"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *shown = cli_printable(cases[i].text);

		cr_assert_str_eq(shown, cases[i].shown);
	}
}

Test(cli_text, one_is_one)
{
	auto_free char *one = cli_errors(1), *many = cli_errors(3);
	auto_free char *none = cli_counted(0, "node");

	cr_assert_str_eq(one, "There was 1 error");
	cr_assert_str_eq(many, "There were 3 errors");
	cr_assert_str_eq(none, "0 nodes");
}
