/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a command line. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/frame/cli.h"
#include "cli/frame/cli_opts.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static struct error err;

static char *parsed(const struct opt *option, const char *text)
{
	auto_json json_t *value = cli_parse_value(option, text, &err);

	return value == NULL ? NULL : json_text(value);
}

static void expect(const struct opt *option, const char *text,
		   const char *wanted)
{
	auto_free char *got = parsed(option, text);

	cr_assert(str_eq(got, wanted), "'%s' gives %s instead of %s", text,
		  got == NULL ? "an error" : got, wanted);
}

static void refuse(const struct opt *option, const char *text)
{
	auto_free char *got = parsed(option, text);

	cr_assert_null(got, "'%s' gives %s instead of an error", text, got);
}

Test(cli_parse, keyval_has_words_flags_and_removals)
{
	expect(&OPT_BEPARAMS, "", "{}");
	expect(&OPT_BEPARAMS, "a=1", "{\"a\":\"1\"}");
	expect(&OPT_BEPARAMS, "a=1,b,no_c,-d",
	       "{\"a\":\"1\",\"b\":true,\"c\":false,\"d\":null}");
	expect(&OPT_BEPARAMS, "a=b=c", "{\"a\":\"b=c\"}");
	expect(&OPT_BEPARAMS, "a=,b=x", "{\"a\":\"\",\"b\":\"x\"}");
	expect(&OPT_BEPARAMS, "a=1\\,2,b", "{\"a\":\"1,2\",\"b\":true}");
	expect(&OPT_BEPARAMS, "no_a=1", "{\"no_a\":\"1\"}");
}

Test(cli_parse, keyval_refuses_names_twice_or_missing)
{
	refuse(&OPT_BEPARAMS, "a=1,a=2");
	refuse(&OPT_BEPARAMS, "=1");
	refuse(&OPT_BEPARAMS, "a,,b");
	refuse(&OPT_BEPARAMS, ",");
}

Test(cli_parse, ident_stands_before_the_colon)
{
	expect(&OPT_DISK, "0:size=4M", "[\"0\",{\"size\":\"4M\"}]");
	expect(&OPT_DISK, "add", "[\"add\",{}]");
	expect(&OPT_DISK, "add:size=4M,mode=ro",
	       "[\"add\",{\"size\":\"4M\",\"mode\":\"ro\"}]");
	expect(&OPT_DISK, "1:remove", "[\"1\",{\"remove\":true}]");
	expect(&OPT_DISK, "-1:add", "[\"-1\",{\"add\":true}]");
	expect(&OPT_HYPERVISOR, "kvm:kernel_path=/a:b",
	       "[\"kvm\",{\"kernel_path\":\"/a:b\"}]");
	expect(&OPT_HYPERVISOR, "no_kvm", "[\"kvm\",false]");
	expect(&OPT_HYPERVISOR, "-kvm", "[\"kvm\",null]");
	refuse(&OPT_HYPERVISOR, "no_kvm:a=1");
}

Test(cli_parse, sizes_have_units)
{
	expect(&OPT_OS_SIZE, "64m", "64");
	expect(&OPT_OS_SIZE, "64M", "64");
	expect(&OPT_OS_SIZE, "1g", "1024");
	expect(&OPT_OS_SIZE, "1.5G", "1536");
	expect(&OPT_OS_SIZE, "1t", "1048576");
	expect(&OPT_OS_SIZE, "128", "128");
	expect(&OPT_OS_SIZE, "63", "64"); /* multiples of 4 */
	refuse(&OPT_OS_SIZE, "");
	refuse(&OPT_OS_SIZE, "g");
	refuse(&OPT_OS_SIZE, "1x");
	refuse(&OPT_OS_SIZE, "-1g");
	refuse(&OPT_OS_SIZE, "1e30g");
}

Test(cli_parse, plain_values_are_checked)
{
	expect(&OPT_OFFLINE, "yes", "true");
	expect(&OPT_OFFLINE, "No", "false");
	expect(&OPT_OFFLINE, "true", "true");
	refuse(&OPT_OFFLINE, "1");
	expect(&OPT_POOL_SIZE, "12", "12");
	refuse(&OPT_POOL_SIZE, "12a");
	refuse(&OPT_POOL_SIZE, "99999999999999999999");
	expect(&OPT_VCPU_RATIO, "400", "400.0");
	expect(&OPT_VCPU_RATIO, "default", "\"default\"");
	refuse(&OPT_VCPU_RATIO, "many");
	expect(&OPT_PRIORITY, "high", "\"high\"");
	refuse(&OPT_PRIORITY, "highest");
	expect(&OPT_ENABLED_HV, "kvm,fake", "[\"kvm\",\"fake\"]");
	expect(&OPT_ENABLED_HV, "", "[]");
	refuse(&OPT_GROUP, "\xff\xfe");
}

