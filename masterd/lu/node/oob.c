/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_OOB_COMMAND: the health and the power of nodes, out of band: the master's
 * node daemon runs the program that a node's oob_program names.
 *
 * The result has [[0, name], [status, data]] for each node, with the status
 * numbers of queries: 0 data, 2 no data, 3 the node has no such program. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/frame/lu.h"

enum { STATUS_NORMAL = 0, STATUS_NODATA = 2, STATUS_UNAVAIL = 3 };

struct oob {
	struct lu lu;
	struct strv nodes; /* UUIDs, in nice order of the names */
};

static struct oob *oob_of(struct lu *lu)
{
	return container_of(lu, struct oob, lu);
}

/* --- which nodes --- */

/* Commands that would switch off the master itself. */
static bool spares_master(const struct op_oob_command *op)
{
	return strcmp(op->command, "power-off") == 0 ||
	       strcmp(op->command, "power-cycle") == 0;
}

static const char *master_uuid(struct lu *lu)
{
	return node_uuid(config_master(lu->m->config));
}

static int oob_expand(struct lu *lu, struct error *err)
{
	struct oob *o = oob_of(lu);
	const struct op_oob_command *op = lu->op;
	auto_strv struct strv all = {0}, wanted = {0};
	size_t n = json_array_size(op->node_names);

	for (size_t i = 0; i < n; i++) {
		const json_t *node = lu_node(
			lu,
			json_string_value(json_array_get(op->node_names, i)),
			err);

		if (node == NULL)
			return -1;
		strv_add(&wanted, node_uuid(node));
	}
	strv_done(&o->nodes);
	o->nodes = (struct strv){0};
	config_sorted(lu->m->config, CONFIG_NODE, &all);
	for (size_t i = 0; i < all.n; i++) {
		const char *uuid = all.items[i];
		bool spared =
			spares_master(op) && strcmp(uuid, master_uuid(lu)) == 0;

		if (n > 0 ? !strv_has(&wanted, uuid) : spared)
			continue;
		strv_add(&o->nodes, uuid);
		lu_want(lu, LOCK_NODE, uuid, true);
	}
	return 0;
}

/* A node's program, to be freed; "": none. */
static char *helper_of(struct lu *lu, const json_t *node)
{
	auto_json json_t *params = params_fill_nd(
		config_cluster(lu->m->config),
		config_get(lu->m->config, CONFIG_GROUP, node_group(node)),
		node);

	return xstrdup(nd_oob_program(params));
}

static int refuse_master(struct lu *lu, struct error *err)
{
	const struct op_oob_command *op = lu->op;
	const json_t *master = config_master(lu->m->config);
	auto_free char *helper = helper_of(lu, master);
	const char *name = node_name(master);

	if (*helper == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Operating on the master node %s is not "
				 "allowed for %s; it does not support "
				 "out-of-band operations",
				 name, op->command);
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Operating on the master node %s is not allowed for "
			 "%s; run '%s %s %s' if you want to operate on the "
			 "master regardless",
			 name, op->command, helper, op->command, name);
}

static int oob_check(struct lu *lu, struct error *err)
{
	struct oob *o = oob_of(lu);
	const struct op_oob_command *op = lu->op;

	if (!(op->power_delay >= 0))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The delay must not be negative");
	for (size_t i = 0; i < o->nodes.n; i++) {
		const json_t *node = config_get(lu->m->config, CONFIG_NODE,
						o->nodes.items[i]);

		if (spares_master(op) &&
		    strcmp(o->nodes.items[i], master_uuid(lu)) == 0)
			return refuse_master(lu, err);
		if (!op->ignore_status &&
		    strcmp(op->command, "power-off") == 0 &&
		    !node_offline(node))
			return error_set(err, ERR_PREREQ, ECODE_STATE,
					 "Cannot power off node %s because it "
					 "is not marked offline",
					 node_name(node));
	}
	return 0;
}

/* --- output of the programs --- */

