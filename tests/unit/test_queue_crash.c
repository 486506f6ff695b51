/* SPDX-License-Identifier: BSD-2-Clause */
/* Cut the power at every disk operation of a story, and at random moments of
 * random ones; afterwards all that was acknowledged or seen has to be true. */
#include "lib/base/random.h"
#include "lib/store/journal.h"
#include "tests/lib/queue_world.h"

/* What clients know. */
struct known {
	bool acknowledged, archived;
	const char *final; /* a final state that was seen */
};

static struct known known[WORLD_JOBS_MAX];

static void setup(void)
{
	world_setup();
	memset(known, 0, sizeof(known));
	world.open_gate = world.open_locks = true;
}

TestSuite(queue_crash, .init = setup, .fini = world_teardown, .timeout = 110);

static void look_at(uint64_t id)
{
	const struct job *j = queue_job(world.queue, id);

	if (j != NULL && job_is_final(j))
		known[id].final = job_state_name(job_status(j));
}

static void look_at_all(void)
{
	for (uint64_t id = 1; id < WORLD_JOBS_MAX; id++)
		look_at(id);
}

/* --- what clients do --- */

static void submit_some(void *arg)
{
	size_t n = *(size_t *)arg;
	auto_json json_t *jobs = json_array();
	auto_json json_t *answer = NULL;
	struct error err;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			jobs,
			json_make("[o, o]", world_op("log", 0, NULL),
				  world_op("ok", 0,
					   i % 3 == 1 ? "[[-1, []]]" : NULL)));
	answer = queue_submit_many(world.queue, jobs, 0, &err);
	for (size_t i = 0; i < json_array_size(answer); i++) {
		const json_t *id = json_array_get(json_array_get(answer, i), 1);

		if (json_is_integer(id))
			known[json_integer_value(id)].acknowledged = true;
	}
}

static void archive_one(void *arg)
{
	uint64_t id = *(uint64_t *)arg;
	struct error err;
	bool ok;

	if (queue_archive(world.queue, id, &ok, &err) == 0 && ok)
		known[id].archived = true;
}

static void cancel_one(void *arg)
{
	uint64_t id = *(uint64_t *)arg;
	char *text = NULL;
	struct error err;
	bool ok;

	if (queue_cancel(world.queue, id, false, &ok, &text, &err) == 0)
		free(text);
}

static bool is_over(void)
{
	return world.fatal || fake_disk_dead(&world.disk);
}

/* Let a task run, until it ends or the disk is dead. */
static void try_to(void (*fn)(void *arg), void *arg)
{
	struct world_call call = {.fn = fn, .arg = arg};

	task_set_owner(&world);
	task_spawn("test", world_task, &call);
	task_set_owner(NULL);
	for (size_t i = 0; !call.done && !is_over(); i++) {
		if (i == 500) /* it may wait for space */
			world.disk.full = false;
		cr_assert_lt(i, 5000, "stuck");
		look_at_all();
		if (!world_step())
			break;
	}
	look_at_all();
	if (!call.done)
		tasks_kill(&world); /* call is on our stack */
}

static void let_run(size_t steps)
{
	for (size_t i = 0; i < steps && !is_over(); i++) {
		if (!world_step())
			return;
		look_at_all();
	}
}

/* --- afterwards --- */

static void check_job(uint64_t id)
{
	const struct job *j = queue_job(world.queue, id);
	struct error err;
	struct job *archived;

	if (!known[id].acknowledged)
		return;
	if (known[id].archived)
		cr_assert_null(j, "job %ju came back", (uintmax_t)id);
	if (j != NULL) {
		if (known[id].final != NULL)
			cr_assert_str_eq(world_status(id), known[id].final);
		return;
	}
	archived = queue_archived(world.queue, id, &err);
	cr_assert_not_null(archived, "job %ju is lost: %s", (uintmax_t)id,
			   err.text);
	cr_assert_str_eq(job_state_name(job_status(archived)), known[id].final);
	job_free(archived);
}

