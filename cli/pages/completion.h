/* SPDX-License-Identifier: BSD-2-Clause */
/* Output made from the tables of commands and options: completions for shells
 * (completion.c) and manual pages (manual.c). */
#ifndef CLI_PAGES_COMPLETION_H
#define CLI_PAGES_COMPLETION_H

#include <stdbool.h>

#include "cli/frame/cli.h"

/* Print the completions of all tools (NULL ends) for bash, zsh or fish; false
 * for another shell. */
bool completion_print(const struct cli_tool *const *tools, const char *shell);

/* Print the page of a tool, or of "gnt" as a whole, in man's format; false
 * for another name. */
bool manual_print(const struct cli_tool *const *tools, const char *name);

/* The section of a tool's page about the keys of its options; nothing where it
 * has none. */
void manual_params(const struct cli_tool *tool);

/* For completion.c: the kind of keys that the value of an option has, or NULL,
 * and the functions of bash and zsh, or of fish, that know the keys. */
const char *completion_key_kind(const struct opt *o);
void completion_keys_posix(void);
void completion_keys_fish(void);

#endif
