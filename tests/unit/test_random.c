/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/random.h"

Test(random, hex_is_two_digits_a_byte_and_never_the_same)
{
	char a[2 * RANDOM_HEX_MAX + 1], b[2 * RANDOM_HEX_MAX + 1];

	random_hex(a, RANDOM_HEX_MAX);
	random_hex(b, RANDOM_HEX_MAX);
	cr_assert_eq(strlen(a), 2 * RANDOM_HEX_MAX);
	cr_assert_eq(strspn(a, "0123456789abcdef"), 2 * RANDOM_HEX_MAX);
	cr_assert_str_neq(a, b);
	random_hex(a, 3);
	cr_assert_eq(strlen(a), 6);
}

Test(random, a_seed_gives_the_same_again)
{
	char a[9], b[9];

	random_seed(7);
	random_hex(a, 4);
	random_seed(7);
	random_hex(b, 4);
	cr_assert_str_eq(a, b);
}

Test(random, numbers_are_below_their_limit)
{
	for (int i = 0; i < 1000; i++)
		cr_assert_lt(random_below(3), 3);
}
