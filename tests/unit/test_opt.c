/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of command lines, with a front end made up here. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "lib/options/opt.h"

static struct error err;

static const char *const sizes[] = {"small", "big", NULL};
static const int litres[] = {1, 10};

static const struct opt force = {.name = "force", .letter = 'f'};
static const struct opt other_f = {.name = "format", .letter = 'f'};
static const struct opt name = {
	.name = "name", .alias = "title", .letter = 'n', .kind = KIND_TEXT};
static const struct opt node = {.name = "node", .kind = KIND_TEXT};
static const struct opt fields = {
	.name = "fields", .letter = 'p', .kind = KIND_TEXT, .arg = "[FIELDS]"};
static const struct opt number = {.name = "number", .kind = KIND_INT};
static const struct opt few = {
	.name = "few", .kind = KIND_INT, .min = 1, .max = 5};
static const struct opt ratio = {
	.name = "ratio", .kind = KIND_FLOAT, .positive = true};
static const struct opt maybe = {.name = "maybe", .kind = KIND_MAYBE_FLOAT};
static const struct opt space = {.name = "space", .kind = KIND_SIZE};
static const struct opt words = {.name = "words", .kind = KIND_WORDS};
static const struct opt yes = {.name = "yes", .kind = KIND_BOOL};
static const struct opt size = {
	.name = "size", .kind = KIND_CHOICE, .choices = sizes};
static const struct opt litre = {.name = "litre",
				 .kind = KIND_CHOICE,
				 .choices = sizes,
				 .numbers = litres,
				 .before = "No bottle is '",
				 .after = "'"};
static const struct opt keys = {.name = "keys", .kind = KIND_KEYVAL};
static const struct opt device = {.name = "device", .kind = KIND_IDENT_KEYVAL};

static int integer(const struct opt *o, const char *text, int64_t *ret,
		   struct error *e)
{
	return str_to_int64(text, ret) ? 0
				       : error_set(e, ERR_REQUEST, NULL,
						   "%s: no number", o->name);
}

static int real(const struct opt *o, const char *text, double *ret,
		struct error *e)
{
	return str_to_double(text, ret) ? 0
					: error_set(e, ERR_REQUEST, NULL,
						    "%s: no number", o->name);
}

static int misfit(const struct opt *o, const char *text, struct error *e)
{
	return error_set(e, ERR_PREREQ, NULL, "%s is not %s", text, o->name);
}

static const struct opt_style style = {
	.integer = integer, .real = real, .size = integer, .misfit = misfit};

/* What the words up to a NULL say: the options by name with their values, and
 * behind a bar what is none, or the error behind an exclamation mark. */
static char *said(bool first_ends, const char *const *list)
{
	char *argv[16];
	int n = 0, rc;
	const struct opt *o;
	const char *text;
	struct opt_line line;
	auto_buf struct buf b = {0};

	argv[n++] = (char *)"program";
	while (list[n - 1] != NULL) {
		argv[n] = mem_unconst(list[n - 1]);
		n++;
	}
	argv[n] = NULL;
	opt_line_init(&line, &style, first_ends, n, argv);
	opt_line_add(&line, &force);
	opt_line_add(&line, &name);
	opt_line_add(&line, &node);
	opt_line_add(&line, &fields);
	opt_line_add(&line, &other_f);
	while ((rc = opt_next(&line, &o, &text, &err)) > 0)
		buf_addf(&b, "%s%s%s ", o->name, text != NULL ? "=" : "",
			 text != NULL ? text : "");
	buf_addf(&b, rc < 0 ? "!%s" : "|", err.text);
	for (int i = 0; rc == 0 && i < line.n_args; i++)
		buf_addf(&b, " %s", line.args[i]);
	opt_line_done(&line);
	return xstrdup(b.data);
}

#define SAYS(wanted, ...)                                                      \
	do {                                                                   \
		const char *const list[] = {__VA_ARGS__, NULL};                \
		auto_free char *got = said(false, list);                       \
		cr_assert_str_eq(got, wanted);                                 \
	} while (0)

Test(opt, options_and_arguments_come_in_any_order)
{
	SAYS("force name=a name=b | x y", "x", "-f", "-n", "a", "y",
	     "--name=b");
	SAYS("name=a | -f", "--title", "a", "--", "-f");
	SAYS("force force name=x |", "-ffnx");
}

Test(opt, a_long_form_may_be_cut_short_while_it_is_one_option)
{
	SAYS("fields |", "--fie");
	SAYS("!ambiguous option: --n (--name, --node?)", "--n=1");
	SAYS("!ambiguous option: --fo (--force, --format?)", "--fo");
}

