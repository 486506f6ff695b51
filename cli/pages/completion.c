/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions for shells.  bash and zsh share tables, written as functions with
 * a case for each command.  Names of objects are asked of the master by one of
 * our commands, which fails silently. */
#include "cli/pages/completion.h"

#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "lib/base/array.h"
#include "lib/base/str.h"

/* What the help calls an argument, and which objects these are. */
static const struct {
	const char *word, *kind;
} kinds[] = {
	{"<instance", "instance"}, {"<node", "node"},
	{"<group", "group"},	   {"<network", "network"},
	{"<job-id", "job"},	   {"<filter-uuid", "filter"},
	{"<old-name", "group"},
};

#define N_KINDS ARRAY_SIZE(kinds)

/* What the help calls the value of an option. */
static const struct {
	const char *arg, *kind;
} value_kinds[] = {
	{"NODE", "node"}, {"NODE[:NODE]", "node"},  {"GROUP", "group"},
	{"OS", "os"},	  {"INSTANCE", "instance"}, {"FIELDS", "fields"},
};

/* Jobs that have ended are not to be canceled. */
static const char *argument_kind(const struct cli_command *c, size_t kind)
{
	bool of_live = str_eq(kinds[kind].kind, "job") &&
		       (strcmp(c->name, "cancel") == 0 ||
			strcmp(c->name, "change-priority") == 0 ||
			strcmp(c->name, "why") == 0);

	return of_live ? "live-job" : kinds[kind].kind;
}

static const char *value_kind(const struct opt *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(value_kinds); i++)
		if (str_eq(value_kinds[i].arg, o->arg))
			return value_kinds[i].kind;
	return NULL;
}

/* Whether an argument of the command is an object of this kind. */
static bool takes(const struct cli_command *c, size_t kind)
{
	return c->max_args != 0 &&
	       strstr(cli_args_text(c), kinds[kind].word) != NULL;
}

static bool takes_file(const struct cli_command *c)
{
	return strstr(cli_args_text(c), "file>") != NULL ||
	       strstr(cli_args_text(c), ".json>") != NULL ||
	       strstr(cli_args_text(c), "<dir>") != NULL;
}

/* "gnt-instance" without what all have in front. */
static const char *short_name(const struct cli_tool *tool)
{
	return strchr(tool->name, '-') + 1;
}

typedef void option_fn(const struct cli_tool *tool, const struct cli_command *c,
		       const struct opt *o);

static void each_option(const struct cli_tool *tool,
			const struct cli_command *c, option_fn *fn)
{
	for (size_t i = 0; c->options[i] != NULL; i++)
		fn(tool, c, c->options[i]);
	for (size_t i = 0; cli_common_options[i] != NULL; i++)
		fn(tool, c, cli_common_options[i]);
}

typedef void command_fn(const struct cli_tool *tool,
			const struct cli_command *c);

static void each_command(const struct cli_tool *const *tools, command_fn *fn)
{
	for (size_t t = 0; tools[t] != NULL; t++)
		for (size_t c = 0; tools[t]->commands[c] != NULL; c++)
			fn(tools[t], tools[t]->commands[c]);
}

/* --- the tables of bash and zsh --- */

static void print_commands(const struct cli_tool *const *tools)
{
	printf("_gnt_commands() { # TOOL\n    case $1 in\n    gnt)");
	printf(" printf '%%s\\n'");
	for (size_t t = 0; tools[t] != NULL; t++)
		printf(" %s", short_name(tools[t]));
	printf(" completion ;;\n");
	for (size_t t = 0; tools[t] != NULL; t++) {
		printf("    %s) printf '%%s\\n'", short_name(tools[t]));
		for (size_t c = 0; tools[t]->commands[c] != NULL; c++)
			printf(" %s", tools[t]->commands[c]->name);
		printf(" ;;\n");
	}
	printf("    esac\n}\n\n");
}

static void print_option_word(const struct cli_tool *tool,
			      const struct cli_command *c, const struct opt *o)
{
	(void)tool;
	(void)c;
	printf(" --%s", o->name);
	if (o->letter != 0)
		printf(" -%c", o->letter);
}

/* The pattern of a command in a case: also under its other name. */
static void print_pattern(const struct cli_tool *tool,
			  const struct cli_command *c)
{
	printf("    '%s %s'", short_name(tool), c->name);
	if (c->alias != NULL)
		printf("|'%s %s'", short_name(tool), c->alias);
	printf(")");
}

