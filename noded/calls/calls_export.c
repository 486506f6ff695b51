/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the exports that this node keeps. */
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/scripts/exports.h"

/* The disks as they were exported, false for each that was not. */
json_t *call_finalize_export(struct call *c,
			     const struct rpc_args_finalize_export *args,
			     struct error *err)
{
	if (exports_finalize(c->paths, args->instance, args->disks, err) < 0)
		return NULL;
	return json_null();
}

json_t *call_export_info(struct call *c,
			 const struct rpc_args_export_info *args,
			 struct error *err)
{
	auto_free char *text = exports_info(c->paths, args->folder, err);

	return text != NULL ? json_string(text) : NULL;
}

json_t *call_export_list(struct call *c,
			 const struct rpc_args_export_list *args,
			 struct error *err)
{
	(void)args;
	return exports_list(c->paths, err);
}

json_t *call_export_remove(struct call *c,
			   const struct rpc_args_export_remove *args,
			   struct error *err)
{
	return exports_remove(c->paths, args->name, err) < 0 ? NULL
							     : json_null();
}
