/* SPDX-License-Identifier: BSD-2-Clause */
/* A scripted call acts at once, and its answer leaves when its time is over.
 * Until then the node daemon (noded/calls/calls_running.c) says that it is
 * under way. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "tests/sim/sim.h"

struct long_call {
	struct list link; /* in sim_node.long_calls */
	struct call call;
	struct timer timer;
	char *procedure;
	json_t *args;
};

static void end(struct long_call *l)
{
	timer_stop(&l->timer);
	calls_end(&l->call);
	list_remove(&l->link);
	json_decref(l->args);
	free(l->procedure);
	free(l);
}

static void on_end(struct timer *t)
{
	end(container_of(t, struct long_call, timer));
}

void sim_begin_long_call(struct sim_node *n, const char *procedure,
			 uint64_t term, json_t *args, unsigned ms)
{
	struct long_call *l = xalloc(sizeof(*l));
	void *owner = task_owner();

	l->procedure = xstrdup(procedure);
	l->args = json_incref(args);
	l->call = (struct call){
		.n = &n->noded, .procedure = l->procedure, .term = term};
	calls_begin(&l->call, l->args);
	list_append(&n->long_calls, &l->link);
	l->timer.fired = on_end;
	task_set_owner(&n->daemon);
	timer_start(&l->timer, clock_mono_us() + (int64_t)ms * 1000);
	task_set_owner(owner);
}

void sim_end_long_calls(struct sim_node *n)
{
	while (!list_empty(&n->long_calls))
		end(list_first(&n->long_calls, struct long_call, link));
}