static void print_options(const struct cli_tool *tool,
			  const struct cli_command *c)
{
	print_pattern(tool, c);
	printf(" printf '%%s\\n' --");
	each_option(tool, c, print_option_word);
	printf(" ;;\n");
}

static void print_value_case(const struct cli_tool *tool,
			     const struct cli_command *c, const struct opt *o)
{
	const char *kind = value_kind(o), *keys = completion_key_kind(o);

	if (o->choices == NULL && kind == NULL && keys == NULL)
		return;
	printf("    '%s %s --%s'", short_name(tool), c->name, o->name);
	if (o->letter != 0)
		printf("|'%s %s -%c'", short_name(tool), c->name, o->letter);
	printf(") ");
	if (o->choices == NULL && keys != NULL) {
		printf("_gnt_keys %s \"$2\" ;;\n", keys);
		return;
	}
	if (o->choices == NULL) {
		printf("_gnt_names %s %s", kind, short_name(tool));
		if (str_eq(kind, "fields"))
			printf(" | _gnt_ahead \"${2%%\"${2##*[,+]}\"}\"");
		printf(" ;;\n");
		return;
	}
	printf("printf '%%s\\n'");
	for (size_t i = 0; o->choices[i] != NULL; i++)
		printf(" %s", o->choices[i]);
	printf(" ;;\n");
}

/* Options with a value of which nothing is known. */
static void print_free_case(const struct cli_tool *tool,
			    const struct cli_command *c, const struct opt *o)
{
	if (o->kind == KIND_FLAG || o->choices != NULL ||
	    value_kind(o) != NULL || completion_key_kind(o) != NULL)
		return;
	printf("    '%s %s --%s'", short_name(tool), c->name, o->name);
	if (o->letter != 0)
		printf("|'%s %s -%c'", short_name(tool), c->name, o->letter);
	printf(") ;;\n");
}

static void print_values(const struct cli_tool *tool,
			 const struct cli_command *c)
{
	each_option(tool, c, print_value_case);
	each_option(tool, c, print_free_case);
}

static void print_arguments(const struct cli_tool *tool,
			    const struct cli_command *c)
{
	print_pattern(tool, c);
	for (size_t k = 0; k < N_KINDS; k++)
		if (takes(c, k))
			printf(" _gnt_names %s;", argument_kind(c, k));
	if (takes_file(c))
		printf(" echo @file;");
	printf(" :;;\n");
}

static const char names_function[] =
	"_gnt_names() { # KIND [TOOL]: the objects there are\n"
	"    case $1 in\n"
	"    os) gnt-os list --no-headers ;;\n"
	"    job) gnt-job list --no-headers --separator=: -o id ;;\n"
	"    live-job) gnt-job list --pending --running --no-headers "
	"--separator=: -o id ;;\n"
	"    filter) gnt-filter list --no-headers -o uuid ;;\n"
	"    fields) \"gnt-$2\" list-fields --no-headers --separator=: | "
	"cut -d: -f1 ;;\n"
	"    *) \"gnt-$1\" list --no-headers -o name ;;\n"
	"    esac 2>/dev/null </dev/null\n"
	"}\n\n";

/* _gnt_words LINE... is told the words up to the one that is completed. */
static const char words_function[] =
	"# _gnt_words CURRENT PREVIOUS TOOL [COMMAND]: what may stand there\n"
	"_gnt_words() {\n"
	"    if [ $# -lt 4 ]; then\n"
	"        _gnt_commands \"$3\"\n"
	"    elif _gnt_values \"$3 $4 $2\" \"$1\"; then\n"
	"        :\n"
	"    elif [ \"${1#-}\" != \"$1\" ]; then\n"
	"        _gnt_options \"$3 $4\"\n"
	"    else\n"
	"        _gnt_arguments \"$3 $4\"\n"
	"    fi\n"
	"}\n\n";

static void print_tables(const struct cli_tool *const *tools)
{
	fputs(names_function, stdout);
	completion_keys_posix();
	print_commands(tools);
	printf("_gnt_options() { # \"TOOL COMMAND\"\n    case $1 in\n");
	each_command(tools, print_options);
	printf("    esac\n}\n\n_gnt_values() { # \"TOOL COMMAND OPTION\" "
	       "CURRENT; fails where no value is wanted\n    case $1 in\n");
	each_command(tools, print_values);
	printf("    *) return 1 ;;\n    esac\n}\n\n"
	       "_gnt_arguments() { # \"TOOL COMMAND\"\n    case $1 in\n");
	each_command(tools, print_arguments);
	printf("    esac\n}\n\n");
	fputs(words_function, stdout);
}

