/* SPDX-License-Identifier: BSD-2-Clause */
/* Consoles of instances, passed on from a client of LUXI to the instance's node
 * and back, piece by piece.  Nothing of them is kept here. */
#include "lib/json/json.h"
#include "lib/model/config/cluster.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/luxi/luxi_calls.h"
#include "masterd/rpc/noderpc.h"

static const char *text(const json_t *args, size_t i)
{
	return json_string_value(json_array_get(args, i));
}

static int need_texts(const json_t *args, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (text(args, i) == NULL)
			return error_set(err, ERR_REQUEST, NULL,
					 "argument %zu is no text", i + 1);
	return 0;
}

static json_t *hvparams_of(struct master *m, const json_t *inst)
{
	return params_fill_hv(config_cluster(m->config), inst_hypervisor(inst),
			      inst_os_or(inst, NULL), inst_hvparams(inst));
}

/* [instance, kind]: [UUID of the node, id of the console]. */
static WAITS json_t *console_open(struct master *m, const json_t *args,
				  struct error *err)
{
	const json_t *inst, *node;
	auto_json json_t *uuid = NULL;
	json_t *id;

	if (need_texts(args, 2, err) < 0)
		return NULL;
	inst = config_expect(m->config, CONFIG_INSTANCE, text(args, 0), err);
	if (inst == NULL)
		return NULL;
	node = config_get(m->config, CONFIG_NODE, inst_primary_node(inst));
	if (node == NULL) {
		error_set(err, ERR_PREREQ, ECODE_STATE,
			  "Instance %s has no primary node", text(args, 0));
		return NULL;
	}
	uuid = json_string(node_uuid(node));
	id = noderpc_call(m->rpc, node,
			  rpc_console_open(json_ref(inst), hvparams_of(m, inst),
					   text(args, 1)),
			  err);
	return id == NULL ? NULL : json_make("[O, o]", uuid, id);
}

/* The node of the console; NULL with err. */
static const json_t *node_of(struct master *m, const json_t *args,
			     struct error *err)
{
	const json_t *node;

	if (need_texts(args, 2, err) < 0)
		return NULL;
	node = config_get(m->config, CONFIG_NODE, text(args, 0));
	if (node == NULL)
		error_set(err, ERR_PREREQ, ECODE_NOENT,
			  "The node of this console is gone");
	return node;
}

/* [node, id, milliseconds]: [output, whether it has ended]. */
static WAITS json_t *console_read(struct master *m, const json_t *args,
				  struct error *err)
{
	const json_t *node = node_of(m, args, err);

	return node == NULL
		       ? NULL
		       : noderpc_call(m->rpc, node,
				      rpc_console_read(
					      text(args, 1),
					      json_integer_value(
						      json_array_get(args, 2))),
				      err);
}

/* [node, id, input]: null. */
static WAITS json_t *console_write(struct master *m, const json_t *args,
				   struct error *err)
{
	const json_t *node =
		need_texts(args, 3, err) < 0 ? NULL : node_of(m, args, err);

	return node == NULL ? NULL
			    : noderpc_call(m->rpc, node,
					   rpc_console_write(text(args, 1),
							     text(args, 2)),
					   err);
}

/* [node, id]: null. */
static WAITS json_t *console_close(struct master *m, const json_t *args,
				   struct error *err)
{
	const json_t *node = node_of(m, args, err);

	return node == NULL
		       ? NULL
		       : noderpc_call(m->rpc, node,
				      rpc_console_close(text(args, 1)), err);
}

const struct luxi_method luxi_ConsoleOpen = {.run = console_open,
					     .waits = luxi_always};
const struct luxi_method luxi_ConsoleRead = {.run = console_read,
					     .waits = luxi_always};
const struct luxi_method luxi_ConsoleWrite = {.run = console_write,
					      .waits = luxi_always};
const struct luxi_method luxi_ConsoleClose = {.run = console_close,
					      .waits = luxi_always};
