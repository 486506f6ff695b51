/* SPDX-License-Identifier: BSD-2-Clause */
/* WaitForEvents: what has changed in the cluster since.  Who waits is a watch
 * and a timer, not a task, as in luxi_wait.c. */
#include "lib/base/clock.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "masterd/luxi/luxi_calls.h"
#include "masterd/state/events.h"

/* As for WaitForJobChange. */
#define WAIT_MAX_S 89.0
/* One answer has at most so many; the next call gets the others. */
#define EVENTS_AT_ONCE 1000

struct wait {
	struct events_watch watch;
	struct timer timer;
	struct events *events;
	struct luxi_request *request;
	uint64_t since;
	size_t max;
};

static void answer(struct wait *w)
{
	struct events *e = w->events;
	uint64_t floor = events_floor(e), last = events_last(e);
	/* An index of another log, or one that was left behind, is none. */
	bool gap = w->since < floor || w->since > last;
	uint64_t from = gap ? floor : w->since;
	json_t *list = events_above(e, from, w->max);
	size_t n = json_array_size(list);
	const json_t *entry = json_array_get(list, n - 1);
	json_int_t reached =
		n == 0 ? (json_int_t)last : json_int(entry, "index", 0);

	events_unwatch(&w->watch);
	timer_stop(&w->timer);
	luxi_answer(w->request,
		    json_make("{s:b, s:I, s:I, s:I, s:o}", "gap", (int)gap,
			      "floor", (json_int_t)floor, "last",
			      (json_int_t)last, "index", reached, "events",
			      list),
		    NULL);
	free(w);
}

static bool is_new(const struct wait *w)
{
	return w->since != events_last(w->events);
}

static void on_changed(struct events_watch *watch)
{
	struct wait *w = container_of(watch, struct wait, watch);

	if (is_new(w))
		answer(w);
	else
		events_watch(w->events, &w->watch);
}

static void on_timer(struct timer *t)
{
	answer(container_of(t, struct wait, timer));
}

static void on_hurry(struct luxi_request *r)
{
	answer(r->arg);
}

static int read_args(struct wait *w, const json_t *args, double *ret_timeout_s,
		     struct error *err)
{
	const json_t *since = json_array_get(args, 0);
	const json_t *timeout = json_array_get(args, 1);
	const json_t *max = json_array_get(args, 2);

	if (!json_is_integer(since) || json_integer_value(since) < 0 ||
	    !json_is_number(timeout) || !json_is_integer(max) ||
	    json_integer_value(max) < 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "WaitForEvents takes an index, seconds, and "
				 "how many");
	w->since = (uint64_t)json_integer_value(since);
	w->max = (size_t)json_integer_value(max);
	if (w->max > EVENTS_AT_ONCE)
		w->max = EVENTS_AT_ONCE;
	*ret_timeout_s = json_number_value(timeout);
	if (*ret_timeout_s > WAIT_MAX_S)
		*ret_timeout_s = WAIT_MAX_S;
	return 0;
}

static void start(struct master *m, struct luxi_request *r, const json_t *args)
{
	struct wait *w = xalloc(sizeof(*w));
	double timeout_s = 0;
	struct error err;

	w->events = m->events;
	w->request = r;
	w->watch.changed = on_changed;
	w->timer.fired = on_timer;
	if (m->events == NULL)
		error_set(&err, ERR_PREREQ, ECODE_STATE,
			  "This master has no log to tell events of");
	if (m->events == NULL || read_args(w, args, &timeout_s, &err) < 0) {
		free(w);
		luxi_fail(r, &err);
		return;
	}
	if (timeout_s <= 0 || is_new(w)) {
		answer(w);
		return;
	}
	r->arg = w;
	r->hurry = on_hurry;
	events_watch(m->events, &w->watch);
	timer_start(&w->timer, clock_mono_us() + (int64_t)(timeout_s * 1e6));
}

const struct luxi_method luxi_WaitForEvents = {.start = start};
