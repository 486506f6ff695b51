/* SPDX-License-Identifier: BSD-2-Clause */
/* One step after the other: the source prepares the export, the destination
 * makes the instance and says where it awaits the data, the source stops the
 * instance and sends its data.  Then two jobs belong together: when one of them
 * fails, the other one is ended.
 *
 * The new instance is started, and the source's is removed, by jobs of their
 * own, when the destination has all of it.  An export that removes it, as
 * Ganeti's program asks for, knows no more than that all was sent: what the
 * destination then failed to write would be nowhere.  And an import that starts
 * it may fail after that, so that both clusters would run it. */
#include "cli/move/move_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "cli/move/move_body.h"
#include "cli/move/move_cluster.h"
#include "cli/move/move_job.h"
#include "cli/move/move_options.h"
#include "cli/move/move_source.h"
#include "cli/move/move_tell.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/client/rapi.h"
#include "lib/json/json.h"

/* A job whose partner has failed waits for it no longer than some minutes. */
#define ENDING_MAX_US (600 * INT64_C(1000000))

struct run {
	const struct move_options *o;
	struct move_cluster *source, *dest;
	const char *instance; /* as the user has named it */
	struct rapi_set *set;

	json_t *tags, *info, *prepared;
	const json_t *row; /* in info */
	size_t n_disks;
	bool stopped; /* it ran on the source, which was told to stop it */
	bool started; /* the destination was told to start it */
	bool taken;   /* the last job of run_job() was submitted */
	struct move_job import, export;
};

/* --- what is told --- */

/* What a job has written into its log. */
static void tell_job(void *arg, const char *text)
{
	move_tell(stdout, arg, "%s", text);
}

static void follow(struct run *r, struct move_job *j,
		   struct move_cluster *cluster, char *id STEALS,
		   const char *what)
{
	move_job_init(j, cluster, r->set, id, what);
	if (r->o->verbose > 0 || r->o->debug > 0)
		j->log.tell = tell_job;
	j->log.arg = mem_unconst(r->instance);
}

/* --- steps of one job --- */

/* Submit a job and wait for its result, to be freed. */
static json_t *run_job(struct run *r, struct move_cluster *cluster,
		       const char *method, const char *resource,
		       const json_t *body, const char *what, struct error *err)
{
	char *id = move_cluster_submit(cluster, method, resource, body, err);
	struct move_job job = {0}, *jobs[] = {&job};
	const json_t *result = NULL;
	json_t *kept = NULL;

	r->taken = false;
	if (id == NULL)
		return NULL;
	r->taken = true;
	follow(r, &job, cluster, id, what);
	if (move_job_finish(jobs, 1, err) == 0) {
		result = move_log_result(job.end, err);
		if (result == NULL) {
			auto_free char *name = move_job_name(&job);

			error_wrap(err, "%s failed", name);
		}
	}
	if (result != NULL)
		kept = json_ref(result);
	move_job_done(&job);
	return kept;
}

static int read_source(struct run *r, struct error *err)
{
	auto_free char *path = xprintf("/2/instances/%s", r->instance);
	auto_free char *info = xprintf("%s/info?static=1", path);
	auto_json json_t *answer =
		move_cluster_ask(r->source, "GET", path, NULL, err);

	if (answer == NULL && error_is(err, ECODE_NOENT))
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "%s has no such instance", r->source->name);
	if (answer == NULL || move_source_tags(answer, err) < 0)
		return -1;
	r->tags = json_ref(json_get(answer, "tags"));
	r->info = run_job(r, r->source, "GET", info, NULL, "query", err);
	if (r->info == NULL)
		return -1;
	r->row = move_source_instance(r->info, err);
	if (r->row == NULL)
		return -1;
	r->n_disks = json_array_size(json_get(r->row, "disks"));
	if (r->n_disks > 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "It has no disks, so there is nothing to move: make "
			 "it anew on %s, and remove it from %s",
			 r->dest->name, r->source->name);
}

