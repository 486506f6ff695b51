/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of a tool: find the command, check its words, run it, say what went
 * wrong. */
#include "cli/frame/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_suggest.h"
#include "gantry-config.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"

static const struct cli_command *find_command(const struct cli_tool *tool,
					      const char *name)
{
	for (size_t i = 0; tool->commands[i] != NULL; i++)
		if (str_eq(tool->commands[i]->name, name) ||
		    str_eq(tool->commands[i]->alias, name))
			return tool->commands[i];
	return NULL;
}

/* Suggest a name that is similar to the unknown one; if there is none, list the
 * commands. */
static int unknown_command(const struct cli_tool *tool, const char *word)
{
	auto_strv struct strv names = {0};
	const char *nearest;

	for (size_t i = 0; tool->commands[i] != NULL; i++) {
		strv_add(&names, tool->commands[i]->name);
		if (tool->commands[i]->alias != NULL)
			strv_add(&names, tool->commands[i]->alias);
	}
	nearest = cli_nearest(word, &names);
	fprintf(stderr, "%s: unknown command '%s'", tool->name, word);
	if (nearest != NULL) {
		fprintf(stderr,
			", did you mean %s?\n(%s --help lists the commands)\n",
			nearest, tool->name);
		return CLI_FAILURE;
	}
	fprintf(stderr, "\n\n");
	cli_help_tool(tool);
	return CLI_FAILURE;
}

static int check_args(const struct cli *cli, struct error *err)
{
	const struct cli_command *c = cli->command;

	if (cli->n_args >= c->min_args &&
	    (c->max_args < 0 || cli->n_args <= c->max_args))
		return 0;
	if (c->max_args == 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "Error: Command %s expects no arguments",
				 c->name);
	if (c->min_args == c->max_args)
		return error_set(err, ERR_REQUEST, NULL,
				 "Error: Command %s expects %d argument(s)",
				 c->name, c->min_args);
	if (c->max_args < 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "Error: Command %s expects at least %d "
				 "argument(s)",
				 c->name, c->min_args);
	return error_set(err, ERR_REQUEST, NULL,
			 "Error: Command %s expects %d to %d argument(s)",
			 c->name, c->min_args, c->max_args);
}

static int usage_error(const struct cli *cli, const struct error *err)
{
	/* Report a bad value of a parameter in the words for an opcode. */
	if (err->kind != ERR_REQUEST)
		return cli_error(cli, err);
	fprintf(stderr, "Usage\n=====\n  %s %s %s\n\n%s: error: %s\n",
		cli->tool->name, cli->command->name,
		cli_args_text(cli->command), cli->tool->name, err->text);
	return CLI_USAGE;
}

/* Whether a backslash takes the meaning of the next character away. */
static bool escapes(char quote, char next)
{
	if (quote == '\0')
		return next != '\0';
	return quote == '"' && (next == '"' || next == '\\');
}

/* Add the words of a text as a shell has them, with quotes and backslashes. */
static int split_words(struct strv *ret, const char *text, struct error *err)
{
	auto_buf struct buf word = {0};
	bool inside = false;
	char quote = '\0';

	for (const char *p = text; *p != '\0'; p++) {
		if (quote == '\0' && isspace((unsigned char)*p)) {
			if (inside)
				strv_add(ret, word.len == 0 ? "" : word.data);
			buf_consume(&word, word.len);
			inside = false;
			continue;
		}
		inside = true;
		if (*p == '\\' && escapes(quote, p[1]))
			buf_addc(&word, *++p);
		else if (quote == '\0' && (*p == '"' || *p == '\''))
			quote = *p;
		else if (quote != '\0' && *p == quote)
			quote = '\0';
		else
			buf_addc(&word, *p);
	}
	if (quote != '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A quote has no end: %s", text);
	if (inside)
		strv_add(ret, word.len == 0 ? "" : word.data);
	return 0;
}

/* The words after the command's name; for list, those of the variable
 * GNT_<TOOL>_LIST come first. */
static int command_words(const struct cli *cli, int argc, char **argv,
			 struct strv *ret, struct error *err)
{
	auto_free char *name = xprintf("%s_LIST", cli->tool->name);
	const char *more;

	for (char *c = name; *c != '\0'; c++)
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	more = getenv(name);
	strv_add(ret, argv[0]);
	if (more != NULL && strcmp(cli->command->name, "list") == 0 &&
	    split_words(ret, more, err) < 0)
		return error_wrap(err, "%s", name);
	for (int i = 1; i < argc; i++)
		strv_add(ret, argv[i]);
	return 0;
}

static int run_command(struct cli *cli, int argc, char **argv)
{
	struct error err;
	auto_strv struct strv words = {0};
	int code;

	if (command_words(cli, argc, argv, &words, &err) < 0)
		return cli_error(cli, &err);
	if (cli_parse(cli, (int)words.n, words.items, &err) < 0)
		return usage_error(cli, &err);
	if (cli_given(cli, &OPT_HELP)) {
		cli_help_command(cli->tool, cli->command);
		return CLI_OK;
	}
	if (check_args(cli, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return CLI_FAILURE;
	}
	if (cli_given(cli, &OPT_PLAN))
		cli_answer_yes(); /* nothing will be done */
	code = cli_spell(cli, &err) < 0 ? -1 : cli->command->run(cli, &err);
	if (code < 0)
		code = cli->planned ? cli->plan_code : cli_error(cli, &err);
	if (fflush(stdout) != 0 && code == CLI_OK)
		code = CLI_FAILURE;
	return code;
}

int cli_main(const struct cli_tool *tool, int argc, char **argv)
{
	struct cli cli = {.tool = tool};
	int code;

	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		printf("%s (gantry %s) %s\n", tool->name, GANTRY_VERSION,
		       GANETI_RELEASE);
		return CLI_OK;
	}
	if (argc >= 2 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		cli_help_tool(tool);
		return CLI_OK;
	}
	if (argc < 2) {
		cli_help_tool(tool);
		return CLI_FAILURE;
	}
	cli.command = find_command(tool, argv[1]);
	if (cli.command == NULL)
		return unknown_command(tool, argv[1]);
	cli.name = argv[1];
	if (!tool->local)
		cli_log_command(&cli, argc, argv);
	code = run_command(&cli, argc - 1, argv + 1);
	luxi_close(cli.luxi);
	paths_destroy(cli.paths);
	json_decref(cli.values);
	return code;
}
