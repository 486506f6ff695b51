/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <malloc.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static json_t *parse(const char *text)
{
	struct error err;

	return json_parse(text, strlen(text), &err);
}

Test(json, depth_is_limited_before_parsing)
{
	static char deep[200001];
	struct error err;

	memset(deep, '[', 100000);
	memset(deep + 100000, ']', 100000);
	cr_assert_null(json_parse(deep, 200000, &err));
	cr_assert_eq(err.kind, ERR_REQUEST);
	cr_assert_not_null(strstr(err.text, "levels"));
}

static size_t heap(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* Three bytes of text each that take hundreds of memory. */
Test(json, many_small_values_are_limited_before_parsing)
{
	static const char *const pieces[] = {"[]",   "{}",  "0",
					     "\"\"", "[0]", "{\"a\":0}"};
	const size_t n = 100000;

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		auto_buf struct buf text = {0};
		struct error err;
		json_t *value;
		size_t before;

		buf_addc(&text, '[');
		for (size_t k = 0; k < n; k++)
			buf_addf(&text, k > 0 ? ",%s" : "%s", pieces[i]);
		buf_addc(&text, ']');
		/* The estimate is not below the truth. */
		for (size_t max = 1024 * 1024;; max += 1024 * 1024) {
			before = heap();
			value = json_parse_within(text.data, text.len, max,
						  &err);
			if (value == NULL) {
				cr_assert_not_null(strstr(err.text, "memory"));
				continue;
			}
			cr_assert_leq(heap() - before, max, "%s", pieces[i]);
			cr_assert_gt(max, 4 * 1024 * 1024);
			json_decref(value);
			break;
		}
	}
}

/* Keys that all differ take more. */
Test(json, many_keys_take_no_more_than_they_are_counted_for)
{
	const size_t max = 32 * 1024 * 1024;
	size_t before = heap();
	json_t *value = NULL;
	struct error err;

	for (size_t n = 20000; n < 400000; n += 20000) {
		auto_buf struct buf text = {0};

		buf_addc(&text, '{');
		for (size_t k = 0; k < n; k++)
			buf_addf(&text, "%s\"key%zu\":\"v\"", k > 0 ? "," : "",
				 k);
		buf_addc(&text, '}');
		json_decref(value);
		value = json_parse_within(text.data, text.len, max, &err);
		if (value == NULL)
			return;
		cr_assert_leq(heap(), before + text.cap + max, "%zu", n);
	}
	cr_assert_fail("they were never refused");
}

Test(json, brackets_in_strings_do_not_count)
{
	static char text[1000] = "\"";
	auto_json json_t *value = NULL;

	memset(text + 1, '[', 500);
	strcat(text, "\\\"[\"");
	value = parse(text);
	cr_assert(json_is_string(value));
}

Test(json, refuses_duplicates_and_bad_utf8)
{
	struct error err;

	cr_assert_null(parse("{\"a\":1,\"a\":2}"));
	cr_assert_null(parse("{\"a\":1"));
	cr_assert_null(parse("[1] x"));
	cr_assert_null(json_parse("\"\xff\"", 3, &err));
	cr_assert_null(parse("1e999"));
}

Test(json, same_compares_as_python)
{
	auto_json json_t *a = parse("{\"a\":[1,2.0,null],\"b\":{}}");
	auto_json json_t *b = parse("{\"b\":{},\"a\":[1.0,2,null]}");
	auto_json json_t *c = parse("{\"b\":{},\"a\":[1.0,2,0]}");

	cr_assert(json_same(a, b));
	cr_assert_not(json_same(a, c));
}

Test(json, access_falls_back_on_the_wrong_kind)
{
	auto_json json_t *o = parse("{\"s\":\"x\",\"i\":3.0,\"n\":null}");

	cr_assert_str_eq(json_str(o, "s", "d"), "x");
	cr_assert_str_eq(json_str(o, "i", "d"), "d");
	cr_assert_eq(json_int(o, "i", 7), 3);
	cr_assert_eq(json_int(o, "s", 7), 7);
	cr_assert_null(json_get(o, "n"));
	cr_assert_null(json_get(o, "missing"));
	cr_assert(json_bool(o, "s", true));
}

Test(json, overlay_leaves_both_alone)
{
	auto_json json_t *base = parse("{\"a\":1,\"b\":2}");
	auto_json json_t *over = parse("{\"b\":3}");
	auto_json json_t *both = json_overlay(base, over);

	cr_assert_eq(json_int(both, "a", 0), 1);
	cr_assert_eq(json_int(both, "b", 0), 3);
	cr_assert_eq(json_int(base, "b", 0), 2);
}

static void written(double value, const char *expected)
{
	auto_json json_t *real = json_real(value);
	auto_free char *text = json_text(real);

	cr_expect_str_eq(text, expected, "%s, not %s", text, expected);
	cr_expect_eq(strtod(text, NULL), value);
}

Test(json, numbers_get_the_shortest_text_that_reads_back)
{
	written(1e-6, "1e-6");
	written(0.1, "0.1");
	written(0.0, "0.0");
	written(-2.5, "-2.5");
	written(3.0, "3.0");
	written(1e20, "1e20");
	written(123456.0, "123456.0");
	written(0.1 + 0.2, "0.30000000000000004");
	written(1795213624.7357531, "1795213624.735753");
	written(1.7976931348623157e308, "1.7976931348623157e308");
}

/* What is not a number is written as jansson does. */
Test(json, texts_are_janssons)
{
	static const char *const texts[] = {
		"null",
		"[]",
		"{}",
		"[true,false,null,-5,\"\"]",
		"{\"b\":[1,{\"a\":\"x\"}],\"a\":{}}",
		"\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\\u0000\x7f\"",
		"\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
		"9223372036854775807",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_json json_t *value = json_loads(
			texts[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		auto_free char *theirs =
			json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		auto_free char *ours = json_text(value);
		auto_free char *sorted = json_dumps(
			value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
		auto_free char *ours_sorted = json_text_sorted(value);

		cr_assert_not_null(value, "%s", texts[i]);
		cr_expect_str_eq(ours, theirs);
		cr_expect_str_eq(ours_sorted, sorted);
	}
}

Test(json, length_is_told_without_the_text)
{
	auto_json json_t *value = json_make("{s:[s, i, n], s:{}}", "list",
					    "0123456789", 7, "object");
	auto_json json_t *many = json_array();

	for (int i = 0; i < 1000; i++)
		json_array_append_new(many, json_integer(i));
	cr_assert(!json_is_longer(value, 100));
	cr_assert(json_is_longer(value, 20));
	cr_assert(json_is_longer(many, 1000));
	cr_assert(!json_is_longer(many, 10000));
	cr_assert(!json_is_longer(NULL, 100));
}
