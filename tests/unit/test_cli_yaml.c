/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs read: YAML and CSV. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/frame/cli_yaml.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

static struct error err;

static json_t *json(const char *text)
{
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

static void expect_yaml(const char *text, const char *wanted)
{
	auto_json json_t *value = json(text);
	auto_buf struct buf out = {0};

	cli_yaml(&out, value);
	cr_assert_str_eq(out.data, wanted, "%s gives\n%s", text, out.data);
}

static void expect_csv(const char *text, bool headers, const char *wanted)
{
	auto_json json_t *value = json(text);
	auto_buf struct buf out = {0};

	cli_csv(&out, value, NULL, headers);
	cr_assert_str_eq(out.data == NULL ? "" : out.data, wanted,
			 "%s gives\n%s", text, out.data);
}

Test(cli_yaml, blocks_nest)
{
	expect_yaml("[{\"name\":\"n1\",\"tags\":[\"a\",\"b\"],\"empty\":[],"
		    "\"params\":{\"mem\":{\"max\":5}},\"none\":{}},7]",
		    "- name: n1\n"
		    "  tags:\n"
		    "    - a\n"
		    "    - b\n"
		    "  empty: []\n"
		    "  params:\n"
		    "    mem:\n"
		    "      max: 5\n"
		    "  none: {}\n"
		    "- 7\n");
	expect_yaml("[[1,[2]],[]]", "- - 1\n  - - 2\n- []\n");
	expect_yaml("[]", "[]\n");
}

Test(cli_yaml, what_could_be_something_else_is_quoted)
{
	static const char *const quoted[] = {
		"",	"yes",	 "No",	       "Y",  "n",	"on",	"OFF",
		"true", "False", "NULL",       "~",  "12",	"1.5",	".inf",
		"0x1f", "1:30",	 "2026-11-20", "-",  "- a",	"a: b", "a #b",
		" a",	"a ",	 "*a",	       "&a", "!a",	"[a]",	"{a}",
		"a,b",	"%a",	 "@a",	       "<<", "=",	"---",	"?",
		"'a'",	"a:",	 "|",	       ">",  "\xc3\xa4"};

	for (size_t i = 0; i < ARRAY_SIZE(quoted); i++) {
		auto_json json_t *value = json_string(quoted[i]);
		auto_free char *wanted = xprintf("\"%s\"\n", quoted[i]);
		auto_buf struct buf out = {0};

		cli_yaml(&out, value);
		cr_assert_str_eq(out.data, wanted);
	}
	expect_yaml("{\"no\":\"/dev/sda-1 (a_b)\"}",
		    "\"no\": /dev/sda-1 (a_b)\n");
}

Test(cli_yaml, signs_are_escaped)
{
	expect_yaml("\"a\\\"b\\\\c\\n\\t\\r\\u0007\"",
		    "\"a\\\"b\\\\c\\n\\t\\x0d\\x07\"\n");
	expect_yaml("\"\\u0085\\u007f\\u2028\\ufeff\"",
		    "\"\\x85\\x7f\\u2028\\ufeff\"\n");
	expect_yaml("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"\n");
}

Test(cli_yaml, scalars_keep_their_kind)
{
	expect_yaml("[null,true,false,-3,1.5,2.0]",
		    "- null\n- true\n- false\n- -3\n- 1.5\n- 2.0\n");
	expect_yaml("[1e300,1.5e-9]", "- 1.0e+300\n- 1.5e-9\n");
}

Test(cli_csv, a_row_for_each_object)
{
	static const char rows[] = "[{\"a\":1,\"b\":\"x\"},"
				   "{\"a\":null,\"c\":true}]";

	expect_csv(rows, true, "a,b,c\n1,x,\n,,true\n");
	expect_csv(rows, false, "1,x,\n,,true\n");
}

Test(cli_csv, quotes_as_the_rfc_has_it)
{
	expect_csv("[\"a,b\",\"say \\\"hi\\\"\",\"two\\nlines\",\"cr\\r\","
		   "\" plain \"]",
		   true,
		   "value\n\"a,b\"\n\"say \"\"hi\"\"\"\n\"two\nlines\"\n"
		   "\"cr\r\"\n plain \n");
	expect_csv("[{\"a,b\":[1,\"x\"]}]", true,
		   "\"a,b\"\n\"[1,\"\"x\"\"]\"\n");
}

Test(cli_csv, an_object_is_keys_and_values)
{
	expect_csv("{\"name\":\"c\",\"tags\":[]}", true,
		   "key,value\nname,c\ntags,[]\n");
}

Test(cli_csv, titles_stand_above_no_rows)
{
	auto_json json_t *none = json_array();
	auto_strv struct strv columns = {0};
	auto_buf struct buf out = {0};

	strv_add(&columns, "name");
	strv_add(&columns, "status");
	cli_csv(&out, none, &columns, true);
	cr_assert_str_eq(out.data, "name,status\n");
	expect_csv("[]", true, "");
}
