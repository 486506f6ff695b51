/* SPDX-License-Identifier: BSD-2-Clause */
/* For the build: what stands in the table of options, as a manual page of a
 * program or as completions of a shell for all of them.
 *
 *     tool_pages manual PROGRAM
 *     tool_pages completion bash|zsh|fish */
#include <stdio.h>
#include <string.h>

#include "iallocators/options/tool_programs.h"
#include "lib/base/mem.h"
#include "lib/base/roff.h"
#include "lib/base/str.h"

/* The value's name, without brackets. */
static char *value_name(const struct opt *o)
{
	return xprintf("%.*s",
		       (int)strcspn(o->arg + opt_may_lack_value(o), "]"),
		       o->arg + opt_may_lack_value(o));
}

static bool is_file(const struct opt *o)
{
	return o->arg != NULL && (strstr(o->arg, "FILE") != NULL ||
				  strstr(o->arg, "SOCKET") != NULL);
}

/* The values there are, with blanks between; NULL when they are not known. */
static char *choices(const struct opt *o)
{
	auto_buf struct buf list = {0};

	if (o->choices == NULL)
		return NULL;
	for (size_t i = 0; o->choices[i] != NULL; i++)
		buf_addf(&list, "%s%s", i > 0 ? " " : "", o->choices[i]);
	return xstrdup(list.data);
}

static void print_option(const struct opt *o)
{
	auto_free char *value = o->arg == NULL ? NULL : value_name(o);

	printf(".TP\n");
	if (o->letter != 0) {
		printf("\\fB\\-%c\\fR", o->letter);
		if (value != NULL)
			printf("%s\\fI%s\\fR%s",
			       opt_may_lack_value(o) ? "[" : " ", value,
			       opt_may_lack_value(o) ? "]" : "");
		printf(", ");
	}
	printf("\\fB\\-\\-");
	roff_text(o->name);
	printf("\\fR");
	if (value != NULL)
		printf("%s=\\fI%s\\fR%s", opt_may_lack_value(o) ? "[" : "",
		       value, opt_may_lack_value(o) ? "]" : "");
	printf("\n");
	roff_sentence(o->help);
}

static void print_manual(const struct tool_program *program)
{
	roff_head(program->name, 1, program->help);
	roff_bold(program->name);
	printf(" [options...]%s\n.SH OPTIONS\n",
	       program->takes_file ? " \\fIfile\\fR" : "");
	for (size_t i = 0; i < program->n_places; i++)
		print_option(program->places[i].opt);
	printf(".SH EXIT STATUS\n"
	       ".TP\n0\nIt is done.\n"
	       ".TP\n1\nIt failed; the reason stands on stderr.  hcheck: the "
	       "cluster needs balancing.\n"
	       ".TP\n2\nThere is no such option.\n"
	       ".SH SEE ALSO\n");
	for (size_t i = 0; tool_programs[i] != NULL; i++) {
		roff_bold(tool_programs[i]->name);
		printf("(1),\n");
	}
	printf("\\fBgnt\\-debug\\fR(8)\n");
}

static void bash_value(const struct tool_program *program, const struct opt *o)
{
	auto_free char *words = choices(o);

	printf("    '%s --%s='", program->name, o->name);
	if (!opt_may_lack_value(o))
		printf("|'%s --%s'", program->name, o->name);
	if (!opt_may_lack_value(o) && o->letter != 0)
		printf("|'%s -%c'", program->name, o->letter);
	if (words != NULL)
		printf(") words='%s' ;;\n", words);
	else
		printf(") %s ;;\n", is_file(o) ? "kind=-f" : "kind=none");
}

/* bash makes a word of the '=' behind an option. */
static const char bash_head[] =
	"_htools() {\n"
	"    local cur=${COMP_WORDS[COMP_CWORD]} tool=${COMP_WORDS[0]##*/}\n"
	"    local prev=${COMP_WORDS[COMP_CWORD-1]} kind=-W words=\n"
	"    case $cur,$prev in\n"
	"    =,*) cur= prev=$prev= ;;\n"
	"    *,=) prev=${COMP_WORDS[COMP_CWORD-2]}= ;;\n"
	"    esac\n"
	"    case \"$tool $prev\" in\n";

static const char bash_tail[] =
	"    esac\n"
	"    case $kind in\n"
	"    -W) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
	"    -f) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"    *) COMPREPLY=() ;;\n"
	"    esac\n"
	"}\n";

