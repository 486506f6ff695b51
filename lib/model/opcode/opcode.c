/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of opcodes.def, and the functions that walk it.  The checks here
 * are of form only; whether the objects exist is for the logical unit to
 * check. */
#include "lib/model/opcode/opcode.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode_checks.h"

#define ID_PREFIX "OP_"
#define SHOWN_MAX 100 /* bytes of a wrong value in a message */
#define DOUBLE_DIGITS 17

enum param_type {
	TYPE_string,
	TYPE_flag,
	TYPE_tri,
	TYPE_number,
	TYPE_real,
	TYPE_json,
};

enum param_need { REQUIRED, OPTIONAL, ADDED };

struct op_param {
	const char *name; /* NULL ends */
	enum param_type type;
	enum param_need need;
	const struct op_rule *rule;
	const char *def; /* JSON text */
	size_t offset;
};

static const char *const type_texts[] = {
	[TYPE_string] = "a string", [TYPE_flag] = "a boolean",
	[TYPE_tri] = "a boolean",   [TYPE_number] = "an integer",
	[TYPE_real] = "a number",   [TYPE_json] = "a value",
};

#define KEY(name) (__builtin_strcmp(name, "static_") == 0 ? "static" : (name))

#define OPCODE(name, id, summary)                                              \
	static const struct op_param name##_params[] = {
#define PARAM(op, type, name, need, check, def)                                \
	{KEY(#name),	   TYPE_##type, need,                                  \
	 &op_rule_##check, def,		offsetof(struct op_##op, name)},
#define OPCODE_END                                                             \
	{                                                                      \
		NULL                                                           \
	}                                                                      \
	}                                                                      \
	;
#include "lib/model/opcode/opcodes.def"
#undef OPCODE
#undef PARAM
#undef OPCODE_END

#define PARAM(op, type, name, need, check, def)
#define OPCODE_END

#define OPCODE(name, id, summary)                                              \
	const struct op_class op_class_##name = {id, sizeof(struct op_##name), \
						 summary, name##_params};
#include "lib/model/opcode/opcodes.def"
#undef OPCODE

static const struct op_class *const classes[] = {
#define OPCODE(name, id, summary) &op_class_##name,
#include "lib/model/opcode/opcodes.def"
#undef OPCODE
	NULL};

/* The parameters of every opcode; they stand after its own ones. */
static const struct op_param common_params[] = {
	{"dry_run", TYPE_tri, OPTIONAL, &op_rule_ANY, "null", 0},
	{"debug_level", TYPE_number, OPTIONAL, &op_rule_NONNEG, "null", 0},
	{"priority", TYPE_number, OPTIONAL, &op_rule_PRIORITY, "0", 0},
	{"depends", TYPE_json, OPTIONAL, &op_rule_DEPENDS, "null", 0},
	{"comment", TYPE_string, OPTIONAL, &op_rule_ANY, "null", 0},
	{"reason", TYPE_json, OPTIONAL, &op_rule_REASON, "[]", 0},
	{"lock_timeout", TYPE_number, ADDED, &op_rule_NONNEG, "0",
	 0}, /* not Ganeti's */
	{NULL},
};

const struct op_class *const *op_classes(void)
{
	return classes;
}

const struct op_class *op_class_find(const char *id)
{
	for (size_t i = 0; classes[i] != NULL; i++)
		if (strcmp(classes[i]->id, id) == 0)
			return classes[i];
	return NULL;
}

/* --- checking --- */

static json_t *default_value(const struct op_param *param)
{
	json_t *value;

	if (strcmp(param->def, "null") == 0)
		return json_null();
	if (strcmp(param->def, "false") == 0)
		return json_false();
	value = json_loads(param->def, JSON_DECODE_ANY, NULL);
	assert(value != NULL);
	return value;
}

static bool is_whole(double value)
{
	return fabs(value) < 9e15 && trunc(value) == value;
}

/* The value in the form in which jobs store it (60.0 becomes 60); NULL when it
 * has the wrong type. */
static json_t *convert(enum param_type type, const json_t *value)
{
	switch (type) {
	case TYPE_string:
		return json_is_string(value) ? json_ref(value) : NULL;
	case TYPE_flag:
	case TYPE_tri:
		return json_is_boolean(value) ? json_ref(value) : NULL;
	case TYPE_number:
		if (json_is_real(value) && is_whole(json_real_value(value)))
			return json_integer((json_int_t)json_real_value(value));
		return json_is_integer(value) ? json_ref(value) : NULL;
	case TYPE_real:
		if (json_is_real(value) && is_whole(json_real_value(value)))
			return json_integer((json_int_t)json_real_value(value));
		return json_is_number(value) ? json_ref(value) : NULL;
	case TYPE_json:
		return json_ref(value);
	}
	return NULL;
}

/* Lists and objects are not shown in messages, as they may hold secrets. */
static char *shown_value(const json_t *value)
{
	auto_free char *text = NULL;

	if (json_is_object(value))
		return xstrdup("a dictionary");
	if (json_is_array(value))
		return xstrdup("a list");
	text = json_text(value);
	if (strlen(text) <= SHOWN_MAX)
		return steal(&text);
	return xprintf("a %s of %zu bytes",
		       json_is_string(value) ? "string" : "value",
		       strlen(text));
}

/* The first word that this list of names must not have, to be freed; NULL where
 * it is not such a list.  Members of other lists are not shown, as they may be
 * secrets. */
static char *misfit_of(const struct op_rule *rule, const json_t *list)
{
	const bool of_names = rule == &op_rule_LIST_HYPERVISOR ||
			      rule == &op_rule_LIST_DISK_TEMPLATE ||
			      rule == &op_rule_LIST_SKIP_CHECK ||
			      rule == &op_rule_LIST_VERIFY_ERROR;
	json_t *item;
	size_t i;

	if (!of_names)
		return NULL;
	json_array_foreach (list, i, item) {
		auto_json json_t *alone = json_array();

		json_array_append(alone, item);
		if (json_is_string(item) && !op_rule_ok(rule, alone)) {
			auto_free char *shown = shown_value(item);

			return xprintf("a list with %s", shown);
		}
	}
	return NULL;
}

static json_t *refuse(const char *id, const struct op_param *param,
		      const json_t *value, struct error *err)
{
	auto_free char *shown =
		misfit_of(param->rule, value) ?: shown_value(value);
	auto_free char *expects = param->rule == &op_rule_ANY
					  ? xstrdup(type_texts[param->type])
					  : op_rule_text(param->rule);

	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "Parameter '%s' of %s fails validation: %s expected, got %s",
		  param->name, id, expects, shown);
	return NULL;
}