Test(cli_parse, numbers_have_the_bases_of_python)
{
	expect(&OPT_POOL_SIZE, " 7 ", "7");
	expect(&OPT_POOL_SIZE, "0x1F", "31");
	expect(&OPT_POOL_SIZE, "010", "8");
	expect(&OPT_POOL_SIZE, "0b101", "5");
	expect(&OPT_POOL_SIZE, "-3", "-3");
	refuse(&OPT_POOL_SIZE, "");
	refuse(&OPT_POOL_SIZE, "-");
	refuse(&OPT_POOL_SIZE, "1e3");
	refuse(&OPT_POOL_SIZE, "09");
	refuse(&OPT_POOL_SIZE, "0b2");
	refuse(&OPT_POOL_SIZE, "1 2");
}

Test(cli_parse, seconds_have_units)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} cases[] = {
		{"90", 90},
		{"30s", 30},
		{"5m", 300},
		{"2h", 7200},
		{"2d", 172800},
		{"1w", 604800},
		{"0", 0},
		{"x", -1},
		{"", -1},
		{"m", -1},
		{"-1", -1},
		{"1.5h", -1},
		{"9223372036854775807w", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_assert_eq(cli_parse_seconds(cases[i].text, &err),
			     cases[i].seconds, "%s", cases[i].text);
}

/* --- whole command lines --- */

static const struct cli_command command = {
	.name = "add",
	.options = {&OPT_FORCE, &OPT_DISK, &OPT_OS_TYPE, &OPT_NODE,
		    &OPT_NODE_LIST},
};

static struct cli run;

static int parse(const char *const *words)
{
	static char storage[16][64];
	static char *argv[17];
	int n = 0;

	for (; words[n] != NULL; n++) {
		snprintf(storage[n], sizeof(storage[n]), "%s", words[n]);
		argv[n] = storage[n];
	}
	argv[n] = NULL;
	run = (struct cli){.command = &command};
	return cli_parse(&run, n, argv, &err);
}

Test(cli_parse, options_may_stand_behind_arguments)
{
	const char *const words[] = {
		"add", "-o", "noop",   "web1",	    "-f",
		"-d",  "-d", "--disk", "0:size=1g", "--disk=1:size=2g",
		NULL};

	cr_assert_eq(parse(words), 0, "%s", err.text);
	cr_assert_str_eq(cli_text(&run, &OPT_OS_TYPE), "noop");
	cr_assert(cli_given(&run, &OPT_FORCE));
	cr_assert_eq(cli_count(&run, &OPT_DEBUG), 2);
	cr_assert_eq(json_array_size(cli_value(&run, &OPT_DISK)), 2);
	cr_assert_eq(run.n_args, 1);
	cr_assert_str_eq(run.args[0], "web1");
	cr_assert_not(cli_given(&run, &OPT_NODE));
	json_decref(run.values);
}

Test(cli_parse, the_last_value_counts)
{
	const char *const words[] = {"add", "-o", "a", "--os-type=b", NULL};

	cr_assert_eq(parse(words), 0);
	cr_assert_str_eq(cli_text(&run, &OPT_OS_TYPE), "b");
	json_decref(run.values);
}

Test(cli_parse, two_dashes_end_the_options)
{
	const char *const words[] = {"add", "-f", "--", "--force", NULL};

	cr_assert_eq(parse(words), 0);
	cr_assert_eq(run.n_args, 1);
	cr_assert_str_eq(run.args[0], "--force");
	json_decref(run.values);
}

Test(cli_parse, bytes_that_are_no_text_are_refused)
{
	const char *const words[] = {"add", "a\xff", NULL};

	cr_assert_eq(parse(words), -1);
	cr_assert_str_eq(err.text, "argument 1 is no UTF-8 text");
	json_decref(run.values);
	refuse(&OPT_BEPARAMS, "a=\xff");
}

Test(cli_parse, unknown_options_are_named)
{
	const char *const longer[] = {"add", "--direction=out", NULL};
	const char *const letter[] = {"add", "-Z", NULL};
	const char *const bare[] = {"add", "--os-type", NULL};

	cr_assert_eq(parse(longer), -1);
	cr_assert_eq(err.kind, ERR_REQUEST);
	cr_assert_str_eq(err.text, "no such option: --direction");
	json_decref(run.values);
	cr_assert_eq(parse(letter), -1);
	cr_assert_str_eq(err.text, "no such option: -Z");
	json_decref(run.values);
	cr_assert_eq(parse(bare), -1);
	cr_assert_str_eq(err.text, "--os-type option requires 1 argument");
	json_decref(run.values);
}
