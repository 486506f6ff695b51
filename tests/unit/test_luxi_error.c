/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/client/luxi.h"
#include "lib/json/json.h"

static char *packed(enum error_kind kind, const char *ecode, const char *text)
{
	struct error err;
	auto_json json_t *value = NULL;

	error_set(&err, kind, ecode, "%s", text);
	value = luxi_error_pack(&err);
	return json_text(value);
}

static void unpack(const char *text, struct error *err)
{
	auto_json json_t *value = json_parse(text, strlen(text), err);

	cr_assert_not_null(value);
	luxi_error_unpack(value, err);
}

Test(luxi_error, classes_travel_as_ganeti_writes_them)
{
	auto_free char *prereq = packed(ERR_PREREQ, ECODE_NOENT, "no such");
	auto_free char *bare = packed(ERR_PREREQ, NULL, "no");
	auto_free char *exec = packed(ERR_EXEC, NULL, "broke \"it\"");
	auto_free char *hooks =
		packed(ERR_HOOKS_ABORT, NULL, "[[\"n\",\"s\",\"out\"]]");
	auto_free char *plain = packed(ERR_HOOKS_ABORT, NULL, "nothing");

	cr_assert_str_eq(
		prereq, "[\"OpPrereqError\",[\"no such\",\"unknown_entity\"]]");
	cr_assert_str_eq(bare, "[\"OpPrereqError\",[\"no\"]]");
	cr_assert_str_eq(exec, "[\"OpExecError\",[\"broke \\\"it\\\"\"]]");
	cr_assert_str_eq(hooks, "[\"HooksAbort\",[[[\"n\",\"s\",\"out\"]]]]");
	cr_assert_str_eq(plain, "[\"HooksAbort\",[\"nothing\"]]");
}

Test(luxi_error, text_that_is_no_utf8_still_travels)
{
	auto_free char *text = packed(ERR_EXEC, NULL, "a\xff\xc3");

	cr_assert_str_eq(text, "[\"OpExecError\",[\"a??\"]]");
}

Test(luxi_error, unpack_is_the_inverse)
{
	struct error err = {0};

	unpack("[\"OpPrereqError\",[\"no such\",\"unknown_entity\"]]", &err);
	cr_assert_eq(err.kind, ERR_PREREQ);
	cr_assert_str_eq(err.ecode, ECODE_NOENT);
	cr_assert_str_eq(err.text, "no such");
	unpack("[\"JobQueueFull\",[\"full\"]]", &err);
	cr_assert_eq(err.kind, ERR_QUEUE_FULL);
	cr_assert_null(err.ecode);
	unpack("[\"HooksAbort\",[[[\"n\",\"s\",\"out\"]]]]", &err);
	cr_assert_eq(err.kind, ERR_HOOKS_ABORT);
	cr_assert_str_eq(err.text, "[[\"n\",\"s\",\"out\"]]");
}

Test(luxi_error, what_is_no_error_of_ours_keeps_its_text)
{
	struct error err = {0};

	unpack("\"Failed to parse request\"", &err);
	cr_assert_eq(err.kind, ERR_LUXI);
	cr_assert_str_eq(err.text, "Failed to parse request");
	unpack("[\"ConfdMagicError\",[\"bad\"]]", &err);
	cr_assert_eq(err.kind, ERR_REQUEST);
	cr_assert_str_eq(err.text, "ConfdMagicError: bad");
	unpack("[\"OpExecError\",[]]", &err);
	cr_assert_eq(err.kind, ERR_EXEC);
	cr_assert_str_eq(err.text, "no details given");
	unpack("{\"a\":1}", &err);
	cr_assert_eq(err.kind, ERR_LUXI);
}
