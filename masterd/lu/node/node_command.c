/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_RESTRICTED_COMMAND: run a program that the site has installed for this
 * purpose on some nodes. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/frame/lu.h"

struct command {
	struct lu lu;
	struct strv nodes; /* UUIDs, in the order asked for */
};

static struct command *command_of(struct lu *lu)
{
	return container_of(lu, struct command, lu);
}

static int command_expand(struct lu *lu, struct error *err)
{
	const struct op_restricted_command *op = lu->op;

	/* An empty list does not mean all nodes here. */
	if (json_array_size(op->nodes) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Restricted commands need the names of nodes");
	return lu_want_nodes(lu, op->nodes, op->use_locking,
			     &command_of(lu)->nodes, err);
}

static json_t *outcome(const struct op_restricted_command *op,
		       const struct node_result *r)
{
	if (r->payload != NULL)
		return json_make("[b, O]", 1, r->payload);
	return json_make(
		"[b, o]", 0,
		json_sprintf("Command '%s' on node '%s' failed: %s",
			     op->command, node_name(r->node),
			     r->failure != NULL ? r->failure : r->err->text));
}

static WAITS json_t *command_exec(struct lu *lu, struct error *err)
{
	const struct op_restricted_command *op = lu->op;
	size_t n;
	struct node_result *results =
		lu_call_nodes(lu, &command_of(lu)->nodes,
			      rpc_restricted_command(op->command), &n);
	json_t *ret = json_array();

	(void)err;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(ret, outcome(op, &results[i]));
	node_results_free(results, n);
	return ret;
}

static void command_done(struct lu *lu)
{
	strv_done(&command_of(lu)->nodes);
}

const struct lu_class lu_restricted_command = {
	.op = &op_class_restricted_command,
	.size = sizeof(struct command),
	.expand = command_expand,
	.exec = command_exec,
	.done = command_done,
};
