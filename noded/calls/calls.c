/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of noderpcs.def make the table of calls: for each one that is
 * served, a function that reads its arguments and gives them to call_<name>().
 * A procedure that is not served is answered as not supported. */
#include "noded/calls/calls.h"

#include <assert.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/model/rpc/rpc.h"
#include "noded/core/noded.h"
#include "noded/storage/storage_tool.h"

#define SERVED(name, ...)                                                      \
	static WAITS json_t *serve_##name(struct call *c, const json_t *list,  \
					  struct error *err)                   \
	{                                                                      \
		struct rpc_args_##name args;                                   \
                                                                               \
		if (rpc_read(&rpc_procedure_##name, list, &args, err) < 0)     \
			return NULL;                                           \
		return call_##name(c __VA_OPT__(, &args), err);                \
	}
#define MISSING(name, ...)
#define RPC(name, timeout_s, served, answer, needed, ...)                      \
	served(name __VA_OPT__(, ) __VA_ARGS__)
#include "lib/model/rpc/noderpcs.def"
#undef RPC
#undef SERVED

static const struct served {
	const struct rpc_procedure *procedure;
	WAITS json_t *(*run)(struct call *c, const json_t *args,
			     struct error *err);
} calls[] = {
#define SERVED(name) {&rpc_procedure_##name, serve_##name},
#define RPC(name, timeout_s, served, ...) served(name)
#include "lib/model/rpc/noderpcs.def"
#undef RPC
};

/* The master refuses an answer that is not of the kind in the table. */
static bool is_right(const struct rpc_procedure *p, const json_t *payload)
{
	const char *kind;

	return p->answer == RPC_NOTHING
		       ? json_is_null(payload)
		       : rpc_is_of_kind(p->answer, payload, &kind);
}

int calls_in_force(const struct call *c, struct error *err)
{
	switch (candidate_check(&c->n->candidate, c->term, err)) {
	case CANDIDATE_SERVE:
		return 0;
	case CANDIDATE_STALE:
		err->ecode = ECODE_FENCED;
		break;
	case CANDIDATE_ERROR:
		break;
	}
	return -1;
}

static int in_force(void *arg, struct error *err)
{
	return calls_in_force(arg, err);
}

struct hv_caller calls_caller(struct call *c)
{
	return (struct hv_caller){.in_force = in_force, .arg = c};
}

void calls_begin(struct call *c, const json_t *args)
{
	c->args = args;
	c->began_us = clock_mono_us();
	list_append(&c->n->calls, &c->under_way);
}

void calls_end(struct call *c)
{
	list_remove(&c->under_way);
}

static WAITS json_t *serve(struct call *c, const json_t *args,
			   struct error *err)
{
	const struct rpc_procedure *procedure = rpc_find(c->procedure);

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].procedure == procedure) {
			json_t *payload = calls[i].run(c, args, err);

			assert(payload == NULL || is_right(procedure, payload));
			return payload;
		}
	error_set(err, ERR_RPC, NULL,
		  "Call %s is not supported by this node daemon", c->procedure);
	return NULL;
}

/* Only names of the table, which are literals; callers invent others. */
static void count(const struct call *c, bool failed)
{
	const struct rpc_procedure *procedure = rpc_find(c->procedure);

	if (procedure != NULL)
		call_stats_add(&c->n->stats, procedure->name, failed,
			       clock_mono_us() - c->began_us);
}

json_t *calls_run(struct call *c, const json_t *args, struct error *err)
{
	struct storage_caller caller = {in_force, c};
	void *before = task_mark();
	json_t *payload;

	calls_begin(c, args);
	task_set_mark(&caller);
	payload = serve(c, args, err);
	task_set_mark(before);
	count(c, payload == NULL);
	calls_end(c);
	return payload;
}
