/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-job cancel --kill: whatever a job does, it ends at once and releases its
 * locks; what it had begun is removed, or the job's log names it. */
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "queue/jobs/job_facts.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

/* Longer than any node call waits for its answer, */
#define ALL_CALLS_MS (25 * 3600 * 1000)

/* so that none is on its way at the end, nor a task that one of them began. */
static void teardown_quiet(void)
{
	sim_run_calls(&s, ALL_CALLS_MS);
	sim_run(&s, 60000, NULL, NULL);
	teardown();
}

TestSuite(kill, .init = setup, .fini = teardown_quiet, .timeout = 200);

#define AT_ONCE_US 1000000

/* Kill the job; its state, which must be there at once. */
static const char *kill_job(uint64_t id)
{
	int64_t begin = clock_mono_us();
	const char *state = sim_kill_job(&s, id);

	cr_assert_lt(clock_mono_us() - begin, AT_ONCE_US);
	return state;
}

/* Submit this, kill it after so many ms, and wait until all is quiet; whether
 * it had not ended yet. */
static bool cut_off(json_t *op STEALS, int ms)
{
	uint64_t id = sim_submit(&s, op, NULL);
	bool killed;

	sim_run(&s, ms, NULL, NULL);
	killed = strcmp(kill_job(id), "success") != 0;
	sim_run(&s, 60000, NULL, NULL);
	return killed;
}

static const json_t *instance(const char *name)
{
	return config_find(s.master->config, CONFIG_INSTANCE, name);
}

static bool is_running(struct sim *sim, void *arg)
{
	const struct job *j = queue_job(sim->master->queue, *(uint64_t *)arg);

	return job_status(j) == JOB_RUNNING;
}

/* Start op, whose calls to node 2 get no answer, and kill it there. */
static uint64_t kill_while_it_waits(json_t *op STEALS, const char *state)
{
	uint64_t id;

	sim_run(&s, 1000, NULL, NULL); /* the master has asked what it does */
	s.nodes[1].silent = true;
	id = sim_submit(&s, op, NULL);
	cr_assert(sim_run(&s, 60000, is_running, &id));
	sim_run(&s, 100, NULL, NULL);
	cr_assert(is_running(&s, &id));
	cr_assert_str_eq(kill_job(id), state);
	s.nodes[1].silent = false;
	return id;
}

Test(kill, a_job_that_waits_for_a_node_ends_and_frees_its_locks)
{
	uint64_t id = kill_while_it_waits(op_delay(3600, NODE2), "error");
	auto_free char *text = sim_job_log(&s, id);
	int64_t begin = clock_mono_us();

	cr_assert_not_null(strstr(text, "test_delay on node '" NODE2 "'"), "%s",
			   text);
	expect(op_delay(0.1, NODE2), "success");
	cr_assert_lt(clock_mono_us() - begin, AT_ONCE_US);
}

/* As a job of 3.0.2 whose process died. */
Test(kill, the_job_is_recorded_as_clients_know_it)
{
	uint64_t id = kill_while_it_waits(op_delay(3600, NODE2), "error");
	const struct job *j = queue_job(s.master->queue, id);
	auto_free char *result =
		xprintf("\"detected death of job %ju\"", (uintmax_t)id);
	auto_free char *uuids =
		xprintf("\"on_node_uuids\":[\"%s\"]", s.nodes[1].uuid);
	auto_free char *entry =
		xprintf("[\"gnt:daemon:luxid:deathdetection\",%s,", result);
	auto_json json_t *users = job_users(j);

	cr_assert_str_eq(j->ops[0].result, result);
	cr_assert_not_null(strstr(j->ops[0].input, entry), "%s",
			   j->ops[0].input);
	cr_assert_not_null(strstr(j->ops[0].input, uuids), "%s",
			   j->ops[0].input);
	cr_assert_not_null(strstr(j->ops[0].input, "\"duration\":3600,"));
	cr_assert_str_eq(j->ops[0].summary, "TEST_DELAY(3600.0)");
	cr_assert_eq(json_array_size(users), 0, "nobody asked for that");
}

Test(kill, a_migration_ends_and_the_instance_stays_known)
{
	expect(op_add("web1", NODE2, true), "success");
	kill_while_it_waits(op_move("OP_INSTANCE_MIGRATE", "web1", NODE3),
			    "error");
	cr_assert_str_eq(json_str(instance("web1"), "primary_node", ""),
			 s.nodes[1].uuid);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
}

