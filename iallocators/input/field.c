/* SPDX-License-Identifier: BSD-2-Clause */
/* Every reader finds the member, checks its kind and takes its value.  A
 * missing member is reported together with the names that the object has.  A
 * string may be given as an array of strings, which are joined. */
#include "iallocators/input/field.h"

#include <string.h>

#include "iallocators/model/hformat.h"

static int prefix(const struct field *f, struct error *err)
{
	return f->what == NULL ? -1 : error_wrap(err, "%s", f->what);
}

static int missing(const struct field *f, const char *key, struct error *err)
{
	auto_buf struct buf keys = {0};
	const struct jval *member;

	jtext_each(member, f->object)
	{
		if (keys.len > 0)
			buf_addc(&keys, ',');
		hf_show_string(&keys, member->key, strlen(member->key));
	}
	error_set(err, ERR_REQUEST, NULL,
		  "key '%s' not found, object contains only [%s]", key,
		  keys.len > 0 ? keys.data : "");
	return prefix(f, err);
}

static int unreadable(const struct field *f, const char *key, const char *why,
		      struct error *err)
{
	error_set(err, ERR_REQUEST, NULL, "key '%s': %s", key, why);
	return prefix(f, err);
}

/* The member, required; NULL with *err. */
static const struct jval *get(const struct field *f, const char *key,
			      struct error *err)
{
	const struct jval *v = jtext_get(f->object, key);

	if (v == NULL)
		missing(f, key, err);
	return v;
}

bool field_present(const struct field *f, const char *key)
{
	const struct jval *v = jtext_get(f->object, key);

	return v != NULL && v->kind != JT_NULL;
}

int field_int(const struct field *f, const char *key, int64_t *ret,
	      struct error *err)
{
	const struct jval *v = get(f, key, err);

	if (v == NULL)
		return -1;
	if (v->kind != JT_NUMBER)
		return unreadable(f, key, "Unable to read Int", err);
	*ret = v->i;
	return 0;
}

int field_double(const struct field *f, const char *key, double *ret,
		 struct error *err)
{
	const struct jval *v = get(f, key, err);

	if (v == NULL)
		return -1;
	if (v->kind != JT_NUMBER)
		return unreadable(f, key, "Unable to read Double", err);
	*ret = v->d;
	return 0;
}

int field_bool(const struct field *f, const char *key, bool *ret,
	       struct error *err)
{
	const struct jval *v = get(f, key, err);

	if (v == NULL)
		return -1;
	if (v->kind != JT_BOOL)
		return unreadable(f, key, "Unable to read Bool", err);
	*ret = v->flag;
	return 0;
}

/* An array of one-character strings is a string too. */
static const char *joined(struct arena *a, const struct jval *v,
			  const char **ret)
{
	auto_buf struct buf text = {0};
	const struct jval *c;

	jtext_each(c, v)
	{
		if (c->kind != JT_STRING)
			return "Unable to read Char";
		buf_adds(&text, c->str);
	}
	*ret = arena_strndup(a, text.len > 0 ? text.data : "", text.len);
	return NULL;
}

/* NULL, or why it is no string. */
static const char *as_string(struct arena *a, const struct jval *v,
			     const char **ret)
{
	if (v->kind == JT_ARRAY)
		return joined(a, v, ret);
	if (v->kind != JT_STRING)
		return "Unable to read String";
	*ret = v->str;
	return NULL;
}

int field_string(const struct field *f, const char *key, const char **ret,
		 struct error *err)
{
	const struct jval *v = get(f, key, err);
	const char *why;

	if (v == NULL)
		return -1;
	why = as_string(f->arena, v, ret);
	return why == NULL ? 0 : unreadable(f, key, why, err);
}

int field_strings(const struct field *f, const char *key, const char ***ret,
		  size_t *ret_n, struct error *err)
{
	const struct jval *v = get(f, key, err), *item;
	const char **list;
	size_t n = 0;

	if (v == NULL)
		return -1;
	if (v->kind != JT_ARRAY)
		return unreadable(f, key, "Unable to read list", err);
	list = arena_calloc(f->arena, v->n, sizeof(*list));
	jtext_each(item, v)
	{
		const char *why = as_string(f->arena, item, &list[n++]);

		if (why != NULL)
			return unreadable(f, key, why, err);
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

int field_object(const struct field *f, const char *key,
		 const struct jval **ret, struct error *err)
{
	const struct jval *v = get(f, key, err);

	if (v == NULL)
		return -1;
	if (v->kind != JT_OBJECT)
		return unreadable(f, key, "Unable to read JSObject", err);
	*ret = v;
	return 0;
}

int field_list(const struct field *f, const char *key, const struct jval **ret,
	       struct error *err)
{
	const struct jval *v = get(f, key, err);

	if (v == NULL)
		return -1;
	if (v->kind != JT_ARRAY)
		return unreadable(f, key, "Unable to read list", err);
	*ret = v;
	return 0;
}

int field_array(const struct field *f, const char *key, const struct jval **ret,
		struct error *err)
{
	const struct jval *v = get(f, key, err);
	auto_buf struct buf shown = {0};

	if (v == NULL)
		return -1;
	if (v->kind == JT_ARRAY) {
		*ret = v;
		return 0;
	}
	jtext_show(&shown, v);
	return error_set(err, ERR_REQUEST, NULL,
			 "Invalid input, expected array but got %s",
			 shown.data);
}

int field_enum_value(const struct field *f, const struct jval *v,
		     const char *type, const char *const *names, int n,
		     int *ret, struct error *err)
{
	const char *text = "", *why = as_string(f->arena, v, &text);
	auto_buf struct buf shown = {0};

	if (why != NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Can't parse value for '%s': %s", type, why);
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], text) == 0) {
			*ret = i;
			return 0;
		}
	hf_show_string(&shown, text, strlen(text));
	return error_set(err, ERR_REQUEST, NULL,
			 "Invalid string value for type %s: %s", type,
			 shown.data);
}

int field_enum(const struct field *f, const char *key, const char *type,
	       const char *const *names, int n, int *ret, struct error *err)
{
	const struct jval *v = get(f, key, err);

	if (v == NULL)
		return -1;
	if (field_enum_value(f, v, type, names, n, ret, err) == 0)
		return 0;
	error_wrap(err, "key '%s'", key);
	return prefix(f, err);
}