static void bash_options(const struct tool_program *program)
{
	printf("    '%s '*)\n        words='", program->name);
	for (size_t i = 0; i < program->n_places; i++)
		printf("--%s ", program->places[i].opt->name);
	printf("'\n        %s ;;\n",
	       program->takes_file ? "case $cur in -*) ;; *) kind=-f ;; esac"
				   : ":");
}

static void print_bash(void)
{
	fputs(bash_head, stdout);
	for (size_t p = 0; tool_programs[p] != NULL; p++) {
		const struct tool_program *program = tool_programs[p];

		for (size_t i = 0; i < program->n_places; i++)
			if (opt_has_value(program->places[i].opt))
				bash_value(program, program->places[i].opt);
		bash_options(program);
	}
	fputs(bash_tail, stdout);
	printf("complete -F _htools");
	for (size_t p = 0; tool_programs[p] != NULL; p++)
		printf(" %s", tool_programs[p]->name);
	printf("\n");
}

/* Between single quotes; before the signs in `special` a backslash. */
static void print_quoted(const char *text, const char *special)
{
	for (; *text != '\0'; text++)
		if (*text == '\'')
			printf("'\\''");
		else if (strchr(special, *text) != NULL)
			printf("\\%c", *text);
		else
			putchar(*text);
}

/* "'--name=[help]:VALUE:action'" */
static void zsh_option(const struct opt *o)
{
	auto_free char *words = choices(o);
	auto_free char *value = o->arg == NULL ? NULL : value_name(o);

	printf(" \\\n        '--%s%s[", o->name,
	       value == NULL	       ? ""
	       : opt_may_lack_value(o) ? "=-"
				       : "=");
	print_quoted(o->help, "[]\\");
	printf("]");
	if (value != NULL) {
		printf("%s", opt_may_lack_value(o) ? "::" : ":");
		print_quoted(value, ":");
		if (words != NULL)
			printf(":(%s)", words);
		else
			printf(":%s", is_file(o) ? "_files" : "");
	}
	printf("'");
}

static void print_zsh(void)
{
	printf("#compdef");
	for (size_t p = 0; tool_programs[p] != NULL; p++)
		printf(" %s", tool_programs[p]->name);
	printf("\ncase ${words[1]:t} in\n");
	for (size_t p = 0; tool_programs[p] != NULL; p++) {
		const struct tool_program *program = tool_programs[p];

		printf("%s)\n    _arguments", program->name);
		for (size_t i = 0; i < program->n_places; i++)
			zsh_option(program->places[i].opt);
		printf("%s ;;\n", program->takes_file
					  ? " \\\n        '1:FILE:_files'"
					  : "");
	}
	printf("esac\n");
}

static void fish_option(const struct tool_program *program, const struct opt *o)
{
	auto_free char *words = choices(o);

	printf("complete -c %s -l %s", program->name, o->name);
	if (o->letter != 0)
		printf(" -s %c", o->letter);
	if (o->arg != NULL && !opt_may_lack_value(o))
		printf(" -r");
	if (o->arg != NULL)
		printf(is_file(o) ? " -F" : " -f");
	if (words != NULL)
		printf(" -a '%s'", words);
	printf(" -d '");
	for (const char *c = o->help; *c != '\0'; c++)
		printf(*c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
	printf("'\n");
}

static void print_fish(void)
{
	for (size_t p = 0; tool_programs[p] != NULL; p++) {
		const struct tool_program *program = tool_programs[p];

		if (!program->takes_file)
			printf("complete -c %s -f\n", program->name);
		for (size_t i = 0; i < program->n_places; i++)
			fish_option(program, program->places[i].opt);
	}
}

static bool print_completion(const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		print_bash();
	else if (strcmp(shell, "zsh") == 0)
		print_zsh();
	else if (strcmp(shell, "fish") == 0)
		print_fish();
	else
		return false;
	return true;
}

static bool print_page(const char *name)
{
	const struct tool_program *program = tool_find_program(name);

	if (program != NULL)
		print_manual(program);
	return program != NULL;
}

int main(int argc, char **argv)
{
	bool ok = argc == 3 &&
		  (strcmp(argv[1], "manual") == 0 ? print_page(argv[2])
						  : print_completion(argv[2]));

	if (!ok)
		fprintf(stderr, "Usage: tool_pages manual PROGRAM | "
				"completion bash|zsh|fish\n");
	return ok ? 0 : 1;
}