/* A kill is no failure that may be ignored. */
Test(kill, a_forced_removal_does_not_forget_the_instance)
{
	json_t *op = op_named("OP_INSTANCE_REMOVE", "web1");

	expect(op_add("web1", NODE2, true), "success");
	json_set_bool(op, "ignore_failures", true);
	kill_while_it_waits(op, "error");
	cr_assert_not_null(instance("web1"));
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
}

/* The fixture checks that nodes, configuration and locks agree. */
Test(kill, a_creation_leaves_nothing_at_whatever_moment)
{
	unsigned killed = 0;

	s.max_delay_ms = 40;
	for (int ms = 0; ms < 400; ms += 10) {
		auto_free char *name = xprintf("web%d", ms);

		killed += cut_off(op_add(name, NODE2, true), ms);
		if (instance(name) != NULL)
			expect(op_named("OP_INSTANCE_REMOVE", name), "success");
		cr_assert_eq(s.files.n, 0, "%d ms", ms);
		cr_assert_eq(s.nodes[1].running.n, 0, "%d ms", ms);
	}
	cr_assert_gt(killed, 5);
}

/* The node would go on with it, on a disk that is gone or another's. */
Test(kill, an_image_is_not_written_any_longer)
{
	json_t *op = op_add("web1", NODE2, true);
	auto_strv struct strv calls = {0};
	size_t ended = 0;
	uint64_t id;

	json_object_set_new(op, "osparams",
			    json_make("{s:s}", "os-image", "/image"));
	s.nodes[1].image_ms = 3600 * 1000;
	s.calls = &calls;
	id = sim_submit(&s, op, NULL);
	sim_run(&s, 60000, NULL, NULL);
	cr_assert(is_running(&s, &id));
	cr_assert_str_eq(kill_job(id), "error");
	sim_run(&s, 60000, NULL, NULL);
	s.calls = NULL;
	for (size_t i = 0; i < calls.n; i++)
		ended += strcmp(calls.items[i], "impexp_cleanup " NODE2) == 0;
	cr_assert_eq(ended, 1);
	cr_assert_null(instance("web1"));
	cr_assert_eq(s.files.n, 0);
}

static size_t count_of(const struct strv *calls, const char *procedure)
{
	size_t n = 0;

	for (size_t i = 0; i < calls->n; i++)
		n += strncmp(calls->items[i], procedure, strlen(procedure)) ==
		     0;
	return n;
}

static json_t *op_export(const char *name)
{
	return json_make("{s:s, s:s, s:s, s:b}", "OP_ID", "OP_BACKUP_EXPORT",
			 "instance_name", name, "target_node", NODE3,
			 "long_sleep", 1);
}

/* Also when the job is killed before it knows what the node calls it. */
Test(kill, a_transfer_is_ended_at_whatever_moment)
{
	auto_strv struct strv calls = {0};
	unsigned killed = 0;

	expect(op_add("web1", NODE2, true), "success");
	s.max_delay_ms = 40;
	s.calls = &calls;
	for (int ms = 0; ms < 600; ms += 10) {
		killed += cut_off(op_export("web1"), ms);
		cr_assert_eq(count_of(&calls, "import_start ") +
				     count_of(&calls, "export_start "),
			     count_of(&calls, "impexp_cleanup "), "%d ms", ms);
	}
	s.calls = NULL;
	cr_assert_gt(killed, 5);
	cr_assert_gt(count_of(&calls, "export_start "), 5);
}

static bool has_called(struct sim *sim, void *procedure)
{
	return count_of(sim->calls, procedure) > 0;
}

Test(kill, an_export_does_not_forget_an_instance_that_it_did_not_remove)
{
	json_t *op = op_export("web1");
	auto_strv struct strv calls = {0};
	char procedure[] = "blockdev_remove ";
	uint64_t id;

	expect(op_add("web1", NODE2, true), "success");
	json_set_bool(op, "shutdown", true);
	json_set_bool(op, "remove_instance", true);
	json_set_bool(op, "ignore_remove_failures", true);
	s.nodes[1].lose_answer = "blockdev_remove";
	s.calls = &calls;
	id = sim_submit(&s, op, NULL);
	cr_assert(sim_run(&s, 60000, has_called, procedure));
	cr_assert_str_eq(kill_job(id), "error");
	s.calls = NULL;
	cr_assert_not_null(instance("web1"));
	sim_run(&s, 60000, NULL, NULL);
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
}

