/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans of jobs: they change nothing, and what they say is what happens. */
#include <criterion/criterion.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/locks/locks.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/planned.h"

TestSuite(plan, .init = setup, .fini = teardown, .timeout = 60);

static json_t *op_on_node(const char *op_id, const char *node)
{
	return json_make("{s:s, s:s}", "OP_ID", op_id, "node_name", node);
}

static json_t *op_power(const char *op_id)
{
	return op_named(op_id, "web1");
}

Test(plan, a_life_is_as_planned)
{
	json_t *grow = op_named("OP_INSTANCE_GROW_DISK", "web1");
	json_t *full = op_power("OP_INSTANCE_REBOOT");

	json_set_int(grow, "disk", 0);
	json_set_int(grow, "amount", 64);
	json_set_bool(grow, "wait_for_sync", true);
	json_set_str(full, "reboot_type", "full");
	json_set_bool(full, "ignore_secondaries", false);
	sim_expect_as_planned(&s, op_add("web1", NODE2, true));
	sim_expect_as_planned(&s, op_power("OP_INSTANCE_SHUTDOWN"));
	sim_expect_as_planned(&s, op_power("OP_INSTANCE_STARTUP"));
	sim_expect_as_planned(&s, full);
	sim_expect_as_planned(&s, grow);
	sim_expect_as_planned(&s,
			      op_move("OP_INSTANCE_MIGRATE", "web1", NODE3));
	sim_expect_as_planned(&s,
			      op_move("OP_INSTANCE_FAILOVER", "web1", NODE2));
	sim_expect_as_planned(&s, op_named("OP_INSTANCE_REMOVE", "web1"));
}

