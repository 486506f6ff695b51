/* SPDX-License-Identifier: BSD-2-Clause */
/* Each kind of thing has a function that adds its changes, and what they need
 * to one of three opcodes' parameters; the opcodes are put together at the
 * end. */
#include "rapi/wanted/wanted.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "lib/model/params/params.h"
#include "rapi/frame/request.h"
#include "rapi/wanted/wanted_private.h"

const char *const wanted_fields[] = {"name",
				     "admin_state",
				     "oper_state",
				     "os",
				     "hypervisor",
				     "disk_template",
				     "beparams",
				     "hvparams",
				     "osparams",
				     "custom_beparams",
				     "custom_hvparams",
				     "custom_osparams",
				     "tags",
				     "disk.sizes",
				     "disk.names",
				     "nic.macs",
				     "nic.ips",
				     "nic.modes",
				     "nic.links",
				     "nic.networks.names",
				     "nic.names",
				     "nic.networks",
				     NULL};

/* --- as it is --- */

/* From lists of one member each to a list of objects. */
static json_t *objects_of(const json_t *now, const char *const *pairs)
{
	json_t *list = json_array();
	size_t n = json_array_size(json_object_get(now, pairs[0]));

	for (size_t i = 0; i < n; i++) {
		json_t *one = json_object();

		for (size_t k = 0; pairs[k] != NULL; k += 2)
			json_object_set_new(
				one, pairs[k + 1],
				json_ref(json_array_get(
					json_object_get(now, pairs[k]), i))
					?: json_null());
		json_array_append_new(list, one);
	}
	return list;
}

static const char *state_of(const json_t *now)
{
	const char *admin = json_str(now, "admin_state", "");
	const json_t *oper = json_object_get(now, "oper_state");
	bool runs = json_is_boolean(oper) ? json_is_true(oper)
					  : str_eq(admin, "up");

	if (str_eq(admin, "offline"))
		return "offline";
	/* Half of each is neither: something has to be done. */
	if (runs != str_eq(admin, "up"))
		return runs ? "running although it should not"
			    : "stopped although it should run";
	return runs ? "running" : "stopped";
}

json_t *wanted_now(const json_t *row)
{
	static const char *const disks[] = {"disk.sizes", "size", "disk.names",
					    "name", NULL};
	static const char *const nics[] = {
		"nic.macs",	      "mac",	      "nic.ips",   "ip",
		"nic.modes",	      "mode",	      "nic.links", "link",
		"nic.networks.names", "network",      "nic.names", "name",
		"nic.networks",	      "network_uuid", NULL};
	json_t *now = json_object();

	for (size_t i = 0; wanted_fields[i] != NULL; i++)
		json_object_set_new(now, wanted_fields[i],
				    json_ref(json_array_get(row, i))
					    ?: json_null());
	json_object_set_new(now, "disks", objects_of(now, disks));
	json_object_set_new(now, "nics", objects_of(now, nics));
	json_set_str(now, "state", state_of(now));
	return now;
}

/* --- what differs --- */

void wanted_note(struct wanted *w, const char *what, const json_t *from,
		 const json_t *to)
{
	json_array_append_new(w->changes,
			      json_make("{s:s, s:o, s:o}", "what", what, "from",
					json_ref(from) ?: json_null(), "to",
					json_ref(to) ?: json_null()));
}

/* "2", as many write it, is 2 where there is a number, and "true" is true. */
bool wanted_same(const json_t *is, const json_t *value)
{
	const char *text = json_string_value(value);
	auto_free char *lower = text == NULL ? NULL : str_lower(text);
	int64_t number;

	if (json_is_integer(is) && text != NULL)
		return str_to_int64(text, &number) &&
		       number == json_integer_value(is);
	if (json_is_boolean(is) && text != NULL)
		return str_eq(lower, json_is_true(is) ? "true" : "false");
	return json_same(is, value);
}

/* Parameters of which each is compared by itself.  "default" takes one back. */
static void compare_params(struct work *x, const char *kind)
{
	auto_free char *custom = xprintf("custom_%s", kind);
	const json_t *wanted = json_object_get(x->body, kind);
	const json_t *now = json_object_get(x->now, kind);
	const json_t *own = json_object_get(x->now, custom);
	json_t *set = json_object();
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(wanted), key, value) {
		auto_free char *what = xprintf("%s/%s", kind, key);
		const json_t *is = json_object_get(now, key);
		bool back = json_is_string(value) &&
			    str_eq(json_string_value(value), "default");

		if (back ? json_object_get(own, key) == NULL
			 : is != NULL && wanted_same(is, value))
			continue;
		wanted_note(x->w, what, is, value);
		json_object_set(set, key, value);
	}
	if (json_object_size(set) > 0)
		json_object_set(x->params, kind, set);
	json_decref(set);
}

static int compare_word(struct work *x, const char *member, const char *param,
			struct error *err)
{
	const char *wanted = json_str(x->body, member, NULL);
	const char *is = json_str(x->now, member, NULL);

	if (wanted == NULL || str_eq(wanted, is))
		return 0;
	if (param == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The %s of an instance cannot be changed "
				 "(it is %s)",
				 member, is == NULL ? "none" : is);
	wanted_note(x->w, member, json_object_get(x->now, member),
		    json_object_get(x->body, member));
	json_set_str(x->params, param, wanted);
	return 0;
}

static json_t *tags_missing(const json_t *in, const json_t *of)
{
	json_t *list = json_array();
	size_t i;
	json_t *tag;

	json_array_foreach (of, i, tag)
		if (!json_array_has_str(in, json_string_value(tag)))
			json_array_append(list, tag);
	return list;
}