static const char *source_name(const struct run *r)
{
	return json_str(r->row, "name", r->instance);
}

static const char *dest_name(const struct run *r)
{
	return r->o->dest_name != NULL ? r->o->dest_name : source_name(r);
}

static int prepare(struct run *r, struct error *err)
{
	auto_free char *path = xprintf(
		"/2/instances/%s/prepare-export?mode=remote", source_name(r));

	move_tell(stdout, r->instance, "preparing the export on %s",
		  r->source->name);
	r->prepared = run_job(r, r->source, "PUT", path, NULL, "prepare", err);
	return r->prepared == NULL ? -1
				   : move_source_prepared(r->prepared, err);
}

/* --- the destination --- */

/* Wait until the destination says where it awaits the data. */
static int await_import(struct run *r, struct error *err)
{
	struct move_job *jobs[] = {&r->import};

	while (r->import.log.import == NULL && !r->import.ended)
		if (move_job_next(jobs, 1, err) < 0)
			return -1;
	if (r->import.log.import != NULL && !r->import.ended)
		return move_log_check_import(r->import.log.import, r->n_disks,
					     err);
	if (move_log_result(r->import.end, err) != NULL)
		error_set(err, ERR_RESULT, NULL,
			  "it has ended without any data");
	return -1;
}

/* One attempt. */
static int create(struct run *r, bool opportunistic, struct error *err)
{
	auto_json json_t *body = move_body_create(
		r->o, r->row, r->tags, r->prepared, opportunistic, err);
	char *id;

	if (body == NULL)
		return -1;
	id = move_cluster_submit(r->dest, "POST", "/2/instances", body, err);
	if (id == NULL)
		return -1;
	follow(r, &r->import, r->dest, id, "import");
	move_tell(stdout, r->instance, "creating %s on %s (job %s)",
		  dest_name(r), r->dest->name, r->import.id);
	if (await_import(r, err) == 0)
		return 0;
	if (r->import.ended) {
		auto_free char *name = move_job_name(&r->import);

		error_wrap(err, "%s failed", name);
	}
	return -1;
}

/* -1 with err when the user wants to end. */
static int pause_for(int64_t seconds, struct error *err)
{
	int64_t end_us = clock_mono_us() + seconds * 1000000, left_us;

	while ((left_us = end_us - clock_mono_us()) > 0) {
		if (move_job_interrupted())
			return error_set(err, ERR_CANCELED, NULL,
					 "Interrupted");
		if (poll(NULL, 0, left_us > 500000 ? 500 : 1) < 0 &&
		    errno != EINTR)
			break;
	}
	return 0;
}

/* Nodes that no job has locked may be too few at first. */
static int create_somewhere(struct run *r, struct error *err)
{
	for (int64_t i = 0; i < r->o->tries; i++) {
		if (create(r, true, err) == 0)
			return 0;
		if (!r->import.ended || !error_is(err, ECODE_TEMP_NORES))
			return -1;
		move_tell(stdout, r->instance,
			  "there is no room on nodes that are free now: %s",
			  err->text);
		move_job_done(&r->import);
		if (i + 1 < r->o->tries && pause_for(r->o->delay_s, err) < 0)
			return -1;
	}
	return create(r, false, err);
}

/* --- the source's instance --- */

/* As late as possible; what is down stays so when an export of it has ended. */
static int stop_source(struct run *r, struct error *err)
{
	auto_free char *path =
		xprintf("/2/instances/%s/shutdown", source_name(r));
	auto_json json_t *body = json_object(), *done = NULL;

	if (r->o->keep_source || !move_source_is_up(r->row))
		return 0;
	if (r->o->shutdown_s >= 0)
		json_set_int(body, "timeout", r->o->shutdown_s);
	move_tell(stdout, r->instance, "shutting down on %s", r->source->name);
	done = run_job(r, r->source, "PUT", path, body, "shutdown", err);
	/* Where it was not even taken the instance runs. */
	r->stopped = r->taken || error_is(err, RAPI_NO_ANSWER);
	return done == NULL ? -1 : 0;
}

