/* SPDX-License-Identifier: BSD-2-Clause */
/* Help texts, made from the tables. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/examples.h"
#include "lib/base/str.h"

#define LINE_WIDTH 80
#define OPTION_COLUMN 24

/* Print text in lines that begin at column, where the cursor stands now. */
static void print_wrapped(const char *text, int column)
{
	int at = column;

	while (*text != '\0') {
		int len = (int)strcspn(text, " ");

		if (at > column && at + 1 + len >= LINE_WIDTH) {
			printf("\n%*s", column, "");
			at = column;
		}
		if (at > column) {
			putchar(' ');
			at++;
		}
		printf("%.*s", len, text);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

const char *cli_args_text(const struct cli_command *command)
{
	return command->args == NULL ? "" : command->args;
}

void cli_help_tool(const struct cli_tool *tool)
{
	int width = 0;

	printf("Usage: %s {command} [options...] [argument...]\n"
	       "%s <command> --help to see details, or man %s\n\n"
	       "Commands:\n",
	       tool->name, tool->name, tool->name);
	for (size_t i = 0; tool->commands[i] != NULL; i++) {
		int len = (int)strlen(tool->commands[i]->name);

		width = len > width ? len : width;
	}
	for (size_t i = 0; tool->commands[i] != NULL; i++) {
		printf(" %-*s - ", width, tool->commands[i]->name);
		print_wrapped(tool->commands[i]->help, width + 4);
	}
	putchar('\n');
}

static void print_option(const struct opt *o)
{
	auto_buf struct buf left = {0};

	buf_addf(&left, "--%s", o->name);
	if (o->kind != KIND_FLAG)
		buf_addf(&left, "=%s", o->arg);
	if (o->letter != 0)
		buf_addf(&left, ", -%c", o->letter);
	if (o->alias != NULL)
		buf_addf(&left, ", --%s", o->alias);
	printf("%-*s", OPTION_COLUMN - 1, left.data);
	if (left.len >= OPTION_COLUMN)
		printf("\n%*s", OPTION_COLUMN, "");
	else
		putchar(' ');
	print_wrapped(o->help, OPTION_COLUMN);
}

static void print_examples(const struct cli_tool *tool,
			   const struct cli_command *command)
{
	const struct cli_example *e =
		cli_example_next(NULL, tool->name, command->name);

	if (e != NULL)
		printf("\nExamples\n========\n");
	for (; e != NULL; e = cli_example_next(e, tool->name, command->name)) {
		printf("  %s %s%s%s\n      ", tool->name, command->name,
		       *e->rest == '\0' ? "" : " ", e->rest);
		print_wrapped(e->what, 6);
	}
}

void cli_help_command(const struct cli_tool *tool,
		      const struct cli_command *command)
{
	printf("Usage\n=====\n  %s %s %s\n\n", tool->name, command->name,
	       cli_args_text(command));
	print_wrapped(command->help, 0);
	if (command->alias != NULL)
		printf("\nAlso called: %s\n", command->alias);
	if (command->details != NULL)
		printf("\n%s", command->details);
	printf("\nOptions\n=======\n");
	for (size_t i = 0; command->options[i] != NULL; i++)
		print_option(command->options[i]);
	for (size_t i = 0; cli_common_options[i] != NULL; i++)
		print_option(cli_common_options[i]);
	print_examples(tool, command);
	putchar('\n');
}
