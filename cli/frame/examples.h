/* SPDX-License-Identifier: BSD-2-Clause */
/* Examples of commands, for the help and the manual pages; examples.def is
 * their table. */
#ifndef CLI_FRAME_EXAMPLES_H
#define CLI_FRAME_EXAMPLES_H

struct cli_example {
	const char *tool, *command;
	const char *rest; /* of the line, behind both; may be "" */
	const char *what; /* it does, without a full stop */
};

/* The next example of a command behind the previous one (NULL: the first), or
 * NULL. */
const struct cli_example *cli_example_next(const struct cli_example *previous,
					   const char *tool,
					   const char *command);

#endif
