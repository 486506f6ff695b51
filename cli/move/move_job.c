/* SPDX-License-Identifier: BSD-2-Clause */
/* Usually the cluster is asked for the next change, and answers when there is
 * one, and then for the job as a whole when that has ended.  After trouble the
 * job as a whole is asked for as well, which has all of its log.  Where waiting
 * is refused that is all that is done. */
#include "cli/move/move_job.h"

#include <signal.h>
#include <string.h>

#include "cli/move/move_cluster.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/client/rapi.h"
#include "lib/json/json.h"

/* So soon the user's wish to end is noticed. */
#define TURN_MS 500
/* Between two requests without waiting, and after one without an answer. */
#define PAUSE_US (2 * INT64_C(1000000))
/* Between two requests with it, however soon the first is answered. */
#define SPACE_US 50000
/* A cluster without a master has had time to get another one. */
#define TROUBLE_MAX_S 600

static volatile sig_atomic_t interrupted;

void move_job_interrupt(void)
{
	interrupted = 1;
}

bool move_job_interrupted(void)
{
	return interrupted != 0;
}

void move_job_init(struct move_job *j, struct move_cluster *cluster,
		   struct rapi_set *set, char *id STEALS, const char *what)
{
	*j = (struct move_job){
		.cluster = cluster,
		.id = id,
		.what = what,
		.log = MOVE_LOG_INIT,
		.set = set,
		.rapi = move_cluster_client(cluster),
		.info = json_null(),
	};
}

void move_job_done(struct move_job *j)
{
	if (j->cluster == NULL)
		return;
	if (j->asked)
		rapi_drop(j->set, j->rapi);
	rapi_free(j->rapi);
	json_decref(j->info);
	json_decref(j->end);
	move_log_done(&j->log);
	free(j->id);
	*j = (struct move_job){0};
}

bool move_job_is_open(const struct move_job *j)
{
	return j->cluster != NULL && !j->ended;
}

char *move_job_name(const struct move_job *j)
{
	return xprintf("job %s (%s) on %s", j->id, j->what, j->cluster->name);
}

/* --- asking --- */

static void begin(struct move_job *j, const char *resource, const json_t *body)
{
	move_cluster_show(j->cluster, "GET", resource);
	rapi_begin(j->set, j->rapi, "GET", resource, body);
	j->asked = true;
}

static void ask(struct move_job *j)
{
	auto_free char *all = xprintf("/2/jobs/%s", j->id);
	auto_free char *wait = xprintf("%s/wait", all);
	auto_json json_t *body = NULL;

	j->asked_all = j->ask_all || j->polled;
	j->again_us = clock_mono_us() + SPACE_US;
	if (j->asked_all) {
		begin(j, all, NULL);
		return;
	}
	body = json_make("{s:[s], s:O, s:o}", "fields", "status",
			 "previous_job_info", j->info, "previous_log_serial",
			 j->log.serial < 0 ? json_null()
					   : json_integer(j->log.serial));
	begin(j, wait, body);
}

/* Ask whoever may be asked; how long until the next one may. */
static int64_t ask_all(struct move_job *const *jobs, size_t n)
{
	int64_t now_us = clock_mono_us(), ms = TURN_MS;

	for (size_t i = 0; i < n; i++) {
		struct move_job *j = jobs[i];
		int64_t left_ms = (j->again_us - now_us + 999) / 1000;

		if (!move_job_is_open(j) || j->asked)
			continue;
		if (left_ms <= 0)
			ask(j);
		else if (left_ms < ms)
			ms = left_ms;
	}
	return ms;
}

/* --- answers --- */

/* No answer: another one is tried later, up to a limit.  What is refused stays
 * so, except that a job can be looked at without waiting. */
static int take_trouble(struct move_job *j, struct error *err)
{
	int64_t now_us = clock_mono_us();
	bool silent = error_is(err, RAPI_NO_ANSWER);
	auto_free char *name = move_job_name(j);

	if (j->trouble_us == 0)
		j->trouble_us = now_us;
	if ((j->asked_all && !silent) ||
	    now_us - j->trouble_us > TROUBLE_MAX_S * INT64_C(1000000))
		return error_wrap(err, "Cannot follow %s", name);
	j->polled = j->polled || !silent;
	j->ask_all = true;
	j->again_us = now_us + PAUSE_US;
	return 0;
}

/* What GET /2/jobs/ID says. */
static int take_all(struct move_job *j, json_t *answer STEALS,
		    struct error *err)
{
	auto_json json_t *job = answer;
	const json_t *log = json_array_get(json_get(job, "oplog"), 0);
	const char *status = json_str(job, "status", NULL);

	if (status == NULL)
		return error_set(err, ERR_RESULT, NULL,
				 "the answer has no status");
	if (move_log_read(&j->log, log, err) < 0)
		return -1;
	j->ask_all = false;
	if (move_log_is_end(status)) {
		j->ended = true;
		j->end = steal(&job);
	} else if (j->polled) {
		j->again_us = clock_mono_us() + PAUSE_US;
	}
	return 0;
}

/* What the wait has given: null when nothing has changed. */
static int take_change(struct move_job *j, json_t *answer STEALS,
		       struct error *err)
{
	auto_json json_t *change = answer;
	const json_t *info = json_get(change, "job_info");
	const char *status = json_string_value(json_array_get(info, 0));

	if (json_is_null(change))
		return 0;
	if (status == NULL)
		return error_set(err, ERR_RESULT, NULL,
				 "the answer has no status");
	if (move_log_read(&j->log, json_get(change, "log_entries"), err) < 0)
		return -1;
	json_decref(j->info);
	j->info = json_ref(info);
	j->ask_all = move_log_is_end(status);
	return 0;
}

static int take(struct move_job *j, struct error *err)
{
	json_t *answer = rapi_answer(j->rapi, err);
	int rc;

	j->asked = false;
	if (answer == NULL)
		return take_trouble(j, err);
	j->trouble_us = 0;
	rc = j->asked_all ? take_all(j, answer, err)
			  : take_change(j, answer, err);
	if (rc < 0) {
		auto_free char *name = move_job_name(j);

		error_wrap(err, "Cannot follow %s", name);
	}
	return rc;
}

int move_job_next(struct move_job *const *jobs, size_t n, struct error *err)
{
	int64_t limit_ms = ask_all(jobs, n);
	struct rapi *r = rapi_next(jobs[0]->set, limit_ms);

	for (size_t i = 0; r != NULL && i < n; i++)
		if (jobs[i]->rapi == r && take(jobs[i], err) < 0)
			return -1;
	if (move_job_interrupted())
		return error_set(err, ERR_CANCELED, NULL, "Interrupted");
	return 0;
}

int move_job_finish(struct move_job *const *jobs, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		while (move_job_is_open(jobs[i]))
			if (move_job_next(jobs, n, err) < 0)
				return -1;
	return 0;
}
