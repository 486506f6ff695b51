/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs say of their options. */
#ifndef IALLOCATORS_OPTIONS_TOOL_HELP_H
#define IALLOCATORS_OPTIONS_TOOL_HELP_H

#include <stdio.h>

#include "iallocators/options/tool_programs.h"

/* Print the options of the program, for --help. */
void tool_usage(FILE *f, const struct tool_program *p);

/* Print what shells need to complete options: "-t,--text-data file". */
void tool_completion(const struct tool_program *p);

#endif
