/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/model/filter/filter.h"
#include "tests/lib/compat.h"

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

/* The object that filters are tried on; "live" has no data. */
static const char row_text[] =
	"{\"name\":\"inst1.example.com\",\"os\":\"deb\",\"memory\":64,"
	"\"ratio\":1.5,\"up\":true,\"down\":false,\"tags\":[\"a\",\"b\"],"
	"\"none\":null,\"start_ts\":[1000,500000]}";

static bool known(void *arg, const char *field, enum filter_kind *ret_kind)
{
	if (strcmp(field, "name") == 0)
		*ret_kind = FILTER_HOSTNAME;
	else if (strcmp(field, "start_ts") == 0)
		*ret_kind = FILTER_TIMESTAMP;
	else
		*ret_kind = FILTER_OTHER;
	return strcmp(field, "live") == 0 ||
	       json_object_get(arg, field) != NULL;
}

static const json_t *get(void *arg, const char *field)
{
	return json_object_get(arg, field);
}

/* 1, 0, -1 for an error when evaluating, -2 when compiling. */
static int try(const char *text, struct error *err)
{
	auto_json json_t *row = parse(row_text);
	auto_json json_t *value = parse(text);
	struct filter *f = filter_compile(value, known, row, err);
	int rc;

	if (f == NULL)
		return -2;
	rc = filter_match(f, get, row, err);
	filter_free(f);
	return rc;
}