static bool runs(size_t node)
{
	return table_get(&s.nodes[node].running, "web1") != NULL;
}

/* Kill a job at ever later moments, also while the node stops the instance. */
static void expect_runs_again(json_t *(*op)(void))
{
	unsigned killed = 0;

	s.nodes[1].stop_ms = 3000;
	s.nodes[2].stop_ms = 3000;
	for (int ms = 0; ms < 6000; ms += 100) {
		killed += cut_off(op(), ms);
		cr_assert(runs(1) || runs(2), "%d ms", ms);
	}
	cr_assert_gt(killed, 20);
}

static json_t *op_export_web1(void)
{
	return op_export("web1");
}

Test(kill, an_instance_that_an_export_has_stopped_runs_again)
{
	expect(op_add("web1", NODE2, true), "success");
	expect_runs_again(op_export_web1);
}

/* Else the node would stop the one that was started. */
Test(kill, what_a_node_still_stops_is_started_after_that)
{
	uint64_t id;

	expect(op_add("web1", NODE2, true), "success");
	s.nodes[1].stop_ms = 20000;
	id = sim_submit(&s, op_export_web1(), NULL);
	sim_run(&s, 5000, NULL, NULL);
	cr_assert_str_eq(kill_job(id), "error");
	sim_run(&s, 10000, NULL, NULL);
	cr_assert_not(runs(1));
	sim_run(&s, 10000, NULL, NULL);
	cr_assert(runs(1));
}

/* --- volumes, mirrored disks --- */

static json_t *op_with_volumes(const char *template)
{
	json_t *op = op_add("web1", NODE2, true);

	json_set_str(op, "disk_template", template);
	json_object_set_new(op, "disks",
			    json_make("[{s:i}, {s:i}]", "size", 8, "size", 8));
	json_set_bool(op, "start", false);
	return op;
}

/* The names of the templates are those of both lists. */
static void enable_volumes(void)
{
	expect(json_make("{s:s, s:s, s:s, s:[s, s, s], s:{s:[s, s, s]}}",
			 "OP_ID", "OP_CLUSTER_SET_PARAMS", "vg_name", "xenvg",
			 "drbd_helper", "/bin/true", "enabled_disk_templates",
			 "drbd", "plain", "sharedfile", "ipolicy",
			 "disk-templates", "drbd", "plain", "sharedfile"),
	       "success");
}

static json_t *op_adopt(void)
{
	json_t *op = op_with_volumes("plain");

	json_object_set_new(
		op, "disks",
		json_make("[{s:s}, {s:s}]", "adopt", "mine", "adopt", "mine2"));
	return op;
}

static void make_mine(const char *first, const char *second)
{
	table_put(&s.files, first, &s);
	table_put(&s.files, second, &s);
}

Test(kill, adopted_volumes_get_their_names_back_at_whatever_moment)
{
	auto_free char *first = xprintf("%s:mine", s.nodes[1].uuid);
	auto_free char *second = xprintf("%s:mine2", s.nodes[1].uuid);
	unsigned killed = 0;

	enable_volumes();
	make_mine(first, second);
	s.max_delay_ms = 40;
	for (int ms = 0; ms < 800; ms += 20) {
		killed += cut_off(op_adopt(), ms);
		if (instance("web1") != NULL) {
			expect(op_named("OP_INSTANCE_REMOVE", "web1"),
			       "success");
			make_mine(first, second);
		}
		cr_assert_not_null(table_get(&s.files, first), "%d ms", ms);
		cr_assert_not_null(table_get(&s.files, second), "%d ms", ms);
		cr_assert_eq(s.files.n, 2, "%d ms", ms);
	}
	cr_assert_gt(killed, 5);
	table_done(&s.files, NULL);
	s.files = (struct table){0};
}

/* Nodes, configuration and locks agree. */
static void expect_whole(int ms)
{
	auto_strv struct strv problems = {0};
	auto_free char *text = NULL;

	sim_check(&s, &problems);
	text = strv_join(&problems, "; ");
	cr_assert_eq(problems.n, 0, "%d ms: %s", ms, text);
}

