/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options: a text becomes what the kind of its option says.  What a
 * number looks like is the front end's; words, choices, yes and no are the same
 * everywhere. */
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "lib/options/opt.h"

void opt_value_done(struct opt_value *v)
{
	strv_done(&v->words);
	json_decref(v->json);
}

/* In the words of the option, or of the front end. */
static int misfit(const struct opt_style *style, const struct opt *o,
		  const char *text, struct error *err)
{
	if (o->before == NULL)
		return style->misfit(o, text, err);
	return error_set(err, ERR_REQUEST, NULL, "%s%s%s", o->before, text,
			 o->after);
}

static bool read_bool(const char *text, bool *ret)
{
	*ret = strcasecmp(text, "yes") == 0 || strcasecmp(text, "true") == 0;
	return *ret || strcasecmp(text, "no") == 0 ||
	       strcasecmp(text, "false") == 0;
}

static bool read_choice(const struct opt *o, const char *text, int64_t *ret)
{
	for (int i = 0; o->choices[i] != NULL; i++)
		if (text == NULL || strcmp(o->choices[i], text) == 0) {
			*ret = o->numbers != NULL ? o->numbers[i] : i;
			return true;
		}
	return false;
}

static int read_int(const struct opt_style *style, const struct opt *o,
		    const char *text, int64_t *ret, struct error *err)
{
	if (style->integer(o, text, ret, err) < 0)
		return -1;
	if (o->max == 0 || (*ret >= o->min && *ret <= o->max))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "Invalid value of the %s (expected %s %jd)", o->name,
			 *ret < o->min ? ">=" : "<=",
			 (intmax_t)(*ret < o->min ? o->min : o->max));
}

static int read_float(const struct opt_style *style, const struct opt *o,
		      const char *text, double *ret, struct error *err)
{
	if (style->real(o, text, ret, err) < 0)
		return -1;
	if (!o->positive || !(*ret <= 0))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "Invalid value of the %s ratio, expected >0", o->name);
}

/* Split at commas.  A backslash takes the meaning of the character behind it
 * away, and itself; the last one of the text stays. */
static void split_escaped(struct strv *ret, const char *text)
{
	auto_buf struct buf part = {0};

	for (const char *p = text; *p != '\0'; p++) {
		if (p[0] == '\\' && p[1] != '\0') {
			buf_addc(&part, *++p);
		} else if (*p == ',') {
			strv_add(ret, part.len == 0 ? "" : part.data);
			buf_consume(&part, part.len);
		} else {
			buf_addc(&part, *p);
		}
	}
	strv_add(ret, part.len == 0 ? "" : part.data);
}

static int add_keyval(json_t *object, const char *what, const char *text,
		      struct error *err)
{
	const char *equals = strchr(text, '=');
	auto_free char *key = NULL;
	json_t *value;

	if (equals != NULL) {
		key = xstrndup(text, (size_t)(equals - text));
		value = json_string(equals + 1);
	} else if (str_starts(text, "no_")) {
		key = xstrdup(text + 3);
		value = json_false();
	} else if (text[0] == '-') {
		key = xstrdup(text + 1);
		value = json_null();
	} else {
		key = xstrdup(text);
		value = json_true();
	}
	if (*key == '\0' || json_object_get(object, key) != NULL) {
		json_decref(value);
		return error_set(err, ERR_PARAMETER, NULL,
				 *key == '\0' ? "%s: a name is missing in '%s'"
					      : "%s: '%s' is given twice",
				 what, *key == '\0' ? text : key);
	}
	json_object_set_new(object, key, value);
	return 0;
}

json_t *opt_keyval(const char *what, const char *text, struct error *err)
{
	auto_json json_t *object = json_object();
	auto_strv struct strv parts = {0};

	if (*text == '\0')
		return steal(&object);
	split_escaped(&parts, text);
	for (size_t i = 0; i < parts.n; i++)
		if (add_keyval(object, what, parts.items[i], err) < 0)
			return NULL;
	return steal(&object);
}

/* "ident:a=1,b=2" is [ident, {...}]; "no_ident" [ident, false]; "-ident"
 * [ident, null]. */
static json_t *read_ident(const char *what, const char *text, struct error *err)
{
	const char *colon = strchr(text, ':');
	auto_free char *ident =
		colon == NULL ? xstrdup(text)
			      : xstrndup(text, (size_t)(colon - text));
	json_t *values;

	if (str_starts(ident, "no_") || ident[0] == '-') {
		if (colon != NULL && colon[1] != '\0') {
			/* -1:add=... is a number, not a removal */
			int64_t number;

			if (!str_to_int64(ident, &number)) {
				error_set(err, ERR_PARAMETER, NULL,
					  "%s: cannot pass options when "
					  "removing '%s'",
					  what, ident);
				return NULL;
			}
		} else if (ident[0] == '-') {
			return json_make("[s, n]", ident + 1);
		} else {
			return json_make("[s, b]", ident + 3, 0);
		}
	}
	values = opt_keyval(what, colon == NULL ? "" : colon + 1, err);
	return values == NULL ? NULL : json_make("[s, o]", ident, values);
}

static int read_json(const struct opt *o, const char *text, json_t **ret,
		     struct error *err)
{
	*ret = o->kind == KIND_KEYVAL ? opt_keyval(o->name, text, err)
				      : read_ident(o->name, text, err);
	return *ret == NULL ? -1 : 0;
}

/* One of a few words. */
static int read_word(const struct opt_style *style, const struct opt *o,
		     const char *text, struct opt_value *ret, struct error *err)
{
	bool ok = o->kind == KIND_BOOL ? read_bool(text, &ret->yes)
				       : read_choice(o, text, &ret->integer);

	return ok ? 0 : misfit(style, o, text, err);
}

int opt_read(const struct opt_style *style, const struct opt *o,
	     const char *text, struct opt_value *ret, struct error *err)
{
	*ret = (struct opt_value){.text = text};
	if (text == NULL && o->kind != KIND_CHOICE)
		return 0;
	switch (o->kind) {
	case KIND_FLAG:
	case KIND_TEXT:
		return 0;
	case KIND_INT:
		return read_int(style, o, text, &ret->integer, err);
	case KIND_MAYBE_FLOAT:
		if (strcmp(text, "default") == 0)
			return 0;
		/* fall through */
	case KIND_FLOAT:
		return read_float(style, o, text, &ret->real, err);
	case KIND_SIZE:
		return style->size(o, text, &ret->integer, err);
	case KIND_WORDS:
		if (*text != '\0')
			split_escaped(&ret->words, text);
		return 0;
	case KIND_KEYVAL:
	case KIND_IDENT_KEYVAL:
		return read_json(o, text, &ret->json, err);
	default:
		return read_word(style, o, text, ret, err);
	}
}
