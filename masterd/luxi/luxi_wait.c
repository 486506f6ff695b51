/* SPDX-License-Identifier: BSD-2-Clause */
/* WaitForJobChange: a waiting client is a watch of the queue and a timer, not a
 * task.  It is answered when a field that it asked for has another value than
 * the one it knows, when there is a newer log entry, when the job has ended,
 * when its time is over (with the values it knows already), or when it closes
 * its side. */
#include "lib/base/clock.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "masterd/luxi/luxi_calls.h"
#include "queue/queue.h"

/* Ganeti's clients expect an answer within this time. */
#define WAIT_MAX_S 89.0

/* More fields than a client has use for; a job has half as many. */
#define WAIT_FIELDS_MAX 50

struct wait {
	struct queue_watch watch;
	struct timer timer;
	struct queue *queue;
	struct luxi_request *request;
	const json_t *fields, *known; /* points into the request */
	int64_t known_serial;	      /* -1: none */
};

/* An unknown field is null; a field that was asked for twice is made once. */
static json_t *field_values(const struct job *job, const json_t *fields)
{
	json_t *values = json_array();
	auto_json json_t *known = json_object();
	size_t i;
	json_t *field;

	json_array_foreach (fields, i, field) {
		const char *name = json_string_value(field);
		json_t *value = json_object_get(known, name);

		if (value == NULL) {
			value = job_field(job, name);
			if (value == NULL)
				value = json_null();
			json_object_set_new(known, name, value);
		}
		json_array_append(values, value);
	}
	return values;
}

static void wait_free(struct wait *w)
{
	queue_unwatch(&w->watch);
	timer_stop(&w->timer);
	free(w);
}

/* Answer if something has changed, or in any case; returns whether it has
 * answered. */
static bool try_answer(struct wait *w, bool in_any_case)
{
	const struct job *job = queue_job(w->queue, w->watch.id);
	struct luxi_request *r = w->request;
	auto_json json_t *values = NULL, *entries = NULL;
	struct error err;

	if (job == NULL)
		error_set(&err, ERR_JOB_LOST, NULL,
			  "Job %ju is not in the queue; it may be archived",
			  (uintmax_t)w->watch.id);
	else
		values = field_values(job, w->fields);
	if (values == NULL) {
		wait_free(w);
		luxi_fail(r, &err);
		return true;
	}
	entries = job_log_since(job, w->known_serial);
	if (!in_any_case && !job_is_final(job) &&
	    json_array_size(entries) == 0 && json_same(values, w->known))
		return false;
	wait_free(w);
	luxi_answer(r, json_make("[O, O]", values, entries), NULL);
	return true;
}

static void on_changed(struct queue_watch *watch)
{
	struct wait *w = container_of(watch, struct wait, watch);

	if (!try_answer(w, false))
		queue_watch(w->queue, &w->watch);
}

static void on_timer(struct timer *t)
{
	try_answer(container_of(t, struct wait, timer), true);
}

static void on_hurry(struct luxi_request *r)
{
	try_answer(r->arg, true);
}

static int read_args(struct wait *w, const json_t *args, double *ret_timeout_s,
		     struct error *err)
{
	const json_t *serial = json_array_get(args, 3);
	const json_t *timeout = json_array_get(args, 4);
	size_t i;
	json_t *field;

	w->fields = json_array_get(args, 1);
	w->known = json_array_get(args, 2);
	w->known_serial =
		json_is_integer(serial) ? json_integer_value(serial) : -1;
	*ret_timeout_s = json_number_value(timeout);
	if (luxi_job_id(json_array_get(args, 0), &w->watch.id, err) < 0)
		return -1;
	if (!json_is_array(w->fields) || !json_is_number(timeout))
		return error_set(
			err, ERR_REQUEST, NULL,
			"WaitForJobChange takes a job id, a list of "
			"fields, what is known of them and of the log, "
			"and seconds");
	if (json_array_size(w->fields) > WAIT_FIELDS_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "WaitForJobChange looks at at most %d fields",
				 WAIT_FIELDS_MAX);
	json_array_foreach (w->fields, i, field)
		if (!json_is_string(field))
			return error_set(
				err, ERR_REQUEST, NULL,
				"WaitForJobChange: fields are strings");
	return 0;
}

static void start(struct master *m, struct luxi_request *r, const json_t *args)
{
	struct wait *w = xalloc(sizeof(*w));
	double timeout_s = 0;
	struct error err;

	w->queue = m->queue;
	w->request = r;
	w->watch.changed = on_changed;
	w->timer.fired = on_timer;
	if (read_args(w, args, &timeout_s, &err) < 0) {
		free(w);
		luxi_fail(r, &err);
		return;
	}
	if (timeout_s > WAIT_MAX_S)
		timeout_s = WAIT_MAX_S;
	if (try_answer(w, timeout_s <= 0))
		return;
	r->arg = w;
	r->hurry = on_hurry;
	queue_watch(m->queue, &w->watch);
	timer_start(&w->timer, clock_mono_us() + (int64_t)(timeout_s * 1e6));
}

const struct luxi_method luxi_WaitForJobChange = {.start = start};
