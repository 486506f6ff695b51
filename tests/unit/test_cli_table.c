/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables, and values as text. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cli_table.h"
#include "cli/frame/cli_text.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "lib/json/repr.h"

static struct error err;

static json_t *json(const char *text)
{
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

#define FIELDS                                                                 \
	"[{\"name\":\"name\",\"title\":\"Node\",\"kind\":\"text\"},"           \
	"{\"name\":\"mem\",\"title\":\"Mem\",\"kind\":\"unit\"},"              \
	"{\"name\":\"up\",\"title\":\"Up\",\"kind\":\"bool\"}]"

static void expect(const struct cli_table_style *style, const char *fields,
		   const char *rows, const char *wanted)
{
	auto_json json_t *f = json(fields), *r = json(rows);
	auto_buf struct buf out = {0};

	cli_table(&out, style, f, r);
	cr_assert_str_eq(out.data == NULL ? "" : out.data, wanted);
}

Test(cli_table, numbers_stand_right_and_text_left)
{
	const struct cli_table_style style = {.headers = true, .unit = 'h'};

	expect(&style, FIELDS,
	       "[[[0,\"n1\"],[0,512],[0,true]],"
	       "[[0,\"longer\"],[0,2048],[0,false]]]",
	       "Node    Mem Up\n"
	       "n1     512M Y\n"
	       "longer 2.0G N\n");
}

Test(cli_table, cells_without_data_have_marks)
{
	struct cli_table_style style = {.unit = 'h'};

	expect(&style, FIELDS,
	       "[[[0,\"a\"],[2,null],[3,null]],[[4,null],[1,null],[9,null]]]",
	       "a  ? -\n* ?? ??\n");
	style.verbose = true;
	expect(&style, FIELDS,
	       "[[[0,\"a\"],[2,null],[3,null]],[[4,null],[1,null],[0,true]]]",
	       "a          (nodata) (unavail)\n"
	       "(offline) (unknown) Y\n");
}

Test(cli_table, a_separator_replaces_alignment)
{
	const struct cli_table_style style = {
		.headers = true, .separator = ":", .unit = 'm'};

	expect(&style, FIELDS, "[[[0,\"a\"],[0,2048],[0,true]]]",
	       "Node:Mem:Up\na:2048:Y\n");
}

Test(cli_table, an_empty_table_has_titles_only)
{
	struct cli_table_style style = {.headers = true, .unit = 'h'};

	expect(&style, FIELDS, "[]", "Node Mem Up\n");
	style.headers = false;
	expect(&style, FIELDS, "[]", "");
	expect(&style, "[]", "[]", "");
}

Test(cli_table, width_counts_characters)
{
	const struct cli_table_style style = {.unit = 'h'};

	expect(&style, FIELDS,
	       "[[[0,\"\xc3\xa4\"],[0,1],[0,true]],[[0,\"bb\"],[0,1],[0,true]]"
	       "]",
	       "\xc3\xa4  1M Y\nbb 1M Y\n");
}

Test(cli_table, states_have_colours_where_asked)
{
	struct cli_table_style style = {
		.headers = true, .unit = 'h', .colours = true};
	static const char fields[] =
		"[{\"name\":\"status\",\"title\":\"running\","
		"\"kind\":\"text\"},"
		"{\"name\":\"name\",\"title\":\"N\",\"kind\":\"text\"}]";
	static const char rows[] = "[[[0,\"running\"],[0,\"running\"]],"
				   "[[0,\"error\"],[0,\"x\"]]]";

	expect(&style, fields, rows,
	       "running N\n"
	       "\033[32mrunning\033[0m running\n"
	       "\033[31merror\033[0m   x\n");
	style.separator = "|";
	expect(&style, fields, rows, "running|N\nrunning|running\nerror|x\n");
}

Test(cli_table, unknown_fields_are_listed)
{
	auto_json json_t *fields =
		json("[{\"name\":\"a\",\"kind\":\"unknown\"},"
		     "{\"name\":\"b\",\"kind\":\"text\"}]");
	auto_strv struct strv names = {0};

	cli_table_unknown(fields, &names);
	cr_assert_eq(names.n, 1);
	cr_assert_str_eq(names.items[0], "a");
}

Test(cli_table, json_has_an_object_a_row)
{
	auto_json json_t *fields = json(FIELDS);
	auto_json json_t *rows = json("[[[0,\"a\"],[2,7],[0,true]],[]]");
	auto_json json_t *list = cli_table_json(fields, rows);
	auto_free char *text = json_text(list);

	cr_assert_str_eq(text, "[{\"name\":\"a\",\"mem\":null,\"up\":true},"
			       "{\"name\":null,\"mem\":null,\"up\":null}]");
}

/* --- text --- */

Test(cli_text, values_look_as_python_shows_them)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"null", "None"},
		{"true", "True"},
		{"12", "12"},
		{"1.5", "1.5"},
		{"4.0", "4.0"},
		{"1e15", "1000000000000000.0"},
		{"1e22", "1e+22"},
		{"0.00001", "1e-05"},
		{"1795213230.3832226", "1795213230.3832226"},
		{"\"it's\"", "\"it's\""},
		{"\"a\\n\\\\\"", "'a\\n\\\\'"},
		{"[1,\"a\",[null]]", "[1, 'a', [None]]"},
		{"{\"a\":{\"b\":false}}", "{'a': {'b': False}}"},
		{"{}", "{}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *value = json(cases[i].json);
		auto_free char *text = json_repr(value);

		cr_assert_str_eq(text, cases[i].text, "%s gives %s",
				 cases[i].json, text);
	}
}

Test(cli_text, sizes_have_units)
{
	static const struct {
		double mib;
		char unit;
		const char *text;
	} cases[] = {
		{0, 'h', "0M"},		{1023, 'h', "1023M"},
		{1024, 'h', "1.0G"},	{258020, 'h', "252.0G"},
		{1048576, 'h', "1.0T"}, {2048, 'm', "2048"},
		{1536, 'g', "1.5"},	{524288, 't', "0.5"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *text = cli_size(cases[i].mib, cases[i].unit);

		cr_assert_str_eq(text, cases[i].text);
	}
}

Test(cli_text, times_are_local)
{
	auto_json json_t *pair = json("[1795213230, 42]"), *none = json("null");
	auto_free char *a = NULL, *b = NULL, *c = NULL, *d = NULL, *e = NULL;

	setenv("TZ", "UTC", 1);
	tzset();
	a = cli_ctime(1795213230);
	b = cli_time(1795213230);
	c = cli_stamp(pair);
	d = cli_stamp(none);
	e = cli_time(1e300);
	cr_assert_str_eq(a, "Fri Nov 20 22:20:30 2026");
	cr_assert_str_eq(b, "2026-11-20 22:20:30");
	cr_assert_str_eq(c, "2026-11-20 22:20:30.000042");
	cr_assert_str_eq(d, "N/A");
	cr_assert_str_eq(e, "N/A");
}
