/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter language of the command line, a recursive descent:
 *
 *	or      = and { "or" and }
 *	and     = not { "and" not }
 *	not     = "not" not | "(" or ")" | test
 *	test    = value [ "not" ] "in" field
 *	        | field [ ("=="|"="|"!="|"<"|"<="|">"|">=") value ]
 *	        | field ("=~"|"!~") regex | field ("=*"|"!*") glob
 *	value   = integer | string in single or double quotes
 *	regex   = [ "m" ] delimiter text delimiter { "s" | "i" }
 *
 * Words are keywords only where a field cannot stand. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/filter/filter.h"

/* Brackets and "not" nest at most this deep: each costs a stack frame. */
#define NESTING_MAX 50

struct parser {
	const char *text;
	const char *at;
	int nesting;
	struct error *err;
};

static json_t *parse_or(struct parser *p);

static json_t *fail(struct parser *p, const char *expected)
{
	error_set(p->err, ERR_FILTER, NULL,
		  "Failed to parse query filter '%.500s': expected %s at "
		  "character %zu",
		  p->text, expected, (size_t)(p->at - p->text) + 1);
	return NULL;
}

static void skip_space(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '/' || c == '.';
}

/* Take this mark if it comes next. */
static bool take(struct parser *p, const char *mark)
{
	skip_space(p);
	if (!str_starts(p->at, mark))
		return false;
	p->at += strlen(mark);
	return true;
}

/* Take this whole word if it comes next. */
static bool take_word(struct parser *p, const char *word)
{
	skip_space(p);
	if (!str_starts(p->at, word) || is_name_char(p->at[strlen(word)]))
		return false;
	p->at += strlen(word);
	return true;
}

/* The name of a field, to be freed; NULL if there is none. */
static char *take_field(struct parser *p)
{
	size_t len = 0;

	skip_space(p);
	if (!isalpha((unsigned char)*p->at))
		return NULL;
	while (is_name_char(p->at[len]))
		len++;
	p->at += len;
	return xstrndup(p->at - len, len);
}

/* --- values --- */

/* The text between quotes, unchanged.  A backslash or a second quote keeps the
 * next character from ending the text; both stay in it. */
static json_t *take_string(struct parser *p)
{
	char quote = *p->at;
	const char *start = p->at + 1;
	const char *end = start;

	while (*end != quote || end[1] == quote) {
		if (*end == '\0' || *end == '\n')
			return fail(p, "the end of the string");
		if ((*end == '\\' || *end == quote) && end[1] != '\0')
			end++;
		end++;
	}
	p->at = end + 1;
	return json_stringn(start, (size_t)(end - start));
}

static json_t *take_number(struct parser *p)
{
	size_t sign = *p->at == '-' || *p->at == '+';
	size_t len = sign + strspn(p->at + sign, "0123456789");
	auto_free char *digits =
		xstrndup(p->at + (*p->at == '+'), len - (*p->at == '+'));
	int64_t number;

	if (len == sign || is_name_char(p->at[len]) ||
	    !str_to_int64(digits, &number))
		return fail(p, "a number or a string in quotes");
	p->at += len;
	return json_integer(number);
}

static bool value_follows(struct parser *p)
{
	skip_space(p);
	return *p->at != '\0' && strchr("\"'+-0123456789", *p->at) != NULL;
}

static json_t *take_value(struct parser *p)
{
	if (!value_follows(p))
		return fail(p, "a number or a string in quotes");
	return *p->at == '"' || *p->at == '\'' ? take_string(p)
					       : take_number(p);
}

static void add_escaped(struct buf *ret, char c)
{
	static const char from[] = "tnfr", to[] = "\t\n\f\r";
	const char *special = strchr(from, c);

	buf_addc(ret, special == NULL ? c : to[special - from]);
}

/* The pattern up to the delimiter.  A backslash is removed, even before a
 * character that is no delimiter, as in Ganeti; so a class such as \\d has to
 * be written with two. */
static bool take_pattern(struct parser *p, char delimiter, struct buf *ret)
{
	while (*p->at != delimiter) {
		if (*p->at == '\0')
			return false;
		if (p->at[0] == '\\' && p->at[1] != '\0')
			add_escaped(ret, *++p->at);
		else
			buf_addc(ret, *p->at);
		p->at++;
	}
	p->at++;
	return true;
}