static void change_tags(struct work *x, const char *id, const char *what,
			json_t *tags STEALS, bool comes)
{
	if (json_array_size(tags) > 0) {
		wanted_note(x->w, what, comes ? NULL : tags,
			    comes ? tags : NULL);
		json_array_append_new(x->after,
				      json_make("{s:s, s:s, s:s, s:O}", "OP_ID",
						id, "kind", "instance", "name",
						x->name, "tags", tags));
	}
	json_decref(tags);
}

static void compare_tags(struct work *x)
{
	const json_t *wanted = json_object_get(x->body, "tags");
	const json_t *is = json_object_get(x->now, "tags");

	if (wanted == NULL)
		return;
	change_tags(x, "OP_TAGS_SET", "tags", tags_missing(is, wanted), true);
	change_tags(x, "OP_TAGS_DEL", "tags", tags_missing(wanted, is), false);
}

/* --- its state --- */

static json_t *plain_op(const struct work *x, const char *id)
{
	return json_make("{s:s, s:s}", "OP_ID", id, "instance_name", x->name);
}

static void compare_state(struct work *x)
{
	const char *wanted = json_str(x->body, "state", "present");
	const char *is = json_str(x->now, "state", "");
	bool offline = str_eq(wanted, "offline");

	if (str_eq(wanted, "present") || str_eq(wanted, is))
		return;
	wanted_note(x->w, "state", json_object_get(x->now, "state"),
		    json_object_get(x->body, "state"));
	if (str_eq(wanted, "running")) {
		if (str_eq(is, "offline"))
			json_set_bool(x->params, "offline", false);
		json_array_append_new(x->after,
				      plain_op(x, "OP_INSTANCE_STARTUP"));
		return;
	}
	if (str_eq(is, "offline"))
		json_set_bool(x->params, "offline", false);
	else if (!str_eq(is, "stopped"))
		json_array_append_new(x->before,
				      plain_op(x, "OP_INSTANCE_SHUTDOWN"));
	if (offline)
		json_set_bool(x->params, "offline", true);
}

/* --- all of one that is there --- */

static void put_together(struct work *x)
{
	json_array_extend(x->w->ops, x->before);
	if (json_object_size(x->params) > 0) {
		json_t *op = plain_op(x, "OP_INSTANCE_SET_PARAMS");

		json_set_bool(op, "hotplug_if_possible", true);
		json_object_update(op, x->params);
		json_array_append_new(x->w->ops, op);
	}
	json_array_extend(x->w->ops, x->after);
}

static int compare_all(struct work *x, struct error *err)
{
	if (compare_word(x, "hypervisor", NULL, err) < 0 ||
	    compare_word(x, "os", "os_name", err) < 0 ||
	    compare_word(x, "disk_template", "disk_template", err) < 0 ||
	    wanted_devices(x, err) < 0)
		return -1;
	compare_params(x, "beparams");
	compare_params(x, "hvparams");
	compare_params(x, "osparams");
	compare_tags(x);
	compare_state(x);
	put_together(x);
	return 0;
}

static int change(const char *name, const json_t *now, const json_t *body,
		  struct wanted *ret, struct error *err)
{
	auto_json json_t *before = json_array(), *after = json_array();
	auto_json json_t *params = json_object();
	struct work x = {.name = json_str(now, "name", name),
			 .now = now,
			 .body = body,
			 .w = ret,
			 .before = before,
			 .params = params,
			 .after = after};

	if (!str_eq(json_str(body, "state", NULL), "absent"))
		return compare_all(&x, err);
	wanted_note(ret, "state", json_object_get(now, "state"),
		    json_object_get(body, "state"));
	json_array_append_new(ret->ops, plain_op(&x, "OP_INSTANCE_REMOVE"));
	json_set_bool(json_array_get(ret->ops, 0), "ignore_failures", false);
	return 0;
}

/* --- a new one --- */

/* What nothing is installed on is not started by its creation. */
static void create(const char *name, const json_t *body, struct wanted *ret)
{
	const char *state = json_str(body, "state", "running");
	bool runs = str_eq(state, "running") || str_eq(state, "present");
	bool bare = json_bool(body, "no_install", false);
	json_t *op =
		json_make("{s:s, s:s, s:s, s:b, s:b}", "OP_ID",
			  "OP_INSTANCE_CREATE", "instance_name", name, "mode",
			  "create", "ip_check", 0, "name_check", 0);

	json_object_update(op, json_unconst(body));
	json_object_del(op, "state");
	json_object_del(op, "remove");
	if (json_object_get(op, "os") != NULL)
		json_object_set(op, "os_type", json_object_get(op, "os"));
	json_object_del(op, "os");
	json_set_bool(op, "start", runs && !bare);
	json_array_append_new(ret->ops, op);
	if (runs && bare)
		json_array_append_new(ret->ops,
				      json_make("{s:s, s:s}", "OP_ID",
						"OP_INSTANCE_STARTUP",
						"instance_name", name));
	if (str_eq(state, "offline"))
		json_array_append_new(ret->ops,
				      json_make("{s:s, s:s, s:b}", "OP_ID",
						"OP_INSTANCE_SET_PARAMS",
						"instance_name", name,
						"offline", 1));
	json_array_append_new(ret->changes,
			      json_make("{s:s, s:s, s:s}", "what", "state",
					"from", "absent", "to", state));
}

int wanted_compare(const char *name, const json_t *now, const json_t *body,
		   struct wanted *ret, struct error *err)
{
	auto_json json_t *plain = wanted_plain(body, err);

	if (plain == NULL)
		return -1;
	if (now != NULL)
		return change(name, now, plain, ret, err);
	if (!str_eq(json_str(plain, "state", NULL), "absent"))
		create(name, plain, ret);
	return 0;
}
