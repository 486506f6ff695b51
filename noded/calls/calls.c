/* SPDX-License-Identifier: BSD-2-Clause */
/* Two tables describe the calls: noderpcs.def lists all procedures of Ganeti
 * with their numbers of arguments, NODED_CALLS the functions of those that this
 * daemon serves.  A procedure that is only in the first one is answered as not
 * supported. */
#include "noded/calls/calls.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/rpc/rpc.h"

static const struct served {
	const char *name;
	WAITS json_t *(*run)(struct call *c, struct error *err);
} served[] = {
#define X(name) {#name, call_##name},
	NODED_CALLS(X)
#undef X
};

bool calls_known(const char *procedure)
{
	return rpc_find(procedure) != NULL;
}

static int check_arity(const struct call *c, struct error *err)
{
	const struct rpc_procedure *rpc = rpc_find(c->procedure);
	size_t n = json_is_array(c->args) ? json_array_size(c->args) : 1;

	if (n < rpc->needed)
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s needs %zu arguments, %zu given",
				 c->procedure, rpc->needed, n);
	if (n > rpc->n_args)
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s takes at most %zu arguments, "
				 "%zu given",
				 c->procedure, rpc->n_args, n);
	return 0;
}

json_t *calls_run(struct call *c, struct error *err)
{
	if (check_arity(c, err) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(served); i++)
		if (strcmp(served[i].name, c->procedure) == 0)
			return served[i].run(c, err);
	error_set(err, ERR_RPC, NULL,
		  "Call %s is not supported by this node daemon", c->procedure);
	return NULL;
}

static int misfit(const struct call *c, size_t i, const char *kind,
		  struct error *err)
{
	return error_set(err, ERR_REQUEST, NULL,
			 "Call %s: argument %zu must be %s", c->procedure,
			 i + 1, kind);
}

const char *call_str(const struct call *c, size_t i, struct error *err)
{
	const json_t *value = json_array_get(c->args, i);

	if (!json_is_string(value))
		misfit(c, i, "a string", err);
	return json_string_value(value);
}

const json_t *call_object(const struct call *c, size_t i, struct error *err)
{
	const json_t *value = json_array_get(c->args, i);

	if (json_is_object(value))
		return value;
	misfit(c, i, "an object", err);
	return NULL;
}

const json_t *call_list(const struct call *c, size_t i, struct error *err)
{
	const json_t *value = json_array_get(c->args, i);

	if (json_is_array(value))
		return value;
	misfit(c, i, "a list", err);
	return NULL;
}

int call_int(const struct call *c, size_t i, int64_t *ret, struct error *err)
{
	const json_t *value = json_array_get(c->args, i);

	if (!json_is_integer(value))
		return misfit(c, i, "an integer", err);
	*ret = json_integer_value(value);
	return 0;
}

int call_num(const struct call *c, size_t i, double *ret, struct error *err)
{
	const json_t *value = json_array_get(c->args, i);

	if (!json_is_number(value))
		return misfit(c, i, "a number", err);
	*ret = json_number_value(value);
	return 0;
}

bool call_flag(const struct call *c, size_t i)
{
	return json_is_true(json_array_get(c->args, i));
}

const json_t *call_instance(const struct call *c, size_t i, struct error *err)
{
	const json_t *instance = call_object(c, i, err);
	const char *name;

	if (instance == NULL)
		return NULL;
	name = json_str(instance, "name", "");
	if (str_valid_hostname(name))
		return instance;
	error_set(err, ERR_REQUEST, NULL,
		  "Call %s: \"%s\" is not a valid instance name", c->procedure,
		  name);
	return NULL;
}
