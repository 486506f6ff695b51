/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions on the terminal, and the options that answer them in advance.
 * Standard input is not used: it may belong to another program. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "cli/frame/cli_opts.h"
#include "lib/base/str.h"

#define ANSWER_MAX 64

static bool answer_yes;

void cli_answer_yes(void)
{
	answer_yes = true;
}

/* Whether the command has an option of this name; several options of different
 * commands share the name "force". */
static bool has_name(const struct cli *cli, const char *name)
{
	for (size_t i = 0; cli->command->options[i] != NULL; i++)
		if (strcmp(cli->command->options[i]->name, name) == 0)
			return true;
	return false;
}

/* A script sees by this why it got no further. */
static void tell_unasked(const struct cli *cli, const struct opt *yes,
			 const char *question)
{
	fprintf(stderr,
		"Nothing was done: there is no terminal to ask on, and the "
		"question is\n  %s\n",
		question);
	if (yes == NULL && has_name(cli, OPT_FORCE.name))
		yes = &OPT_FORCE;
	if (yes != NULL && yes->letter != 0)
		fprintf(stderr, "With --%s (-%c) the answer is yes.\n",
			yes->name, yes->letter);
	else if (yes != NULL)
		fprintf(stderr, "With --%s the answer is yes.\n", yes->name);
}

static bool ask_at(int terminal, const char *question)
{
	auto_free char *text = xprintf("%s\ny/[n]: ", question);
	char answer[ANSWER_MAX];
	ssize_t n;

	if (write(terminal, text, strlen(text)) < 0)
		return false;
	n = read(terminal, answer, sizeof(answer) - 1);
	return n > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

static bool ask(const struct cli *cli, const struct opt *yes,
		const char *question)
{
	auto_close int terminal = -1;

	fflush(stdout);
	terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (terminal >= 0)
		return ask_at(terminal, question);
	tell_unasked(cli, yes, question);
	return false;
}

bool cli_ask(const struct cli *cli, const struct opt *yes, const char *fmt, ...)
{
	auto_free char *question = NULL;
	va_list ap;

	if (answer_yes || cli_given(cli, &OPT_FORCE) ||
	    (yes != NULL && cli_given(cli, yes)))
		return true;
	va_start(ap, fmt);
	question = xvprintf(fmt, ap);
	va_end(ap);
	return ask(cli, yes, question);
}

bool cli_ask_firmly(const struct cli *cli, const struct opt *yes,
		    const char *fmt, ...)
{
	auto_free char *question = NULL;
	va_list ap;

	if (answer_yes || cli_given(cli, yes))
		return true;
	va_start(ap, fmt);
	question = xvprintf(fmt, ap);
	va_end(ap);
	return ask(cli, yes, question);
}
