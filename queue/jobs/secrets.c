/* SPDX-License-Identifier: BSD-2-Clause */
/* Secret values (osparams_secret) are taken out of an opcode before it is
 * stored; private ones (osparams_private) are stored, but hidden from readers.
 * A mark takes the place of each value.  When an opcode is about to run and has
 * a mark without its secret, it fails. */
#include "queue/jobs/secrets.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

#define MARK "<redacted>"
#define NESTED "instances"

static const char *const secret_parameters[] = {"osparams_secret"};
static const size_t n_parameters = ARRAY_SIZE(secret_parameters);

static void mark_all(json_t *values)
{
	const char *key;
	json_t *value;

	json_object_foreach (values, key, value)
		json_object_set_new(values, key, json_string(MARK));
}

/* The opcodes inside an opcode that creates many instances. */
static json_t *nested(const json_t *op)
{
	return json_object_get(op, NESTED);
}

static void hide_own(json_t *op)
{
	json_t *by_os = json_object_get(op, "osparams_private_cluster");
	const char *os;
	json_t *values;

	mark_all(json_object_get(op, "osparams_private"));
	json_object_foreach (by_os, os, values)
		mark_all(values);
}

void secrets_hide(json_t *input)
{
	json_t *inner;
	size_t i;

	hide_own(input);
	json_array_foreach (nested(input), i, inner)
		hide_own(inner);
}

/* --- take --- */

static json_t *take_own(json_t *op)
{
	json_t *taken = NULL;

	for (size_t i = 0; i < n_parameters; i++) {
		const char *name = secret_parameters[i];
		json_t *values = json_object_get(op, name);

		if (json_object_size(values) == 0)
			continue;
		if (taken == NULL)
			taken = json_object();
		json_object_set_new(taken, name, json_deep_copy(values));
		mark_all(values);
	}
	return taken;
}

json_t *secrets_take(json_t *op)
{
	json_t *taken = take_own(op);
	auto_json json_t *list = json_array();
	bool any = false;
	json_t *inner;
	size_t i;

	json_array_foreach (nested(op), i, inner) {
		json_t *one = take_own(inner);

		any |= one != NULL;
		json_array_append_new(list, one != NULL ? one : json_null());
	}
	if (!any)
		return taken;
	if (taken == NULL)
		taken = json_object();
	json_object_set(taken, NESTED, list);
	return taken;
}

/* --- give --- */

static bool has_mark(const json_t *values)
{
	const char *key;
	const json_t *value;

	json_object_foreach (json_unconst(values), key, value)
		if (json_is_string(value) &&
		    strcmp(json_string_value(value), MARK) == 0)
			return true;
	return false;
}

static int give_own(json_t *op, const json_t *secrets, struct error *err)
{
	for (size_t i = 0; i < n_parameters; i++) {
		const char *name = secret_parameters[i];
		json_t *values = json_object_get(secrets, name);

		if (values != NULL)
			json_object_set(op, name, values);
		else if (has_mark(json_object_get(op, name)))
			return error_set(
				err, ERR_EXEC, NULL,
				"The values of %s were kept in memory "
				"only and are lost, because the master "
				"daemon was restarted; submit the job "
				"again",
				name);
	}
	return 0;
}

int secrets_give(json_t *input, const json_t *secrets, struct error *err)
{
	const json_t *list = json_object_get(secrets, NESTED);
	json_t *inner;
	size_t i;

	if (give_own(input, secrets, err) < 0)
		return -1;
	json_array_foreach (nested(input), i, inner)
		if (give_own(inner, json_array_get(list, i), err) < 0)
			return -1;
	return 0;
}