static json_t *op_convert(const char *template)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", "web1");

	json_set_str(op, "disk_template", template);
	if (strcmp(template, "drbd") == 0)
		json_set_str(op, "remote_node", NODE3);
	return op;
}

static bool is_mirrored(void)
{
	return strcmp(config_instance_template(s.master->config,
					       instance("web1")),
		      "drbd") == 0;
}

static size_t mirrors_active(void)
{
	return s.nodes[1].devices.n + s.nodes[2].devices.n;
}

/* To mirrors: nothing is removed before a copy to it has ended.  And back,
 * where a late kill leaves no old disks (else NULL). */
static void kill_conversions(const char *back)
{
	unsigned killed = 0;

	s.max_delay_ms = 40;
	for (int ms = 0; ms < 1500; ms += 20) {
		killed += cut_off(op_convert("drbd"), ms);
		if (is_mirrored() && back == NULL)
			break;
		expect_whole(ms);
		if (is_mirrored())
			expect(op_convert(back), "success");
		cr_assert_eq(mirrors_active(), 0, "%d ms", ms);
	}
	cr_assert_gt(killed, 5);
}

Test(kill, a_conversion_leaves_volumes_or_mirrors_at_whatever_moment)
{
	enable_volumes();
	expect(op_with_volumes("plain"), "success");
	kill_conversions("plain");
}

Test(kill, a_conversion_by_copy_leaves_no_mirror_at_whatever_moment)
{
	enable_volumes();
	expect(op_with_volumes("sharedfile"), "success");
	kill_conversions("sharedfile");
}

Test(kill, a_conversion_of_a_running_instance_leaves_no_mirror)
{
	json_t *op = op_with_volumes("plain");

	enable_volumes();
	expect(json_make("{s:s, s:[s, s]}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "enabled_hypervisors", "fake", "kvm"),
	       "success");
	json_set_str(op, "hypervisor", "kvm");
	json_set_bool(op, "start", true);
	expect(op, "success");
	kill_conversions(NULL);
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	table_done(&s.files, NULL); /* old disks, where the kill came late */
	s.files = (struct table){0};
}

/* --- a move --- */

static json_t *op_move_away(void)
{
	return op_move("OP_INSTANCE_MOVE", "web1", NODE3);
}

static json_t *op_move_somewhere(void)
{
	return op_move("OP_INSTANCE_MOVE", "web1", runs(1) ? NODE3 : NODE2);
}

Test(kill, an_instance_that_a_move_has_stopped_runs_again)
{
	json_t *op = op_with_volumes("plain");

	enable_volumes();
	json_set_bool(op, "start", true);
	expect(op, "success");
	expect_runs_again(op_move_somewhere);
}

static bool makes_the_second(struct sim *sim, void *arg)
{
	(void)arg;
	return count_of(sim->calls, "blockdev_create " NODE3) == 2;
}

Test(kill, a_move_that_makes_disks_can_be_repeated)
{
	auto_strv struct strv calls = {0};
	uint64_t id;

	enable_volumes();
	expect(op_with_volumes("plain"), "success");
	s.calls = &calls;
	s.nodes[2].create_ms = 10000;
	id = sim_submit(&s, op_move_away(), NULL);
	cr_assert(sim_run(&s, 60000, makes_the_second, NULL));
	cr_assert_str_eq(kill_job(id), "error");
	sim_run(&s, 60000, NULL, NULL);
	s.calls = NULL;
	cr_expect_eq(s.files.n, 2);
	expect(op_move_away(), "success");
}

Test(kill, a_move_that_loses_an_answer_about_disks_can_be_repeated)
{
	enable_volumes();
	expect(op_with_volumes("plain"), "success");
	s.nodes[2].lose_answer = "blockdev_create";
	expect(op_move_away(), "blockdev_create");
	cr_expect_eq(s.files.n, 2);
	expect(op_move_away(), "success");
}

static json_t *op_recreate(void)
{
	json_t *op = op_named("OP_INSTANCE_RECREATE_DISKS", "web1");

	json_object_set_new(op, "nodes", json_make("[s, s]", NODE2, NODE3));
	return op;
}

static bool has_made(struct sim *sim, void *arg)
{
	return count_of(sim->calls, "blockdev_create ") >= *(size_t *)arg;
}

/* What nodes have answered; the call that the job waits for is anybody's. */
Test(kill, disks_that_are_made_anew_can_be_made_again)
{
	auto_strv struct strv calls = {0};
	json_t *op = op_with_volumes("drbd");
	size_t wanted = 5; /* on the second node */
	uint64_t id;

	enable_volumes();
	json_set_str(op, "snode", NODE3);
	expect(op, "success");
	table_done(&s.files, NULL);
	s.files = (struct table){0};
	s.calls = &calls;
	s.nodes[2].create_ms = 10000;
	id = sim_submit(&s, op_recreate(), NULL);
	cr_assert(sim_run(&s, 60000, has_made, &wanted));
	cr_assert_str_eq(kill_job(id), "error");
	sim_run(&s, 60000, NULL, NULL);
	s.calls = NULL;
	cr_expect_eq(s.files.n, 1);
	table_done(&s.files, NULL);
	s.files = (struct table){0};
	expect(op_recreate(), "success");
}

static void add_mirrored(void)
{
	json_t *op = op_with_volumes("drbd");

	enable_volumes();
	json_set_str(op, "snode", NODE3);
	expect(op, "success");
}

static bool is_on(const char *node_uuid)
{
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, json_str(instance("web1"), "primary_node", ""));
	config_instance_secondaries(s.master->config, instance("web1"), &nodes);
	return strv_has(&nodes, node_uuid);
}