static bool is_settled(const struct job *j, void *arg)
{
	enum job_state s = job_status(j);

	(void)arg;
	cr_assert(s == JOB_QUEUED || !queue_lives(world.queue, j->id),
		  "job %ju is %s", (uintmax_t)j->id, job_state_name(s));
	return true;
}

static bool is_final(const struct job *j, void *arg)
{
	(void)arg;
	cr_assert(job_is_final(j), "job %ju is %s", (uintmax_t)j->id,
		  job_state_name(job_status(j)));
	return true;
}

static void verify(void *arg)
{
	auto_json json_t *answer = queue_verify_history(world.queue, true, 60);

	(void)arg;
	cr_assert(json_bool(answer, "ok", false), "%s",
		  json_str(answer, "text", "?"));
}

static void crash_and_check(uint64_t seed)
{
	struct error err;

	if (world.queue != NULL)
		world_crash(seed);
	else
		fake_disk_crash(&world.disk, seed);
	world.fatal = false;
	cr_assert_eq(world_open(&err), 0, "%s", err.text);
	queue_each(world.queue, is_settled, NULL);
	for (uint64_t id = 1; id < WORLD_JOBS_MAX; id++)
		check_job(id);
	world_do(verify, NULL);
	world_start();
}

static void finish_and_check(void)
{
	world_settle();
	queue_each(world.queue, is_final, NULL);
	look_at_all();
	for (uint64_t id = 1; id < WORLD_JOBS_MAX; id++) {
		check_job(id);
		/* Two opcodes a job, none of them twice. */
		cr_assert_leq(world.runs[id], 2, "job %ju ran twice",
			      (uintmax_t)id);
		if (known[id].final != NULL &&
		    strcmp(known[id].final, "success") == 0)
			cr_assert_eq(world.runs[id], 2);
	}
	world_do(verify, NULL);
}

/* --- a story, cut everywhere --- */

static void story(void)
{
	size_t three = 3, one = 1;
	uint64_t id = 1;

	try_to(submit_some, &three);
	let_run(40);
	if (!is_over())
		try_to(submit_some, &one);
	let_run(1000);
	if (!is_over())
		try_to(archive_one, &id);
	if (!is_over())
		try_to(submit_some, &three);
	let_run(1000);
}

/* false when the story ended before operation n. */
static bool cut_at(size_t n)
{
	struct error err;

	world.disk.die_at = n;
	if (world_open(&err) == 0) {
		world_start();
		story();
	}
	if (world.disk.n_ops < n)
		return false;
	crash_and_check(n);
	finish_and_check();
	world_stop();
	return true;
}

Test(queue_crash, at_every_disk_operation_nothing_acknowledged_is_lost)
{
	size_t n = 1;

	for (;; n++) {
		bool more = cut_at(n);

		if (!more)
			break;
		world_teardown();
		setup();
	}
	cr_assert_gt(n, 50, "the story has only %zu operations", n);
}

/* --- random stories --- */

static void random_act(void)
{
	uint64_t last = queue_last_id(world.queue);
	uint64_t id = 1 + random_below(last + 1);
	size_t n = 1 + random_below(6);

	switch (random_below(8)) {
	case 0:
	case 1:
		if (last + n < WORLD_JOBS_MAX)
			try_to(submit_some, &n);
		break;
	case 2:
		try_to(archive_one, &id);
		break;
	case 3:
		try_to(cancel_one, &id);
		break;
	case 4:
		world.disk.full = random_below(3) == 0;
		break;
	default:
		let_run(random_below(60));
	}
}

static void random_story(uint64_t seed)
{
	struct error err;

	random_seed(seed);
	world.journal_size = 16 * JOURNAL_ALIGN; /* halves turn often */
	cr_assert_eq(world_open(&err), 0, "%s", err.text);
	world_start();
	for (int round = 0; round < 4; round++) {
		world.disk.die_at = 1 + random_below(200);
		for (int i = 0; i < 60 && !is_over(); i++)
			random_act();
		crash_and_check(seed * 10 + (uint64_t)round);
	}
	finish_and_check();
	world_stop();
}

Test(queue_crash, random_stories_keep_what_was_acknowledged)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		random_story(seed);
		world_teardown();
		setup();
	}
}
