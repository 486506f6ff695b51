/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls that change the job queue.  They answer when the change is
 * durable, so each runs in a task. */
#include <inttypes.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "masterd/luxi/luxi_calls.h"
#include "queue/queue.h"

/* A SHA-256. */
#define HASH_DIGITS 64

static int check_drained(struct master *m, struct error *err)
{
	return queue_drained(m->queue)
		       ? error_set(err, ERR_SYSTEM, NULL, QUEUE_DRAINED_TEXT)
		       : 0;
}

/* Opcodes that nobody can understand make the whole message wrong, as in
 * Ganeti, not the job. */
static json_t *submit_failed(struct error *err)
{
	if (err->kind == ERR_OPCODE ||
	    (err->kind == ERR_PREREQ && str_eq(err->ecode, ECODE_INVAL)))
		error_as(err, ERR_REQUEST, err->ecode);
	return NULL;
}

static WAITS json_t *submit(struct master *m, const json_t *args,
			    bool ignore_drain, struct error *err)
{
	const json_t *ops = json_array_get(args, 0);
	uint64_t id;

	if (!json_is_array(ops)) {
		error_set(err, ERR_REQUEST, NULL, "a job is a list of opcodes");
		return NULL;
	}
	if (!ignore_drain && check_drained(m, err) < 0)
		return NULL;
	if (queue_submit(m->queue, ops, ignore_drain, &id, err) < 0)
		return submit_failed(err);
	return json_integer((json_int_t)id);
}

static WAITS json_t *submit_job(struct master *m, const json_t *args,
				struct error *err)
{
	return submit(m, args, false, err);
}

static WAITS json_t *submit_job_to_drained(struct master *m, const json_t *args,
					   struct error *err)
{
	return submit(m, args, true, err);
}

static bool is_hash(const char *text)
{
	return text != NULL && strlen(text) == HASH_DIGITS &&
	       strspn(text, "0123456789abcdef") == HASH_DIGITS;
}

/* The job that was submitted under this key, or null. */
static json_t *submitted_once(struct master *m, const char *key,
			      const char *digest, struct error *err)
{
	uint64_t id;

	if (queue_submitted_once(m->queue, key, digest, &id, err) < 0)
		return NULL;
	return id == 0 ? json_null() : json_integer((json_int_t)id);
}

static WAITS json_t *submit_once(struct master *m, const json_t *args,
				 struct error *err)
{
	const json_t *ops = json_array_get(args, 0);
	const char *key = json_string_value(json_array_get(args, 1));
	const char *digest = json_string_value(json_array_get(args, 2));
	uint64_t id;

	if ((!json_is_array(ops) && !json_is_null(ops)) || !is_hash(key) ||
	    !is_hash(digest)) {
		error_set(err, ERR_REQUEST, NULL,
			  "the arguments are a list of opcodes or null, and "
			  "two hashes of %d hexadecimal digits",
			  HASH_DIGITS);
		return NULL;
	}
	if (json_is_null(ops))
		return submitted_once(m, key, digest, err);
	if (check_drained(m, err) < 0)
		return NULL;
	if (queue_submit_once(m->queue, ops, key, digest, &id, err) < 0)
		return submit_failed(err);
	return json_integer((json_int_t)id);
}

static WAITS json_t *submit_many(struct master *m, const json_t *args,
				 struct error *err)
{
	const json_t *jobs = json_array_get(args, 0);
	json_t *result;
	size_t i;
	json_t *ops;

	if (!json_is_array(jobs)) {
		error_set(err, ERR_REQUEST, NULL,
			  "the argument is a list of jobs");
		return NULL;
	}
	json_array_foreach (jobs, i, ops)
		if (!json_is_array(ops)) {
			error_set(err, ERR_REQUEST, NULL,
				  "a job is a list of opcodes");
			return NULL;
		}
	if (check_drained(m, err) < 0)
		return NULL;
	result = queue_submit_many(m->queue, jobs, QUEUE_ALL_READABLE, err);
	return result == NULL ? submit_failed(err) : result;
}

/* Answers [bool, text]; a job that does not exist is such an answer, not an
 * error. */
static json_t *outcome(int rc, uint64_t id, bool ok, char *text STEALS,
		       struct error *err)
{
	auto_free char *owned = text;

	if (rc < 0 && err->kind != ERR_JOB_LOST)
		return NULL;
	if (rc < 0) {
		ok = false;
		owned = xprintf("Job %ju not found in queue", (uintmax_t)id);
	}
	return json_make("[b, s]", ok, owned == NULL ? "" : owned);
}

static WAITS json_t *cancel_job(struct master *m, const json_t *args,
				struct error *err)
{
	const json_t *kill = json_array_get(args, 1);
	char *text = NULL;
	bool ok = false;
	uint64_t id;
	int rc;

	if (luxi_job_id(json_array_get(args, 0), &id, err) < 0)
		return NULL;
	if (kill != NULL && !json_is_boolean(kill)) {
		error_set(err, ERR_REQUEST, NULL, "'kill' is true or false");
		return NULL;
	}
	rc = queue_cancel(m->queue, id, json_is_true(kill), &ok, &text, err);
	return outcome(rc, id, ok, text, err);
}

static WAITS json_t *change_priority(struct master *m, const json_t *args,
				     struct error *err)
{
	const json_t *priority = json_array_get(args, 1);
	char *text = NULL;
	bool ok = false;
	uint64_t id;
	int rc;

