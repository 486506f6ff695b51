/* SPDX-License-Identifier: BSD-2-Clause */
/* Values as YAML and CSV, for programs that read what commands show. */
#ifndef CLI_FRAME_CLI_YAML_H
#define CLI_FRAME_CLI_YAML_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/str.h"

/* Block style that YAML 1.1 and 1.2 read alike: what either could take for
 * something else than a string stands in quotes. */
void cli_yaml(struct buf *out, const json_t *value);

/* Lines with commas, quoted as RFC 4180 has it, ended by a newline alone.  A
 * list of objects gives a line each, with a column for each key of any of
 * them; another list a column "value"; an object the columns "key" and
 * "value".  Nested values are JSON in their cell, null is an empty one.
 * columns (may be NULL) names the columns where rows alone would not. */
void cli_csv(struct buf *out, const json_t *value, const struct strv *columns,
	     bool headers);

#endif
