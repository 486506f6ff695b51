/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors as Ganeti's clients and job files know them: ["Class", [args]]. */
#include <string.h>

#include "lib/client/luxi.h"
#include "lib/json/json.h"

/* HooksAbort carries [[node, script, output], ...]. */
static json_t *hooks_value(const char *text)
{
	struct error ignored;
	auto_json json_t *list = json_parse(text, strlen(text), &ignored);

	return json_is_array(list) ? steal(&list) : json_string(text);
}

json_t *luxi_error_pack(const struct error *err)
{
	json_t *args = json_array();

	if (err->kind == ERR_HOOKS_ABORT)
		json_array_append_new(args, hooks_value(err->text));
	else
		json_array_append_new(args, json_string(err->text));
	if (err->kind == ERR_PREREQ && err->ecode != NULL)
		json_array_append_new(args, json_string(err->ecode));
	return json_make("[s, o]", error_kind_name(err->kind), args);
}

static void set_text(struct error *err, enum error_kind kind, const char *ecode,
		     const json_t *value)
{
	auto_free char *text = NULL;

	if (json_is_string(value)) {
		error_set(err, kind, ecode, "%s", json_string_value(value));
		return;
	}
	text = value == NULL ? xstrdup("no details given") : json_text(value);
	error_set(err, kind, ecode, "%s", text);
}

void luxi_error_unpack(const json_t *value, struct error *ret_err)
{
	const char *name = json_string_value(json_array_get(value, 0));
	const json_t *args = json_array_get(value, 1);
	const char *ecode = json_string_value(json_array_get(args, 1));
	enum error_kind kind;

	if (name == NULL || !json_is_array(args)) {
		set_text(ret_err, ERR_LUXI, NULL, value);
		return;
	}
	kind = error_kind_by_name(name, ERR_REQUEST);
	if (kind != ERR_PREREQ)
		ecode = NULL;
	set_text(ret_err, kind, ecode == NULL ? NULL : error_ecode(ecode),
		 json_array_get(args, 0));
	if (strcmp(error_kind_name(kind), name) != 0)
		error_wrap(ret_err, "%s", name);
}