/* Nothing has come of it: it runs on where it was. */
static void start_source(struct run *r, struct error *err)
{
	auto_free char *path =
		xprintf("/2/instances/%s/startup", source_name(r));
	auto_json json_t *done = NULL;
	struct error second;

	move_tell(stdout, r->instance, "starting again on %s", r->source->name);
	done = run_job(r, r->source, "PUT", path, NULL, "startup", &second);
	if (done == NULL)
		error_set(err, err->kind, err->ecode,
			  "%s; and it may be down on %s: %s", err->text,
			  r->source->name, second.text);
}

/* The destination has all of it.  One that stays on the source runs there, with
 * the same addresses. */
static int start_there(struct run *r, struct error *err)
{
	auto_free char *path = xprintf("/2/instances/%s/startup", dest_name(r));
	auto_json json_t *done = NULL;

	if (r->o->keep_source || !move_source_is_up(r->row))
		return 0;
	move_tell(stdout, r->instance, "starting on %s", r->dest->name);
	r->started = true;
	done = run_job(r, r->dest, "PUT", path, NULL, "startup", err);
	return done != NULL ? 0
			    : error_wrap(err,
					 "%s has all of it, but does not start "
					 "it; start it there and remove it "
					 "from %s, or the other way round",
					 r->dest->name, r->source->name);
}

static int remove_source(struct run *r, struct error *err)
{
	auto_free char *path = xprintf("/2/instances/%s", source_name(r));
	auto_json json_t *done = NULL;

	if (r->o->keep_source)
		return 0;
	move_tell(stdout, r->instance, "removing it from %s", r->source->name);
	done = run_job(r, r->source, "DELETE", path, NULL, "remove", err);
	return done != NULL ? 0
			    : error_wrap(err,
					 "%s has it, but it has to be removed "
					 "from %s",
					 r->dest->name, r->source->name);
}

/* --- the copy --- */

static int begin_export(struct run *r, struct error *err)
{
	auto_free char *path =
		xprintf("/2/instances/%s/export", source_name(r));
	auto_json json_t *body =
		move_body_export(r->o, r->prepared, r->import.log.import);
	char *id = move_cluster_submit(r->source, "PUT", path, body, err);

	if (id == NULL)
		return -1;
	follow(r, &r->export, r->source, id, "export");
	move_tell(stdout, r->instance,
		  "copying %zu disks, %jd MiB (job %s on %s)", r->n_disks,
		  (intmax_t)move_source_size_mib(r->row), r->export.id,
		  r->source->name);
	return 0;
}

/* How a job has ended, with its name. */
static int verdict(const struct run *r, const struct move_job *j,
		   struct error *err)
{
	auto_free char *name = move_job_name(j);
	const json_t *result = move_log_result(j->end, err);

	if (result != NULL && j->log.lost)
		error_set(err, ERR_RESULT, NULL,
			  "its log says that disks have not come whole");
	else if (result != NULL &&
		 (j != &r->export ||
		  move_log_check_export(result, r->n_disks, err) == 0))
		return 0;
	return error_wrap(err, "%s failed", name);
}

/* Its partner has failed: end it, which Ganeti's clusters do with jobs that
 * have not begun alone; others notice by themselves, within minutes. */
static void end_job(struct move_job *j)
{
	int64_t end_us = clock_mono_us() + ENDING_MAX_US;
	struct move_job *jobs[] = {j};
	struct error ignored; /* the first failure is what is told */

	if (!move_job_is_open(j))
		return;
	move_cluster_cancel(j->cluster, j->id);
	while (move_job_is_open(j) && clock_mono_us() < end_us)
		if (move_job_next(jobs, 1, &ignored) < 0)
			return;
}

