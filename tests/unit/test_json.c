/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

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
