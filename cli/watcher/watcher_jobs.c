/* SPDX-License-Identifier: BSD-2-Clause */
/* All jobs of one step are submitted at once, so they run side by side; then
 * each is waited for.  One that takes too long goes on without the watcher,
 * which sees in its next run that somebody works on that instance. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"

/* So long a step waits for its jobs. */
#define WAIT_S 600
/* One question about a job takes at most so long. */
#define QUESTION_S 10
#define REASON_SOURCE "gnt:watcher"

json_t *watcher_op(const struct op_class *class, const char *key,
		   const char *value, const char *why)
{
	json_t *op = op_new(class);

	json_set_str(op, key, value);
	json_object_set_new(op, "reason",
			    json_make("[[s, s, I]]", REASON_SOURCE, why,
				      (json_int_t)(clock_wall_us() * 1000)));
	return op;
}

void watcher_jobs_add(json_t *jobs, const char *about, json_t *ops STEALS,
		      const char *fmt, ...)
{
	auto_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvprintf(fmt, ap);
	va_end(ap);
	json_array_append_new(jobs, json_make("{s:s, s:s, s:o}", "what", what,
					      "about", about, "ops", ops));
}

bool watcher_job_is_good(const json_t *job)
{
	return strcmp(json_str(job, "status", ""), "success") == 0;
}

/* What is done in each run says nothing. */
static void tell_submitted(struct watcher *w, intmax_t id, const char *what,
			   bool quiet)
{
	if (quiet)
		log_info("Submitted job %jd to %s", id, what);
	else
		watcher_did(w->report, "Submitted job %jd to %s", id, what);
}

/* The master took none of them.  Without an answer nobody knows. */
static int all_refused(json_t *jobs, const struct error *err)
{
	json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job)
		json_set_bool(job, "refused", err->kind != ERR_LUXI);
	return -1;
}

static int submit(struct watcher *w, json_t *jobs, struct error *err)
{
	json_t *lists = json_array(), *job;
	auto_json json_t *answers = NULL;
	size_t i;

	json_array_foreach (jobs, i, job)
		json_array_append(lists, json_object_get(job, "ops"));
	answers = luxi_call(w->luxi, "SubmitManyJobs", json_make("[o]", lists),
			    err);
	if (answers == NULL)
		return all_refused(jobs, err);
	json_array_foreach (jobs, i, job) {
		const json_t *answer = json_array_get(answers, i);
		json_t *value = json_array_get(answer, 1);
		const char *what = json_str(job, "what", "");

		if (!json_is_true(json_array_get(answer, 0))) {
			auto_free char *text = json_text(value);

			json_set_str(job, "error", text);
			json_set_bool(job, "refused", true);
			watcher_did_not(w->report,
					"Cannot submit a job to "
					"%s: %s",
					what, text);
			continue;
		}
		json_object_set(job, "job", value);
		tell_submitted(w, json_integer_value(value), what,
			       json_bool(job, "quiet", false));
	}
	return 0;
}

/* Whether it has ended; then its status and error are noted. */
static int look(struct watcher *w, json_t *job, bool *ret_ended,
		struct error *err)
{
	auto_json json_t *rows = luxi_call(
		w->luxi, "QueryJobs",
		json_make("[[O], [s, s, s]]", json_object_get(job, "job"),
			  "status", "opresult", "end_ts"),
		err);
	const json_t *row = json_array_get(rows, 0);
	const json_t *results = json_array_get(row, 1);
	struct error failure;

	if (rows == NULL)
		return -1;
	*ret_ended =
		!json_is_array(row) || !json_is_null(json_array_get(row, 2));
	if (!json_is_array(row))
		return 0;
	json_object_set(job, "status", json_array_get(row, 0));
	if (!*ret_ended || watcher_job_is_good(job))
		return 0;
	for (size_t i = 0; i < json_array_size(results); i++)
		if (json_is_array(json_array_get(results, i))) {
			luxi_error_unpack(json_array_get(results, i), &failure);
			json_set_str(job, "error", failure.text);
			break; /* the others say that this one failed */
		}
	return 0;
}

static void tell(struct watcher *w, const json_t *job, bool ended)
{
	intmax_t id = json_int(job, "job", 0);
	const char *what = json_str(job, "what", "");

	if (!ended)
		watcher_did_not(w->report,
				"Job %jd (to %s) has not ended within %d s; it "
				"goes on",
				id, what, WAIT_S);
	else if (!watcher_job_is_good(job))
		watcher_did_not(w->report, "Job %jd (to %s) failed: %s", id,
				what,
				json_str(job, "error", "no reason given"));
	else
		log_debug("job %jd has ended well", id);
}

static int wait_for(struct watcher *w, json_t *job, int64_t deadline_us,
		    struct error *err)
{
	bool ended = false;

	for (;;) {
		auto_json json_t *change = NULL;

		if (look(w, job, &ended, err) < 0)
			return -1;
		if (ended || clock_mono_us() >= deadline_us)
			break;
		change = luxi_call(w->luxi, "WaitForJobChange",
				   json_make("[O, [s], [O], i, i]",
					     json_object_get(job, "job"),
					     "status",
					     json_object_get(job, "status"),
					     LUXI_NO_LOG, QUESTION_S),
				   err);
		if (change == NULL)
			return -1;
	}
	tell(w, job, ended);
	return 0;
}

int watcher_jobs_run(struct watcher *w, json_t *jobs, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + WAIT_S * INT64_C(1000000);
	json_t *job;
	size_t i;

	if (json_array_size(jobs) == 0)
		return 0;
	if (submit(w, jobs, err) < 0)
		return -1;
	json_array_foreach (jobs, i, job)
		if (json_object_get(job, "job") != NULL &&
		    wait_for(w, job, deadline_us, err) < 0)
			return -1;
	return 0;
}

json_t *watcher_job_result(struct watcher *w, const json_t *job)
{
	struct error ignored;
	auto_json json_t *rows = luxi_call(
		w->luxi, "QueryJobs",
		json_make("[[O], [s]]", json_get(job, "job"), "opresult"),
		&ignored);

	return json_ref(
		json_array_get(json_array_get(json_array_get(rows, 0), 0), 0));
}
