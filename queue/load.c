/* SPDX-License-Identifier: BSD-2-Clause */
/* At start: read all job files into memory, and end the jobs that were running
 * when the last master ended.
 *
 * Those ends are drafts until the queue is started: an end becomes visible only
 * when the other candidates have it, too, like any state.  Otherwise, if this
 * master died now, the next one could hold a newer state of the job than the
 * one that was shown. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/files/queue_files.h"
#include "queue/queue_private.h"

#define VERSION_TEXT "1\n"

/* A larger gap between the serial number and the highest job that exists is
 * logged: so many jobs that were all removed again would be a month with forty
 * of them a second. */
#define SERIAL_JUMP 100000000

struct job *load_text(const char *text, size_t len, const char *name,
		      uint64_t id, struct error *err)
{
	struct job *j = job_from_text(text, len, err);

	if (j == NULL) {
		error_wrap(err, "%s", name);
		return NULL;
	}
	if (j->id != id) {
		error_set(err, ERR_JOB_CORRUPT, NULL,
			  "%s: Not a valid job file: it has the id %ju", name,
			  (uintmax_t)j->id);
		job_free(j);
		return NULL;
	}
	return j;
}

struct job *load_file(struct queue *q, const char *name, uint64_t id,
		      struct error *err)
{
	size_t len;
	auto_free char *text =
		store_read(q->store, name, JOB_FILE_MAX, &len, err);

	return text == NULL ? NULL : load_text(text, len, name, id, err);
}

/* --- after a crash --- */

static json_t *interrupted(void)
{
	return json_make("[s, [s]]", error_kind_name(ERR_EXEC),
			 "The master daemon ended while this opcode ran; its "
			 "outcome is unknown");
}

/* Returns false when the opcode, and so the job, has ended. */
static bool recover_op(struct job_op *op, int64_t now)
{
	switch (op->status) {
	case JOB_WAITING:
		job_op_move(op, JOB_QUEUED);
		op->start_us = 0;
		return true;
	case JOB_CANCELING:
		job_op_end(op, JOB_CANCELED, NULL, now);
		return false;
	case JOB_RUNNING:
		job_op_end(op, JOB_ERROR, interrupted(), now);
		return false;
	default:
		return true;
	}
}

/* Returns whether j was changed. */
static bool recover(struct job *j)
{
	auto_json json_t *rest = queue_run_preceding_failed();
	int64_t now = clock_wall_us();
	bool changed = false;

	for (size_t i = 0; i < j->n_ops; i++) {
		enum job_state before = j->ops[i].status;

		if (!recover_op(&j->ops[i], now)) {
			bool canceled = j->ops[i].status == JOB_CANCELED;

			job_end_rest(j, i + 1,
				     canceled ? JOB_CANCELED : JOB_ERROR,
				     canceled ? NULL : rest, now);
			j->end_us = now;
			return true;
		}
		changed = changed || j->ops[i].status != before;
	}
	return changed;
}

static void save_at_start(struct queue *q, struct job *j)
{
	auto_free char *name = queue_job_name(j->id);

	store_write_at_start(q->store, name, job_to_text(j));
}

static void set_aside(struct queue *q, const char *name)
{
	struct error err;

	if (store_set_aside(q->store, name, &err) < 0)
		log_error("%s, ignoring", err.text);
}

/* The id is ignored: otherwise the next ids would continue after it. */
static void refuse_name(struct queue *q, const char *name)
{
	log_error("%s/%s is the file of no job, it is now %s.corrupt: ids have "
		  "at most 15 digits",
		  q->dir, name, name);
	set_aside(q, name);
}

static WAITS void load_one(struct queue *q, uint64_t id)
{
	auto_free char *name = queue_job_name(id);
	struct error err;
	struct job *j = load_file(q, name, id, &err);

	if (j == NULL && err.kind != ERR_JOB_CORRUPT &&
	    !error_is(&err, ECODE_NOFILE)) {
		log_error("Job %ju is left out: %s", (uintmax_t)id, err.text);
		return;
	}
	if (j == NULL) {
		log_error("Job %ju is left out, its file is now %s.corrupt: %s",
			  (uintmax_t)id, name, err.text);
		set_aside(q, name);
		return;
	}
	job_index_add(&q->jobs, id, job_attach(q, j));
	if (job_is_final(j) || !recover(job_edit(j))) {
		job_free(steal(&j->private->draft));
		return;
	}
	log_warning("Job %ju was interrupted: it is now %s", (uintmax_t)id,
		    job_state_name(job_status(job_newest(j))));
	if (job_is_final(job_newest(j)))
		return; /* load_save_ends() */
	job_assign(j, steal(&j->private->draft));
	save_at_start(q, j);
}

/* The jobs that this one depends on have smaller ids, so their ends are known
 * here. */
static WAITS void depend_one(struct queue *q, struct job *j)
{
	enum job_state state;
	struct error err;

	if (job_status(j) != JOB_QUEUED)
		return;
	if (sched_depend(q, j, &state, &err) == 0) {
		sched_born(q, j);
		return;
	}
	job_end_unstarted(j, state, err.text);
}