	if (luxi_job_id(json_array_get(args, 0), &id, err) < 0)
		return NULL;
	if (!json_is_integer(priority) || json_integer_value(priority) < -20 ||
	    json_integer_value(priority) > 19) {
		error_set(err, ERR_REQUEST, NULL,
			  "a priority is a number from -20 to 19");
		return NULL;
	}
	rc = queue_change_priority(m->queue, id,
				   (int)json_integer_value(priority), &ok,
				   &text, err);
	return outcome(rc, id, ok, text, err);
}

static WAITS json_t *archive_job(struct master *m, const json_t *args,
				 struct error *err)
{
	bool ok = false;
	uint64_t id;

	if (luxi_job_id(json_array_get(args, 0), &id, err) < 0 ||
	    queue_archive(m->queue, id, &ok, err) < 0)
		return NULL;
	return json_boolean(ok);
}

/* The largest time in seconds that still fits an integer as microseconds. */
#define SECONDS_MAX 1e12

static int64_t whole_seconds(const json_t *value)
{
	double seconds = json_number_value(value);

	return seconds > SECONDS_MAX	? (int64_t)SECONDS_MAX
	       : seconds < -SECONDS_MAX ? -(int64_t)SECONDS_MAX
					: (int64_t)seconds;
}

static WAITS json_t *auto_archive(struct master *m, const json_t *args,
				  struct error *err)
{
	const json_t *age = json_array_get(args, 0);
	const json_t *timeout = json_array_get(args, 1);
	size_t archived, left;

	if (!json_is_number(age) || !json_is_number(timeout)) {
		error_set(err, ERR_REQUEST, NULL,
			  "age and timeout are numbers of seconds");
		return NULL;
	}
	if (queue_auto_archive(m->queue, whole_seconds(age),
			       whole_seconds(timeout), &archived, &left,
			       err) < 0)
		return NULL;
	return json_make("[I, I]", (json_int_t)archived, (json_int_t)left);
}

static WAITS json_t *set_drain_flag(struct master *m, const json_t *args,
				    struct error *err)
{
	const json_t *flag = json_array_get(args, 0);

	if (!json_is_boolean(flag)) {
		error_set(err, ERR_REQUEST, NULL, "the flag is true or false");
		return NULL;
	}
	if (queue_set_drained(m->queue, json_is_true(flag), err) < 0)
		return NULL;
	return json_true();
}

static json_t *pickup_job(struct master *m, const json_t *args,
			  struct error *err)
{
	uint64_t id;

	(void)m;
	if (luxi_job_id(json_array_get(args, 0), &id, err) < 0)
		return NULL;
	error_set(err, ERR_SYSTEM, NULL,
		  "Jobs are picked up by the master daemon itself");
	return NULL;
}

/* --- the history: begin, and wait for a while --- */

static int work_args(const json_t *args, bool *ret_start, unsigned *ret_wait_s,
		     struct error *err)
{
	const json_t *start = json_array_get(args, 0);
	const json_t *wait = json_array_get(args, 1);
	json_int_t seconds = json_integer_value(wait);

	if (!json_is_boolean(start) || !json_is_integer(wait) || seconds < 0 ||
	    seconds > QUEUE_WORK_WAIT_MAX_S)
		return error_set(err, ERR_REQUEST, NULL,
				 "the arguments are true or false, and a "
				 "number of seconds from 0 to %d",
				 QUEUE_WORK_WAIT_MAX_S);
	*ret_start = json_is_true(start);
	*ret_wait_s = (unsigned)seconds;
	return 0;
}

static WAITS json_t *verify_history(struct master *m, const json_t *args,
				    struct error *err)
{
	unsigned wait_s = 0;
	bool start = false;

	if (work_args(args, &start, &wait_s, err) < 0)
		return NULL;
	return queue_verify_history(m->queue, start, wait_s);
}

static WAITS json_t *reindex_jobs(struct master *m, const json_t *args,
				  struct error *err)
{
	unsigned wait_s = 0;
	bool start = false;

	if (work_args(args, &start, &wait_s, err) < 0)
		return NULL;
	return queue_reindex(m->queue, start, wait_s);
}

#define CHANGE(fn)                                                             \
	{                                                                      \
		.run = fn, .waits = luxi_always, .changes = true               \
	}

const struct luxi_method luxi_SubmitJob = CHANGE(submit_job);
const struct luxi_method luxi_SubmitJobToDrainedQueue =
	CHANGE(submit_job_to_drained);
const struct luxi_method luxi_SubmitJobOnce = CHANGE(submit_once);
const struct luxi_method luxi_SubmitManyJobs = CHANGE(submit_many);
const struct luxi_method luxi_CancelJob = CHANGE(cancel_job);
const struct luxi_method luxi_ChangeJobPriority = CHANGE(change_priority);
const struct luxi_method luxi_ArchiveJob = CHANGE(archive_job);
const struct luxi_method luxi_AutoArchiveJobs = CHANGE(auto_archive);
const struct luxi_method luxi_SetDrainFlag = CHANGE(set_drain_flag);
const struct luxi_method luxi_PickupJob = {.run = pickup_job};
const struct luxi_method luxi_VerifyJobHistory = {.run = verify_history,
						  .waits = luxi_always};
const struct luxi_method luxi_ReindexJobs = {.run = reindex_jobs,
					     .waits = luxi_always};
