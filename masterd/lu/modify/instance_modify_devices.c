/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: what disks and network interfaces have in common:
 * how changes are written, which device is meant, names, and devices that come
 * and go while the instance runs. */
#include <string.h>
#include <strings.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/modify/instance_modify.h"
#include "masterd/lu/parts/lu_instance.h"

/* --- what was asked for --- */

/* [action or index, {}] is the form before Ganeti 2.7. */
static json_t *old_change(const json_t *one)
{
	json_t *first = json_array_get(one, 0);
	json_t *params = json_array_get(one, 1);
	const char *action = json_string_value(first);

	if (action == NULL || strcmp(action, "modify") == 0)
		return json_make("[s, O, O]", "modify", first, params);
	return json_make("[s, i, O]", action, -1, params);
}

static bool is_old(const json_t *changes)
{
	return json_array_size(json_array_get(changes, 0)) == 2;
}

static int check_change(const char *what, const json_t *change,
			struct error *err)
{
	const char *action = json_string_value(json_array_get(change, 0));

	if (json_array_size(change) != 3)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Changes of %ss are either all old (action "
				 "and parameters) or all new",
				 what);
	if ((strcmp(action, "remove") == 0 || strcmp(action, "detach") == 0) &&
	    json_object_size(json_array_get(change, 2)) > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No settings should be passed when removing "
				 "or detaching a %s",
				 what);
	return 0;
}

json_t *modify_changes(const char *what, const json_t *given, struct error *err)
{
	auto_json json_t *list = json_array();
	size_t n_once = 0;

	for (size_t i = 0; i < json_array_size(given); i++) {
		json_t *one = json_array_get(given, i);

		if (!is_old(given) || json_array_size(one) != 2) {
			json_array_append(list, one);
		} else {
			json_array_append_new(list, old_change(one));
			n_once += json_is_string(json_array_get(one, 0));
		}
		if (check_change(what, json_array_get(list, i), err) < 0)
			return NULL;
	}
	if (n_once <= 1)
		return steal(&list);
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "Only one %s add/attach/remove/detach operation is supported "
		  "at a time",
		  what);
	return NULL;
}

/* --- which device --- */

static int64_t index_of(const json_t *list, const char *text)
{
	int64_t number;
	size_t i;
	json_t *device;

	if (str_to_int64(text, &number))
		return number;
	json_array_foreach (list, i, device)
		if (str_eq(json_str(device, "uuid", NULL), text) ||
		    str_eq(json_str(device, "name", NULL), text))
			return (int64_t)i;
	return -2;
}

int modify_find(const json_t *list, const char *what, const char *action,
		const json_t *ident, size_t *ret, struct error *err)
{
	bool comes =
		strcmp(action, "add") == 0 || strcmp(action, "attach") == 0;
	int64_t last = (int64_t)json_array_size(list) - (comes ? 0 : 1);
	const char *text = json_string_value(ident);
	int64_t i =
		text == NULL ? json_integer_value(ident) : index_of(list, text);

	if (i == -1)
		i = last;
	if (i >= 0 && i <= last) {
		*ret = (size_t)i;
		return 0;
	}
	if (text != NULL && i == -2)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "Cannot find %s with identifier %s", what,
				 text);
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "There is no %s %jd to %s, the last is %jd", what,
			 (intmax_t)i, action, (intmax_t)last);
}

/* --- names --- */

static bool is_used(const json_t *devices, size_t end, const char *name)
{
	for (size_t i = 0; i < end; i++) {
		const json_t *other = json_array_get(devices, i);

		if (str_eq(json_str(other, "name", NULL), name) ||
		    str_eq(json_str(other, "uuid", NULL), name))
			return true;
	}
	return false;
}

int modify_check_names(const char *what, const json_t *devices,
		       struct error *err)
{
	for (size_t i = 0; i < json_array_size(devices); i++) {
		const char *name =
			json_str(json_array_get(devices, i), "name", NULL);
		int64_t number;

		if (name == NULL)
			continue;
		if (str_to_int64(name, &number))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Invalid name '%s'. Purely numeric %s "
					 "names are not allowed",
					 name, what);
		if (is_used(devices, i, name))
			return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
					 "%s name '%s' already used", what,
					 name);
	}
	return 0;
}

/* --- steps --- */

json_t *modify_step(json_t *steps, const char *action, size_t index,
		    const json_t *device)
{
	json_t *step =
		json_make("{s:s, s:I, s:O, s:[]}", "action", action, "index",
			  (json_int_t)index, "device", device, "rows");

	json_array_append_new(steps, step);
	return json_object_get(step, "rows");
}

void modify_step_rows(const json_t *steps, json_t *ret_rows)
{
	for (size_t i = 0; i < json_array_size(steps); i++)
		json_array_extend(
			ret_rows,
			json_object_get(json_array_get(steps, i), "rows"));
}

/* --- hotplug --- */

WAITS int modify_check_hotplug(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_json json_t *supported = NULL;

	if (!op->hotplug && !op->hotplug_if_possible)
		return 0;
	supported = lu_call(
		lu, inst_primary_node(m->inst),
		rpc_hotplug_supported(inst_rpc(lu, m->inst, NULL, NULL)), err);
	m->hotplug = supported != NULL;
	if (m->hotplug || lu->run->killed)
		return m->hotplug ? 0 : -1;
	if (op->hotplug) {
		error_as(err, ERR_PREREQ, ECODE_STATE);
		return error_wrap(err, "Hotplug is not possible");
	}
	lu_warn(lu, "%s", err->text);
	lu_info(lu, "Modification will take place without hotplugging.");
	return 0;
}

WAITS bool modify_plug(struct lu *lu, const char *action, const char *kind,
		       const json_t *device, const json_t *extra, size_t index)
{
	const json_t *inst = modify_of(lu)->inst;
	json_t *sent = str_eq(kind, "nic") ? inst_rpc_nic(lu, device)
					   : json_ref(device);
	auto_json json_t *done = NULL;
	struct error err;

	lu_info(lu, "Trying to hotplug device...");
	done = lu_call(lu, inst_primary_node(inst),
		       rpc_hotplug_device(inst_rpc(lu, inst, NULL, NULL),
					  action, kind, sent, json_ref(extra),
					  index),
		       &err);
	if (done == NULL)
		lu_warn(lu, "Could not hotplug device: %s", err.text);
	else
		lu_info(lu, "Hotplug done.");
	return done != NULL;
}

const char *modify_plugged(bool done)
{
	return done ? "hotplug:done" : "hotplug:failed";
}