void load_save_ends(struct queue *q)
{
	for (struct job *j = job_index_next(&q->jobs, 0); j != NULL;
	     j = job_index_next(&q->jobs, j->id)) {
		if (j->private->draft == NULL || j->private->n_saving > 0 ||
		    !job_is_final(j->private->draft))
			continue;
		j->private->ended_at_start = true;
		job_save(j);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The temporary file of a write that a crash interrupted. */
static void remove_stray(struct queue *q, const char *name)
{
	auto_free char *path = xprintf("%s/%s", q->dir, name);
	struct error ignored;

	if (str_starts(name, "job-") && str_ends(name, ".new"))
		q->config.disk->remove(q->config.disk, path, &ignored);
}

static WAITS int load_jobs(struct queue *q, struct error *err)
{
	auto_strv struct strv names = {0};
	auto_free uint64_t *ids = NULL;
	struct job *j = NULL;
	size_t n = 0;

	if (store_list(q->store, "", &names, err) < 0)
		return -1;
	ids = xcalloc(names.n + 1, sizeof(*ids));
	for (size_t i = 0; i < names.n; i++) {
		remove_stray(q, names.items[i]);
		if (queue_file_is_bad_job(names.items[i]))
			refuse_name(q, names.items[i]);
		n += queue_file_job_id(names.items[i], &ids[n]);
	}
	qsort(ids, n, sizeof(*ids), by_value);
	for (size_t i = 0; i < n; i++)
		load_one(q, ids[i]);
	if (n > 0 && ids[n - 1] > q->last_id)
		q->last_id = ids[n - 1];
	while ((j = job_index_next(&q->jobs, j == NULL ? 0 : j->id)) != NULL)
		depend_one(q, j);
	return 0;
}

/* --- the small files --- */

static WAITS int check_version(struct queue *q, struct error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (!store_exists(q->store, "version")) {
		store_write_at_start(q->store, "version",
				     xstrdup(VERSION_TEXT));
		return 0;
	}
	text = store_read(q->store, "version", 100, &len, err);
	if (text == NULL)
		return -1;
	if (strcmp(text, VERSION_TEXT) == 0 || strcmp(text, "1") == 0)
		return 0;
	return error_set(err, ERR_QUEUE, NULL,
			 "%s/version: this version of the job queue is not "
			 "supported (only 1 is)",
			 q->dir);
}

/* The highest id in the archive; 0 without one. */
static WAITS uint64_t last_archived(struct queue *q)
{
	struct error ignored;
	size_t n_folders = 0;
	auto_free uint64_t *folders = archive_folders(q, &n_folders, &ignored);

	while (n_folders > 0) {
		size_t n = 0;
		auto_free uint64_t *ids =
			archive_ids(q, folders[--n_folders], &n, &ignored);

		if (n > 0)
			return ids[n - 1];
	}
	return 0;
}

/* The highest id that was ever given, according to the file "serial"; 0:
 * unknown. */
static WAITS uint64_t stored_serial(struct queue *q)
{
	auto_free char *text = NULL;
	struct error err = {.text = "it is no id"};
	uint64_t value;
	size_t len;

	if (!store_exists(q->store, "serial"))
		return 0;
	text = store_read(q->store, "serial", 100, &len, &err);
	if (text != NULL && queue_file_read_serial(text, &value))
		return value;
	log_warning("%s/serial is damaged (%s): the highest id of all jobs "
		    "is taken instead",
		    q->dir, err.text);
	return 0;
}

/* A serial number that is too low would give ids twice, so the highest id found
 * wins; one that is too high is logged, and ids continue after it. */
static WAITS void reconcile_serial(struct queue *q, uint64_t stored)
{
	uint64_t archived = last_archived(q);

	if (archived > q->last_id)
		q->last_id = archived;
	if (stored > 0 && q->last_id > stored)
		log_warning("%s/serial says %ju, but there is a job %ju: ids "
			    "go on from there",
			    q->dir, (uintmax_t)stored, (uintmax_t)q->last_id);
	if (stored > q->last_id && stored - q->last_id > SERIAL_JUMP)
		log_warning("%s/serial says %ju, but the highest job that is "
			    "there is %ju: ids go on from %ju all the same",
			    q->dir, (uintmax_t)stored, (uintmax_t)q->last_id,
			    (uintmax_t)stored);
	if (stored > q->last_id)
		q->last_id = stored;
}

static void repair_serial(struct queue *q, uint64_t stored)
{
	if (q->last_id == stored && store_exists(q->store, "serial"))
		return;
	store_write_at_start(q->store, "serial",
			     xprintf("%ju\n", (uintmax_t)q->last_id));
}

int load_all(struct queue *q, struct error *err)
{
	uint64_t stored;

	if (check_version(q, err) < 0)
		return -1;
	q->drained = store_exists(q->store, "drain");
	stored = stored_serial(q);
	if (load_jobs(q, err) < 0 || keys_load(q, err) < 0)
		return -1;
	reconcile_serial(q, stored);
	repair_serial(q, stored);
	chain_load(q);
	return store_settle(q->store, err);
}
