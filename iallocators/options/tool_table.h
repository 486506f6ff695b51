/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the planning programs, as a table. */
#ifndef IALLOCATORS_OPTIONS_TOOL_TABLE_H
#define IALLOCATORS_OPTIONS_TOOL_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "iallocators/options/tool.h"

enum program {
	HBAL = 1,
	HSPACE = 2,
	HINFO = 4,
	HCHECK = 8,
	HROLLER = 16,
	HSQUEEZE = 32,
	PLANNERS = 63,
	HAIL = 64,
	ALL_PROGRAMS = 127
};

/* What the value of an option becomes, in struct tool_options. */
enum option_kind {
	KIND_NOTHING,
	KIND_TEXT,     /* const char * */
	KIND_COUNT,    /* int64_t */
	KIND_NATURAL,  /* int64_t, 0 or more */
	KIND_SMALL,    /* int64_t, 1 to EXPLAIN_LIMIT_MAX */
	KIND_NUMBER,   /* double */
	KIND_POSITIVE, /* double above 0 */
	KIND_SIZE,     /* double, MiB of "20g" */
	KIND_LIST,     /* strv, from words with commas between */
	KIND_ADD,      /* strv, one string more */
	KIND_YES,      /* bool, from "yes" or "no"; without a value "yes" */
	KIND_PRIORITY, /* int */
	KIND_FORMAT,   /* bool, whether JSON: "text" or "json" */
	KIND_EXPLAIN,  /* enum explain_format; without a value "text" */
	KIND_PROTOCOL, /* bool, whether 1: "1" or "2" */
	KIND_TEMPLATE, /* const char *, a disk template */
	KIND_MORE,     /* int, one more */
	KIND_LESS,     /* int, one less */
	KIND_HELP,     /* print something and exit */
	KIND_VERSION,
	KIND_COMPLETION
};

struct tool_option {
	char letter; /* or 0 */
	const char *name;
	unsigned programs;
	enum option_kind kind;
	size_t value;	  /* where in struct tool_options it goes */
	size_t given;	  /* a bool there that becomes true; 0: none */
	const char *arg;  /* "FILE", "[FILE]" when it may be missing, or NULL */
	const char *type; /* for completion; NULL: none; see below */
	const char *label; /* of a number in messages; NULL: its name */
	const char *help;
};

extern const struct tool_option tool_table[];
extern const size_t tool_table_n;

struct tool_program {
	const char *name;
	unsigned bit;
	const char *help;
};

extern const struct tool_program tool_programs[];
extern const size_t tool_programs_n;

/* The bit of a program; 0 for none. */
unsigned tool_program(const char *name);

/* Print the options of that program, for --help. */
void tool_usage(FILE *f, const char *program);

/* What kind of value completion is told that the option has: "file",
 * "choices=yes,no", "none"; disk templates are filled in.  To be freed. */
char *tool_option_type(const struct tool_option *o);

/* What shells need to complete options: "-t,--text-data file". */
void tool_completion(const char *program);

#endif
