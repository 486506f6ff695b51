/* SPDX-License-Identifier: BSD-2-Clause */
/* Suggestions for unknown words. */
#ifndef CLI_FRAME_CLI_SUGGEST_H
#define CLI_FRAME_CLI_SUGGEST_H

#include "lib/base/str.h"

/* The name that is most similar to the word, borrowed from names: it begins
 * with the word, or differs by few letters that are changed, left out, added or
 * swapped (one in three, at least one).  NULL: none is similar enough. */
const char *cli_nearest(const char *word, const struct strv *names);

#endif
