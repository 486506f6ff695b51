/* SPDX-License-Identifier: BSD-2-Clause */
/* A set is submitted with SubmitManyJobs, and its states are polled with
 * QueryJobs.  Signals only set flags: that of a termination is looked at after
 * each poll and each set, that of an interrupt after each set. */
#include "iallocators/tools/execute.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gantry-config.h"
#include "iallocators/tools/jobs.h"
#include "lib/base/mem.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"

/* Between two looks at jobs that run. */
#define POLL_NS 200000000

static volatile sig_atomic_t interrupted, terminated;

static void on_signal(int number)
{
	if (number == SIGINT)
		interrupted = 1;
	else
		terminated = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* What each opcode says about its origin. */
static json_t *reason(const char *program, const struct jobs_opts *o)
{
	auto_free char *called = xprintf("%s (gantry) version %s called",
					 program, GANTRY_VERSION);
	struct timespec now;
	int64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (o->reason == NULL)
		return json_make("[[s, s, I]]", program, called,
				 (json_int_t)ns);
	return json_make("[[s, s, I], [s, s, I]]", program, o->reason,
			 (json_int_t)ns, program, called, (json_int_t)ns);
}

/* What all opcodes of a job say besides what they do. */
static void sign(json_t *job, const char *comment, const char *program,
		 const struct jobs_opts *o)
{
	json_t *op;
	size_t i;

	json_array_foreach (job, i, op) {
		json_object_set_new(op, "priority", json_integer(o->priority));
		json_object_set_new(op, "depends", json_null());
		json_object_set_new(op, "comment", json_string(comment));
		json_object_set_new(op, "reason", reason(program, o));
	}
}

static void print_ids(const json_t *ids)
{
	const json_t *id;
	size_t i;

	if (json_array_size(ids) == 0)
		return;
	printf("Got job IDs ");
	json_array_foreach (ids, i, id)
		printf("%s%jd", i > 0 ? ", " : "",
		       (intmax_t)json_integer_value(id));
	printf("\n");
	fflush(stdout);
}

/* Submit a set and tell the ids of what was taken; they are returned if that is
 * all, else NULL. */
static json_t *submit(struct luxi *luxi, const json_t *jobs, struct error *err)
{
	auto_json json_t *answer =
		luxi_call(luxi, "SubmitManyJobs", json_make("[O]", jobs), err);
	auto_json json_t *ids = json_array();
	const char *refusal = NULL;
	const json_t *item;
	size_t i;

	if (answer == NULL)
		return NULL;
	json_array_foreach (answer, i, item) {
		json_t *value = json_array_get(item, 1);

		if (json_is_true(json_array_get(item, 0)))
			json_array_append(ids, value);
		else if (refusal == NULL)
			refusal = json_is_string(value)
					  ? json_string_value(value)
					  : "?";
	}
	print_ids(ids);
	if (refusal == NULL)
		return steal(&ids);
	error_set(err, ERR_LUXI, NULL, "A job is refused: %s%s", refusal,
		  json_array_size(ids) > 0 ? "; jobs that were submitted run on"
					   : "");
	return NULL;
}

/* 1: all have ended well; 0: some have not ended; -1: one has failed. */
static int judge(const json_t *ids, const json_t *states, struct error *err)
{
	static const char *const bad[] = {"canceled", "error"};
	bool all = true;
	const json_t *row;
	size_t i;

	json_array_foreach (states, i, row) {
		const char *status = json_string_value(json_array_get(row, 0));

		status = status != NULL ? status : "error";
		for (int k = 0; k < 2; k++)
			if (strcmp(status, bad[k]) == 0)
				return error_set(
					err, ERR_EXEC, NULL,
					"Job %jd ended with status '%s'",
					(intmax_t)json_integer_value(
						json_array_get(ids, i)),
					status);
		all = all && strcmp(status, "success") == 0;
	}
	return all;
}

static int wait_for(struct luxi *luxi, const json_t *ids, struct error *err)
{
	static const struct timespec pause = {0, POLL_NS};
	int rc = 0;

	while (rc == 0) {
		auto_json json_t *states =
			luxi_call(luxi, "QueryJobs",
				  json_make("[O, [s]]", ids, "status"), err);

		if (states == NULL)
			return -1;
		rc = judge(ids, states, err);
		if (rc == 0 && terminated)
			return error_set(err, ERR_EXEC, NULL,
					 "terminated; jobs that were submitted "
					 "run on");
		if (rc == 0)
			nanosleep(&pause, NULL);
	}
	return rc < 0 ? -1 : 0;
}

static int run_set(struct luxi *luxi, const json_t *jobs, struct error *err)
{
	auto_json json_t *ids = submit(luxi, jobs, err);

	return ids == NULL ? -1 : wait_for(luxi, ids, err);
}

static size_t jobs_left(const json_t *sets, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < json_array_size(sets); i++)
		n += json_array_size(json_array_get(sets, i));
	return n;
}

static int run_sets(struct luxi *luxi, const json_t *sets, bool first_only,
		    struct error *err)
{
	const json_t *jobs;
	size_t i;

	json_array_foreach (sets, i, jobs) {
		size_t left = jobs_left(sets, i + 1);

		if (run_set(luxi, jobs, err) < 0)
			return -1;
		if (first_only)
			return 0;
		if (terminated && left > 0)
			return error_set(err, ERR_EXEC, NULL,
					 "terminated; %zu steps are left",
					 left);
		if (interrupted && left > 0) {
			printf("Interrupted, %zu steps are left\n", left);
			return 0;
		}
	}
	return 0;
}

json_t *execute_moves(const struct cluster *c, const struct balance_step *steps,
		      int n)
{
	json_t *sets = json_array();

	for (int done = 0; done < n;) {
		int size = jobs_set_size(c, steps, n, done);
		json_t *jobs = json_array();

		for (int i = 0; i < size; i++) {
			auto_buf struct buf text = {0};
			struct error err;

			jobs_opcodes(c, &steps[done + i], &text);
			json_array_append_new(
				jobs, json_parse(text.data, text.len, &err));
		}
		json_array_append_new(sets, jobs);
		done += size;
	}
	return sets;
}

int execute_sets(json_t *sets, const char *doing, const struct tool *t,
		 const struct jobs_opts *o, struct error *err)
{
	auto_json json_t *owned = sets;
	auto_free char *comment =
		xprintf("%s (gantry) version %s", doing, GANTRY_VERSION);
	struct luxi *luxi = tool_luxi(t, err);
	json_t *jobs, *job;
	size_t i, k;
	int rc;

	if (luxi == NULL)
		return -1;
	json_array_foreach (sets, i, jobs)
		json_array_foreach (jobs, k, job)
			sign(job, comment, tool_name(t), o);
	catch_signals();
	rc = run_sets(luxi, owned, o->first_set, err);
	luxi_close(luxi);
	return rc;
}
