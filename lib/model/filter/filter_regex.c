/* SPDX-License-Identifier: BSD-2-Clause */
/* PCRE2's own limit counts only backtracking, and the count cannot be read.  So
 * patterns are compiled with a callout before each item, which counts every
 * step of a match and can end it. */
#include "lib/model/filter/filter_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "lib/base/mem.h"

#define REGEX_HEAP_KIB 1024

struct regexes {
	pcre2_match_context *limits;
	pcre2_match_data *match;
	size_t code; /* bytes */
};

/* What one match has used. */
struct steps {
	uint64_t done, most;
};

struct regexes *regexes_create(void)
{
	struct regexes *r = xalloc(sizeof(*r));

	r->limits = pcre2_match_context_create(NULL);
	pcre2_set_match_limit(r->limits, REGEX_STEPS);
	pcre2_set_heap_limit(r->limits, REGEX_HEAP_KIB);
	r->match = pcre2_match_data_create(1, NULL);
	return r;
}

void regexes_destroy(struct regexes *r)
{
	if (r == NULL)
		return;
	pcre2_match_context_free(r->limits);
	pcre2_match_data_free(r->match);
	free(r);
}

static int check_pattern(const char *pattern, struct error *err)
{
	if (pattern == NULL || strlen(pattern) > REGEX_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "A regular expression must be a string of at "
				 "most %d bytes",
				 REGEX_MAX);
	if (strncmp(pattern, "(*", 2) == 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "The regular expression '%.200s' begins with "
				 "\"(*\"; such settings are not allowed",
				 pattern);
	return 0;
}

static pcre2_code *compile(const char *pattern, struct error *err)
{
	PCRE2_UCHAR why[120] = "";
	PCRE2_SIZE offset;
	pcre2_code *code;
	int rc;

	code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
			     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C |
				     PCRE2_AUTO_CALLOUT,
			     &rc, &offset, NULL);
	if (code != NULL)
		return code;
	pcre2_get_error_message(rc, why, sizeof(why));
	error_set(err, ERR_REQUEST, NULL,
		  "Invalid regular expression '%.200s': %s at character %zu",
		  pattern, (const char *)why, offset);
	return NULL;
}

struct regex *regex_compile(struct regexes *r, const json_t *value,
			    struct error *err)
{
	const char *pattern = json_string_value(value);
	pcre2_code *code;
	size_t size = 0;

	if (check_pattern(pattern, err) < 0)
		return NULL;
	code = compile(pattern, err);
	if (code == NULL)
		return NULL;
	pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
	r->code += size;
	if (r->code <= REGEX_CODE_MAX)
		return (struct regex *)code;
	pcre2_code_free(code);
	error_set(err, ERR_REQUEST, NULL,
		  "The regular expressions of the filter take more than %u MiB",
		  REGEX_CODE_MAX / 1024 / 1024);
	return NULL;
}

void regex_free(struct regex *x)
{
	pcre2_code_free((pcre2_code *)x);
}

static int on_step(pcre2_callout_block *block, void *arg)
{
	struct steps *s = arg;

	(void)block;
	return ++s->done > s->most ? PCRE2_ERROR_MATCHLIMIT : 0;
}

int regex_match(const struct regexes *r, const struct regex *x,
		const json_t *text, uint64_t most, uint64_t *steps)
{
	struct steps s = {.most = most < REGEX_STEPS ? most : REGEX_STEPS};
	int rc;

	pcre2_set_callout(r->limits, on_step, &s);
	rc = pcre2_match((const pcre2_code *)x,
			 (PCRE2_SPTR)json_string_value(text),
			 json_string_length(text), 0, 0, r->match, r->limits);
	*steps += s.done + 1;
	return rc >= 0 ? 1 : rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}
