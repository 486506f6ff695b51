/* SPDX-License-Identifier: BSD-2-Clause */
/* A walk over the document, led by the table.  The form of a value is a short
 * text (config_fields.def): a letter for each type, with what it is made of
 * behind it, so that the check of a form is a small reader of that text. */
#include "lib/model/config/config_check.h"

#include <assert.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"

#define PORT_MAX 65535
/* A time in seconds; about the year 33658. */
#define TIME_MAX 1e12
/* A value in a sentence. */
#define SHOWN_MAX 60

static const struct field {
	const char *object, *member, *form;
	bool needed;
} fields[] = {
#define FIELD_AS(object, name, member, kind, fallback, form, needed)           \
	{#object, member, form, needed},
#define FIELD(object, member, ...)                                             \
	FIELD_AS(object, member, #member, __VA_ARGS__)
#include "lib/model/config/config_fields.def"
#undef FIELD
#undef FIELD_AS
};

#define N_FIELDS ARRAY_SIZE(fields)

struct walk {
	const json_t *top;
	struct buf path;
	size_t max;
	struct strv *faults;
};

static void check(struct walk *w, const char *form, const json_t *value);

/* --- the path --- */

/* Append a member's name to the path; returns the length that the path had, to
 * go back. */
static size_t enter(struct walk *w, const char *key)
{
	size_t before = w->path.len;

	buf_addc(&w->path, '/');
	for (; *key != '\0'; key++) {
		if (*key == '~')
			buf_adds(&w->path, "~0");
		else if (*key == '/')
			buf_adds(&w->path, "~1");
		else
			buf_addc(&w->path, *key);
	}
	return before;
}

static size_t enter_item(struct walk *w, size_t i)
{
	size_t before = w->path.len;

	buf_addf(&w->path, "/%zu", i);
	return before;
}

static void leave(struct walk *w, size_t before)
{
	w->path.len = before;
	if (w->path.data != NULL)
		w->path.data[before] = '\0';
}

static bool is_full(const struct walk *w)
{
	return w->faults->n >= w->max;
}

/* --- faults --- */

/* The value that stands there, for a message.  Texts and the members of lists
 * are not shown, as they may be secrets. */
static char *shown(const json_t *value)
{
	if (json_is_object(value))
		return xstrdup("an object");
	if (json_is_array(value))
		return xstrdup("a list");
	if (json_is_string(value))
		return xstrdup("a string");
	return json_text(value);
}

static void fault(struct walk *w, const char *expected, const json_t *value)
{
	auto_free char *text = shown(value);

	if (!is_full(w))
		strv_addf(w->faults, "%s: %s expected, not %.*s",
			  w->path.len > 0 ? w->path.data : "/", expected,
			  SHOWN_MAX, text);
}

static void missing(struct walk *w, const char *member)
{
	size_t before = enter(w, member);

	if (!is_full(w))
		strv_addf(w->faults, "%s: missing", w->path.data);
	leave(w, before);
}

static void leads_nowhere(struct walk *w, const char *container,
			  const char *uuid)
{
	if (!is_full(w))
		strv_addf(w->faults, "%s: there is no '%.*s' in /%s",
			  w->path.len > 0 ? w->path.data : "/", SHOWN_MAX, uuid,
			  container);
}

/* --- reading forms --- */

/* The name between a mark and ";", to be freed; *form is then behind it. */
static char *take_name(const char **form)
{
	const char *end = strchr(*form, ';');
	char *name;

	assert(end != NULL);
	name = xstrndup(*form, (size_t)(end - *form));
	*form = end + 1;
	return name;
}

/* What ends a form: '?', or the closing bracket of the form around it. */
static const char *form_end(const char *form)
{
	const char *end;

	switch (*form) {
	case '@':
	case '&':
	case '%':
		return strchr(form, ';') + 1;
	case '<':
		form = strchr(form, ';');
		break;
	case '[':
	case '{':
		break;
	default:
		return form + 1;
	}
	end = form_end(form + 1);
	return *end == '?' ? end + 2 : end + 1;
}

/* --- values --- */

static bool is_whole(const json_t *value, json_int_t min, json_int_t max)
{
	return json_is_integer(value) && json_integer_value(value) >= min &&
	       json_integer_value(value) <= max;
}

static bool is_time(const json_t *value)
{
	return json_is_number(value) && json_number_value(value) >= 0 &&
	       json_number_value(value) <= TIME_MAX;
}

/* The values that one letter stands for. */
static void check_letter(struct walk *w, char letter, const json_t *value)
{
	if (letter == 's' && !json_is_string(value))
		fault(w, "a string", value);
	else if (letter == 'b' && !json_is_boolean(value))
		fault(w, "true or false", value);
	else if (letter == 'n' && !json_is_number(value))
		fault(w, "a number", value);
	else if (letter == 't' && !is_time(value))
		fault(w, "a time in seconds", value);
	else if (letter == 'i' && !is_whole(value, 0, CONFIG_NUMBER_MAX))
		fault(w, "a whole number from 0 to 999999999999999", value);
	else if (letter == 'p' && !is_whole(value, 0, PORT_MAX))
		fault(w, "a port (0 to 65535)", value);
	else if (letter == 'z' &&
		 !is_whole(value, -CONFIG_NUMBER_MAX, CONFIG_NUMBER_MAX))
		fault(w, "a whole number", value);
}

static void check_list(struct walk *w, const char *form, const json_t *value)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(value)) {
		fault(w, "a list", value);
		return;
	}
	json_array_foreach (value, i, item) {
		size_t before = enter_item(w, i);

		check(w, form, item);
		leave(w, before);
		if (is_full(w))
			return;
	}
}