/* The value to be stored, to be freed; NULL with err. */
static json_t *check_param(const char *id, const struct op_param *param,
			   const json_t *value, struct error *err)
{
	auto_json json_t *own = NULL;

	if (value == NULL || json_is_null(value)) {
		if (param->need != REQUIRED)
			return default_value(param);
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Required parameter '%s' of %s is missing",
			  param->name, id);
		return NULL;
	}
	own = convert(param->type, value);
	if (own == NULL || !op_rule_ok(param->rule, own))
		return refuse(id, param, value, err);
	return steal(&own);
}

/* Ganeti reads our job files as long as nothing is in them that it does not
 * know, so what says no more than its absence is left out. */
static bool is_default(const char *id, const struct op_param *p,
		       const json_t *own)
{
	struct error ignored;
	auto_json json_t *absent = check_param(id, p, NULL, &ignored);

	return absent != NULL && json_equal(absent, own);
}

static int check_params(const char *id, const struct op_param *params,
			const json_t *value, json_t *result, size_t *known,
			struct error *err)
{
	for (const struct op_param *p = params; p->name != NULL; p++) {
		const json_t *given = json_object_get(value, p->name);
		json_t *own;

		*known += given != NULL;
		if (given == NULL && p->need == ADDED)
			continue;
		own = check_param(id, p, given, err);
		if (own == NULL)
			return -1;
		if (p->need == ADDED && is_default(id, p, own))
			json_decref(own);
		else
			json_object_set_new(result, p->name, own);
	}
	return 0;
}

