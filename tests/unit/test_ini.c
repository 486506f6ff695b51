/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/ini.h"
#include "lib/json/json.h"

static const char *value(const json_t *all, const char *section,
			 const char *key)
{
	return json_str(json_get(all, section), key, "(none)");
}

Test(ini, what_pythons_parser_writes_is_read)
{
	struct error err;
	auto_json json_t *all = ini_parse("[export]\n"
					  "version = 0\n"
					  "os = debian+default\n"
					  "\n"
					  "[instance]\n"
					  "tags = \n"
					  "NIC0_mac: aa:00:00:11:22:33\n"
					  "note = a\n"
					  "\tb\n"
					  "share = 50%%\n"
					  "# a remark\n"
					  "; another\n",
					  &err);

	cr_assert_not_null(all, "%s", err.text);
	cr_assert_str_eq(value(all, "export", "os"), "debian+default");
	cr_assert_str_eq(value(all, "instance", "tags"), "");
	cr_assert_str_eq(value(all, "instance", "nic0_mac"),
			 "aa:00:00:11:22:33");
	cr_assert_str_eq(value(all, "instance", "note"), "a\nb");
	cr_assert_str_eq(value(all, "instance", "share"), "50%");
}

Test(ini, text_reads_back_as_it_was)
{
	struct error err;
	auto_json json_t *all = json_make("{s:{s:s, s:s}, s:{}}", "one", "a",
					  "x\ny = 5%", "b", "", "two");
	auto_free char *text = ini_text(all);
	auto_json json_t *again = ini_parse(text, &err);

	cr_assert_not_null(again, "%s", err.text);
	cr_assert(json_equal(all, again), "%s", text);
}

Test(ini, a_line_that_is_none_is_named)
{
	struct error err;

	cr_assert_null(ini_parse("[a]\nb = 1\nnonsense\n", &err));
	cr_assert_not_null(strstr(err.text, "Line 3"), "%s", err.text);
	cr_assert_null(ini_parse("b = 1\n", &err), "no section yet");
	cr_assert_null(ini_parse("[]\n", &err));
	cr_assert_null(ini_parse("[a]\nb = \xff\n", &err));
}
