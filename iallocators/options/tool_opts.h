/* SPDX-License-Identifier: BSD-2-Clause */
/* TOOL_<symbol>: the options of tool_opts.def; and the rows of tables that say
 * where in a struct their values go.
 *
 * What a value is in C depends on the option's kind: const char * (TEXT),
 * int64_t (INT, SIZE), double (FLOAT), int (CHOICE, COUNTED), struct strv
 * (WORDS, TEXTS), bool (FLAG).  The compiler checks that the member is one. */
#ifndef IALLOCATORS_OPTIONS_TOOL_OPTS_H
#define IALLOCATORS_OPTIONS_TOOL_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/options/opt.h"

#define OPTION(symbol, ...) extern const struct opt TOOL_##symbol;
#include "iallocators/options/tool_opts.def"
#undef OPTION

/* What a value of each kind is. */
struct tool_values {
	const char *TEXT;
	int64_t INT, SIZE;
	double FLOAT;
	int CHOICE, COUNTED;
	struct strv WORDS, TEXTS;
	bool FLAG;
};

/* The same by option: nothing but its types is used. */
struct tool_types {
#define OPTION(symbol, letter, name, kind, ...)                                \
	__typeof__(((struct tool_values *)0)->kind) symbol;
#include "iallocators/options/tool_opts.def"
#undef OPTION
};

/* An option of a program, and where in a struct its value goes. */
struct tool_place {
	const struct opt *opt;
	int value; /* offset of the value, or NOWHERE */
	int given; /* offset of a bool that becomes true, or NOWHERE */
};

#define NOWHERE (-1)

#define TYPE_OF(type, member) __typeof__(((type *)0)->member)
#define CHECKED(type, member, wanted)                                          \
	((int)(offsetof(type, member) +                                        \
	       0 * sizeof(struct {                                             \
		       char c;                                                 \
		       _Static_assert(__builtin_types_compatible_p(            \
					      TYPE_OF(type, member), wanted),  \
				      #member " is of another type");          \
	       })))
#define VALUE_AT(symbol, type, member)                                         \
	CHECKED(type, member, TYPE_OF(struct tool_types, symbol))

/* Rows: the value goes to a member; to a member, and a bool says whether it is
 * there; a flag is a bool; nothing is kept here. */
#define PUT(symbol, type, member)                                              \
	{                                                                      \
		&TOOL_##symbol, VALUE_AT(symbol, type, member), NOWHERE        \
	}
#define PUT_GIVEN(symbol, type, member, given)                                 \
	{                                                                      \
		&TOOL_##symbol, VALUE_AT(symbol, type, member),                \
			CHECKED(type, given, bool)                             \
	}
#define SET(symbol, type, member)                                              \
	{                                                                      \
		&TOOL_##symbol, NOWHERE, VALUE_AT(symbol, type, member)        \
	}
#define TAKE(symbol)                                                           \
	{                                                                      \
		&TOOL_##symbol, NOWHERE, NOWHERE                               \
	}

#endif
