/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that this node daemon serves: from each SERVED line of noderpcs.def
 * comes the prototype of call_<name>(), by subject in calls_*.c. */
#ifndef NODED_CALLS_CALLS_H
#define NODED_CALLS_CALLS_H

#include <jansson.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/model/rpc/rpc.h"
#include "noded/hv/hv.h"

struct noded;
struct paths;

/* A call while it is served. */
struct call {
	struct noded *n;
	const struct paths *paths;
	const char *procedure;
	uint64_t term; /* of the caller; 0: it has none */

	/* Set while it runs, by calls_run(). */
	struct list under_way; /* in n->calls */
	const json_t *args;
	int64_t began_us;

	/* A failed call that has more to say than fits an error, such as a
	 * program's whole output, sets this; it is sent in place of the error's
	 * text.  To be freed. */
	char *failure;
};

/* What a call answers: the payload, to be freed (JSON null for none), of the
 * kind that its line of noderpcs.def has, or NULL with err.  It gets its
 * arguments read and checked; they are borrowed for the time of the call.  Runs
 * in a task. */
#define SERVED(name, ...)                                                      \
	WAITS json_t *call_##name(                                             \
		struct call *c __VA_OPT__(,                                    \
					  const struct rpc_args_##name *args), \
		struct error *err);
#define MISSING(name, ...)
#define RPC(name, timeout_s, served, answer, needed, ...)                      \
	served(name __VA_OPT__(, ) __VA_ARGS__)
#include "lib/model/rpc/noderpcs.def"
#undef RPC
#undef SERVED
#undef MISSING

/* To be asked between a wait and the act that follows it, on an instance, a
 * disk or a file: 0 while this node obeys the call's master (always, if the
 * caller has no term), -1 with err of ECODE_FENCED once a newer one was here.
 */
int calls_in_force(const struct call *c, struct error *err);
/* The same for those below who ask; the call must live as long. */
struct hv_caller calls_caller(struct call *c);

/* Note that the call with these arguments is under way (calls_running tells
 * it), and that it has ended. */
void calls_begin(struct call *c, const json_t *args);
void calls_end(struct call *c);

/* Read the arguments, a list, and run the call c->procedure, which must be in
 * noderpcs.def.  The payload as above. */
WAITS json_t *calls_run(struct call *c, const json_t *args, struct error *err);

#endif