static const json_t *find(const struct walk *w, const char *container,
			  const char *uuid)
{
	return json_object_get(json_object_get(w->top, container), uuid);
}

/* container: the member whose keys these must be; NULL: any keys. */
static void check_map(struct walk *w, const char *container, const char *form,
		      const json_t *value)
{
	const json_t *item;
	const char *key;

	if (!json_is_object(value)) {
		fault(w, "an object", value);
		return;
	}
	json_object_foreach (json_unconst(value), key, item) {
		size_t before = enter(w, key);

		if (container != NULL && find(w, container, key) == NULL)
			leads_nowhere(w, container, key);
		check(w, form, item);
		leave(w, before);
		if (is_full(w))
			return;
	}
}

/* An empty text counts as null. */
static void check_reference(struct walk *w, const char *container,
			    bool may_miss, const json_t *value)
{
	const char *uuid = json_string_value(value);

	if (uuid == NULL)
		fault(w, "a UUID", value);
	else if (find(w, container, uuid) == NULL &&
		 !(may_miss && *uuid == '\0'))
		leads_nowhere(w, container, uuid);
}

static void check_object(struct walk *w, const char *object,
			 const json_t *value)
{
	if (!json_is_object(value)) {
		fault(w, "an object", value);
		return;
	}
	for (size_t i = 0; i < N_FIELDS && !is_full(w); i++) {
		const struct field *f = &fields[i];
		const json_t *member;
		size_t before;

		if (strcmp(f->object, object) != 0)
			continue;
		member = json_object_get(value, f->member);
		if (member == NULL && f->needed)
			missing(w, f->member);
		if (member == NULL)
			continue;
		before = enter(w, f->member);
		check(w, f->form, member);
		leave(w, before);
	}
}

/* --- parameters --- */

/* In old configurations a text may be null, which counts as not set. */
static void check_param(struct walk *w, const struct param *p,
			const json_t *value)
{
	switch (p->type) {
	case PARAM_BOOL:
		check_letter(w, 'b', value);
		break;
	case PARAM_INT:
	case PARAM_SIZE:
		check_letter(w, 'z', value);
		break;
	case PARAM_FLOAT:
		check_letter(w, 'n', value);
		break;
	case PARAM_STRING:
	case PARAM_MAYBE:
		if (!json_is_null(value))
			check_letter(w, 's', value);
		break;
	}
}

