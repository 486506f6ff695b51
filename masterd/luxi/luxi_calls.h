/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls: from a message to the function that answers it.
 *
 * A call that cannot wait is answered at once, in the callback that read it.
 * One that waits, or may take long, runs in a task; calls that look and calls
 * that change the queue have a number of places for tasks each, so that slow
 * nodes hold up no submit.
 * WaitForJobChange, of which thousands may sleep, has neither (luxi_wait.c).
 */
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

/* The place of a call that runs in a task. */
struct luxi_place;

/* What to do for a method; start is set, or run, or serve, or the last two:
 * then run is for calls that do not wait. */
struct luxi_method {
	/* The result, to be freed; NULL with err.  ERR_REQUEST is for
	 * arguments that cannot be understood: as Ganeti, we close the
	 * connection after that. */
	json_t *(*run)(struct master *m, const json_t *args, struct error *err);
	/* Whether run may wait; NULL: never. */
	bool (*waits)(struct master *m, const json_t *args);
	bool changes; /* which of the two sets of tasks */

	/* Answers r, in a task, before it returns. */
	WAITS void (*serve)(struct master *m, struct luxi_request *r,
			    const json_t *args, struct luxi_place *place);

	/* Answers r some time. */
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

/* Let another call have the place during a wait for the client, and take it
 * again: there may be more calls than places then. */
void luxi_place_leave(struct luxi_place *p);
void luxi_place_take(struct luxi_place *p);

/* As luxi_fail(); an error of the arguments gets the name of the call. */
void luxi_fail_call(struct luxi_place *p, struct luxi_request *r,
		    struct error *err);

/* A job's id, which may also be a string of digits. */
int luxi_job_id(const json_t *value, uint64_t *ret_id, struct error *err);

/* ->waits of calls that always do. */
bool luxi_always(struct master *m, const json_t *args);

#endif
