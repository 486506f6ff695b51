/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_CONSOLE: how the console of a running instance is reached, as the
 * query field of that name has it. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/query/query.h"

static int console_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_console *op = lu->op;
	const json_t *inst = lu_instance(lu, op->instance_name, err);

	if (inst == NULL)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(inst), false);
	lu_want(lu, LOCK_NODE, inst_primary_node(inst), false);
	return 0;
}

static WAITS json_t *console_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_console *op = lu->op;
	auto_json json_t *fields =
		json_make("[s, s, s]", "console", "status", "oper_state");
	auto_json json_t *filter = NULL, *answer = NULL;
	const json_t *inst = lu_instance(lu, op->instance_name, err), *row;
	const char *name;

	if (inst == NULL)
		return NULL;
	name = inst_name(inst);
	filter = json_make("[s, s, s]", "=", "name", name);
	answer = query_run(lu->m, "instance", fields, filter, err);
	if (answer == NULL)
		return NULL;
	row = json_array_get(json_get(answer, "data"), 0);
	if (json_is_true(json_array_get(json_array_get(row, 2), 1)))
		return json_incref(json_array_get(json_array_get(row, 0), 1));
	error_set(err, ERR_EXEC, NULL, "Instance %s is not running (state %s)",
		  name,
		  json_string_value(json_array_get(json_array_get(row, 1), 1))
			  ?: "unknown");
	return NULL;
}

const struct lu_class lu_instance_console = {
	.op = &op_class_instance_console,
	.size = sizeof(struct lu),
	.expand = console_expand,
	.exec = console_exec,
};
