/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/base/array.h"
#include "lib/model/files/copy_position.h"

#include <criterion/criterion.h>

#include "lib/json/json.h"

static void expect_json(json_t *value STEALS, const char *wanted)
{
	auto_json json_t *owned = value;
	auto_free char *text = json_text(owned);

	cr_expect_str_eq(text, wanted);
}

Test(copy_position, texts_are_read)
{
	static const struct {
		const char *text, *now, *had;
		bool half;
	} cases[] = {
		{NULL, "null", "null", false},
		{"", "null", "null", false},
		{"x y\n", "null", "null", false},
		{"4\n", "null", "null", false},
		{"4 17\n", "[4,17]", "null", false},
		{"0 3\n", "[0,3]", "null", false},
		{"0 0\n", "[0,0]", "null", true},
		{"0 0 4 17\n", "[0,0]", "[4,17]", true},
		{"0 0 4\n", "[0,0]", "null", true},
		{"0 0 0 0\n", "[0,0]", "[0,0]", true},
		{"4 17 3 9\n", "[4,17]", "null", false},
		{"99999999999999999999 1\n", "null", "null", false},
		{"-1 1\n", "null", "null", false},
		{"0 0 18446744073709551615 1\n", "[0,0]", "null", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct copy_position p = copy_position_read(cases[i].text);

		expect_json(copy_position_now(&p), cases[i].now);
		expect_json(copy_position_had(&p), cases[i].had);
		cr_expect_eq(p.half, cases[i].half, "%s", cases[i].text);
	}
}

/* A copy that was begun anew twice had what it had when it was whole. */
Test(copy_position, what_a_copy_had_stays_known)
{
	static const struct {
		const char *text, *halved;
	} cases[] = {
		{NULL, "0 0 0 0\n"},	    {"junk", "0 0\n"},
		{"4 17\n", "0 0 4 17\n"},   {"0 0 4 17\n", "0 0 4 17\n"},
		{"0 0 0 0\n", "0 0 0 0\n"}, {"0 0\n", "0 0\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *halved = copy_position_halved(cases[i].text);

		cr_expect_str_eq(halved, cases[i].halved);
	}
}
