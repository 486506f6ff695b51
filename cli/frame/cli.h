/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of the gnt-* tools: tables of commands and options, parsing, help,
 * the connection to the master, exit codes.
 *
 * A tool is a table of commands; a command is a struct cli_command with its
 * options, its number of arguments and a function.  Values of options are JSON,
 * so that they go into opcodes as they are. */
#ifndef CLI_FRAME_CLI_H
#define CLI_FRAME_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"
#include "lib/model/opcode/opcode.h"
#include "lib/options/opt.h"

/* Exit codes, as Ganeti's. */
enum {
	CLI_OK = 0,
	CLI_FAILURE = 1,
	CLI_USAGE = 2, /* also when the configuration cannot be read */
	CLI_NOT_MASTER = 11,
	CLI_UNCONFIRMED = 13,  /* the user did not say yes */
	CLI_UNKNOWN_FIELD = 14 /* a list with an unknown field */
};

#define CLI_OPTIONS_MAX 64

struct cli;
struct cli_list;

struct cli_command {
	const char *name;
	const char *alias; /* or NULL */
	const char *args;  /* for the help: "<instance>"; NULL: none */
	const char *help;
	const char *details; /* lines that stand as they are, or NULL */
	int min_args;
	int max_args;	   /* -1: any number */
	bool ends_options; /* its first argument ends the options: what follows
			      is another command's */
	const struct opt *options[CLI_OPTIONS_MAX]; /* NULL ends */

	/* The exit code, or -1 with *err, which is then printed. */
	int (*run)(struct cli *cli, struct error *err);
	/* For cli_run_list() and cli_run_list_fields(). */
	const struct cli_list *list;
};

struct cli_tool {
	const char *name; /* "gnt-instance" */
	const char *help;
	const struct cli_command *const *commands; /* NULL ends */
	/* The tool is not about this node's cluster: its commands are not
	 * logged, and errors are not in Ganeti's words. */
	bool local;
};

struct luxi;

struct cli {
	const struct cli_tool *tool;
	const struct cli_command *command;
	const char *name; /* of the command as it was typed */
	char **args;	  /* arguments that are not options */
	int n_args;
	json_t *values; /* option name -> value */

	/* Made when first asked for. */
	struct paths *paths;
	struct luxi *luxi;
	bool not_master; /* not connected: the master is another node */

	/* --plan: the plan was shown; the command then ends with an err that is
	 * not printed, and with this exit code. */
	bool planned;
	int plan_code;
};

/* Run one tool; argv[0] is its name.  The exit code. */
int cli_main(const struct cli_tool *tool, int argc, char **argv);

/* --- options (cli_parse.c) --- */

/* Fill cli->values, args and n_args from the words behind the command's name.
 * ERR_REQUEST with the sentence for the user. */
int cli_parse(struct cli *cli, int argc, char **argv, struct error *err);

/* One value of an option from its text.  To be freed; NULL with err. */
json_t *cli_parse_value(const struct opt *option, const char *text,
			struct error *err);

/* Seconds from "90", "5m", "2h", "1d", "1w"; -1 with err. */
int64_t cli_parse_seconds(const char *text, struct error *err);

/* --- values of options --- */

/* Borrowed; NULL when the option was not given. */
const json_t *cli_value(const struct cli *cli, const struct opt *option);
bool cli_given(const struct cli *cli, const struct opt *option);
const char *cli_text(const struct cli *cli, const struct opt *option);
int64_t cli_count(const struct cli *cli, const struct opt *option);

/* Does the command know the option at all? */
bool cli_has(const struct cli *cli, const struct opt *option);

/* Translate option values in the words of the design documents into those of
 * 3.0.2 (cli_spell.c). */
int cli_spell(struct cli *cli, struct error *err);

/* --- help (cli_help.c) --- */

/* The arguments in the help text; "" for none. */
const char *cli_args_text(const struct cli_command *command);
void cli_help_tool(const struct cli_tool *tool);
void cli_help_command(const struct cli_tool *tool,
		      const struct cli_command *command);

/* The arguments from number `first` on, as a list; to be freed. */
json_t *cli_args(const struct cli *cli, int first);

/* --- talking to the master (cli_client.c) --- */

/* Call the master; connects when needed.  NULL with err. */
json_t *cli_call(struct cli *cli, const char *method, json_t *args STEALS,
		 struct error *err);
/* The same for a question, which may be asked twice: when the connection is cut
 * or nobody listens, as while the master daemon is started anew, it is asked
 * again for a minute. */
json_t *cli_call_again(struct cli *cli, const char *method, json_t *args STEALS,
		       struct error *err);
/* Whether a call failed because the master cannot be reached. */
bool cli_is_cut(const struct cli *cli, const struct error *err);

/* This node's paths; NULL with err. */
const struct paths *cli_paths(struct cli *cli, struct error *err);

/* Print an error in Ganeti's words on stderr; returns the exit code for it. */
int cli_error(const struct cli *cli, const struct error *err);
/* The same text; to be freed. */
char *cli_error_text(const struct error *err);

/* Append the command line to the log of commands; a failure is ignored. */
void cli_log_command(struct cli *cli, int argc, char **argv);

/* --- questions (cli_ask.c) --- */

/* Ask on the terminal; false on any answer but y.  --force says yes in every
 * command that has it, and so does `yes` (NULL: no other option).  Without a
 * terminal the answer is no, and it is said what would have been asked. */
bool cli_ask(const struct cli *cli, const struct opt *yes, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same where so much is at stake that of all options only `yes` says yes,
 * and --force does not. */
bool cli_ask_firmly(const struct cli *cli, const struct opt *yes,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* From now on the answer to each question is yes, without asking. */
void cli_answer_yes(void);

#endif