static bool known_status(const char *status)
{
	static const char *const known[] = {"OK", "WARNING", "CRITICAL",
					    "UNKNOWN"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (str_eq(known[i], status))
			return true;
	return false;
}

static int check_health(const json_t *data, struct error *err)
{
	if (!json_is_array(data))
		return error_set(err, ERR_EXEC, NULL,
				 "'health' has to print a list of [item, "
				 "status]");
	for (size_t i = 0; i < json_array_size(data); i++) {
		const json_t *pair = json_array_get(data, i);
		const char *status = json_string_value(json_array_get(pair, 1));

		if (!json_is_string(json_array_get(pair, 0)) ||
		    !known_status(status))
			return error_set(err, ERR_EXEC, NULL,
					 "health item %zu is not [item, "
					 "status], with a status of OK, "
					 "WARNING, CRITICAL, UNKNOWN",
					 i);
	}
	return 0;
}

static int check_data(const char *command, const json_t *data,
		      struct error *err)
{
	if (strcmp(command, "health") == 0)
		return check_health(data, err);
	if (strcmp(command, "power-status") == 0)
		return json_is_boolean(json_get(data, "powered"))
			       ? 0
			       : error_set(err, ERR_EXEC, NULL,
					   "'power-status' has to print an "
					   "object with a boolean \"powered\"");
	return json_is_null(data)
		       ? 0
		       : error_set(err, ERR_EXEC, NULL,
				   "'%s' is expected to print nothing",
				   command);
}

/* Run the program; returns its output as a value, to be freed, NULL with
 * err. */
static WAITS json_t *run_helper(struct lu *lu, const char *helper,
				const char *name, struct error *err)
{
	const struct op_oob_command *op = lu->op;
	auto_json json_t *answer = lu_call(
		lu, master_uuid(lu),
		rpc_run_oob(helper, op->command, name, op->timeout), err);
	const char *text = json_string_value(answer);
	auto_json json_t *data = NULL;

	if (answer == NULL) {
		lu_warn(lu, "Out-of-band RPC failed on node '%s': %s", name,
			err->text);
		return NULL;
	}
	data = text == NULL || *text == '\0'
		       ? json_null()
		       : json_parse(text, strlen(text), err);
	if (data != NULL && check_data(op->command, data, err) == 0)
		return steal(&data);
	lu_warn(lu, "Payload returned by node '%s' is not valid: %s", name,
		err->text);
	return NULL;
}

static void tell_health(struct lu *lu, const char *name, const json_t *data)
{
	for (size_t i = 0; i < json_array_size(data); i++) {
		const json_t *pair = json_array_get(data, i);
		const char *status = json_string_value(json_array_get(pair, 1));

		if (str_eq(status, "WARNING") || str_eq(status, "CRITICAL"))
			lu_warn(lu, "Item '%s' on node '%s' has status '%s'",
				json_string_value(json_array_get(pair, 0)),
				name, status);
	}
}

/* Record whether the node is powered now. */
static WAITS int record_power(struct lu *lu, const char *uuid,
			      struct error *err)
{
	const struct op_oob_command *op = lu->op;
	bool on = strcmp(op->command, "power-on") == 0;
	json_t *changed;

	if (!on && strcmp(op->command, "power-off") != 0)
		return 0;
	changed = config_edit(config_get(lu->m->config, CONFIG_NODE, uuid));
	node_set_powered(changed, on);
	config_put(lu->m->config, CONFIG_NODE, changed);
	return config_commit(lu->m->config, err);
}

/* [status, data] for one node; NULL with err when recording fails. */
static WAITS json_t *handle(struct lu *lu, const json_t *node,
			    struct error *err)
{
	const struct op_oob_command *op = lu->op;
	auto_free char *helper = helper_of(lu, node);
	const char *name = node_name(node);
	auto_json json_t *data = NULL;
	struct error why;

	if (*helper == '\0')
		return json_make("[i, n]", STATUS_UNAVAIL);
	data = run_helper(lu, helper, name, &why);
	if (data == NULL)
		return json_make("[i, n]", STATUS_NODATA);
	if (strcmp(op->command, "health") == 0)
		tell_health(lu, name, data);
	if (record_power(lu, node_uuid(node), err) < 0)
		return NULL;
	return json_make("[i, O]", STATUS_NORMAL, data);
}

static WAITS json_t *oob_exec(struct lu *lu, struct error *err)
{
	struct oob *o = oob_of(lu);
	const struct op_oob_command *op = lu->op;
	auto_json json_t *ret = json_array();

	for (size_t i = 0; i < o->nodes.n; i++) {
		const json_t *node =
			lu_keep(lu, config_get(lu->m->config, CONFIG_NODE,
					       o->nodes.items[i]));
		json_t *outcome;

		if (lu_check_killed(lu, err) < 0)
			return NULL;
		outcome = handle(lu, node, err);
		if (outcome == NULL)
			return NULL;
		json_array_append_new(
			ret, json_make("[[i, O], o]", STATUS_NORMAL,
				       node_name_value(node), outcome));
		/* Pause between nodes: switching all on at once may blow the
		 * fuse. */
		if (strcmp(op->command, "power-on") == 0 && i + 1 < o->nodes.n)
			task_sleep((unsigned)(op->power_delay * 1000));
	}
	return steal(&ret);
}

static void oob_done(struct lu *lu)
{
	strv_done(&oob_of(lu)->nodes);
}

const struct lu_class lu_oob_command = {
	.op = &op_class_oob_command,
	.size = sizeof(struct oob),
	.expand = oob_expand,
	.check = oob_check,
	.exec = oob_exec,
	.done = oob_done,
};
