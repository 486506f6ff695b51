/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs that do not run at once, or never: cancelled, reordered, held back by
 * gates. */
#include "lib/base/array.h"
#include "tests/lib/queue_world.h"

TestSuite(queue_order, .init = world_begin, .fini = world_teardown,
	  .timeout = 60);

/* --- cancel and priority --- */

struct order {
	uint64_t id;
	bool kill;
	int priority;
	bool ok;
	char *text;
	struct error err;
};

static void do_cancel(void *arg)
{
	struct order *o = arg;

	cr_assert_eq(queue_cancel(world.queue, o->id, o->kill, &o->ok, &o->text,
				  &o->err),
		     0);
}

static void do_priority(void *arg)
{
	struct order *o = arg;

	cr_assert_eq(queue_change_priority(world.queue, o->id, o->priority,
					   &o->ok, &o->text, &o->err),
		     0);
}

static void expect_order(struct order o, void (*fn)(void *arg), bool ok,
			 const char *text)
{
	world_do(fn, &o);
	cr_assert_eq(o.ok, ok, "%s", o.text);
	cr_assert_str_eq(o.text, text);
	free(o.text);
}

Test(queue_order, cancel_at_each_stage)
{
	uint64_t running = world_submit("hold"), waiting = world_submit("wait"),
		 queued = world_submit("ok");

	world_settle();
	world_expect_status(waiting, "waiting");
	expect_order((struct order){.id = queued}, do_cancel, true,
		     "Job 3 canceled");
	world_expect_status(queued, "canceled");
	world_expect_field(queued, "opresult", "[null]");
	expect_order((struct order){.id = queued}, do_cancel, false,
		     "Job 3 has ended with status 'canceled'");
	expect_order((struct order){.id = waiting}, do_cancel, true,
		     "Job 2 canceled");
	expect_order((struct order){.id = running}, do_cancel, false,
		     "Job no longer waiting, can't cancel (informed it "
		     "anyway)");
	expect_order((struct order){.id = running, .kill = true}, do_cancel,
		     true, "The job is ended at once, whatever it does");
	expect_order((struct order){.id = 99}, do_cancel, false,
		     "Job 99 not found in queue");
	cond_signal(&world.gate_changed);
	world_settle();
	world_expect_status(running, "error");
	world_expect_trace("1.0 ");
}

Test(queue_order, a_waiting_job_that_does_not_listen_is_killed)
{
	uint64_t once = world_submit("deaf"), twice = world_submit("deaf");

	world_settle();
	world_expect_status(once, "waiting");
	expect_order((struct order){.id = once, .kill = true}, do_cancel, true,
		     "Job 1 canceled");
	expect_order((struct order){.id = twice}, do_cancel, false,
		     "Job no longer waiting, can't cancel (informed it "
		     "anyway)");
	world_expect_status(twice, "canceling");
	expect_order((struct order){.id = twice, .kill = true}, do_cancel, true,
		     "Job 2 canceled");
	world_expect_trace("");
}

/* The job starts, but its task has not had its turn yet. */
static void do_start_and_cancel(void *arg)
{
	queue_set_max_running(world.queue, 1);
	do_cancel(arg);
}

Test(queue_order, a_reloaded_job_is_killed_just_as_it_starts)
{
	uint64_t id = world_submit_ops(json_make(
		"[o, o]", world_op("ok", 0, NULL), world_op("wait", 0, NULL)));

	world_settle();
	world_crash(1);
	world.max_running = 0;
	world_reopen();
	world_expect_status(id, "queued");
	expect_order((struct order){.id = id, .kill = true},
		     do_start_and_cancel, true, "Job 1 canceled");
	world_expect_field(id, "opstatus", "[\"success\",\"canceled\"]");
}

Test(queue_order, a_running_job_that_was_told_runs_no_further_opcode)
{
	uint64_t id = world_submit_ops(json_make(
		"[o, o]", world_op("hold", 0, NULL), world_op("ok", 0, NULL)));

	world_settle();
	expect_order((struct order){.id = id}, do_cancel, false,
		     "Job no longer waiting, can't cancel (informed it "
		     "anyway)");
	world_open_gate();
	world_expect_field(id, "opstatus", "[\"success\",\"canceled\"]");
}

Test(queue_order, children_of_a_canceled_job_are_canceled)
{
	static const char *const names[] = {"canceled", "canceled", "canceled",
					    "success"};

	world_expect_many(
		json_make("[o, o, o, o]", world_one("wait", NULL),
			  world_one("ok", "[[-1, [\"success\"]]]"),
			  world_one("ok", "[[-2, []]]"),
			  world_one("ok", "[[-3, [\"error\", \"canceled\"]]]")),
		"[[true,1],[true,2],[true,3],[true,4]]");
	world_settle();
	expect_order((struct order){.id = 1}, do_cancel, true,
		     "Job 1 canceled");
	world_settle();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		world_expect_status(i + 1, names[i]);
	world_submit_ops(world_one("ok", "[[1, []]]")); /* it has ended */
	world_settle();
	world_expect_status(5, "canceled");
}

