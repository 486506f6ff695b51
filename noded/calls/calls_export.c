/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the exports that this node keeps.  They work beside the loop, as
 * the folder may be on another host, which does not answer.  One works at a
 * time: who lists exports puts back what it finds aside, and must not find what
 * another call has set aside for a moment. */
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/scripts/exports.h"

static WAITS void begin(struct noded *n)
{
	while (n->exports.taken)
		cond_wait(&n->exports.freed);
	n->exports.taken = true;
	task_leave();
}

static WAITS void end(struct noded *n)
{
	task_enter();
	n->exports.taken = false;
	cond_signal(&n->exports.freed);
}

/* The disks as they were exported, false for each that was not. */
WAITS json_t *call_finalize_export(struct call *c,
				   const struct rpc_args_finalize_export *args,
				   struct error *err)
{
	int rc;

	begin(c->n);
	rc = exports_finalize(c->paths, args->instance, args->disks, err);
	end(c->n);
	return rc < 0 ? NULL : json_null();
}

WAITS json_t *call_export_info(struct call *c,
			       const struct rpc_args_export_info *args,
			       struct error *err)
{
	auto_free char *text = NULL;

	begin(c->n);
	text = exports_info(c->paths, args->folder, err);
	end(c->n);
	return text != NULL ? json_string(text) : NULL;
}

WAITS json_t *call_export_list(struct call *c,
			       const struct rpc_args_export_list *args,
			       struct error *err)
{
	json_t *list;

	(void)args;
	begin(c->n);
	list = exports_list(c->paths, err);
	end(c->n);
	return list;
}

WAITS json_t *call_export_remove(struct call *c,
				 const struct rpc_args_export_remove *args,
				 struct error *err)
{
	int rc;

	begin(c->n);
	rc = exports_remove(c->paths, args->name, err);
	end(c->n);
	return rc < 0 ? NULL : json_null();
}
