/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the body of a request is not simply a dictionary of the opcode's
 * parameters: old forms that clients still use, and checks of the form. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/fill.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"

#define VERSION_KEY "__version__"

static json_t *refuse(struct error *err, const char *text)
{
	error_set(err, ERR_PREREQ, ECODE_INVAL, "%s", text);
	return NULL;
}

/* --- nodes --- */

/* The body is the role alone; what a role says nothing about is null. */
json_t *input_node_role(struct request *q, struct error *err)
{
	static const struct {
		const char *role, *params;
	} roles[] = {
		{"regular", "{\"master_candidate\": false, \"offline\": false, "
			    "\"drained\": false}"},
		{"master-candidate", "{\"master_candidate\": true}"},
		{"drained", "{\"drained\": true}"},
		{"offline", "{\"offline\": true}"},
	};
	const char *role = json_string_value(q->body);

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		if (str_eq(role, roles[i].role))
			return json_parse(roles[i].params,
					  strlen(roles[i].params), err);
	if (role == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Body contents: Type is '%s', but 'str' is expected",
			  request_type_name(q->body));
	else
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Can't set '%.40s' role", role);
	return NULL;
}

/* In the old form the mode is an argument, and there is no body.  Ganeti takes
 * each argument for the old form and then drops the body, also where its own
 * client sends a reason or dry-run beside it. */
json_t *input_node_migrate(struct request *q, struct error *err)
{
	const char *mode = args_get(&q->args, "mode");
	const bool has_live = args_get(&q->args, "live") != NULL;
	int64_t live;

	if (mode == NULL && !has_live && q->body != NULL)
		return json_copy(q->body);
	if (q->args.names.n == 0)
		return json_object();
	if (!has_live)
		return json_make("{s:o}", "mode",
				 mode == NULL ? json_null()
					      : json_string(mode));
	if (mode != NULL)
		return refuse(err,
			      "Only one of 'live' and 'mode' should be passed");
	if (args_int(&q->args, "live", 1, &live, err) < 0)
		return NULL;
	return json_make("{s:s}", "mode", live != 0 ? "live" : "non-live");
}

json_t *input_storage_changes(struct request *q, struct error *err)
{
	bool allocatable;

	if (args_get(&q->args, "allocatable") == NULL)
		return json_make("{s:{}}", "changes");
	if (args_flag(&q->args, "allocatable", &allocatable, err) < 0)
		return NULL;
	return json_make("{s:{s:b}}", "changes", "allocatable",
			 (int)allocatable);
}

/* --- instances --- */

/* A list of devices may have blanks between its members; the parameter has
 * commas. */
static json_t *with_commas(const json_t *body)
{
	json_t *result = json_copy(json_unconst(body));
	json_t *hvparams = json_object_get(result, "hvparams");
	const char *devices = json_str(hvparams, "usb_devices", NULL);
	auto_free char *text = devices == NULL ? NULL : xstrdup(devices);

	if (text == NULL)
		return result;
	for (char *c = text; *c != '\0'; c++)
		if (*c == ' ')
			*c = ',';
	hvparams = json_copy(hvparams);
	json_set_str(hvparams, "usb_devices", text);
	json_object_set_new(result, "hvparams", hvparams);
	return result;
}

json_t *input_usb_devices(struct request *q, struct error *err)
{
	(void)err;
	return with_commas(q->body);
}

json_t *input_instance_create(struct request *q, struct error *err)
{
	const json_t *version;
	json_t *params;

	if (request_check_dict(q->body, "Body contents", err) < 0)
		return NULL;
	version = json_object_get(q->body, VERSION_KEY);
	if (version == NULL ||
	    (json_is_integer(version) && json_integer_value(version) == 0))
		return refuse(err, "Instance creation request version 0 is no "
				   "longer supported");
	if (!json_is_integer(version) || json_integer_value(version) != 1) {
		auto_free char *shown = json_text(version);

		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Unsupported request data version %.40s", shown);
		return NULL;
	}
	params = with_commas(q->body);
	json_object_del(params, VERSION_KEY);
	return params;
}

json_t *input_multi_alloc(struct request *q, struct error *err)
{
	auto_json json_t *none = json_object();
	auto_json json_t *ops = json_array();
	const json_t *instances = json_object_get(q->body, "instances");
	json_t *params, *one;
	size_t i;

	if (q->body != NULL &&
	    request_check_dict(q->body, "Body contents", err) < 0)
		return NULL;
	if (instances == NULL)
		return refuse(err, "Request is missing required 'instances' "
				   "field in body");
	if (!json_is_array(instances))
		return refuse(err, "'instances' has to be a list");
	json_array_foreach (instances, i, one) {
		json_t *op = fill_opcode(&op_class_instance_create, q->route,
					 one, none, err);

		if (op == NULL)
			return NULL;
		json_array_append_new(ops, op);
	}
	params = json_copy(q->body);
	json_object_set(params, "instances", ops);
	return params;
}

/* "0,1" or [0, 1]; nothing and null mean all. */
static int take_disks(json_t *params, const json_t *disks, struct error *err)
{
	auto_strv struct strv parts = {0};
	json_t *list;

	json_object_del(params, "disks");
	if (json_is_array(disks) && json_array_size(disks) > 0)
		json_object_set_new(params, "disks", json_ref(disks));
	if (!json_is_string(disks) || str_empty(json_string_value(disks)))
		return 0;
	str_split(&parts, json_string_value(disks), ',');
	list = json_array();
	json_object_set_new(params, "disks", list);
	for (size_t i = 0; i < parts.n; i++) {
		int64_t number;

		if (!str_to_int64(parts.items[i], &number))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Invalid disk index passed: '%.40s' "
					 "is no number",
					 parts.items[i]);
		json_array_append_new(list, json_integer(number));
	}
	return 0;
}

/* Without a body all may stand in arguments. */
static json_t *replace_params(struct request *q)
{
	static const char *const names[] = {"remote_node", "mode", "disks",
					    "iallocator"};
	json_t *params;

	if (q->body != NULL)
		return json_copy(q->body);
	params = json_object();
	if (q->args.names.n > 0)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			json_set_str(params, names[i],
				     args_get(&q->args, names[i]));
	return params;
}

json_t *input_replace_disks(struct request *q, struct error *err)
{
	auto_json json_t *params = replace_params(q);
	auto_json json_t *disks = json_incref(json_object_get(params, "disks"));

	if (request_check_dict(params, "Body contents", err) < 0 ||
	    take_disks(params, disks, err) < 0)
		return NULL;
	return steal(&params);
}
