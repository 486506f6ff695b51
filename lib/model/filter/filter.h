/* SPDX-License-Identifier: BSD-2-Clause */
/* The query language (doc/protocol/luxi.md): the nested lists that
 * travel, and the text form of the command line. */
#ifndef MODEL_FILTER_FILTER_H
#define MODEL_FILTER_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

struct filter; /* compiled */

/* Compile; NULL filter (or JSON null) is one that lets all pass.  known() says
 * whether a field exists and of which kind it is.  NULL with ERR_PARAMETER for
 * an unknown field, ERR_REQUEST for what is no filter. */
enum filter_kind { FILTER_OTHER, FILTER_HOSTNAME, FILTER_TIMESTAMP };
struct filter *filter_compile(const json_t *value,
			      bool (*known)(void *arg, const char *field,
					    enum filter_kind *ret_kind),
			      void *arg, struct error *err);
void filter_free(struct filter *f);

/* What it was made of; NULL: it lets all pass. */
const json_t *filter_document(const struct filter *f);

/* The fields it reads. */
const struct strv *filter_fields(const struct filter *f);

/* Give up when it has made so many steps more, of all evaluations together
 * (ERR_PARAMETER); a step is an operator or one of a regular expression.
 * Without this there is no such limit. */
void filter_limit(struct filter *f, uint64_t steps);
uint64_t filter_steps(const struct filter *f); /* so far */
/* No evaluation makes more. */
uint64_t filter_row_steps_max(const struct filter *f);

/* Whether it can be compiled in a moment: few operators, no regular
 * expression. */
bool filter_is_small(const json_t *value);

/* Evaluate on one object: get() gives the value of a field, borrowed until the
 * next call, or NULL where there is no data: what is asked of it is true, and
 * false behind a "!", as in Ganeti.  1, 0, or -1 with *err (types that do not
 * compare). */
int filter_match(struct filter *f,
		 const json_t *(*get)(void *arg, const char *field), void *arg,
		 struct error *err);

/* The same while data may still come: 0 where none could let it pass. */
int filter_may_match(struct filter *f,
		     const json_t *(*get)(void *arg, const char *field),
		     void *arg, struct error *err);

/* If it is only (or-ed) equalities on `field`: the values, in order, in *ret
 * and true. */
bool filter_names(const json_t *value, const char *field, struct strv *ret);

/* Does a command-line argument look like a filter, and its translation
 * (to be freed). */
bool filter_text_is_filter(const char *text);
json_t *filter_from_text(const char *text, struct error *err);

/* The filter for a list of names on name_field: globs where use_globs and a
 * name has * or ?, equality otherwise; JSON null without names. */
json_t *filter_from_names(const struct strv *names, const char *name_field,
			  bool use_globs);

#endif
