/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes and reads the arguments of node calls, by the lines of noderpcs.def. */
#include "lib/model/rpc/rpc.h"

#include <assert.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* One of each kind appends an argument. */
static void add_ANY(json_t *args, json_t *value)
{
	json_array_append_new(args, value == NULL ? json_null() : value);
}

static void add_STR(json_t *args, const char *text)
{
	assert(text != NULL);
	json_array_append_new(args, json_string(text));
}

static void add_OR_NULL_STR(json_t *args, const char *text)
{
	add_ANY(args, text == NULL ? NULL : json_string(text));
}

static void add_BOOL(json_t *args, bool value)
{
	json_array_append_new(args, json_boolean(value));
}

static void add_INT(json_t *args, int64_t value)
{
	json_array_append_new(args, json_integer(value));
}

static void add_NUM(json_t *args, double value)
{
	json_array_append_new(args, json_real(value));
}

static void add_LIST(json_t *args, json_t *value)
{
	assert(json_is_array(value));
	json_array_append_new(args, value);
}

static void add_OR_NULL_LIST(json_t *args, json_t *value)
{
	assert(value == NULL || json_is_array(value));
	add_ANY(args, value);
}

static void add_OBJECT(json_t *args, json_t *value)
{
	assert(json_is_object(value));
	json_array_append_new(args, value);
}

#define add_INSTANCE add_OBJECT

#define ARG_ADD(list, kind, name) add_##kind(list, name);
#define ARG_ROW(call, kind, arg)                                               \
	{#arg, RPC_##kind, offsetof(struct rpc_args_##call, arg)},
#define SERVED true
#define MISSING false
#define RPC(call, timeout_s, is_served, kind_of_answer, n_needed, ...)         \
	static const struct rpc_arg args_##call[] = {                          \
		EACH(ARG_ROW, call, __VA_ARGS__){NULL, RPC_ANY, 0}};           \
	const struct rpc_procedure rpc_procedure_##call = {                    \
		.name = #call,                                                 \
		.timeout_ms = (timeout_s)*1000,                                \
		.served = is_served,                                           \
		.answer = RPC_##kind_of_answer,                                \
		.needed = n_needed,                                            \
		.n_args = ARRAY_SIZE(args_##call) - 1,                         \
		.args = args_##call,                                           \
		.args_size = sizeof(struct rpc_args_##call),                   \
	};                                                                     \
	struct rpc_request rpc_##call(EACH_COMMAS(RPC_PARAMETER, __VA_ARGS__)) \
	{                                                                      \
		json_t *made = json_array();                                   \
                                                                               \
		EACH(ARG_ADD, made, __VA_ARGS__)                               \
		return (struct rpc_request){                                   \
			.procedure = &rpc_procedure_##call,                    \
			.args = made,                                          \
			.timeout_ms = rpc_procedure_##call.timeout_ms};        \
	}
#include "lib/model/rpc/noderpcs.def"
#undef RPC

static const struct rpc_procedure *const procedures[] = {
#define RPC(call, ...) &rpc_procedure_##call,
#include "lib/model/rpc/noderpcs.def"
#undef RPC
};

const struct rpc_procedure *rpc_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(procedures); i++)
		if (strcmp(procedures[i]->name, name) == 0)
			return procedures[i];
	return NULL;
}

struct rpc_request rpc_unchecked(const char *name, json_t *args STEALS)
{
	const struct rpc_procedure *procedure = rpc_find(name);

	assert(procedure != NULL);
	return (struct rpc_request){.procedure = procedure,
				    .args = args,
				    .timeout_ms = procedure->timeout_ms};
}

struct rpc_request rpc_within(struct rpc_request request, unsigned timeout_ms)
{
	request.timeout_ms = timeout_ms;
	return request;
}

static bool is_any(const json_t *value)
{
	return value != NULL;
}

#define IS(name, test)                                                         \
	static bool is_##name(const json_t *value)                             \
	{                                                                      \
		return test(value);                                            \
	}
IS(str, json_is_string)
IS(bool, json_is_boolean)
IS(int, json_is_integer)
IS(num, json_is_number)
IS(list, json_is_array)
IS(object, json_is_object)
#undef IS

static void take_any(const json_t *value, void *ret)
{
	*(const json_t **)ret = value;
}

static void take_str(const json_t *value, void *ret)
{
	*(const char **)ret = json_string_value(value);
}

static void take_bool(const json_t *value, void *ret)
{
	*(bool *)ret = json_is_true(value);
}

static void take_int(const json_t *value, void *ret)
{
	*(int64_t *)ret = json_integer_value(value);
}

static void take_num(const json_t *value, void *ret)
{
	*(double *)ret = json_number_value(value);
}

