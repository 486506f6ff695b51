/* SPDX-License-Identifier: BSD-2-Clause */
/* Regular expressions of filters, and of the list of reserved volumes: PCRE, as
 * Ganeti has it for filters, with limits on what they may cost. */
#ifndef MODEL_FILTER_FILTER_REGEX_H
#define MODEL_FILTER_FILTER_REGEX_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* The longest pattern, in bytes; nobody needs a longer one. */
#define REGEX_MAX 4096

/* All compiled patterns of a filter together, in bytes: about a thousand long
 * ones. */
#define REGEX_CODE_MAX (4u * 1024 * 1024)

/* A match with more steps is given up.  A step takes 20 to 50 ns; matching a
 * name or a state takes some hundred. */
#define REGEX_STEPS 20000

struct regex;	/* one pattern */
struct regexes; /* what the patterns of a filter share */

/* What the patterns of one filter share. */
struct regexes *regexes_create(void);
void regexes_destroy(struct regexes *r);

/* NULL with ERR_REQUEST: too long, begins with a verb such as (*NO_START_OPT),
 * cannot be compiled, or too many. */
struct regex *regex_compile(struct regexes *r, const json_t *pattern,
			    struct error *err);
void regex_free(struct regex *x);

/* Whether the pattern matches a part of the text: 1, 0, or -1 when that takes
 * more than `most` (at most REGEX_STEPS) steps.  The steps are added to
 * *steps. */
int regex_match(const struct regexes *r, const struct regex *x,
		const json_t *text, uint64_t most, uint64_t *steps);

#endif