static const struct op_class *class_of(const json_t *value, struct error *err)
{
	const char *id = json_str(value, "OP_ID", NULL);
	const struct op_class *class;

	if (!json_is_object(value) || id == NULL) {
		error_set(err, ERR_OPCODE, NULL,
			  "An opcode has to be a dictionary with its class in "
			  "'OP_ID'");
		return NULL;
	}
	class = op_class_find(id);
	if (class == NULL)
		error_set(err, ERR_OPCODE, NULL, "Unknown opcode %.100s", id);
	return class;
}

static json_t *refuse_unknown(const char *id, const json_t *value,
			      const json_t *known, struct error *err)
{
	const char *key;
	json_t *item;

	json_object_foreach (json_unconst(value), key, item) {
		if (json_object_get(known, key) != NULL)
			continue;
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "%s has no parameter '%.100s'", id, key);
		return NULL;
	}
	assert(!"every parameter is known");
	return NULL;
}

json_t *op_check(const json_t *value, struct error *err)
{
	const struct op_class *class = class_of(value, err);
	auto_json json_t *result = json_object();
	size_t known = 1; /* OP_ID */

	if (class == NULL)
		return NULL;
	if (check_params(class->id, class->params, value, result, &known, err) <
		    0 ||
	    check_params(class->id, common_params, value, result, &known, err) <
		    0)
		return NULL;
	json_object_set_new(result, "OP_ID", json_string(class->id));
	if (known != json_object_size(value))
		return refuse_unknown(class->id, value, result, err);
	return steal(&result);
}

json_t *op_new(const struct op_class *class)
{
	json_t *result = json_object();

	for (const struct op_param *p = class->params; p->name != NULL; p++)
		if (p->need != ADDED)
			json_object_set_new(result, p->name, default_value(p));
	for (const struct op_param *p = common_params; p->name != NULL; p++)
		if (p->need != ADDED)
			json_object_set_new(result, p->name, default_value(p));
	json_object_set_new(result, "OP_ID", json_string(class->id));
	return result;
}

