/* SPDX-License-Identifier: BSD-2-Clause */
/* What somebody may have meant by a word that is not known. */
#ifndef CLI_FRAME_CLI_SUGGEST_H
#define CLI_FRAME_CLI_SUGGEST_H

#include "lib/base/str.h"

/* The name that is most like the word, borrowed from names: one that it begins,
 * or one that a few letters changed, left out, added or swapped make of it (one
 * in three, at least one).  NULL when none is so near. */
const char *cli_nearest(const char *word, const struct strv *names);

#endif
