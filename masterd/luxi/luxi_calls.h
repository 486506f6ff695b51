/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls: from a message to the function that answers it.
 *
 * A call that cannot wait is answered at once, in the callback that read it.  A
 * call that waits, or may take long, runs in a task.  Calls that only look and
 * calls that change the queue have separate sets of tasks, so that slow nodes
 * hold up no submission.  WaitForJobChange, of which thousands may wait, needs
 * no task (luxi_wait.c). */
#ifndef MASTERD_LUXI_LUXI_CALLS_H
#define MASTERD_LUXI_LUXI_CALLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "masterd/luxi/luxi_server.h"

struct master;

#define LUXI_QUERY_TASKS 256
#define LUXI_CHANGE_TASKS 128

/* The place of a call in its set of tasks. */
struct luxi_place;

/* What to do for a method.  Set are start; or run; or serve; or serve and run,
 * then run is for calls that do not wait. */
struct luxi_method {
	/* Returns the result, to be freed; NULL with err.  ERR_REQUEST means
	 * that the arguments cannot be understood: the connection is then
	 * closed, as Ganeti does. */
	WAITS json_t *(*run)(struct master *m, const json_t *args,
			     struct error *err);
	/* Whether run may wait; NULL: never. */
	bool (*waits)(struct master *m, const json_t *args);
	bool changes; /* which of the two sets of tasks */

	/* Runs in a task, and answers r before it returns. */
	WAITS void (*serve)(struct master *m, struct luxi_request *r,
			    const json_t *args, struct luxi_place *place);

	/* Starts the call; r is answered some time later. */
	void (*start)(struct master *m, struct luxi_request *r,
		      const json_t *args);
};

#define LUXI(name, min, max) extern const struct luxi_method luxi_##name;
#include "lib/model/luxi.def"
#undef LUXI

struct luxi_calls;

struct luxi_calls *luxi_calls_create(struct master *m);
void luxi_calls_destroy(struct luxi_calls *c); /* after the last answer */

/* As luxi_server_config.handle; arg is the struct luxi_calls. */
void luxi_calls_handle(void *arg, struct luxi_request *r);

/* Answer with an error, in the form that its kind asks for. */
void luxi_fail(struct luxi_request *r, const struct error *err);

/* --- for the handlers --- */

/* Give the place to another call while waiting for the client, and take it
 * back: there may then be more calls than places for a while. */
void luxi_place_leave(struct luxi_place *p);
void luxi_place_take(struct luxi_place *p);

/* As luxi_fail(); the name of the call is put in front of an error about its
 * arguments. */
void luxi_fail_call(struct luxi_place *p, struct luxi_request *r,
		    struct error *err);

/* A job's id, which may also be a string of digits. */
int luxi_job_id(const json_t *value, uint64_t *ret_id, struct error *err);

/* A function for `waits`: the call may always wait. */
bool luxi_always(struct master *m, const json_t *args);

#endif
