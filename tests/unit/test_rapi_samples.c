/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures of the last day. */
#include <criterion/criterion.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "rapi/figures/samples.h"

static struct samples s;

static void setup(void)
{
	mem_init();
	samples_init(&s, 60);
}

static void teardown(void)
{
	samples_done(&s);
}

TestSuite(rapi_samples, .init = setup, .fini = teardown);

static void expect(const char *name, int64_t since, const char *wanted)
{
	auto_json json_t *names = json_make("[s]", name);
	auto_json json_t *answer = samples_get(&s, names, since);
	auto_free char *text = json_text(answer);

	cr_assert_str_eq(text, wanted);
}

Test(rapi_samples, nothing_is_known_at_first)
{
	expect("a", 0, "{\"step\":60,\"begin\":0,\"samples\":{}}");
}

Test(rapi_samples, what_was_left_out_is_null)
{
	samples_begin(&s, 6000);
	samples_add(&s, "a", 1);
	samples_begin(&s, 6065);
	samples_add(&s, "b", 5);
	samples_begin(&s, 6180);
	samples_add(&s, "a", 2.5);
	expect("a", 0,
	       "{\"step\":60,\"begin\":6000,\"samples\":{\"a\":[1.0,null,null,"
	       "2.5]}}");
	expect("b", 6070,
	       "{\"step\":60,\"begin\":6060,\"samples\":{\"b\":[5.0,null,"
	       "null]}}");
	expect("a", 99999,
	       "{\"step\":60,\"begin\":99960,\"samples\":{\"a\":[]}}");
}

Test(rapi_samples, a_clock_that_is_set_back_does_no_harm)
{
	samples_begin(&s, 6000);
	samples_begin(&s, 60);
	samples_add(&s, "a", 1);
	expect("a", 0,
	       "{\"step\":60,\"begin\":6000,\"samples\":{\"a\":[1.0]}}");
}

Test(rapi_samples, a_day_is_kept)
{
	auto_json json_t *names = json_make("[s]", "a"), *answer = NULL;
	const json_t *values;

	for (int64_t i = 0; i < 2 * SAMPLES_KEPT; i++) {
		samples_begin(&s, 60000 + 60 * i);
		samples_add(&s, "a", (double)i);
	}
	answer = samples_get(&s, names, 0);
	values = json_object_get(json_object_get(answer, "samples"), "a");
	cr_assert_eq(json_array_size(values), SAMPLES_KEPT);
	cr_assert_float_eq(json_real_value(json_array_get(values, 0)),
			   SAMPLES_KEPT, 0.1);
	samples_begin(&s, 60000 + 60 * 10 * SAMPLES_KEPT);
	samples_add(&s, "a", 7);
	json_decref(answer);
	answer = samples_get(&s, names, 0);
	values = json_object_get(json_object_get(answer, "samples"), "a");
	cr_assert(json_is_null(json_array_get(values, 0)), "all in between");
	cr_assert(json_is_null(json_array_get(values, SAMPLES_KEPT - 2)));
	cr_assert_float_eq(
		json_real_value(json_array_get(values, SAMPLES_KEPT - 1)), 7,
		0.1);
}

Test(rapi_samples, there_are_not_too_many)
{
	auto_json json_t *names = NULL;

	samples_begin(&s, 6000);
	for (int i = 0; i < SAMPLES_SERIES_MAX + 10; i++) {
		auto_free char *name = xprintf("%d", i);

		samples_add(&s, name, i);
	}
	names = samples_names(&s);
	cr_assert_eq(json_array_size(json_object_get(names, "names")),
		     SAMPLES_SERIES_MAX);
}
