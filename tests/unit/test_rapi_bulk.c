/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rapi/frame/resource.h"
#include "rapi/resources/bulk.h"

static const char *const fields[] = {"name", "beparams", "tags", NULL};
static const struct resource_kind kind = {.fields = fields, .has_memory = true};

static void check(const char *rows, const char *wanted)
{
	struct buf out = {0}, text = {0};

	buf_adds(&text, rows);
	cr_assert_eq(bulk_write(&out, &kind, &text), 0, "%s", rows);
	cr_assert_str_eq(out.data, wanted);
	buf_done(&out);
	buf_done(&text);
}

Test(rapi_bulk, values_get_their_names_and_blanks)
{
	check("[]", "[]");
	check("[[\"a\",null,[]]]",
	      "[{\"name\": \"a\", \"beparams\": null, \"tags\": []}]");
	check("[[\"a\",{\"maxmem\":128,\"vcpus\":1},[\"x\",\"y\"]],"
	      "[\"b\",{},[[1,2],{\"k\":-1.5}]]]",
	      "[{\"name\": \"a\", \"beparams\": {\"maxmem\": 128, \"vcpus\": "
	      "1, "
	      "\"memory\": 128}, \"tags\": [\"x\", \"y\"]}, {\"name\": \"b\", "
	      "\"beparams\": {}, \"tags\": [[1, 2], {\"k\": -1.5}]}]");
}

Test(rapi_bulk, strings_stay_as_they_are)
{
	check("[[\"a,b:[{\\\"\\\\\",null,[\"\\u00e4,\"]]]",
	      "[{\"name\": \"a,b:[{\\\"\\\\\", \"beparams\": null, \"tags\": "
	      "[\"\\u00e4,\"]}]");
}

Test(rapi_bulk, other_texts_are_refused)
{
	static const char *const bad[] = {
		"",	      "[",	     "{}",	    "[[]]",
		"[[1,2]]",    "[[1,2,3,4]]", "[[1,2,3]",    "[[1,2,3]]x",
		"[[1,2,3],]", "[[\"a,2,3]]", "[[1,,3]]",    "[[1,{\"a\":[,3]]",
		"[[1,2,\"\\", "null",	     "[[\"a\\\"]]", "[1,2,3]",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buf out = {0}, text = {0};

		buf_adds(&text, bad[i]);
		cr_assert_eq(bulk_write(&out, &kind, &text), -1, "%s", bad[i]);
		buf_done(&out);
		buf_done(&text);
	}
}

/* Whose pages are given back while it is read. */
Test(rapi_bulk, a_long_list_is_whole)
{
	struct buf out = {0}, text = {0}, wanted = {0};

	for (int i = 0; i < 100000; i++) {
		buf_addf(&text, "%c[\"n%06d\",null,[\"a tag of it\"]]",
			 i == 0 ? '[' : ',', i);
		buf_addf(&wanted,
			 "%s{\"name\": \"n%06d\", \"beparams\": null, "
			 "\"tags\": [\"a tag of it\"]}",
			 i == 0 ? "[" : ", ", i);
	}
	buf_addc(&text, ']');
	buf_addc(&wanted, ']');
	cr_assert_eq(bulk_write(&out, &kind, &text), 0);
	cr_assert_eq(out.len, wanted.len);
	cr_assert_eq(memcmp(out.data, wanted.data, out.len), 0);
	buf_done(&out);
	buf_done(&text);
	buf_done(&wanted);
}
