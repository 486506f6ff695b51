/* SPDX-License-Identifier: BSD-2-Clause */
/* The master checks every opcode again.  It is checked here as well, since a
 * client of Ganeti's expects the status 400 for what could never be a job. */
#include "rapi/frame/fill.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/request.h"
#include "rapi/frame/route.h"

#define REASON_USER "gnt:user"
#define REASON_HERE "gnt:library:rlib2:"

/* --- what the route sets --- */

static int set_text(struct request *q, const struct route_set *set,
		    json_t *result, struct error *err)
{
	const char *text = args_get(&q->args, set->arg) ?: set->def;

	if (text == NULL && set->needed)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Missing the required '%s' parameter",
				 set->arg);
	if (text == NULL || set->from == SOURCE_TEXT) {
		json_set_str(result, set->param, text);
		return 0;
	}
	auto_strv struct strv words = {0};

	str_split(&words, text, ',');
	json_object_set_new(result, set->param, json_from_strv(&words));
	return 0;
}

static int set_flag(struct request *q, const struct route_set *set,
		    json_t *result, struct error *err)
{
	bool value;

	if (args_flag(&q->args, set->arg, &value, err) < 0)
		return -1;
	json_set_bool(result, set->param, value);
	return 0;
}

static int set_disk(const char *item, const struct route_set *set,
		    json_t *result, struct error *err)
{
	int64_t number;

	if (!str_to_int64(item, &number))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%.40s is no number of a disk", item);
	json_set_int(result, set->param, number);
	return 0;
}

static int set_one(struct request *q, const struct route_set *set,
		   json_t *result, struct error *err)
{
	const char *item = q->items.n > (size_t)set->index
				   ? q->items.items[set->index]
				   : NULL;
	auto_strv struct strv all = {0};

	switch (set->from) {
	case SOURCE_ITEM:
		json_set_str(result, set->param, item);
		return 0;
	case SOURCE_ITEM_LIST:
		json_object_set_new(result, set->param, json_make("[s]", item));
		return 0;
	case SOURCE_DISK:
		return set_disk(item, set, result, err);
	case SOURCE_FLAG:
		return set_flag(q, set, result, err);
	case SOURCE_TEXT:
	case SOURCE_WORDS:
		return set_text(q, set, result, err);
	case SOURCE_EVERY:
		args_all(&q->args, set->arg, &all);
		json_object_set_new(result, set->param, json_from_strv(&all));
		return 0;
	case SOURCE_JSON:
		json_object_set_new(
			result, set->param,
			json_parse(set->arg, strlen(set->arg), err));
		return 0;
	}
	return 0;
}

static json_t *reason_of(const struct request *q)
{
	auto_free char *here = xprintf("%s%s", REASON_HERE, q->route->name);
	const json_int_t now = clock_wall_us() * 1000;
	const char *words = args_get(&q->args, "reason");
	json_t *reason = json_array();

	if (words != NULL)
		json_array_append_new(
			reason,
			json_make("[s, s, I]", REASON_USER, words, now));
	json_array_append_new(reason, json_make("[s, s, I]", here, "", now));
	return reason;
}

/* Ganeti's server knows dry runs of some requests only, though its client sends
 * them with more, and does what should have been tried. */
static int add_dry_run(const struct request *q, json_t *op, struct error *err)
{
	bool dry_run;

	if (args_flag(&q->args, "dry-run", &dry_run, err) < 0)
		return -1;
	if (dry_run)
		json_set_bool(op, "dry_run", true);
	return 0;
}

json_t *fill_set(struct request *q, struct error *err)
{
	auto_json json_t *result = json_object();
	const struct route_set *set = q->route->sets;

	json_object_set_new(result, "reason", reason_of(q));
	for (size_t i = 0; i < ROUTE_SETS_MAX && set[i].param != NULL; i++)
		if (set_one(q, &set[i], result, err) < 0)
			return NULL;
	return add_dry_run(q, result, err) < 0 ? NULL : steal(&result);
}

void fill_each(json_t *ops, const json_t *set)
{
	size_t i;
	json_t *op;

	json_array_foreach (ops, i, op)
		json_object_update(op, json_unconst(set));
}

/* --- the opcode --- */

/* Old names of parameters become those of today. */
static int rename_params(const struct route *route, json_t *params,
			 struct error *err)
{
	for (size_t i = 0; i < ROUTE_RENAMES_MAX; i++) {
		const char *from = route->renames[i].from;
		const char *to = route->renames[i].to;
		json_t *value =
			from == NULL ? NULL : json_object_get(params, from);

		if (value == NULL)
			continue;
		if (json_object_get(params, to) != NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Parameter '%s' was renamed to '%s', "
					 "but both are specified",
					 from, to);
		json_object_set(params, to, value);
		json_object_del(params, from);
	}
	return 0;
}

static int add_set(json_t *params, const json_t *set, struct error *err)
{
	auto_strv struct strv both = {0};
	auto_free char *list = NULL;
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(set), key, value)
		if (json_object_get(params, key) != NULL)
			strv_addf(&both, "'%s'", key);
	if (both.n == 0) {
		json_object_update(params, json_unconst(set));
		return 0;
	}
	list = strv_join(&both, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Can't overwrite static parameters {%s}", list);
}

/* "OpInstanceCreate" of OP_INSTANCE_CREATE, to be freed. */
static char *class_name(const char *id)
{
	struct buf name = {0};
	bool first = true;

	for (; *id != '\0'; id++) {
		if (*id == '_') {
			first = true;
			continue;
		}
		buf_addc(&name,
			 first ? *id : (char)tolower((unsigned char)*id));
		first = false;
	}
	return buf_steal(&name);
}

static int check_names(const struct op_class *class, const json_t *params,
		       struct error *err)
{
	auto_free char *name = class_name(class->id);
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(params), key, value)
		if (!op_has_param(class, key) && !op_is_common(key))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Invalid body parameters: Object %s "
					 "doesn't support the parameter "
					 "'%.100s'",
					 name, key);
	return 0;
}

json_t *fill_opcode(const struct op_class *class, const struct route *route,
		    const json_t *params, const json_t *set, struct error *err)
{
	auto_json json_t *op = json_object(), *checked = NULL;

	if (params != NULL &&
	    request_check_dict(params, "Body contents", err) < 0)
		return NULL;
	if (params != NULL)
		json_object_update(op, json_unconst(params));
	if (rename_params(route, op, err) < 0 || add_set(op, set, err) < 0 ||
	    check_names(class, op, err) < 0)
		return NULL;
	json_set_str(op, "OP_ID", class->id);
	checked = op_check(op, err);
	if (checked == NULL) {
		error_wrap_as(err, ERR_PREREQ, "Invalid body parameters");
		return NULL;
	}
	return steal(&op);
}
