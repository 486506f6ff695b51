/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/model/hformat.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void is(struct buf *b, const char *want)
{
	cr_assert_str_eq(b->data, want);
	buf_done(b);
}

Test(hformat, fixed_rounds_the_shortest_form_half_to_even)
{
	struct buf b = {0};

	hf_fixed(&b, 1.5, 8);
	is(&b, "1.50000000");
	hf_fixed(&b, 0.125, 2);
	is(&b, "0.12");
	hf_fixed(&b, 0.375, 2);
	is(&b, "0.38");
	/* in binary it is a little less than 1.005 */
	hf_fixed(&b, 1.015, 2);
	is(&b, "1.02");
	hf_fixed(&b, 99.999, 2);
	is(&b, "100.00");
	hf_fixed(&b, 0.5, 0);
	is(&b, "0");
	hf_fixed(&b, 1e-9, 8);
	is(&b, "0.00000000");
	hf_fixed(&b, -2.25, 1);
	is(&b, "-2.2");
	hf_fixed(&b, NAN, 8);
	is(&b, "NaN");
}

Test(hformat, doubles_have_the_shortest_digits)
{
	struct buf b = {0};

	hf_double(&b, 12.5);
	is(&b, "12.5");
	hf_double(&b, 10);
	is(&b, "10.0");
	hf_double(&b, 0.01);
	is(&b, "1.0e-2");
	hf_double(&b, 12345678);
	is(&b, "1.2345678e7");
	hf_double(&b, 0);
	is(&b, "0.0");
}

Test(hformat, strings_are_escaped_as_haskell_does)
{
	struct buf b = {0};
	const char *text = "a\"\\\n\x0eH\xc3\xa9"
			   "1\x7f";

	hf_show_string(&b, text, strlen(text));
	is(&b, "\"a\\\"\\\\\\n\\SO\\&H\\233\\&1\\DEL\"");
	hf_json_string(&b, "a\"\n\x01\xc3\xa9");
	is(&b, "\"a\\\"\\n\\u0001\xc3\xa9\"");
}
