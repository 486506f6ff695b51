/* SPDX-License-Identifier: BSD-2-Clause */
/* Manual pages in man's macros.  Text from the tables goes through
 * roff_text(). */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "cli/frame/examples.h"
#include "cli/pages/completion.h"
#include "lib/base/roff.h"
#include "lib/base/str.h"

static void print_option(const struct opt *o)
{
	printf(".TP\n\\fB\\-\\-");
	roff_text(o->name);
	printf("\\fR");
	if (o->kind != KIND_FLAG) {
		printf("=\\fI");
		roff_text(o->arg);
		printf("\\fR");
	}
	if (o->letter != 0)
		printf(", \\fB\\-%c\\fR", o->letter);
	printf("\n");
	roff_sentence(o->help);
}

static void print_examples(const char *tool, const char *command)
{
	const struct cli_example *e = cli_example_next(NULL, tool, command);

	for (; e != NULL; e = cli_example_next(e, tool, command)) {
		printf(".PP\nExample: ");
		roff_sentence(e->what);
		printf(".br\n.nf\n\\&  ");
		roff_text(tool);
		putchar(' ');
		roff_text(command);
		if (*e->rest != '\0') {
			putchar(' ');
			roff_text(e->rest);
		}
		printf("\n.fi\n");
	}
}

static void print_command(const char *tool, const struct cli_command *c)
{
	printf(".SS\n");
	roff_bold(c->name);
	if (*cli_args_text(c) != '\0') {
		putchar(' ');
		roff_text(cli_args_text(c));
	}
	putchar('\n');
	roff_sentence(c->help);
	if (c->alias != NULL) {
		printf("Also called ");
		roff_bold(c->alias);
		printf(".\n");
	}
	if (c->details != NULL)
		roff_lines(c->details);
	for (size_t i = 0; c->options[i] != NULL; i++)
		print_option(c->options[i]);
	print_examples(tool, c->name);
}

static const char tail[] =
	".SH FILTERS\n"
	"With \\fB\\-\\-filter\\fR (\\fB\\-F\\fR) the argument of a list "
	"is an expression over the fields that \\fBlist\\-fields\\fR shows:\n"
	".TP\n\\fIfield\\fR == \\fIvalue\\fR, !=, <, <=, >, >=\n"
	"Compares; texts stand in quotes.\n"
	".TP\n\\fIfield\\fR =~ m/\\fIpattern\\fR/, !~\n"
	"Matches a regular expression, or does not; m/.../i takes no notice of "
	"case.\n"
	".TP\n\\fIfield\\fR =* \\fIglob\\fR, !*\n"
	"The same with a pattern of * and ?.\n"
	".TP\n\\fIvalue\\fR in \\fIfield\\fR, not in\n"
	"Looks into a list, such as the tags.\n"
	".TP\nand, or, not, ( )\nPut them together; a \\fIfield\\fR alone "
	"is true unless it is empty, no or 0.\n"
	".PP\nAs in: gnt\\-instance list \\-F 'pnode == \"node1\" and "
	"be/memory "
	"> 512'\n"
	".SH JOBS\n"
	"A reason (\\fB\\-\\-reason\\fR) of the form "
	"rate\\-limit:\\fIN\\fR:\\fIlabel\\fR lets at most N jobs "
	"with that reason run at once.\n"
	".SH FILES\n"
	".TP\n/var/lib/ganeti/config.data\nThe configuration.\n"
	".TP\n/var/lib/ganeti/queue\nThe jobs; archived ones below archive.\n"
	".TP\n/var/run/ganeti/socket\nWhere the master daemon is asked.\n"
	".TP\n/var/log/ganeti\nLogs of daemons and commands.\n"
	".TP\n/etc/ganeti/hooks\nPrograms that are run around opcodes.\n"
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
		roff_bold(tools[t]->name);
		printf("(8)");
		first = false;
	}
	printf("\n");
}

static void print_tool(const struct cli_tool *const *tools,
		       const struct cli_tool *tool)
{
	roff_head(tool->name, 8, tool->help);
	roff_bold(tool->name);
	printf("\n\\fIcommand\\fR [options...] [argument...]\n.SH COMMANDS\n");
	for (size_t i = 0; tool->commands[i] != NULL; i++)
		print_command(tool->name, tool->commands[i]);
	printf(".SH OPTIONS OF ALL COMMANDS\n");
	for (size_t i = 0; cli_common_options[i] != NULL; i++)
		print_option(cli_common_options[i]);
	manual_params(tool);
	fputs(tail, stdout);
	print_see_also(tools, tool->name);
}

static void print_overview(const struct cli_tool *const *tools)
{
	roff_head("gnt", 8,
		  "all commands of the cluster manager under one name");
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
		roff_bold(strchr(tools[t]->name, '-') + 1);
		printf("\n");
		roff_sentence(tools[t]->help);
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
