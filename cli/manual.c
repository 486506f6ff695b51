/* SPDX-License-Identifier: BSD-2-Clause */
/* Manual pages in man's macros.  Text from the tables goes through
 * print_text(), since roff gives a meaning to some signs. */
#include <stdio.h>
#include <string.h>

#include "cli/cli_opts.h"
#include "cli/completion.h"
#include "gantry-config.h"
#include "lib/base/str.h"

static void print_text(const char *text)
{
	if (*text == '.' || *text == '\'')
		printf("\\&");
	for (; *text != '\0'; text++)
		if (*text == '\\')
			printf("\\e");
		else if (*text == '-')
			printf("\\-");
		else
			putchar(*text);
}

/* Help texts end without a full stop. */
static void print_sentence(const char *text)
{
	print_text(text);
	printf("%s\n", str_ends(text, ".") ? "" : ".");
}

static void print_bold(const char *text)
{
	printf("\\fB");
	print_text(text);
	printf("\\fR");
}

static void print_head(const char *name, const char *help)
{
	printf(".TH ");
	print_text(name);
	printf(" 8 \"\" \"Gantry %s\" \"Gantry\"\n.SH NAME\n", GANTRY_VERSION);
	print_text(name);
	printf(" \\- ");
	print_text(help);
	printf("\n.SH SYNOPSIS\n");
}

static void print_option(const struct cli_option *o)
{
	printf(".TP\n\\fB\\-\\-");
	print_text(o->name);
	printf("\\fR");
	if (o->type != CLI_FLAG) {
		printf("=\\fI");
		print_text(o->arg);
		printf("\\fR");
	}
	if (o->letter != 0)
		printf(", \\fB\\-%c\\fR", o->letter);
	printf("\n");
	print_sentence(o->help);
}

static void print_command(const struct cli_command *c)
{
	printf(".SS\n");
	print_bold(c->name);
	if (*cli_args_text(c) != '\0') {
		putchar(' ');
		print_text(cli_args_text(c));
	}
	putchar('\n');
	print_sentence(c->help);
	if (c->alias != NULL) {
		printf("Also called ");
		print_bold(c->alias);
		printf(".\n");
	}
	for (size_t i = 0; c->options[i] != NULL; i++)
		print_option(c->options[i]);
}

static const char tail[] =
	".SH EXIT STATUS\n"
	".TP\n0\nIt is done.\n"
	".TP\n1\nIt failed; the reason stands on stderr.\n"
	".TP\n2\nThe command line makes no sense.\n"
	".TP\n11\nThe master is another node, which is named.\n"
	".TP\n13\nA question was not answered with yes.\n"
	".TP\n14\nA list was asked for a field that is not.\n"
	".SH ENVIRONMENT\n"
	".TP\nGANETI_ROOTDIR, GANETI_HOSTNAME\n"
	"The node of a virtual cluster to work on.\n"
	".TP\nNO_COLOR\nNo colours on a terminal.\n"
	".TP\nGNT_<TOOL>_LIST\nOptions for the list command of a tool, as "
	"GNT_NODE_LIST.\n";

static void print_see_also(const struct cli_tool *const *tools,
			   const char *name)
{
	bool first = true;

	printf(".SH SEE ALSO\n");
	for (size_t t = 0; tools[t] != NULL; t++) {
		if (str_eq(tools[t]->name, name))
			continue;
		printf("%s", first ? "" : ",\n");
		print_bold(tools[t]->name);
		printf("(8)");
		first = false;
	}
	printf("\n");
}

static void print_tool(const struct cli_tool *const *tools,
		       const struct cli_tool *tool)
{
	print_head(tool->name, tool->help);
	print_bold(tool->name);
	printf("\n\\fIcommand\\fR [options...] [argument...]\n.SH COMMANDS\n");
	for (size_t i = 0; tool->commands[i] != NULL; i++)
		print_command(tool->commands[i]);
	printf(".SH OPTIONS OF ALL COMMANDS\n");
	for (size_t i = 0; cli_common_options[i] != NULL; i++)
		print_option(cli_common_options[i]);
	fputs(tail, stdout);
	print_see_also(tools, tool->name);
}

static void print_overview(const struct cli_tool *const *tools)
{
	print_head("gnt", "all commands of the cluster manager under one name");
	printf("\\fBgnt\\fR\n\\fItool command\\fR [options...] [argument...]\n"
	       ".br\n\\fBgnt completion\\fR bash|zsh|fish\n"
	       ".SH DESCRIPTION\n"
	       "\\fBgnt instance list\\fR does the same as \\fBgnt\\-instance "
	       "list\\fR.\n"
	       "\\fBgnt completion\\fR prints what a shell needs to complete "
	       "these commands.\n"
	       ".SH TOOLS\n");
	for (size_t t = 0; tools[t] != NULL; t++) {
		printf(".TP\n");
		print_bold(strchr(tools[t]->name, '-') + 1);
		printf("\n");
		print_sentence(tools[t]->help);
	}
	print_see_also(tools, "gnt");
}

bool manual_print(const struct cli_tool *const *tools, const char *name)
{
	if (strcmp(name, "gnt") == 0) {
		print_overview(tools);
		return true;
	}
	for (size_t t = 0; tools[t] != NULL; t++)
		if (strcmp(tools[t]->name, name) == 0) {
			print_tool(tools, tools[t]);
			return true;
		}
	return false;
}
