/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for a remote shell, given to the shells of this machine. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/random.h"
#include "lib/ssh/ssh.h"

/* What a shell makes of the line, with a NUL behind each word. */
static size_t read_words(const char *shell, const char *line, char *ret,
			 size_t max)
{
	auto_strv struct strv words = {0};
	auto_free char *outer = NULL, *script = NULL;
	FILE *file;
	size_t n;

	script = xprintf("printf '%%s\\0' %s", line);
	strv_add(&words, shell);
	strv_add(&words, "-c");
	strv_add(&words, script);
	outer = ssh_quote(&words);
	file = popen(outer, "r");
	cr_assert_not_null(file);
	n = fread(ret, 1, max, file);
	cr_assert_eq(pclose(file), 0, "%s", outer);
	return n;
}

/* The words come out of the shell as they are. */
static void expect_same(const char *shell, const struct strv *words)
{
	auto_free char *line = ssh_quote(words);
	auto_buf struct buf expected = {0};
	char got[8192];
	size_t n = read_words(shell, line, got, sizeof(got));

	for (size_t i = 0; i < words->n; i++)
		buf_add(&expected, words->items[i],
			strlen(words->items[i]) + 1);
	cr_expect(n == expected.len && memcmp(got, expected.data, n) == 0,
		  "%s of %s", line, shell);
}

Test(ssh_quote, a_shell_reads_the_words)
{
	static const char *const odd[] = {
		"a-b",	 "",	     "it's", "$HOME `x` $(x)",
		"\\",	 "\"q\"",    "*",    "~",
		"a\nb",	 "\t",	     "!!",   "{a,b}",
		"#",	 "=ls",	     "a=b",  "-n",
		"--",	 "\xff\xfe", "'",    "''",
		"'\\''", ";&|<>()",  "%1",   "[a]"};
	auto_strv struct strv words = {0};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		strv_add(&words, odd[i]);
	expect_same("/bin/sh", &words);
	expect_same("/bin/bash", &words);
}

Test(ssh_quote, random_words_too)
{
	static const char bytes[] = "ab'\"\\$`!*?[]{}()<>|&;#~= \t\n%^-";

	random_seed(7);
	for (int round = 0; round < 40; round++) {
		auto_strv struct strv words = {0};

		for (size_t n = random_below(20) + 1; n > 0; n--) {
			char word[16] = "";

			for (size_t i = random_below(sizeof(word)); i > 0; i--)
				word[i - 1] =
					bytes[random_below(sizeof(bytes) - 1)];
			strv_add(&words, word);
		}
		expect_same("/bin/sh", &words);
	}
}

Test(ssh_quote, harmless_words_stay_readable)
{
	auto_strv struct strv words = {0}, none = {0};
	auto_free char *line = NULL, *nothing = ssh_quote(&none);

	strv_add(&words, "/usr/bin/env");
	strv_add(&words, "LC_ALL=C");
	strv_add(&words, "if");
	strv_add(&words, "a b");
	line = ssh_quote(&words);
	cr_expect_str_eq(line, "/usr/bin/env LC_ALL=C if 'a b'");
	cr_expect_str_eq(nothing, "");
}

/* The first word names a program, whatever it looks like. */
Test(ssh_quote, the_first_word_is_a_program)
{
	static const char *const first[] = {"if", "A=b", "time", "while"};
	static const char *const quoted[] = {"'if'", "'A=b'", "'time'",
					     "'while'"};

	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		auto_strv struct strv words = {0};
		auto_free char *line = NULL;

		strv_add(&words, first[i]);
		line = ssh_quote(&words);
		cr_expect_str_eq(line, quoted[i]);
	}
}