Test(queue_order, priority_of_a_queued_job_moves_it)
{
	world_submit("hold");
	world_submit("hold");
	world_submit("ok");
	world_submit("ok");
	world_settle();
	expect_order((struct order){.id = 4, .priority = -20}, do_priority,
		     true,
		     "Priorities of pending opcodes for job 4 have been "
		     "changed to -20");
	world_expect_field(4, "priority", "-20");
	world_open_gate();
	world_expect_trace("1.0 2.0 4.0 3.0 ");
	expect_order((struct order){.id = 4}, do_priority, false,
		     "Job 4 is finished");
}

/* --- gates --- */

static struct queue_gate gate;

static struct queue_gate *gate_of(const struct job *j)
{
	return strcmp(j->ops[0].summary, "TEST(hold)") == 0 ? &gate : NULL;
}

static void set_gate(struct queue_gate *(*fn)(const struct job *j))
{
	world.gate = fn;
	queue_gates_changed(world.queue);
	world_settle();
}

static void gate_with(unsigned limit, bool reject)
{
	gate = (struct queue_gate){
		.limit = limit, .reject = reject, .why = "not today"};
	set_gate(gate_of);
}

static void drop_gate(void)
{
	set_gate(NULL);
	queue_gate_done(&gate);
}

Test(queue_order, jobs_behind_a_closed_gate_wait_and_hold_up_nobody)
{
	uint64_t held[3], other;

	gate_with(0, false);
	for (int i = 0; i < 3; i++)
		held[i] = world_submit("hold");
	other = world_submit("ok");
	world_settle();
	world_expect_status(other, "success");
	for (int i = 0; i < 3; i++)
		world_expect_status(held[i], "queued");
	expect_order((struct order){.id = held[1]}, do_cancel, true,
		     "Job 2 canceled");
	drop_gate();
	world_expect_status(held[0], "running");
	world_expect_status(held[2], "running");
	world_open_gate();
}

Test(queue_order, a_gate_limits_how_many_run)
{
	uint64_t ids[4];

	world.max_running = 10;
	queue_set_max_running(world.queue, 10);
	ids[0] = world_submit("hold");
	world_settle();
	gate_with(2, false); /* the one that runs counts */
	for (int i = 1; i < 4; i++)
		ids[i] = world_submit("hold");
	world_settle();
	world_expect_status(ids[1], "running");
	world_expect_status(ids[2], "queued");
	expect_order((struct order){.id = ids[1], .kill = true}, do_cancel,
		     true, "The job is ended at once, whatever it does");
	cond_signal(&world.gate_changed);
	world_settle();
	world_expect_status(ids[2], "running");
	world_expect_status(ids[3], "queued");
	world_open_gate();
	world_expect_status(ids[3], "success");
	drop_gate();
}

/* The one that the gate let try waits for a place when it is canceled. */
Test(queue_order, a_canceled_job_gives_its_turn_at_the_gate_on)
{
	uint64_t first, second, third, other;

	queue_set_max_running(world.queue, 1);
	gate_with(1, false);
	first = world_submit("hold");
	second = world_submit("hold");
	third = world_submit("hold");
	other = world_submit("hold");
	world_settle();
	world_expect_status(first, "running");
	expect_order((struct order){.id = second}, do_cancel, true,
		     "Job 2 canceled");
	world_open_gate();
	world_expect_status(third, "success");
	world_expect_status(other, "success");
	drop_gate();
}

Test(queue_order, a_rejecting_gate_cancels_what_has_not_begun)
{
	uint64_t running = world_submit("hold"), later, child;

	later = world_submit_ops(world_one("hold", "[[1, []]]"));
	child = world_submit_ops(world_one("ok", "[[2, []]]"));
	world_settle();
	gate_with(0, true);
	world_expect_status(running, "running");
	world_expect_status(later, "canceled");
	world_expect_field(later, "opresult",
			   "[[\"JobCanceled\",[\"not today\"]]]");
	world_expect_status(child, "canceled");
	later = world_submit("hold");
	world_settle();
	world_expect_status(later, "canceled");
	world_open_gate();
	drop_gate();
}

static void do_change_gates(void *arg)
{
	(void)arg;
	queue_gates_changed(world.queue);
}

static void submit_many_short(void)
{
	for (int i = 0; i < 400; i++)
		world_submit("ok");
	world_settle();
}