Test(filter, operators)
{
	static const struct {
		const char *filter;
		int want;
	} rows[] = {
		{"null", 1},
		{"[\"&\"]", 1},
		{"[\"|\"]", 0},
		{"[\"==\",\"os\",\"deb\"]", 1},
		{"[\"=\",\"os\",\"deb\"]", 1},
		{"[\"==\",\"os\",\"de\"]", 0},
		{"[\"!=\",\"os\",\"deb\"]", 0},
		{"[\"==\",\"name\",\"inst1\"]", 1},
		{"[\"==\",\"name\",\"inst1.example\"]", 1},
		{"[\"==\",\"name\",\"INST1\"]", 0},
		{"[\"==\",\"name\",\"inst\"]", 0},
		{"[\"==\",\"name\",\"\"]", 0},
		{"[\"!=\",\"name\",\"inst1\"]", 0},
		{"[\"==\",\"memory\",64]", 1},
		{"[\"<\",\"memory\",65]", 1},
		{"[\"<\",\"memory\",64]", 0},
		{"[\"<=\",\"memory\",64]", 1},
		{"[\">\",\"ratio\",1]", 1},
		{"[\">=\",\"ratio\",2]", 0},
		{"[\">\",\"os\",\"dea\"]", 1},
		{"[\"?\",\"up\"]", 1},
		{"[\"?\",\"down\"]", 0},
		{"[\"?\",\"memory\"]", -1},
		{"[\"?\",\"os\"]", -1},
		{"[\"!\",[\"?\",\"down\"]]", 1},
		{"[\"=[]\",\"tags\",\"a\"]", 1},
		{"[\"=[]\",\"tags\",\"c\"]", 0},
		{"[\"=~\",\"name\",\"^inst\\\\d\\\\.\"]", 1},
		{"[\"=~\",\"name\",\"^INST\"]", 0},
		{"[\"=~\",\"name\",\"(?i)^INST\"]", 1},
		{"[\"==\",\"none\",\"x\"]", 0},
		{"[\"!=\",\"none\",\"x\"]", 1},
		{"[\">\",\"start_ts\",1000]", 1},
		{"[\"<\",\"start_ts\",1000]", 0},
		{"[\"&\",[\"?\",\"up\"],[\"?\",\"down\"]]", 0},
		{"[\"|\",[\"?\",\"down\"],[\"?\",\"up\"]]", 1},
		/* Compared values of kinds that do not fit. */
		{"[\"==\",\"memory\",\"64\"]", -1},
		{"[\"<\",\"os\",5]", -1},
		{"[\"?\",\"tags\"]", -1},
		{"[\"=~\",\"memory\",\"x\"]", -1},
		{"[\"=[]\",\"os\",\"x\"]", -3},
		{"[\"=[]\",\"tags\",1]", -3},
		/* What is no filter at all. */
		{"\"x\"", -2},
		{"[]", -2},
		{"[1]", -2},
		{"[\"nosuchop\",\"name\",\"x\"]", -2},
		{"[\"==\",\"name\"]", -2},
		{"[\"==\",\"name\",null]", -2},
		{"[\"==\",\"name\",[1]]", -2},
		{"[\"==\",\"memory\",0.5]", -2},
		{"[\"==\",5,\"x\"]", -2},
		{"[\"!\"]", -2},
		{"[\"&\",[\"?\",\"up\"],5]", -2},
		{"[\"=~\",\"name\",\"(\"]", -2},
		{"[\"=~\",\"name\",5]", -2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		int got = try(rows[i].filter, &err);

		if (got == -1 && err.kind == ERR_SYSTEM)
			got = -3;
		cr_assert_eq(got, rows[i].want, "%s gave %d %s", rows[i].filter,
			     got, err.text);
		if (got == -1 || got == -2)
			cr_assert_eq(err.kind,
				     got == -2 ? ERR_REQUEST : ERR_PARAMETER);
	}
}

Test(filter, an_unknown_field_is_no_misfit)
{
	struct error err = {0};

	cr_assert_eq(try("[\"==\",\"zzz\",\"x\"]", &err), -2);
	cr_assert_eq(err.kind, ERR_PARAMETER);
}

Test(filter, errors_read_as_recorded)
{
	struct error err;

	try("[\"=\",\"zzz\",\"x\"]", &err);
	cr_assert_str_eq(err.text, "Can't find field named 'zzz'");
	try("[\"nosuchop\",\"name\",\"x\"]", &err);
	cr_assert_str_eq(err.text, "Unknown filter operand 'nosuchop'");
}

/* What is asked of a field without data is true, and "not" makes it false. */
Test(filter, rows_without_data_pass)
{
	struct error err;

	cr_assert_eq(try("[\"==\",\"live\",\"x\"]", &err), 1);
	cr_assert_eq(try("[\"!\",[\"==\",\"live\",\"x\"]]", &err), 0);
	cr_assert_eq(try("[\"!=\",\"live\",\"x\"]", &err), 0);
	cr_assert_eq(try("[\"&\",null]", &err), 1);
	cr_assert_eq(try("[\"&\",[\"?\",\"live\"],[\"?\",\"up\"]]", &err), 1);
	cr_assert_eq(try("[\"&\",[\"?\",\"live\"],[\"?\",\"down\"]]", &err), 0);
	cr_assert_eq(try("[\"&\",[\"?\",\"down\"],[\"?\",\"live\"]]", &err), 0);
	cr_assert_eq(try("[\"|\",[\"?\",\"live\"],[\"?\",\"down\"]]", &err), 1);
}

Test(filter, hostile_expressions_end)
{
	auto_json json_t *row =
		json_make("{s:s}", "os",
			  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
	auto_json json_t *value = parse("[\"=~\",\"os\",\"^(a+)+$\"]");
	struct error err;
	struct filter *f = filter_compile(value, known, row, &err);

	cr_assert_not_null(f);
	cr_assert_eq(filter_match(f, get, row, &err), -1);
	cr_assert_not_null(strstr(err.text, "work"));
	filter_free(f);
}

/* How many steps an expression takes on 14 letters that it does not match. */
static uint64_t steps_of(const char *filter, uint64_t limit, int *ret_rc)
{
	auto_json json_t *row = json_make("{s:s}", "os", "successsuccess");
	auto_json json_t *value = parse(filter);
	struct error err;
	struct filter *f = filter_compile(value, known, row, &err);
	uint64_t steps;

	cr_assert_not_null(f, "%s", err.text);
	if (limit > 0)
		filter_limit(f, limit);
	*ret_rc = filter_match(f, get, row, &err);
	steps = filter_steps(f);
	cr_assert_leq(steps, filter_row_steps_max(f));
	filter_free(f);
	return steps;
}

/* Start optimisations would hide most of the work of these. */
Test(filter, the_work_of_expressions_is_counted)
{
	int rc = 0;

	cr_assert_lt(steps_of("[\"=~\",\"os\",\"^succ\"]", 0, &rc), 20);
	cr_assert_eq(rc, 1);
	cr_assert_gt(steps_of("[\"=~\",\"os\",\"(.?){9}[yz]\"]", 0, &rc), 1000);
	cr_assert_leq(steps_of("[\"=~\",\"os\",\"(.?){14}[yz]\"]", 0, &rc),
		      20003);
	cr_assert_eq(rc, -1, "given up");
}

Test(filter, all_rows_together_have_a_limit)
{
	auto_json json_t *row = json_make("{s:s}", "os", "successsuccess");
	auto_json json_t *value = parse("[\"=~\",\"os\",\"(.?){5}[yz]\"]");
	struct error err;
	struct filter *f = filter_compile(value, known, row, &err);
	int rows = 0;

	filter_limit(f, 50000);
	while (filter_match(f, get, row, &err) == 0)
		rows++;
	cr_assert_gt(rows, 5);
	cr_assert_leq(filter_steps(f), 50002);
	cr_assert_not_null(strstr(err.text, "takes too much work"), "%s",
			   err.text);
	filter_free(f);
}

Test(filter, operators_are_counted_as_well)
{
	int rc = 0;

	cr_assert_eq(steps_of("[\"&\",[\"!=\",\"os\",\"a\"],[\"!=\",\"os\","
			      "\"b\"]]",
			      0, &rc),
		     3);
	cr_assert_eq(rc, 1);
	cr_assert_eq(steps_of("[\"&\",[\"!=\",\"os\",\"a\"],[\"!=\",\"os\","
			      "\"b\"]]",
			      2, &rc),
		     3);
	cr_assert_eq(rc, -1);
}

static void assert_refused(const char *filter, const char *why)
{
	auto_json json_t *row = parse(row_text);
	auto_json json_t *value = parse(filter);
	struct error err;

	cr_assert_null(filter_compile(value, known, row, &err), "%s", filter);
	cr_assert_eq(err.kind, ERR_REQUEST);
	cr_assert_not_null(strstr(err.text, why), "%s", err.text);
}

Test(filter, settings_in_front_of_expressions_are_refused)
{
	assert_refused("[\"=~\",\"os\",\"(*NO_START_OPT)(.?){14}y0\"]",
		       "begins with");
	assert_refused("[\"=~\",\"os\",\"(*LIMIT_MATCH=9)a\"]", "begins with");
}

/* Each takes some 60 KiB when it is compiled. */
Test(filter, all_expressions_together_have_a_size)
{
	auto_buf struct buf text = {0};

	buf_adds(&text, "[\"|\"");
	for (int i = 0; i < 100; i++)
		buf_adds(&text, ",[\"=~\",\"os\",\"((?:[a-z]{1,30}){1,30}x?)"
				"{1,30}\"]");
	buf_addc(&text, ']');
	assert_refused(text.data, "more than 4 MiB");
}

Test(filter, small_ones_are_known)
{
	static const struct {
		const char *filter;
		bool small;
	} rows[] = {
		{"null", true},
		{"[\"|\",[\"==\",\"name\",\"a\"],[\"?\",\"up\"]]", true},
		{"[\"=~\",\"name\",\"a\"]", false},
		{"[\"!\",[\"&\",[\"=~\",\"name\",\"a\"]]]", false},
	};
	auto_buf struct buf text = {0};
	auto_json json_t *many = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *value = parse(rows[i].filter);

		cr_expect_eq(filter_is_small(value), rows[i].small, "%s",
			     rows[i].filter);
	}
	buf_adds(&text, "[\"|\"");
	for (int i = 0; i < 70; i++)
		buf_adds(&text, ",[\"|\",[\"?\",\"up\"]]");
	buf_addc(&text, ']');
	many = parse(text.data);
	cr_assert(!filter_is_small(many));
}

Test(filter, knows_the_fields_it_reads)
{
	auto_json json_t *row = parse(row_text);
	auto_json json_t *value = parse("[\"|\",[\"?\",\"up\"],[\"!\",[\"==\","
					"\"os\",\"x\"]],[\"?\",\"up\"]]");
	struct error err;
	struct filter *f = filter_compile(value, known, row, &err);

	cr_assert_eq(filter_fields(f)->n, 2);
	cr_assert(strv_has(filter_fields(f), "os"));
	filter_free(f);
}

Test(filter, names_of_a_plain_list)
{
	static const struct {
		const char *filter, *names; /* NULL: no list */
	} rows[] = {
		{"null", NULL},
		{"[\"|\"]", ""},
		{"[\"==\",\"name\",\"a\"]", "a"},
		{"[\"|\",[\"==\",\"name\",\"b\"],[\"=\",\"name\",\"a\"]]",
		 "b a"},
		{"[\"|\",[\"==\",\"name\",7]]", NULL},
		{"[\"|\",[\"==\",\"os\",\"a\"]]", NULL},
		{"[\"|\",[\"==\",\"name\",\"b\"],[\"?\",\"up\"]]", NULL},
		{"[\"&\",[\"==\",\"name\",\"b\"]]", NULL},
		{"[\"==\",\"name\"]", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *value = parse(rows[i].filter);
		auto_strv struct strv names = {0};
		bool is = filter_names(value, "name", &names);
		auto_free char *text = strv_join(&names, " ");

		cr_assert_eq(is, rows[i].names != NULL, "%s", rows[i].filter);
		if (is)
			cr_assert_str_eq(text, rows[i].names);
		else
			cr_assert_eq(names.n, 0);
	}
}

Test(filter, texts_become_what_ganeti_makes_of_them)
{
	auto_json json_t *cases = compat_read("filters.json");
	const json_t *rows = json_object_get(cases, "parse");

	cr_assert_gt(json_array_size(rows), 70);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *text = json_string_value(json_array_get(row, 0));
		const json_t *want = json_array_get(row, 1);
		struct error err = {0};
		auto_json json_t *got = filter_from_text(text, &err);
		auto_free char *mine = got == NULL ? NULL : json_text(got);

		if (json_is_null(want)) {
			cr_assert_null(got, "%s gave %s", text, mine);
			cr_assert_eq(err.kind, ERR_FILTER);
			continue;
		}
		cr_assert_not_null(got, "%s: %s", text, err.text);
		cr_assert(json_same(got, want), "%s gave %s", text, mine);
	}
}

/* As in Ganeti, whose parser takes every backslash for its own. */
Test(filter, a_class_of_characters_takes_two_backslashes)
{
	static const struct {
		const char *text, *filter;
	} cases[] = {
		{"a =~ m/x\\\\d+/", "[\"=~\",\"a\",\"x\\\\d+\"]"},
		{"a =~ m/x\\d+/", "[\"=~\",\"a\",\"xd+\"]"},
		{"a =~ m/x\\/y/", "[\"=~\",\"a\",\"x/y\"]"},
		{"a =~ m/x\\ty/", "[\"=~\",\"a\",\"x\\ty\"]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err;
		auto_json json_t *got = filter_from_text(cases[i].text, &err);
		auto_json json_t *want = parse(cases[i].filter);

		cr_assert_not_null(got, "%s", err.text);
		compat_assert_same(got, want);
	}
}

/* A difference on purpose. */
Test(filter, a_regular_expression_may_stand_before_and)
{
	struct error err;
	auto_json json_t *got = filter_from_text("a =~ m/x/ and b", &err);
	auto_json json_t *want =
		parse("[\"&\",[\"=~\",\"a\",\"x\"],[\"?\",\"b\"]]");

	cr_assert_not_null(got, "%s", err.text);
	compat_assert_same(got, want);
}

Test(filter, a_number_ends_where_its_word_ends)
{
	struct error err;

	cr_assert_null(filter_from_text("a < 2and b", &err));
	cr_assert_null(filter_from_text("a == 2g", &err));
}

Test(filter, wrong_regular_expressions_of_texts_are_named)
{
	struct error err = {0};

	cr_assert_null(filter_from_text("a == 1 and b =~ m/[/", &err));
	cr_expect_eq(err.kind, ERR_FILTER);
	cr_expect(str_starts(err.text, "Failed to parse query filter 'a == 1 "
				       "and b =~ m/[/': Invalid regular"),
		  "%s", err.text);
}

Test(filter, deep_texts_are_refused)
{
	auto_buf struct buf text = {0};
	struct error err;

	for (int i = 0; i < 100000; i++)
		buf_addc(&text, '(');
	cr_assert_null(filter_from_text(text.data, &err));
	cr_assert_not_null(strstr(err.text, "nesting"));
}

Test(filter, names_become_what_ganeti_makes_of_them)
{
	auto_json json_t *cases = compat_read("filters.json");
	const json_t *rows = json_object_get(cases, "names");

	cr_assert_gt(json_array_size(rows), 10);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		auto_strv struct strv names = {0};
		auto_json json_t *got = NULL;

		json_to_strv(json_array_get(row, 0), &names);
		got = filter_from_names(&names, "name", true);
		compat_assert_same(got, json_array_get(row, 1));
	}
}

Test(filter, what_looks_like_a_filter)
{
	auto_json json_t *cases = compat_read("filters.json");
	const json_t *rows = json_object_get(cases, "is_filter");

	cr_assert_gt(json_array_size(rows), 25);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *text = json_string_value(json_array_get(row, 0));

		cr_assert_eq(filter_text_is_filter(text),
			     json_is_true(json_array_get(row, 1)), "'%s'",
			     text);
	}
}