/* How a kind is known, read, and called in messages. */
static const struct {
	bool (*is)(const json_t *value);
	void (*take)(const json_t *value, void *ret);
	const char *name;
	bool or_null;
} kinds[] = {
	[RPC_NOTHING] = {is_any, take_any, "nothing", true},
	[RPC_ANY] = {is_any, take_any, "a value", true},
	[RPC_STR] = {is_str, take_str, "a string", false},
	[RPC_OR_NULL_STR] = {is_str, take_str, "a string or null", true},
	[RPC_BOOL] = {is_bool, take_bool, "true or false", false},
	[RPC_INT] = {is_int, take_int, "an integer", false},
	[RPC_NUM] = {is_num, take_num, "a number", false},
	[RPC_LIST] = {is_list, take_any, "a list", false},
	[RPC_OR_NULL_LIST] = {is_list, take_any, "a list or null", true},
	[RPC_OBJECT] = {is_object, take_any, "an object", false},
	[RPC_OR_NULL_OBJECT] = {is_object, take_any, "an object or null", true},
	[RPC_INSTANCE] = {is_object, take_any, "an object", false},
};

bool rpc_is_of_kind(enum rpc_kind kind, const json_t *value,
		    const char **ret_name)
{
	*ret_name = kinds[kind].name;
	return kinds[kind].is(value) ||
	       (kinds[kind].or_null && json_is_null(value));
}

static int check_number(const struct rpc_procedure *p, const json_t *args,
			struct error *err)
{
	size_t n = json_array_size(args);

	if (n < p->needed)
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s needs %zu arguments, %zu given",
				 p->name, p->needed, n);
	if (n > p->n_args)
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s takes at most %zu arguments, "
				 "%zu given",
				 p->name, p->n_args, n);
	return 0;
}

static int check_instance(const struct rpc_procedure *p, const json_t *value,
			  struct error *err)
{
	const char *name = json_str(value, "name", "");

	return str_valid_hostname(name)
		       ? 0
		       : error_set(err, ERR_REQUEST, NULL,
				   "Call %s: \"%s\" is not a valid instance "
				   "name",
				   p->name, name);
}

/* An argument that is there. */
static int check_value(const struct rpc_procedure *p, size_t i,
		       const json_t *value, struct error *err)
{
	const struct rpc_arg *arg = &p->args[i];
	const char *kind;

	if (!rpc_is_of_kind(arg->kind, value, &kind))
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s: argument %zu (%s) must be %s",
				 p->name, i + 1, arg->name, kind);
	return arg->kind == RPC_INSTANCE ? check_instance(p, value, err) : 0;
}

/* Whether the struct's 0 stands for it. */
static bool is_left_out(const struct rpc_procedure *p, size_t i,
			const json_t *value)
{
	return (i >= p->needed && value == NULL) ||
	       (json_is_null(value) &&
		(i >= p->needed || kinds[p->args[i].kind].or_null));
}

int rpc_read(const struct rpc_procedure *p, const json_t *args, void *ret_args,
	     struct error *err)
{
	if (check_number(p, args, err) < 0)
		return -1;
	memset(ret_args, 0, p->args_size);
	for (size_t i = 0; i < p->n_args; i++) {
		const json_t *value = json_array_get(args, i);
		char *ret = (char *)ret_args + p->args[i].offset;

		if (is_left_out(p, i, value))
			continue;
		if (check_value(p, i, value, err) < 0)
			return -1;
		kinds[p->args[i].kind].take(value, ret);
	}
	return 0;
}

/* Calls that change nothing, neither on the node nor anywhere else. */
static const char *const looking[] = {
	"all_instances_info",
	"bdev_sizes",
	"blockdev_find",
	"blockdev_getdimensions",
	"blockdev_getmirrorstatus",
	"blockdev_getmirrorstatus_multi",
	"bridges_exist",
	"calls_running",
	"console_close",
	"console_open",
	"console_read",
	"console_write",
	"drbd_advice",
	"drbd_helper",
	"export_info",
	"export_list",
	"extstorage_diagnose",
	"get_file_info",
	"get_watcher_pause",
	"hotplug_supported",
	"hypervisor_validate_params",
	"iallocator_runner",
	"instance_console_info",
	"instance_get_migration_status",
	"instance_info",
	"instance_list",
	"instance_migratable",
	"lv_list",
	"master_node_name",
	"migration_info",
	"node_has_ip_address",
	"node_info",
	"node_verify",
	"node_verify_light",
	"node_volumes",
	"os_diagnose",
	"os_supports",
	"os_validate",
	"storage_list",
	"version",
	"vg_list",
};

bool rpc_only_looks(const char *procedure)
{
	for (size_t i = 0; i < ARRAY_SIZE(looking); i++)
		if (strcmp(procedure, looking[i]) == 0)
			return true;
	return false;
}