static void print_tools(const struct cli_tool *const *tools)
{
	printf(" gnt");
	for (size_t t = 0; tools[t] != NULL; t++)
		printf(" %s", tools[t]->name);
	putchar('\n');
}

static const char bash_function[] =
	"_gnt() {\n"
	"    local tool=${COMP_WORDS[0]##*/} i n=0 current previous word words "
	"cut\n"
	"    local option= last=${COMP_WORDS[COMP_CWORD]}\n"
	"    local -a line=(\"$tool\")\n"
	"    # bash takes \"--format=json\" for three words, and 0:size=1g for "
	"five.\n"
	"    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
	"        word=${COMP_WORDS[i]}\n"
	"        if [[ $word == [=:]* || ${COMP_WORDS[i-1]} == [=:]* ]]; then\n"
	"            line[n]+=$word\n"
	"        else\n"
	"            line[++n]=$word\n"
	"        fi\n"
	"    done\n"
	"    current=${line[n]} previous=${line[n-1]}\n"
	"    if [[ $current == --*=* ]]; then\n"
	"        previous=${current%%=*} option=${current%%=*}=\n"
	"    fi\n"
	"    [[ $last == [=:]* ]] && last=\n"
	"    cut=${current%\"$last\"}\n"
	"    i=1\n"
	"    if [ \"$tool\" = gnt ] && [ \"$n\" -gt 1 ]; then\n"
	"        tool=${line[1]}\n"
	"        i=2\n"
	"    fi\n"
	"    tool=${tool#gnt-}\n"
	"    if [ \"$n\" -gt \"$i\" ]; then\n"
	"        words=$(_gnt_words \"${current#\"$option\"}\" \"$previous\" "
	"\"$tool\" \"${line[i]}\")\n"
	"    else\n"
	"        words=$(_gnt_words \"$current\" \"$previous\" \"$tool\")\n"
	"    fi\n"
	"    COMPREPLY=()\n"
	"    if [ \"$words\" = @file ]; then\n"
	"        compopt -o default 2>/dev/null\n"
	"        return\n"
	"    fi\n"
	"    while IFS= read -r word; do\n"
	"        word=$option$word\n"
	"        [[ -n $words && $word == \"$current\"* ]] || continue\n"
	"        [[ $word == *[=:] ]] && compopt -o nospace 2>/dev/null\n"
	"        COMPREPLY+=(\"${word#\"$cut\"}\")\n"
	"    done <<<\"$words\"\n"
	"}\n\n";

static void print_bash(const struct cli_tool *const *tools)
{
	print_tables(tools);
	fputs(bash_function, stdout);
	printf("complete -F _gnt");
	print_tools(tools);
}

static const char zsh_function[] =
	"_gnt() {\n"
	"    local tool=${words[1]:t} current=${words[CURRENT]}\n"
	"    local previous=${words[CURRENT-1]} i=2\n"
	"    local -a found open\n"
	"    if [[ $tool = gnt && $CURRENT -gt 2 ]]; then\n"
	"        tool=${words[2]}\n"
	"        i=3\n"
	"    fi\n"
	"    tool=${tool#gnt-}\n"
	"    if [[ $current = --*=* ]]; then\n"
	"        previous=${current%%=*}\n"
	"        compset -P 1 '*='\n"
	"        current=${current#*=}\n"
	"    fi\n"
	"    if [[ $CURRENT -gt $i ]]; then\n"
	"        found=(${(f)\"$(_gnt_words \"$current\" \"$previous\" "
	"\"$tool\" "
	"\"${words[i]}\")\"})\n"
	"    else\n"
	"        found=(${(f)\"$(_gnt_words \"$current\" \"$previous\" "
	"\"$tool\")\"})\n"
	"    fi\n"
	"    if [[ \"$found\" = @file ]]; then\n"
	"        _files\n"
	"    else\n"
	"        # Behind a key stands its value.\n"
	"        open=(${(M)found:#*[=:]})\n"
	"        compadd -- ${found:#*[=:]}\n"
	"        (( $#open )) && compadd -S '' -- $open\n"
	"    fi\n"
	"}\n\n";