/* Kill the job that op makes at ever later moments, until the first node has
 * got the disks: before that it has nothing of them. */
static void kill_on_the_way(json_t *(*op)(void))
{
	unsigned killed = 0;

	add_mirrored();
	s.max_delay_ms = 40;
	for (int ms = 0; !is_on(s.nodes[0].uuid); ms += 25) {
		cr_assert_lt(ms, 5000);
		killed += cut_off(op(), ms);
		if (is_on(s.nodes[0].uuid))
			continue;
		expect_whole(ms);
		cr_assert_eq(s.nodes[0].devices.n, 0, "%d ms", ms);
	}
	cr_assert_gt(killed, 8);
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	table_done(&s.files, NULL); /* of the node that left */
	s.files = (struct table){0};
}

static json_t *op_replace(void)
{
	json_t *op = op_named("OP_INSTANCE_REPLACE_DISKS", "web1");

	json_set_str(op, "mode", "replace_new_secondary");
	json_set_str(op, "remote_node", s.nodes[0].name);
	return op;
}

Test(kill, a_replacement_leaves_nothing_on_the_new_node)
{
	kill_on_the_way(op_replace);
}

static json_t *op_failover(void)
{
	return op_move("OP_INSTANCE_FAILOVER", "web1", s.nodes[0].name);
}

Test(kill, a_failover_leaves_nothing_on_the_new_node)
{
	kill_on_the_way(op_failover);
}

static json_t *op_more(const char *action, int size)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", "web1");
	json_t *values = json_object();

	if (size > 0)
		json_set_int(values, "size", size);
	json_object_set_new(op, "disks",
			    json_make("[[s, i, o]]", action, -1, values));
	return op;
}

static size_t count_disks(void)
{
	return json_array_size(inst_disks(instance("web1")));
}

Test(kill, a_new_disk_leaves_nothing_at_whatever_moment)
{
	size_t before, devices;
	unsigned killed = 0;

	add_mirrored();
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	before = count_disks();
	devices = s.nodes[2].devices.n;
	s.max_delay_ms = 40;
	for (int ms = 0; ms < 600; ms += 25) {
		killed += cut_off(op_more("add", 8), ms);
		expect_whole(ms);
		if (count_disks() > before)
			expect(op_more("remove", 0), "success");
		cr_assert_eq(s.nodes[2].devices.n, devices, "%d ms", ms);
	}
	cr_assert_gt(killed, 5);
}

/* --- removed is what was meant --- */

static json_t *op_remove(const char *name, const char *uuid)
{
	json_t *op = op_named("OP_INSTANCE_REMOVE", name);

	json_set_str(op, "instance_uuid", uuid);
	return op;
}