Test(opt, a_value_in_brackets_may_be_left_out)
{
	SAYS("fields | x", "-p", "x");
	SAYS("fields=a fields=b |", "-pa", "--fields=b");
}

Test(opt, of_two_with_a_letter_the_first_has_it)
{
	SAYS("force format |", "-f", "--format");
}

Test(opt, words_that_are_no_option_are_named)
{
	SAYS("!no such option: --wrong", "--wrong=1");
	SAYS("!no such option: -Z", "-Z");
	SAYS("!--force option does not take a value", "--forc=1");
	SAYS("!--node option requires 1 argument", "--node");
}

Test(opt, the_first_argument_may_end_the_options)
{
	const char *const list[] = {"-f", "ls", "-l", NULL};
	auto_free char *got = said(true, list);

	cr_assert_str_eq(got, "force | ls -l");
}

static void refuse(const struct opt *o, const char *text, const char *wanted)
{
	struct opt_value v;

	cr_assert_eq(opt_read(&style, o, text, &v, &err), -1, "%s", text);
	cr_assert_str_eq(err.text, wanted);
}

static struct opt_value value(const struct opt *o, const char *text)
{
	struct opt_value v;

	cr_assert_eq(opt_read(&style, o, text, &v, &err), 0, "%s", err.text);
	return v;
}

Test(opt, numbers_are_read_by_the_front_end_and_have_limits)
{
	cr_assert_eq(value(&number, "-7").integer, -7);
	cr_assert_eq(value(&space, "9").integer, 9);
	refuse(&number, "x", "number: no number");
	cr_assert_eq(value(&few, "5").integer, 5);
	refuse(&few, "0", "Invalid value of the few (expected >= 1)");
	refuse(&few, "6", "Invalid value of the few (expected <= 5)");
	cr_assert_float_eq(value(&ratio, "0.5").real, 0.5, 1e-9);
	refuse(&ratio, "0", "Invalid value of the ratio ratio, expected >0");
	cr_assert_float_eq(value(&maybe, "2").real, 2, 1e-9);
	cr_assert_str_eq(value(&maybe, "default").text, "default");
	refuse(&maybe, "defaults", "maybe: no number");
}

Test(opt, choices_stand_for_numbers)
{
	cr_assert_eq(value(&size, "big").integer, 1);
	cr_assert_eq(value(&litre, "big").integer, 10);
	cr_assert_eq(value(&litre, NULL).integer, 1);
	refuse(&size, "huge", "huge is not size");
	cr_assert_eq(err.kind, ERR_PREREQ);
	refuse(&litre, "huge", "No bottle is 'huge'");
	cr_assert_eq(err.kind, ERR_REQUEST);
}

Test(opt, yes_has_two_words)
{
	cr_assert(value(&yes, "TRUE").yes);
	cr_assert_not(value(&yes, "no").yes);
	refuse(&yes, "1", "1 is not yes");
}

Test(opt, words_have_commas_between)
{
	struct opt_value v = value(&words, "a,,b");

	cr_assert_eq(v.words.n, 3);
	cr_assert_str_eq(v.words.items[2], "b");
	opt_value_done(&v);
	cr_assert_eq(value(&words, "").words.n, 0);
}

Test(opt, a_backslash_makes_the_next_character_a_plain_one)
{
	struct opt_value v = value(&words, "a\\,b\\\\,c\\d\\");

	cr_assert_eq(v.words.n, 2);
	cr_expect_str_eq(v.words.items[0], "a,b\\");
	cr_expect_str_eq(v.words.items[1], "cd\\");
	opt_value_done(&v);
}

static void gives(const struct opt *o, const char *text, const char *wanted)
{
	struct opt_value v = value(o, text);
	auto_free char *got = json_text(v.json);

	cr_assert_str_eq(got, wanted);
	opt_value_done(&v);
}

Test(opt, keys_have_values_or_stand_alone)
{
	gives(&keys, "a=1\\,2,b,no_c,-d",
	      "{\"a\":\"1,2\",\"b\":true,\"c\":false,\"d\":null}");
	gives(&keys, "a=1\\\\,b=\\\\\\,2",
	      "{\"a\":\"1\\\\\",\"b\":\"\\\\,2\"}");
	refuse(&keys, "a,a", "keys: 'a' is given twice");
	gives(&device, "0:size=1", "[\"0\",{\"size\":\"1\"}]");
	gives(&device, "-0", "[\"0\",null]");
	refuse(&device, "no_a:b=1",
	       "device: cannot pass options when removing 'no_a'");
}