static json_t *take_regex(struct parser *p)
{
	auto_buf struct buf pattern = {0}, flags = {0};
	auto_free char *text = NULL;

	skip_space(p);
	if (*p->at == 'm')
		p->at++;
	if (*p->at == '\0' || strchr("/#^|", *p->at) == NULL)
		return fail(p, "a regular expression such as m/text/");
	if (!take_pattern(p, *p->at++, &pattern))
		return fail(p, "the end of the regular expression");
	for (; *p->at == 's' || *p->at == 'i'; p->at++)
		if (flags.data == NULL || strchr(flags.data, *p->at) == NULL)
			buf_addc(&flags, *p->at);
	if (is_name_char(*p->at))
		return fail(p, "one of the flags s and i");
	text = buf_steal(&pattern);
	if (flags.len == 0)
		return json_string(text);
	if (flags.len == 2)
		return json_sprintf("(?is)%s", text);
	return json_sprintf("(?%s)%s", flags.data, text);
}

/* The regular expression for a name with * and ?, which do not match dots; the
 * rest of a full host name may follow. */
static char *glob_regex(const char *glob)
{
	struct buf b = {0};

	buf_addc(&b, '^');
	for (; *glob != '\0'; glob++) {
		unsigned char c = (unsigned char)*glob;

		if (c == '*')
			buf_adds(&b, "[^.]*");
		else if (c == '?')
			buf_adds(&b, "[^.]");
		else if (isalnum(c) || c == '_' || c >= 0x80 ||
			 strchr("!\"%',/:;<=>@`", c) != NULL)
			buf_addc(&b, *glob);
		else
			buf_addf(&b, "\\%c", c);
	}
	buf_adds(&b, "(\\..*)?$");
	return buf_steal(&b);
}

static json_t *take_glob(struct parser *p)
{
	auto_json json_t *glob = NULL;
	auto_free char *regex = NULL;

	skip_space(p);
	if (*p->at != '"' && *p->at != '\'')
		return fail(p, "a string in quotes");
	glob = take_string(p);
	if (glob == NULL)
		return NULL;
	regex = glob_regex(json_string_value(glob));
	return json_string(regex);
}

/* --- tests --- */

static json_t *negated(json_t *filter STEALS)
{
	return json_make("[s, o]", "!", filter);
}

/* `"x" in tags`, `"x" not in tags` */
static json_t *parse_membership(struct parser *p)
{
	auto_json json_t *value = take_value(p);
	auto_free char *field = NULL;
	json_t *filter;
	bool not ;

	if (value == NULL)
		return NULL;
	not = take_word(p, "not");
	if (!take_word(p, "in"))
		return fail(p, "'in' or 'not in'");
	field = take_field(p);
	if (field == NULL)
		return fail(p, "the name of a field");
	filter = json_make("[s, s, O]", "=[]", field, value);
	return not ? negated(filter) : filter;
}

static json_t *parse_test(struct parser *p)
{
	static const struct {
		const char *mark, *op;
		json_t *(*take)(struct parser *p);
		bool negate;
	} tests[] = {
		{"=~", "=~", take_regex, false},
		{"!~", "=~", take_regex, true},
		{"=*", "=~", take_glob, false},
		{"!*", "=~", take_glob, true},
		{"==", "==", take_value, false},
		{"!=", "!=", take_value, false},
		{"<=", "<=", take_value, false},
		{">=", ">=", take_value, false},
		{"=", "==", take_value, false},
		{"<", "<", take_value, false},
		{">", ">", take_value, false},
	};
	auto_free char *field = NULL;

	if (value_follows(p))
		return parse_membership(p);
	field = take_field(p);
	if (field == NULL)
		return fail(p, "the name of a field");
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		json_t *value, *filter;

		if (!take(p, tests[i].mark))
			continue;
		value = tests[i].take(p);
		if (value == NULL)
			return NULL;
		filter = json_make("[s, s, o]", tests[i].op, field, value);
		return tests[i].negate ? negated(filter) : filter;
	}
	return json_make("[s, s]", "?", field);
}