/* One has failed: what became of the other one. */
static void add_other(const struct run *r, const struct move_job *other,
		      struct error *err)
{
	auto_free char *name = NULL;
	struct error second;

	if (other->cluster == NULL || !other->ended)
		return;
	name = move_job_name(other);
	if (verdict(r, other, &second) < 0)
		error_set(err, err->kind, err->ecode, "%s; then %s", err->text,
			  second.text);
	else if (other == &r->import)
		error_set(err, err->kind, err->ecode,
			  "%s; but %s succeeded: %s may have an instance that "
			  "is not whole, remove it there",
			  err->text, name, other->cluster->name);
}

static int copy(struct run *r, struct error *err)
{
	struct move_job *jobs[] = {&r->export, &r->import};

	while (!r->export.ended || !r->import.ended) {
		if (move_job_next(jobs, 2, err) < 0)
			return -1;
		for (size_t i = 0; i < 2; i++)
			if (jobs[i]->ended && verdict(r, jobs[i], err) < 0) {
				end_job(jobs[1 - i]);
				add_other(r, jobs[1 - i], err);
				return -1;
			}
	}
	return 0;
}

/* --- the whole --- */

static int move(struct run *r, struct error *err)
{
	if (read_source(r, err) < 0 || prepare(r, err) < 0 ||
	    create_somewhere(r, err) < 0)
		return -1;
	if (move_job_interrupted())
		return error_set(err, ERR_CANCELED, NULL, "Interrupted");
	if (stop_source(r, err) < 0 || begin_export(r, err) < 0 ||
	    copy(r, err) < 0)
		return -1;
	return start_there(r, err) < 0 ? -1 : remove_source(r, err);
}

/* What was stopped in vain runs again, unless it may run there. */
static void bring_back(struct run *r, struct error *err)
{
	if (!r->stopped)
		return;
	if (!r->started && !move_job_is_open(&r->export) &&
	    !move_job_interrupted())
		start_source(r, err);
	else
		error_set(err, err->kind, err->ecode,
			  "%s; it may be down on %s", err->text,
			  r->source->name);
}

/* Nobody sends data to an import without an export. */
static void abandon(struct run *r, struct error *err)
{
	bool was_open = move_job_is_open(&r->import);

	if (!was_open || r->export.cluster != NULL)
		return;
	if (move_job_interrupted()) {
		r->import.ended =
			move_cluster_cancel(r->import.cluster, r->import.id);
		return;
	}
	end_job(&r->import);
	add_other(r, &r->import, err);
}

/* Jobs that may still run go on without us. */
static void add_open(const struct run *r, struct error *err)
{
	const struct move_job *jobs[] = {&r->export, &r->import};

	for (size_t i = 0; i < 2; i++) {
		auto_free char *name = NULL;

		if (!move_job_is_open(jobs[i]))
			continue;
		name = move_job_name(jobs[i]);
		error_set(err, err->kind, err->ecode, "%s; %s goes on",
			  err->text, name);
	}
}

static void run_done(struct run *r)
{
	move_job_done(&r->import);
	move_job_done(&r->export);
	rapi_set_free(r->set);
	json_decref(r->tags);
	json_decref(r->info);
	json_decref(r->prepared);
}

int move_run(const struct move_options *o, struct move_cluster *source,
	     struct move_cluster *dest, const char *instance)
{
	struct run r = {.o = o,
			.source = source,
			.dest = dest,
			.instance = instance,
			.set = rapi_set_new()};
	struct error err;
	int rc = move(&r, &err);

	if (rc == 0) {
		move_tell(stdout, instance, "moved to %s%s%s", dest->name,
			  o->dest_name != NULL ? " as " : "",
			  o->dest_name != NULL ? o->dest_name : "");
	} else {
		abandon(&r, &err);
		bring_back(&r, &err);
		add_open(&r, &err);
		move_tell(stderr, instance, "not moved: %s", err.text);
	}
	run_done(&r);
	return rc;
}
