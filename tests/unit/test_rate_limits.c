/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs whose reasons say how many of them may run at once. */
#include "tests/lib/queue_world.h"

#include "lib/base/array.h"

static void begin(void)
{
	world_begin();
	queue_set_max_running(world.queue, 10);
}

TestSuite(rate_limits, .init = begin, .fini = world_teardown, .timeout = 60);

/* A job with these reasons, the second may be NULL. */
static uint64_t submit(const char *act, const char *reason, const char *second)
{
	json_t *op = world_op(act, 0, NULL);
	json_t *trail = json_object_get(op, "reason");

	json_array_append_new(trail,
			      json_make("[s, s, i]", "gnt:user", reason, 1));
	if (second != NULL)
		json_array_append_new(
			trail, json_make("[s, s, i]", "cron", second, 2));
	return world_submit_ops(json_make("[o]", op));
}

static void do_kill(void *arg)
{
	struct error err;
	auto_free char *text = NULL;
	bool ok;

	cr_assert_eq(queue_cancel(world.queue, *(uint64_t *)arg, true, &ok,
				  &text, &err),
		     0);
}

/* End one that runs, or cancel one that is queued. */
static void end(uint64_t id)
{
	world_do(do_kill, &id);
	cond_signal(&world.gate_changed);
	world_settle();
}

static void expect(const uint64_t *ids, size_t n, const char *statuses)
{
	auto_buf struct buf found = {0};

	for (size_t i = 0; i < n; i++)
		buf_addf(&found, "%s%s", i == 0 ? "" : " ",
			 world_status(ids[i]));
	cr_assert_str_eq(found.data, statuses, "%s", found.data);
}

Test(rate_limits, the_third_of_three_with_two_stays_queued)
{
	uint64_t ids[3];

	for (int i = 0; i < 3; i++)
		ids[i] = submit("hold", "rate-limit:2:night", NULL);
	world_settle();
	expect(ids, 3, "running running queued");
	end(ids[0]);
	expect(ids, 3, "error running running");
	world_open_gate();
}

Test(rate_limits, number_and_label_name_a_bucket)
{
	uint64_t ids[4] = {
		submit("hold", "rate-limit:1:a", NULL),
		submit("hold", "rate-limit:2:a", NULL),
		submit("hold", "rate-limit:1:b:c", NULL),
		submit("hold", "rate-limit:1:", NULL),
	};

	world_settle();
	expect(ids, 4, "running running running running");
	world_open_gate();
}

Test(rate_limits, anything_else_is_a_reason_like_any_other)
{
	static const char *const others[] = {
		" rate-limit:1:a", "rate-limit:0:a",   "rate-limit:-1:a",
		"rate-limit:1",	   "rate-limit::a",    "rate-limit:x:a",
		"rate-limit:1 :a", "Rate-limit:1:a",   "rate-limit:1.5:a",
		"rate-limit:",	   "\"rate-limit:1:a", "rate-limit:0x1:a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		uint64_t ids[2] = {submit("hold", others[i], NULL),
				   submit("hold", others[i], NULL)};

		world_settle();
		expect(ids, 2, "running running");
		end(ids[0]);
		end(ids[1]);
	}
}

Test(rate_limits, a_number_too_big_to_reach_limits_nothing)
{
	uint64_t id = submit("ok", "rate-limit:99999999999999999999:a", NULL);

	world_settle();
	world_expect_status(id, "success");
}

/* Each waits for both; one that waits for the other bucket takes no turn. */
Test(rate_limits, a_job_in_two_buckets_needs_room_in_both)
{
	uint64_t ids[5] = {
		submit("hold", "rate-limit:1:a", NULL),
		submit("hold", "rate-limit:1:b", NULL),
		submit("hold", "rate-limit:1:a", "rate-limit:1:b"),
		submit("hold", "rate-limit:1:a", NULL),
		submit("hold", "rate-limit:1:b", "rate-limit:1:b"),
	};

	world_settle();
	expect(ids, 5, "running running queued queued queued");
	end(ids[0]);
	expect(ids, 5, "error running queued running queued");
	end(ids[1]);
	expect(ids, 5, "error error queued running running");
	end(ids[3]);
	expect(ids, 5, "error error queued error running");
	end(ids[4]);
	expect(ids, 5, "error error running error error");
	world_open_gate();
}

