/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

Test(error, wrap_puts_the_context_in_front)
{
	struct error err;

	cr_assert_eq(error_set(&err, ERR_EXEC, NULL, "disk %d is gone", 3), -1);
	cr_assert_eq(error_wrap(&err, "Instance '%s'", "web1"), -1);
	cr_assert_str_eq(err.text, "Instance 'web1': disk 3 is gone");
	cr_assert_eq(err.kind, ERR_EXEC);
}

Test(error, set_may_use_its_own_text)
{
	struct error err;

	error_set(&err, ERR_EXEC, NULL, "inner");
	error_set(&err, ERR_PREREQ, ECODE_STATE, "outer (%s)", err.text);
	cr_assert_str_eq(err.text, "outer (inner)");
	cr_assert_str_eq(err.ecode, "wrong_state");
}

Test(error, long_text_is_cut_not_overrun)
{
	static char big[2 * ERROR_TEXT_MAX];
	struct error err;

	memset(big, 'x', sizeof(big) - 1);
	error_set(&err, ERR_EXEC, NULL, "%s", big);
	cr_assert_eq(strlen(err.text), ERROR_TEXT_MAX - 1);
	error_wrap(&err, "ctx");
	cr_assert_eq(strlen(err.text), ERROR_TEXT_MAX - 1);
	error_wrap(&err, "%s", big);
	cr_assert_eq(strlen(err.text), ERROR_TEXT_MAX - 1);
}

Test(error, kinds_are_found_by_ganetis_names)
{
	cr_assert_str_eq(error_kind_name(ERR_PREREQ), "OpPrereqError");
	cr_assert_eq(error_kind_by_name("JobLost", ERR_SYSTEM), ERR_JOB_LOST);
	cr_assert_eq(error_kind_by_name("Nonsense", ERR_LUXI), ERR_LUXI);
	cr_assert_str_eq(error_ecode("wrong_input"), ECODE_INVAL);
	cr_assert_null(error_ecode("other"));
}

/* Texts go into JSON, which takes nothing else. */
Test(error, texts_are_valid_utf8_wherever_they_are_cut)
{
	static char name[2 * ERROR_TEXT_MAX];
	struct error err;

	while (strlen(name) + 3 < sizeof(name))
		strcat(name, "\u20ac");
	for (size_t i = 0; i < 3; i++) {
		error_set(&err, ERR_SYSTEM, NULL, "%.*s%s", (int)i, "xxx",
			  name);
		cr_assert(str_valid_utf8(err.text, strlen(err.text)));
		error_set(&err, ERR_SYSTEM, NULL, "'%.100s'", name + 3 * i);
		cr_assert(str_valid_utf8(err.text, strlen(err.text)));
		error_wrap(&err, "%.*s%s", (int)i, "xxx", name);
		cr_assert(str_valid_utf8(err.text, strlen(err.text)));
	}
	error_set(&err, ERR_SYSTEM, NULL,
		  "a\xff\xe2\x82"
		  "b\xc3");
	cr_assert_str_eq(err.text, "a???b?");
}

Test(error, the_same_text_can_be_of_another_kind)
{
	struct error err;

	error_set(&err, ERR_RPC, NULL, "no answer");
	cr_expect_eq(error_as(&err, ERR_PREREQ, ECODE_ENVIRON), -1);
	cr_expect_eq(err.kind, ERR_PREREQ);
	cr_expect(error_is(&err, ECODE_ENVIRON));
	cr_expect_str_eq(err.text, "no answer");
}

Test(error, who_wraps_it_can_give_it_another_kind_and_keep_its_code)
{
	struct error err;

	error_set(&err, ERR_SYSTEM, ECODE_NOSPACE, "disk full");
	cr_expect_eq(error_wrap_as(&err, ERR_QUEUE, "Cannot write %s", "job-1"),
		     -1);
	cr_expect_eq(err.kind, ERR_QUEUE);
	cr_expect(error_is(&err, ECODE_NOSPACE));
	cr_expect_str_eq(err.text, "Cannot write job-1: disk full");
}