/* --- combinations --- */

/* Whether an operand begins here, so that the "not" before it belongs to it. */
static bool operand_follows(struct parser *p)
{
	skip_space(p);
	return *p->at == '(' || isalpha((unsigned char)*p->at) ||
	       value_follows(p);
}

static bool at_word(struct parser *p, const char *word)
{
	const char *start = p->at;
	bool is = take_word(p, word);

	p->at = start;
	return is;
}

/* The operator; a word may also be a field that stands alone. */
static bool take_not(struct parser *p)
{
	const char *start = p->at;

	if (take_word(p, "not") && operand_follows(p) && !at_word(p, "and") &&
	    !at_word(p, "or"))
		return true;
	p->at = start;
	return false;
}

static json_t *parse_group(struct parser *p)
{
	json_t *inner = parse_or(p);

	if (inner == NULL || take(p, ")"))
		return inner;
	json_decref(inner);
	return fail(p, "')'");
}

static json_t *parse_not(struct parser *p)
{
	json_t *filter;

	if (++p->nesting > NESTING_MAX)
		return fail(p, "less nesting");
	if (take(p, "(")) {
		filter = parse_group(p);
	} else if (take_not(p)) {
		filter = parse_not(p);
		filter = filter == NULL ? NULL : negated(filter);
	} else {
		filter = parse_test(p);
	}
	p->nesting--;
	return filter;
}

/* Operands joined by this word; a single operand stays as it is. */
static json_t *parse_joined(struct parser *p, const char *word, const char *op,
			    json_t *(*parse)(struct parser *p))
{
	auto_json json_t *list = json_make("[s]", op);

	do {
		json_t *operand = parse(p);

		if (operand == NULL)
			return NULL;
		json_array_append_new(list, operand);
	} while (take_word(p, word));
	return json_array_size(list) == 2 ? json_incref(json_array_get(list, 1))
					  : steal(&list);
}

static json_t *parse_and(struct parser *p)
{
	return parse_joined(p, "and", "&", parse_not);
}

static json_t *parse_or(struct parser *p)
{
	return parse_joined(p, "or", "|", parse_and);
}

/* Only the master knows which fields exist. */
static bool any_field(void *arg, const char *field, enum filter_kind *ret_kind)
{
	(void)arg;
	(void)field;
	*ret_kind = FILTER_OTHER;
	return true;
}

/* Invalid regular expressions are reported here, since the master could not
 * tell from which text they came. */
static json_t *checked(json_t *filter STEALS, const char *text,
		       struct error *err)
{
	struct filter *compiled = filter_compile(filter, any_field, NULL, err);

	if (compiled == NULL) {
		json_decref(filter);
		error_wrap_as(err, ERR_FILTER,
			      "Failed to parse query filter '%.500s'", text);
		return NULL;
	}
	filter_free(compiled);
	return filter;
}

json_t *filter_from_text(const char *text, struct error *err)
{
	struct parser p = {.text = text, .at = text, .err = err};
	auto_json json_t *filter = NULL;

	if (!str_valid_utf8(text, strlen(text))) {
		error_set(err, ERR_FILTER, NULL,
			  "The query filter is not valid UTF-8");
		return NULL;
	}
	filter = parse_or(&p);
	if (filter == NULL)
		return NULL;
	skip_space(&p);
	return *p.at == '\0' ? checked(steal(&filter), text, err)
			     : fail(&p, "the end");
}

bool filter_text_is_filter(const char *text)
{
	return strpbrk(text, "()<>=!~\"'/\\ \t\n\r\v\f") != NULL;
}

json_t *filter_from_names(const struct strv *names, const char *name_field,
			  bool use_globs)
{
	json_t *filter;

	if (names->n == 0)
		return json_null();
	filter = json_make("[s]", "|");
	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->items[i];
		bool glob = use_globs && strpbrk(name, "*?") != NULL;
		auto_free char *regex = glob ? glob_regex(name) : NULL;

		json_array_append_new(filter,
				      json_make("[s, s, s]",
						glob ? "=~" : "==", name_field,
						glob ? regex : name));
	}
	return filter;
}
