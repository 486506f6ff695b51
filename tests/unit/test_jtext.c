/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/input/jtext.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"

static struct arena arena;
static struct error err;

static const struct jval *parse(const char *text)
{
	char *copy = arena_strndup(&arena, text, strlen(text));

	return jtext_parse(&arena, copy, strlen(text), &err);
}

static void done(void)
{
	arena_done(&arena);
}

TestSuite(jtext, .fini = done);

Test(jtext, of_equal_keys_the_first_counts)
{
	const struct jval *v = parse("{\"a\":1,\"b\":2,\"a\":3}");

	cr_assert_eq(jtext_get(v, "a")->i, 1);
	cr_assert_null(jtext_get(v, "c"));
}

Test(jtext, fractions_round_half_to_even_where_an_integer_is_asked)
{
	static const struct {
		const char *text;
		int64_t i;
		double d;
	} cases[] = {
		{"[1024.5]", 1024, 1024.5}, {"[1025.5]", 1026, 1025.5},
		{"[-1.5]", -2, -1.5},	    {"[12e2]", 1200, 1200},
		{"[1.5e1]", 15, 15},	    {"[25e-1]", 2, 2.5},
		{"[-7]", -7, -7},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct jval *v = parse(cases[i].text);

		cr_assert_not_null(v, "%s", cases[i].text);
		cr_assert_eq(v->first->i, cases[i].i, "%s", cases[i].text);
		cr_assert_eq(v->first->d, cases[i].d, "%s", cases[i].text);
	}
}

Test(jtext, integers_wrap_to_64_bits)
{
	cr_assert_eq(parse("[18446744073709551617]")->first->i, 1);
	cr_assert_eq(parse("[-18446744073709551617]")->first->i, -1);
	cr_assert_eq(parse("[1e999999999]")->first->i, 0);
}

Test(jtext, strings_are_unescaped)
{
	const struct jval *v = parse("[\"a\\u00e9\\n\\\"\\/\"]");

	cr_assert_str_eq(v->first->str, "a\xc3\xa9\n\"/");
	v = parse("[\"\\ud83d\\ude00\\udc00\"]");
	cr_assert_str_eq(v->first->str, "\xf0\x9f\x98\x80\xed\xb0\x80",
			 "two surrogates are one character");
}

Test(jtext, spaces_of_all_kinds_are_spaces)
{
	cr_assert_eq(parse("{\"a\" \xc2\xa0:\v\xe3\x80\x80"
			   "7\f}\xe2\x80\x89")
			     ->first->i,
		     7);
}

Test(jtext, big_numbers_are_shown_in_full)
{
	auto_buf struct buf b = {0};

	jtext_show(&b, parse("[9223372036854775808,9007199254740993,1.5e1]"));
	cr_assert_str_eq(b.data, "[9223372036854775808, 9007199254740993, 15]");
}

Test(jtext, errors_quote_the_text)
{
	static const char *const cases[][2] = {
		{"{\"a\":1,}", "Malformed JSON: expecting string: }"},
		{"{\"a\" 1}", "Malformed JSON labelled field:  1}"},
		{"[1 2]",
		 "Unable to parse JSON array: unterminated array:  2]"},
		{"[tru]", "Unable to parse JSON Bool: tru]"},
		{"[\"\\q\"]",
		 "Unable to parse JSON String: invalid escape char: 'q'"},
		{"[\"\\u\"", "Unable to parse JSON String: invalid hex: \""},
		{"[\"\\uzzzz\"]",
		 "Unable to parse JSON String: invalid hex: []"},
		{"[\"\\u1\xc3\xa9\xc3\xa9\"]",
		 "Unable to parse JSON String: invalid hex: [(1,\"\\23"},
		{"[\"\\u12\"]",
		 "Unable to parse JSON String: invalid hex: [(18,\"\\"},
		{"{}\xc3\xa9\\",
		 "Invalid tokens at end of JSON string: \"\\233\\\\\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_assert_null(parse(cases[i][0]), "%s", cases[i][0]);
		cr_assert(str_starts(err.text, cases[i][1]), "%s", err.text);
	}
}

Test(jtext, too_deep_is_an_error)
{
	char text[2001];

	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_assert_null(parse(text));
	cr_assert_not_null(strstr(err.text, "too deep"));
}

Test(jtext, invalid_utf8_is_an_error)
{
	cr_assert_null(parse("[\"\xff\"]"));
}
