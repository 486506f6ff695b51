/* SPDX-License-Identifier: BSD-2-Clause */
/* The array is made of examples.def by the macro EXAMPLE.  A caller hands back
 * the entry that it got last, and the search goes on behind that entry. */
#include "cli/frame/examples.h"

#include <string.h>

/* In the order of the table; the examples of a command need not stand
 * together. */
static const struct cli_example examples[] = {
#define EXAMPLE(tool, command, rest, what) {tool, command, rest, what},
#include "cli/frame/examples.def"
#include "lib/base/array.h"
#undef EXAMPLE
};

#define N_EXAMPLES ARRAY_SIZE(examples)

const struct cli_example *cli_example_next(const struct cli_example *previous,
					   const char *tool,
					   const char *command)
{
	const struct cli_example *e =
		previous == NULL ? examples : previous + 1;

	for (; e < examples + N_EXAMPLES; e++)
		if (strcmp(e->tool, tool) == 0 &&
		    strcmp(e->command, command) == 0)
			return e;
	return NULL;
}