Test(rate_limits, one_that_is_canceled_gives_its_turn_on)
{
	uint64_t ids[3];

	for (int i = 0; i < 3; i++)
		ids[i] = submit("hold", "rate-limit:1:a", NULL);
	world_settle();
	end(ids[1]);
	end(ids[0]);
	expect(ids, 3, "error canceled running");
	world_open_gate();
}

/* --- with rules of those above --- */

static struct queue_gate gate;

static struct queue_gate *gate_of(const struct job *j)
{
	(void)j;
	return &gate;
}

static void set_gate(struct queue_gate *(*fn)(const struct job *j))
{
	world.gate = fn;
	queue_gates_changed(world.queue);
	world_settle();
}

Test(rate_limits, rules_that_come_and_go_leave_them)
{
	uint64_t ids[3];

	ids[0] = submit("hold", "rate-limit:2:a", NULL);
	world_settle();
	gate = (struct queue_gate){.limit = 1};
	set_gate(gate_of);
	for (int i = 1; i < 3; i++)
		ids[i] = submit("hold", "rate-limit:2:a", NULL);
	world_settle();
	expect(ids, 3, "running queued queued");
	set_gate(NULL);
	queue_gate_done(&gate);
	expect(ids, 3, "running running queued");
	end(ids[0]);
	expect(ids, 3, "error running running");
	world_open_gate();
}

Test(rate_limits, a_new_master_keeps_to_them)
{
	uint64_t ids[3];

	for (int i = 0; i < 3; i++)
		ids[i] = submit("hold", "rate-limit:1:a", NULL);
	world_settle();
	world_crash(1);
	world_reopen();
	expect(ids, 3, "error running queued");
	world_open_gate();
}

Test(rate_limits, one_that_waits_says_why)
{
	struct queue_why why;
	uint64_t first = submit("hold", "rate-limit:1:a", NULL), second;

	world_settle();
	second = submit("hold", "x", "rate-limit:1:a");
	submit("hold", "rate-limit:1:a", NULL);
	world_settle();
	queue_why(world.queue, second, &why);
	cr_assert_eq(why.kind, QUEUE_WAITS_GATE);
	cr_assert_str_eq(why.gate->name, "rate-limit:1:a");
	cr_assert(why.gate->by_reason);
	cr_assert_eq(why.job, first);
	cr_assert_eq(why.limit, 1);
	cr_assert_eq(why.n_before, 0);
	world_open_gate();
}

/* --- with a rule that rejects --- */

static struct queue_gate *reject_logs(const struct job *j)
{
	return strcmp(j->ops[0].summary, "TEST(log)") == 0 ? &gate : NULL;
}

static void do_change_gates(void *arg)
{
	(void)arg;
	queue_gates_changed(world.queue);
}

static uint64_t submit_urgent(const char *act, int priority, const char *reason)
{
	json_t *op = world_op(act, priority, NULL);

	if (reason != NULL)
		json_array_append_new(
			json_object_get(op, "reason"),
			json_make("[s, s, i]", "cron", reason, 1));
	return world_submit_ops(json_make("[o]", op));
}

/* It was its turn, but it still waits for a place when a new rule rejects it:
 * the next one of the bucket has its turn then. */
Test(rate_limits, a_rejected_job_gives_its_turn_on)
{
	struct world_call change = {.fn = do_change_gates};
	uint64_t first = submit("hold", "rate-limit:1:a", NULL);
	uint64_t later = submit("ok", "rate-limit:1:a", NULL), next;

	for (int i = 0; i < 450; i++)
		world_submit("ok");
	next = submit_urgent("log", -5, "rate-limit:1:a");
	world_settle();
	queue_set_max_running(world.queue, 1);
	submit_urgent("hold", -20, NULL);
	gate = (struct queue_gate){.reject = true, .why = "not today"};
	world.gate = reject_logs;
	task_set_owner(&world);
	task_spawn("change", world_task, &change);
	task_set_owner(NULL);
	world_step(); /* all that came early is ready to try again */
	queue_set_max_running(world.queue, 3);
	queue_set_max_running(world.queue, 1);
	world_do(do_kill, &first);
	cond_signal(&world.gate_changed);
	while (queue_lives(world.queue, first))
		world_step();
	world_step();
	cr_assert_not(change.done);
	world_settle();
	world_expect_status(next, "canceled");
	queue_set_max_running(world.queue, 10);
	world_settle();
	world_expect_status(later, "success");
	world_open_gate();
}
