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

/* Compile a filter; NULL (or JSON null) lets all rows pass.  known() says
 * whether a field exists and of which kind it is.  NULL with ERR_PARAMETER for
 * an unknown field, with ERR_REQUEST for something that is not a filter. */
enum filter_kind { FILTER_OTHER, FILTER_HOSTNAME, FILTER_TIMESTAMP };
struct filter *filter_compile(const json_t *value,
			      bool (*known)(void *arg, const char *field,
					    enum filter_kind *ret_kind),
			      void *arg, struct error *err);
void filter_free(struct filter *f);

/* The JSON form that it was compiled from, borrowed; NULL: it lets all pass. */
const json_t *filter_document(const struct filter *f);

/* The names of the fields that it reads. */
const struct strv *filter_fields(const struct filter *f);

/* The most steps for all that one request looks at; some seconds of a
 * processor. */
#define FILTER_STEPS_MAX 100000000

/* From now on all evaluations together may take so many more steps; then they
 * fail with ERR_PARAMETER.  A step is an operator or a step of a regular
 * expression.  Without this call there is no such limit. */
void filter_limit(struct filter *f, uint64_t steps);
uint64_t filter_steps(const struct filter *f); /* steps taken so far */
/* the most steps that one evaluation can take */
uint64_t filter_row_steps_max(const struct filter *f);

/* Whether it compiles quickly: few operators, no regular expression. */
bool filter_is_small(const json_t *value);

/* Evaluate on one object: 1, 0, or -1 with *err (types that do not compare).
 * get() gives the value of a field, borrowed until its next call, or NULL when
 * there is no data: a comparison with it is then true (false inside "!"), as in
 * Ganeti. */
int filter_match(struct filter *f,
		 const json_t *(*get)(void *arg, const char *field), void *arg,
		 struct error *err);

/* The same while data may still come: 0 only if no data could make it pass. */
int filter_may_match(struct filter *f,
		     const json_t *(*get)(void *arg, const char *field),
		     void *arg, struct error *err);

/* Whether it consists only of equalities on `field`, joined by "or"; then *ret
 * has the values, in order. */
bool filter_names(const json_t *value, const char *field, struct strv *ret);

/* Whether a command-line argument looks like a filter in text form, and the
 * translation (to be freed). */
bool filter_text_is_filter(const char *text);
json_t *filter_from_text(const char *text, struct error *err);

/* The filter for a list of names on name_field, to be freed.  With use_globs a
 * name with * or ? is a glob; other names must be equal.  JSON null without
 * names. */
json_t *filter_from_names(const struct strv *names, const char *name_field,
			  bool use_globs);

#endif