Test(kill, a_removal_spares_another_instance_of_that_name)
{
	auto_free char *old = NULL, *now = NULL;

	expect(op_add("web1", NODE2, false), "success");
	old = xstrdup(object_uuid(instance("web1")));
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect(op_add("web1", NODE2, false), "success");
	expect(op_remove("web1", old), "another one than when");
	now = xstrdup(object_uuid(instance("web1")));
	expect(op_remove("web1", now), "success");
}

static bool is_half_made(struct sim *sim, void *name)
{
	const json_t *inst =
		config_find(sim->master->config, CONFIG_INSTANCE, name);

	return inst != NULL && inst_has_reserved_by_job(inst) &&
	       !inst_forthcoming(inst);
}

Test(kill, what_a_dead_master_has_half_made_is_removed_by_uuid)
{
	auto_free char *wanted = NULL;
	char name[] = "web1";
	uint64_t id;

	s.max_delay_ms = 1000;
	sim_submit(&s, op_add(name, NODE2, true), NULL);
	cr_assert(sim_run(&s, 60000, is_half_made, name));
	wanted = xprintf("\"instance_uuid\":\"%s\"",
			 object_uuid(instance(name)));
	sim_kill(&s.nodes[0].masterd);
	s.max_delay_ms = 5;
	sim_await_master(&s.nodes[0]);
	sim_run(&s, 1000, NULL, NULL);
	id = queue_last_id(s.master->queue);
	cr_assert_not_null(
		strstr(queue_job(s.master->queue, id)->ops[0].input, wanted),
		"%s", queue_job(s.master->queue, id)->ops[0].input);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_null(instance(name));
}

/* Snapshots slow down the volumes that they are of. */
Test(kill, an_export_leaves_no_snapshots_at_whatever_moment)
{
	json_t *op = op_with_volumes("plain");
	unsigned killed = 0;

	enable_volumes();
	json_set_bool(op, "start", true);
	expect(op, "success");
	s.max_delay_ms = 40;
	for (int ms = 0; ms < 600; ms += 10) {
		killed += cut_off(op_export("web1"), ms);
		expect_whole(ms);
	}
	cr_assert_gt(killed, 5);
}

static json_t *op_rename(const char *name, const char *new_name)
{
	json_t *op = op_named("OP_INSTANCE_RENAME", name);

	json_set_str(op, "new_name", new_name);
	json_set_bool(op, "name_check", false);
	json_set_bool(op, "ip_check", false);
	return op;
}

/* The files are in the folder of the name that is recorded. */
Test(kill, a_renaming_leaves_disks_where_they_are_recorded_at_whatever_moment)
{
	json_t *op = op_add("web1", NODE2, true);
	unsigned killed = 0;

	json_set_bool(op, "start", false);
	expect(op, "success");
	s.max_delay_ms = 40;
	for (int ms = 0; ms < 600; ms += 10) {
		killed += cut_off(op_rename("web1", "web2"), ms);
		expect_whole(ms);
		if (instance("web1") == NULL)
			expect(op_rename("web2", "web1"), "success");
	}
	cr_assert_gt(killed, 5);
}

static json_t *op_disk(const char *action, json_t *place STEALS,
		       const char *uuid)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", "web1");

	json_object_set_new(
		op, "disks",
		json_make("[[s, o, {s:s*}]]", action, place, "uuid", uuid));
	return op;
}

/* The same of a disk that leaves the instance, and comes back. */
Test(kill, a_disk_is_attached_or_detached_at_whatever_moment)
{
	json_t *op = op_add("web1", NODE2, true);
	auto_free char *uuid = NULL;
	unsigned killed = 0;

	json_set_bool(op, "start", false);
	expect(op, "success");
	uuid = xstrdup(json_string_value(
		json_array_get(json_get(instance("web1"), "disks"), 0)));
	s.max_delay_ms = 40;
	for (int ms = 0; ms < 600; ms += 10) {
		killed += cut_off(op_disk("detach", json_integer(0), NULL), ms);
		expect_whole(ms);
		if (config_disk_owner(s.master->config, uuid) != NULL)
			expect(op_disk("detach", json_integer(0), NULL),
			       "success");
		killed += cut_off(op_disk("attach", json_integer(0), uuid), ms);
		expect_whole(ms);
		if (config_disk_owner(s.master->config, uuid) == NULL)
			expect(op_disk("attach", json_integer(0), uuid),
			       "success");
	}
	cr_assert_gt(killed, 5);
}