Test(plan, changes_of_the_configuration)
{
	json_t *offline = op_on_node("OP_NODE_SET_PARAMS", NODE2);
	json_t *pool =
		json_make("{s:s, s:i, s:i}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			  "candidate_pool_size", 2, "max_running_jobs", 7);

	json_set_bool(offline, "offline", true);
	sim_expect_as_planned(&s, op_add("web1", NODE3, false));
	sim_expect_as_planned(&s, json_make("{s:s, s:s, s:s, s:[s]}", "OP_ID",
					    "OP_TAGS_SET", "kind", "instance",
					    "name", "web1", "tags", "a"));
	sim_expect_as_planned(&s,
			      json_make("{s:s, s:s}", "OP_ID", "OP_GROUP_ADD",
					"group_name", "rack2"));
	sim_expect_as_planned(&s, json_make("{s:s, s:s, s:s, s:[]}", "OP_ID",
					    "OP_NETWORK_ADD", "network_name",
					    "net1", "network", "192.0.2.0/28",
					    "tags"));
	sim_expect_as_planned(&s, pool);
	sim_expect_as_planned(&s, offline);
	sim_expect_as_planned(&s, op_on_node("OP_NODE_REMOVE", NODE2));
}

Test(plan, jobs_of_jobs_are_planned)
{
	json_t *evacuate = op_on_node("OP_NODE_EVACUATE", NODE2);
	auto_json json_t *plan = NULL;
	const json_t *jobs;

	json_set_str(evacuate, "mode", "all");
	json_set_str(evacuate, "iallocator", "any");
	expect(op_add("web1", NODE2, true), "success");
	expect(op_add("web2", NODE2, true), "success");
	plan = sim_plan(&s, evacuate);
	jobs = json_get(plan, "jobs");
	cr_assert_geq(json_array_size(jobs), 2);
	cr_assert_eq(json_int(json_array_get(jobs, 1), "by", 0),
		     json_int(json_array_get(jobs, 0), "id", -1));
	sim_expect_as_planned(&s, evacuate);
}

Test(plan, what_fails_is_planned_to_fail)
{
	expect(op_add("web1", NODE2, true), "success");
	sim_expect_as_planned(&s, op_add("web1", NODE2, true));
	sim_expect_as_planned(&s, op_on_node("OP_NODE_REMOVE", NODE2));
	sim_expect_as_planned(&s, op_named("OP_INSTANCE_REMOVE", "web9"));
}

static json_t *only_op(const json_t *plan)
{
	const json_t *job = json_array_get(json_get(plan, "jobs"), 0);

	return json_array_get(json_get(job, "ops"), 0);
}

Test(plan, locks_have_names_and_modes)
{
	auto_json json_t *op = op_move("OP_INSTANCE_MIGRATE", "web1", NODE3);
	auto_json json_t *plan = NULL, *wanted = NULL;

	expect(op_add("web1", NODE2, false), "success");
	plan = sim_plan(&s, op);
	wanted = json_make(
		"[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}, "
		"{s:s, s:s}, {s:s, s:s}]",
		"name", "cluster/BGL", "mode", "shared", "name",
		"node-res/" NODE2, "mode", "shared", "name", "node-res/" NODE3,
		"mode", "exclusive", "name", "instance-disks/web1", "mode",
		"exclusive", "name", "instance/web1", "mode", "exclusive",
		"name", "node/" NODE2, "mode", "shared", "name", "node/" NODE3,
		"mode", "shared");
	auto_free char *got =
		json_text_sorted(json_get(only_op(plan), "locks"));
	auto_free char *want = json_text_sorted(wanted);

	cr_assert_str_eq(got, want);
}

static void on_granted(struct lock_request *r)
{
	(void)r;
}

/* Who holds what the lock of this name in the plan would wait for. */
static void expect_held_by(const json_t *plan, const char *name,
			   const char *jobs)
{
	const json_t *list = json_get(only_op(plan), "locks"), *lock;
	auto_free char *got = NULL;
	size_t i;

	json_array_foreach (list, i, lock)
		if (str_eq(json_str(lock, "name", ""), name))
			got = json_text(json_get(lock, "held_by"));
	cr_assert_str_eq(got == NULL ? "none" : got, jobs, "%s", name);
}

Test(plan, says_who_holds_the_locks)
{
	auto_json json_t *op = op_move("OP_INSTANCE_MIGRATE", "web1", NODE3);
	auto_json json_t *plan = NULL;
	const struct lock_want wants[] = {
		{.level = LOCK_INSTANCE, .name = "web1"},
		{.level = LOCK_NODE, .exclusive = true}};
	struct lock_request r = {.wants = wants,
				 .n_wants = 2,
				 .owner = 77,
				 .granted = on_granted};
	struct error err;

	expect(op_add("web1", NODE2, false), "success");
	cr_assert_eq(locks_request(s.master->locks, &r, &err), 0);
	plan = sim_plan(&s, op);
	locks_release(s.master->locks, &r);
	expect_held_by(plan, "instance/web1", "[77]");
	expect_held_by(plan, "node/" NODE2, "[77]");
	expect_held_by(plan, "node-res/" NODE3, "none");
}

Test(plan, secrets_are_not_shown)
{
	auto_json json_t *op = op_add("web1", NODE2, false), *plan = NULL;
	auto_free char *text = NULL;

	json_object_set_new(op, "osparams_secret",
			    json_make("{s:s}", "password", "sesame1"));
	json_object_set_new(op, "osparams_private",
			    json_make("{s:s}", "key", "sesame2"));
	plan = sim_plan(&s, op);
	text = json_text(plan);
	cr_assert_null(strstr(text, "sesame"), "%s", text);
	cr_assert_not_null(strstr(text, "redacted"), "%s", text);
}

Test(plan, what_cannot_be_run_is_said)
{
	auto_json json_t *op = json_make("{s:s}", "OP_ID", "OP_NONE_SUCH");
	auto_json json_t *plan = sim_plan(&s, op);
	const json_t *job = json_array_get(json_get(plan, "jobs"), 0);

	cr_assert_str_eq(
		json_string_value(json_array_get(json_get(job, "error"), 0)),
		"OpCodeUnknown");
}