bool op_has_param(const struct op_class *class, const char *name)
{
	for (const struct op_param *p = class->params; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return true;
	return false;
}

bool op_is_common(const char *name)
{
	for (const struct op_param *p = common_params; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return true;
	return false;
}

/* --- the schema --- */

static const char *const schema_types[] = {
	[TYPE_string] = "string", [TYPE_flag] = "boolean",
	[TYPE_tri] = "boolean",	  [TYPE_number] = "integer",
	[TYPE_real] = "number",	  [TYPE_json] = NULL, /* any */
};

static json_t *words_of(const struct op_param *param)
{
	json_t *list = json_array();

	for (size_t i = 0; param->rule->words[i] != NULL; i++)
		json_array_append_new(list, json_string(param->rule->words[i]));
	if (param->need != REQUIRED)
		json_array_append_new(list, json_null());
	return list;
}

static json_t *param_schema(const struct op_param *param)
{
	const char *type = schema_types[param->type];
	json_t *result = json_object();
	auto_json json_t *def = default_value(param);

	if (type != NULL && param->need == REQUIRED)
		json_set_str(result, "type", type);
	else if (type != NULL)
		json_object_set_new(result, "type",
				    json_make("[s, s]", type, "null"));
	if (type != NULL && param->rule->words != NULL)
		json_object_set_new(result, "enum", words_of(param));
	if (!json_is_null(def))
		json_object_set(result, "default", def);
	return result;
}

static void add_schemas(const struct op_param *params, json_t *properties,
			json_t *required)
{
	for (const struct op_param *p = params; p->name != NULL; p++) {
		json_object_set_new(properties, p->name, param_schema(p));
		if (p->need == REQUIRED)
			json_array_append_new(required, json_string(p->name));
	}
}

json_t *op_schema(const struct op_class *class)
{
	json_t *properties = json_object(), *required = json_array();

	add_schemas(class->params, properties, required);
	add_schemas(common_params, properties, required);
	return json_make("{s:s, s:o, s:o, s:b}", "type", "object", "properties",
			 properties, "required", required,
			 "additionalProperties", 0);
}

/* --- parsing --- */

static void parse_value(const struct op_param *param, const json_t *value,
			char *field)
{
	switch (param->type) {
	case TYPE_string:
		*(op_string *)field = json_string_value(value);
		break;
	case TYPE_flag:
		*(op_flag *)field = json_is_true(value);
		break;
	case TYPE_tri:
		*(op_tri *)field =
			json_is_boolean(value) ? json_is_true(value) : -1;
		break;
	case TYPE_number:
		*(op_number *)field = json_is_integer(value)
					      ? json_integer_value(value)
					      : OP_UNSET;
		break;
	case TYPE_real:
		*(op_real *)field =
			json_is_number(value) ? json_number_value(value) : NAN;
		break;
	case TYPE_json:
		*(op_json *)field = json_is_null(value) ? NULL : value;
		break;
	}
}

void op_parse(const struct op_class *class, const json_t *value, void *op)
{
	memset(op, 0, class->size);
	for (const struct op_param *p = class->params; p->name != NULL; p++) {
		const json_t *own = json_object_get(value, p->name);
		auto_json json_t *def = NULL;

		/* A parameter that was left out: added by 3.1, and never a list
		 * or an object. */
		if (own == NULL && p->type != TYPE_json &&
		    p->type != TYPE_string)
			own = def = default_value(p);
		parse_value(p, own, (char *)op + p->offset);
	}
}

void op_parse_common(const json_t *value, struct op_common *ret)
{
	*ret = (struct op_common){
		.dry_run = json_bool(value, "dry_run", false),
		.debug_level = json_int(value, "debug_level", 0),
		.priority = json_int(value, "priority", 0),
		.depends = json_get(value, "depends"),
		.comment = json_str(value, "comment", NULL),
		.reason = json_get(value, "reason"),
		.lock_timeout_s = json_int(value, "lock_timeout", 0),
	};
}

/* --- the summary --- */

/* A number as Haskell shows a Double: with the fewest digits that read back as
 * the same number, d.d from 0.1 up to 10^7, else d.de<exponent>. */
static char *double_text(double value)
{
	char digits[40];
	auto_free char *plain = NULL;
	char *mark;
	int exponent;

	for (int n = 0; n < DOUBLE_DIGITS; n++) {
		snprintf(digits, sizeof(digits), "%.*e", n, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	mark = strchr(digits, 'e');
	if (mark == NULL)
		return xstrdup(digits); /* inf, nan */
	exponent = atoi(mark + 1);
	if (value == 0 || (exponent >= -1 && exponent < 7)) {
		int places = (int)(mark - digits) - 2 - (value < 0) - exponent;

		return xprintf("%.*f", places < 1 ? 1 : places, value);
	}
	*mark = '\0';
	return xprintf("%s%se%d", digits,
		       strchr(digits, '.') == NULL ? ".0" : "", exponent);
}

static bool is_real_param(const struct op_class *class, const char *name)
{
	for (const struct op_param *p = class->params; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return p->type == TYPE_real;
	return false;
}

static char *summary_value(const json_t *value, bool real)
{
	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	if (json_is_real(value) || (real && json_is_integer(value)))
		return double_text(json_number_value(value));
	if (value == NULL || json_is_null(value))
		return xstrdup("None");
	return json_text(value);
}

char *op_summary(const json_t *value)
{
	const char *id = json_str(value, "OP_ID", "");
	const struct op_class *class = op_class_find(id);
	auto_free char *shown = NULL;

	if (str_starts(id, ID_PREFIX))
		id += strlen(ID_PREFIX);
	if (class == NULL || class->summary_field == NULL)
		return xstrdup(id);
	shown = summary_value(json_object_get(value, class->summary_field),
			      is_real_param(class, class->summary_field));
	return xprintf("%s(%s)", id, shown);
}