/* A job that comes in while the queue asks for all gates anew has the new one
 * already; it must not count twice there. */
Test(queue_order, a_job_that_comes_with_new_gates_counts_once)
{
	struct world_call change = {.fn = do_change_gates};
	uint64_t first, second;

	submit_many_short();
	gate = (struct queue_gate){.limit = 1};
	world.gate = gate_of;
	task_set_owner(&world);
	task_spawn("change", world_task, &change);
	task_set_owner(NULL);
	first = world_submit("hold");
	cr_assert_not(change.done);
	world_settle();
	cr_assert(change.done);
	world_expect_status(first, "running");
	world_open_gate();
	world_expect_status(first, "success");
	second = world_submit("hold");
	world_settle();
	world_expect_status(second, "success");
	drop_gate();
}

/* A change of gates that takes several turns, as it asks for many jobs. */
static void begin_change(struct world_call *change)
{
	gate = (struct queue_gate){.limit = 1};
	world.gate = gate_of;
	*change = (struct world_call){.fn = do_change_gates};
	task_set_owner(&world);
	task_spawn("change", world_task, change);
	task_set_owner(NULL);
	cr_assert(world_step());
	cr_assert_not(change->done);
}

static struct queue_gate former;

static struct queue_gate *former_of_first(const struct job *j)
{
	return j->id == 1 ? &former : NULL;
}

/* The first job is asked for long before the one that runs. */
Test(queue_order, all_that_run_count_before_new_gates_let_any_start)
{
	struct world_call change;
	uint64_t first, running;

	set_gate(former_of_first);
	first = world_submit("hold");
	submit_many_short();
	running = world_submit("hold");
	world_settle();
	world_expect_status(running, "running");
	begin_change(&change);
	world_submit("ok");
	world_settle();
	cr_assert(change.done);
	world_expect_status(first, "queued");
	world_open_gate();
	world_expect_status(first, "success");
	drop_gate();
	queue_gate_done(&former);
}

Test(queue_order, a_job_that_was_not_asked_for_yet_passes_the_new_gate)
{
	struct world_call change;
	uint64_t running, next;

	submit_many_short();
	queue_set_max_running(world.queue, 1);
	running = world_submit("hold");
	next = world_submit("hold");
	world_settle();
	world_expect_status(running, "running");
	begin_change(&change);
	queue_set_max_running(world.queue, 2);
	world_settle();
	cr_assert(change.done);
	world_expect_status(next, "queued");
	world_open_gate();
	world_expect_status(next, "success");
	drop_gate();
}

/* --- many at once --- */

#define MANY 450

static json_t *many_jobs(const char *depends)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < MANY; i++)
		json_array_append_new(jobs, world_one("hold", depends));
	return jobs;
}

static void do_submit_many(void *arg)
{
	struct error err;

	json_decref(queue_submit_many(world.queue, arg, 0, &err));
}

static void do_cancel_first(void *arg)
{
	struct order *o = arg;

	o->kill = true;
	do_cancel(o);
	free(o->text);
}

static bool is_there(uint64_t id)
{
	return queue_job(world.queue, id) != NULL;
}

static bool is_over(uint64_t id)
{
	return !queue_lives(world.queue, id);
}

/* Do it, and count how often somebody who looks sees that it is true for some
 * of the jobs from `first` on, and not for all. */
static unsigned halves_seen(void (*fn)(void *arg), void *arg, uint64_t first,
			    bool (*is)(uint64_t id))
{
	struct world_call call = {.fn = fn, .arg = arg};
	unsigned halves = 0;
	size_t n = 0;

	task_set_owner(&world);
	task_spawn("test", world_task, &call);
	task_set_owner(NULL);
	while (!call.done || n < MANY) {
		cr_assert(world_step(), "stuck");
		n = 0;
		for (uint64_t id = first; id < first + MANY; id++)
			n += is(id);
		halves += n > 0 && n < MANY;
	}
	return halves;
}

Test(queue_order, others_run_while_many_jobs_come_in)
{
	auto_json json_t *jobs = many_jobs(NULL);

	cr_assert_geq(halves_seen(do_submit_many, jobs, 1, is_there), 4);
	world_open_gate();
}

Test(queue_order, others_run_while_many_jobs_fail)
{
	auto_json json_t *jobs = many_jobs("[[1, [\"success\"]]]");
	struct order first = {.id = world_submit("hold")};

	world_do(do_submit_many, jobs);
	cr_assert_geq(halves_seen(do_cancel_first, &first, 2, is_over), 4);
	world_settle();
	world_expect_status(2, "error");
	world_expect_status(MANY + 1, "error");
}