/* zsh runs a file in $fpath to complete; a file that is sourced only registers
 * the function. */
static void print_zsh(const struct cli_tool *const *tools)
{
	printf("#compdef");
	print_tools(tools);
	putchar('\n');
	print_tables(tools);
	fputs(zsh_function, stdout);
	printf("if [[ -n $CURRENT ]]; then\n    _gnt \"$@\"\nelse\n"
	       "    compdef _gnt");
	print_tools(tools);
	printf("fi\n");
}

/* --- fish --- */

static void print_quoted(const char *text)
{
	putchar('\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void print_fish_begin(const struct cli_tool *tool,
			     const struct cli_command *c)
{
	printf("complete -c %s -n '__fish_seen_subcommand_from %s%s%s'",
	       tool->name, c->name, c->alias == NULL ? "" : " ",
	       c->alias == NULL ? "" : c->alias);
}

static void print_fish_option(const struct cli_tool *tool,
			      const struct cli_command *c, const struct opt *o)
{
	const char *kind = value_kind(o), *keys = completion_key_kind(o);

	print_fish_begin(tool, c);
	printf(" -l %s", o->name);
	if (o->letter != 0)
		printf(" -s %c", o->letter);
	if (o->choices != NULL) {
		printf(" -xa '");
		for (size_t i = 0; o->choices[i] != NULL; i++)
			printf("%s%s", i == 0 ? "" : " ", o->choices[i]);
		printf("'");
	} else if (keys != NULL) {
		printf(" -xa '(_gnt_keys %s)'", keys);
	} else if (str_eq(kind, "fields")) {
		printf(" -xa '(_gnt_fields %s)'", short_name(tool));
	} else if (kind != NULL) {
		printf(" -xa '(_gnt_names %s %s)'", kind, short_name(tool));
	} else if (o->kind != KIND_FLAG) {
		printf(" -x");
	}
	printf(" -d ");
	print_quoted(o->help);
	putchar('\n');
}

static void print_fish_command(const struct cli_tool *tool,
			       const struct cli_command *c)
{
	printf("complete -c %s -n __fish_use_subcommand -a %s -d ", tool->name,
	       c->name);
	print_quoted(c->help);
	putchar('\n');
	for (size_t k = 0; k < N_KINDS; k++)
		if (takes(c, k)) {
			print_fish_begin(tool, c);
			printf(" -a '(_gnt_names %s)'\n", argument_kind(c, k));
		}
	if (takes_file(c)) {
		print_fish_begin(tool, c);
		printf(" -F\n");
	}
	each_option(tool, c, print_fish_option);
}

static void print_fish(const struct cli_tool *const *tools)
{
	printf("function _gnt_names\n"
	       "    switch $argv[1]\n"
	       "        case os\n"
	       "            gnt-os list --no-headers 2>/dev/null\n"
	       "        case job\n"
	       "            gnt-job list --no-headers --separator=: -o id "
	       "2>/dev/null\n"
	       "        case live-job\n"
	       "            gnt-job list --pending --running --no-headers "
	       "--separator=: -o id 2>/dev/null\n"
	       "        case fields\n"
	       "            gnt-$argv[2] list-fields --no-headers "
	       "--separator=: 2>/dev/null | cut -d: -f1\n"
	       "        case filter\n"
	       "            gnt-filter list --no-headers -o uuid 2>/dev/null\n"
	       "        case '*'\n"
	       "            gnt-$argv[1] list --no-headers -o name "
	       "2>/dev/null\n"
	       "    end\n"
	       "end\n\n"
	       "complete -c gnt -f\n");
	completion_keys_fish();
	for (size_t t = 0; tools[t] != NULL; t++) {
		printf("complete -c %s -f\n", tools[t]->name);
		printf("complete -c gnt -n __fish_use_subcommand -a %s -d ",
		       short_name(tools[t]));
		print_quoted(tools[t]->help);
		putchar('\n');
	}
	each_command(tools, print_fish_command);
}

bool completion_print(const struct cli_tool *const *tools, const char *shell)
{
	static const struct {
		const char *shell;
		void (*print)(const struct cli_tool *const *tools);
	} shells[] = {
		{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (strcmp(shells[i].shell, shell) == 0) {
			shells[i].print(tools);
			return true;
		}
	return false;
}