typedef const struct param *find_param_fn(const char *table, const char *name);

static const struct param *own_param(const char *table, const char *name)
{
	return params_table_find(params_table(FAMILY_OWN, table), name);
}

static const struct param *hv_param(const char *hypervisor, const char *name)
{
	const struct param *table = params_table(FAMILY_HV, hypervisor);

	return table == NULL ? NULL : params_table_find(table, name);
}

/* Parameters of the same name have the same type. */
static const struct param *any_hv_param(const char *table, const char *name)
{
	const struct param *found = NULL;

	(void)table;
	for (const char *const *h = hypervisor_names; *h != NULL; h++)
		if (found == NULL)
			found = hv_param(*h, name);
	return found;
}

static const struct param *disk_param(const char *template, const char *name)
{
	const struct param *table = params_table(FAMILY_DISK, template);

	return table == NULL ? NULL : params_table_find(table, name);
}

/* Parameters that the table does not know may be any value but a list or an
 * object. */
static void check_params(struct walk *w, find_param_fn *fn, const char *table,
			 const json_t *value)
{
	const json_t *item;
	const char *name;

	if (!json_is_object(value)) {
		fault(w, "an object", value);
		return;
	}
	json_object_foreach (json_unconst(value), name, item) {
		const struct param *p = fn(table, name);
		size_t before = enter(w, name);

		if (p != NULL)
			check_param(w, p, item);
		else if (json_is_object(item) || json_is_array(item))
			fault(w, "a parameter's value", item);
		leave(w, before);
	}
}

/* {hypervisor or template: parameters} */
static void check_param_tables(struct walk *w, find_param_fn *fn,
			       const json_t *value)
{
	const json_t *item;
	const char *table;

	if (!json_is_object(value)) {
		fault(w, "an object", value);
		return;
	}
	json_object_foreach (json_unconst(value), table, item) {
		size_t before = enter(w, table);

		check_params(w, fn, table, item);
		leave(w, before);
	}
}

/* --- the whole --- */

static void check_named(struct walk *w, const char *form, const json_t *value)
{
	char mark = *form++;
	auto_free char *name = take_name(&form);

	if (mark == '@')
		check_object(w, name, value);
	else if (mark == '&')
		check_reference(w, name, *form == '?', value);
	else if (mark == '%')
		check_params(w, own_param, name, value);
	else
		check_map(w, name, form, value);
}

static void check(struct walk *w, const char *form, const json_t *value)
{
	if (json_is_null(value) && *form_end(form) == '?')
		return;
	switch (*form) {
	case '[':
		check_list(w, form + 1, value);
		break;
	case '{':
		check_map(w, NULL, form + 1, value);
		break;
	case '@':
	case '&':
	case '%':
	case '<':
		check_named(w, form, value);
		break;
	case 'H':
		check_param_tables(w, hv_param, value);
		break;
	case 'h':
		check_params(w, any_hv_param, NULL, value);
		break;
	case 'D':
		check_param_tables(w, disk_param, value);
		break;
	default:
		check_letter(w, *form, value);
	}
}

/* The first of the enabled ones is the default for all instances. */
static void check_hypervisors(struct walk *w)
{
	const json_t *list = json_object_get(json_object_get(w->top, "cluster"),
					     "enabled_hypervisors");

	if (json_is_array(list) && json_array_size(list) == 0 && !is_full(w))
		strv_add(w->faults, "/cluster/enabled_hypervisors: at least "
				    "one expected");
}

void config_check_all(const json_t *top, size_t max, struct strv *ret_faults)
{
	struct walk w = {.top = top, .max = max, .faults = ret_faults};

	check_object(&w, "document", top);
	check_hypervisors(&w);
	buf_done(&w.path);
}

int config_check(const json_t *top, struct error *err)
{
	auto_strv struct strv faults = {0};

	config_check_all(top, 1, &faults);
	if (faults.n == 0)
		return 0;
	return error_set(err, ERR_CONFIG, NULL, "%s", faults.items[0]);
}
