/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours of states in lists. */
#ifndef CLI_FRAME_CLI_COLOUR_H
#define CLI_FRAME_CLI_COLOUR_H

#include <stdbool.h>

#define CLI_COLOUR_END "\033[0m"

/* Whether stdout is a terminal that should get colours: NO_COLOR is not set,
 * TERM is not "dumb". */
bool cli_colours_wanted(void);

/* What to write before the text of a field, or NULL for no colour. */
const char *cli_colour(const char *field, const char *text);

#endif
