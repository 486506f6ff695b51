/* SPDX-License-Identifier: BSD-2-Clause */
/* What the watcher decides, from values. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"

#define NOW 2000000.0

static struct watcher_report *report;
static struct watcher_state *state;
static json_t *jobs;

static void begin(void)
{
	mem_init();
	log_set_level(LOG_LEVEL_ERROR);
	report = watcher_report_create(NULL);
	state = watcher_state_of(NULL);
	jobs = json_array();
}

static void end(void)
{
	json_decref(jobs);
	watcher_state_close(state);
	watcher_report_destroy(report);
}

TestSuite(watcher, .init = begin, .fini = end);

/* The names of the objects that jobs are for: "web1 web2". */
static char *about(void)
{
	auto_strv struct strv names = {0};
	json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job)
		strv_add(&names, json_str(job, "about", ""));
	return strv_join(&names, " ");
}

static void expect(const char *names)
{
	auto_free char *got = about();

	cr_assert_str_eq(got, names);
}

static const char *op_id(size_t job)
{
	const json_t *ops = json_get(json_array_get(jobs, job), "ops");

	return json_str(json_array_get(ops, 0), "OP_ID", "");
}

/* Whether a note of this run has the text. */
static bool noted(const char *text)
{
	const json_t *notes = json_get(watcher_report_data(report), "notes");
	json_t *note;
	size_t i;

	json_array_foreach (notes, i, note)
		if (strstr(json_string_value(note), text) != NULL)
			return true;
	return false;
}

static json_t *inst(const char *name, const char *status)
{
	return json_make("{s:s, s:s, s:s, s:b, s:[s], s:s}", "name", name,
			 "status", status, "admin_state", "up", "disks_active",
			 true, "snodes", "node2", "disk_template", "drbd");
}

static void plan(json_t *instances, json_t *busy, double now)
{
	const struct watcher_view v = {.instances = instances, .busy = busy};

	json_array_clear(jobs);
	watcher_plan_instances(report, state, &v, now, jobs);
	json_decref(instances);
	json_decref(busy);
}

Test(watcher, what_is_down_is_started)
{
	plan(json_make("[o, o, o, o]", inst("web1", "ERROR_down"),
		       inst("web2", "running"), inst("web3", "ADMIN_down"),
		       inst("web4", "ERROR_nodedown")),
	     json_object(), NOW);
	expect("web1");
	cr_assert_str_eq(op_id(0), "OP_INSTANCE_STARTUP");
	cr_assert(noted("web4: its node does not answer"));
	cr_assert(!noted("web2"));
}

Test(watcher, an_instance_that_somebody_works_on_is_left_alone)
{
	plan(json_make("[o]", inst("web1", "ERROR_down")),
	     json_make("{s:s}", "web1", "job 7 works on it"), NOW);
	expect("");
	cr_assert(noted("web1 is down, but job 7 works on it"));
	cr_assert_eq(watcher_state_tries(state, "web1", "restart"), 0);
}

Test(watcher, after_some_tries_it_gives_up_and_begins_again_later)
{
	for (int i = 0; i < WATCHER_TRIES; i++) {
		plan(json_make("[o]", inst("web1", "ERROR_down")),
		     json_object(), NOW + i);
		expect("web1");
	}
	plan(json_make("[o]", inst("web1", "ERROR_down")), json_object(),
	     NOW + WATCHER_TRIES);
	expect("");
	cr_assert(noted("giving up"));
	plan(json_make("[o]", inst("web1", "ERROR_down")), json_object(),
	     NOW + 60);
	expect("");
	cr_assert(noted("not started any more"));
	plan(json_make("[o]", inst("web1", "ERROR_down")), json_object(),
	     NOW + 60 + WATCHER_EXPIRE_S);
	expect("web1");
}

Test(watcher, one_that_runs_again_has_all_its_tries)
{
	plan(json_make("[o]", inst("web1", "ERROR_down")), json_object(), NOW);
	plan(json_make("[o]", inst("web1", "running")), json_object(), NOW);
	cr_assert_eq(watcher_state_tries(state, "web1", "restart"), 0);
}

Test(watcher, instances_that_are_gone_are_forgotten)
{
	plan(json_make("[o]", inst("web1", "ERROR_down")), json_object(), NOW);
	plan(json_make("[o]", inst("web2", "running")), json_object(), NOW);
	cr_assert_eq(watcher_state_tries(state, "web1", "restart"), 0);
}

Test(watcher, what_its_user_shut_down_is_marked_so)
{
	const json_t *op;

	plan(json_make("[o]", inst("web1", "USER_down")), json_object(), NOW);
	expect("web1");
	cr_assert_str_eq(op_id(0), "OP_INSTANCE_SHUTDOWN");
	op = json_array_get(json_get(json_array_get(jobs, 0), "ops"), 0);
	cr_assert_str_eq(json_str(op, "admin_state_source", ""), "user");
	/* It failed, then it worked. */
	watcher_settle_instances(state, jobs, NOW);
	cr_assert_eq(watcher_state_tries(state, "web1", "cleanup"), 1);
	json_set_str(json_array_get(jobs, 0), "status", "success");
	watcher_settle_instances(state, jobs, NOW);
	cr_assert_eq(watcher_state_tries(state, "web1", "cleanup"), 0);
}

Test(watcher, what_the_master_refused_is_no_try)
{
	plan(json_make("[o, o]", inst("web1", "ERROR_down"),
		       inst("web2", "USER_down")),
	     json_object(), NOW);
	expect("web1 web2");
	watcher_take_back(state, jobs);
	cr_assert_eq(watcher_state_tries(state, "web1", "restart"), 1);
	json_set_bool(json_array_get(jobs, 0), "refused", true);
	json_set_bool(json_array_get(jobs, 1), "refused", true);
	watcher_take_back(state, jobs);
	watcher_settle_instances(state, jobs, NOW);
	cr_assert_eq(watcher_state_tries(state, "web1", "restart"), 0);
	cr_assert_eq(watcher_state_tries(state, "web2", "cleanup"), 0);
}

Test(watcher, reasons_name_the_watcher)
{
	const json_t *op, *reason;

	plan(json_make("[o]", inst("web1", "ERROR_down")), json_object(), NOW);
	op = json_array_get(json_get(json_array_get(jobs, 0), "ops"), 0);
	reason = json_array_get(json_get(op, "reason"), 0);
	cr_assert_str_eq(json_string_value(json_array_get(reason, 0)),
			 "gnt:watcher");
	cr_assert_str_eq(json_string_value(json_array_get(reason, 1)),
			 "Restarting instance web1");
}

/* --- disks --- */

static json_t *node(const char *name, const char *boot)
{
	return json_make("{s:s, s:s?, s:b, s:b, s:b, s:[], s:s, s:i}", "name",
			 name, "bootid", boot, "offline", false, "powered",
			 true, "master", false, "tags", "pip", "192.0.2.1",
			 "ssh_port", 22);
}

/* The jobs that it plans end with this status. */
static void plan_disks_to(const char *status, json_t *instances, json_t *nodes,
			  json_t *busy, json_t *started)
{
	const struct watcher_view v = {
		.instances = instances, .nodes = nodes, .busy = busy};
	json_t *job;
	size_t i;

	json_array_clear(jobs);
	watcher_plan_disks(report, state, &v, started, jobs);
	json_array_foreach (jobs, i, job)
		json_set_str(job, "status", status);
	watcher_settle_disks(state, &v);
	json_decref(instances);
	json_decref(nodes);
	json_decref(busy);
	json_decref(started);
}

static void plan_disks(json_t *instances, json_t *nodes, json_t *started)
{
	plan_disks_to("success", instances, nodes, NULL, started);
}

Test(watcher, mirrors_on_a_rebooted_node_are_activated_once)
{
	plan_disks(json_make("[o]", inst("web1", "running")),
		   json_make("[o, o]", node("node1", "a"), node("node2", "b")),
		   json_object());
	expect("web1"); /* seen for the first time */
	plan_disks(json_make("[o]", inst("web1", "running")),
		   json_make("[o, o]", node("node1", "c"), node("node2", "b")),
		   json_object());
	expect("");
	plan_disks(json_make("[o]", inst("web1", "running")),
		   json_make("[o, o]", node("node1", "c"), node("node2", "d")),
		   json_object());
	expect("web1");
	cr_assert_str_eq(op_id(0), "OP_INSTANCE_ACTIVATE_DISKS");
	/* A node that does not answer is no node that was rebooted. */
	plan_disks(json_make("[o]", inst("web1", "running")),
		   json_make("[o]", node("node2", NULL)), json_object());
	expect("");
}

/* Else one mirror that cannot be made whole would have the others activated in
 * each run; what is not active is found when disks are verified. */
Test(watcher, a_reboot_is_dealt_with_once)
{
	json_t *busy = json_make("{s:s}", "web2", "job 9 works");

	for (int run = 0; run < 2; run++)
		plan_disks_to("error",
			      json_make("[o, o, o]", inst("web1", "running"),
					inst("web2", "running"),
					inst("web3", "ERROR_nodeoffline")),
			      json_make("[o]", node("node2", "b")),
			      json_ref(busy), json_object());
	json_decref(busy);
	expect("");
}

Test(watcher, after_a_reboot_only_what_can_be_active_is_activated)
{
	plan_disks_to("success",
		      json_make("[o, o, o]", inst("web1", "running"),
				inst("web2", "running"),
				inst("web3", "ERROR_nodeoffline")),
		      json_make("[o]", node("node2", "b")),
		      json_make("{s:s}", "web2", "job 9 works"), json_object());
	expect("web1");
	cr_assert(noted("of node node2: job 9 works"));
	cr_assert(noted("of node node2: its node is offline"));
}

Test(watcher, an_instance_that_was_started_has_its_disks)
{
	plan_disks(json_make("[o]", inst("web1", "running")),
		   json_make("[o]", node("node2", "b")),
		   json_make("{s:b}", "web1", true));
	expect("");
}

Test(watcher, only_disks_that_can_be_active_are_activated)
{
	auto_json json_t *instances = json_make(
		"[o, o, o]", inst("web1", "running"),
		inst("web2", "ERROR_nodedown"), inst("web3", "running"));
	auto_json json_t *nodes = json_make("[o]", node("node2", "b"));
	auto_json json_t *busy = json_make("{s:s}", "web3", "job 9 works");
	auto_json json_t *result =
		json_make("[{s:s}, [s, s, s, s], {s:[[s, s]]}]", "uuid",
			  "no answer from node3", "web1", "web2", "web3",
			  "gone", "web4", "uuid", "vg/disk0");
	const struct watcher_view v = {
		.instances = instances, .nodes = nodes, .busy = busy};

	watcher_plan_verified(report, &v, result, jobs);
	expect("web1");
	cr_assert(noted("web2 are not activated: its node does not answer"));
	cr_assert(noted("web3 are not activated: job 9 works"));
	cr_assert(noted("web4 lacks 1 of its volumes, vg/disk0"));
	cr_assert(noted("no answer from node3"));
	json_set_bool(json_array_get(nodes, 0), "offline", true);
	json_array_clear(jobs);
	watcher_plan_verified(report, &v, result, jobs);
	expect("");
	cr_assert(noted("its secondary node is offline"));
}

Test(watcher, external_storage_has_no_volumes_to_verify)
{
	auto_json json_t *instances = json_make("[o]", inst("web1", "running"));
	const struct watcher_view v = {.instances = instances};

	cr_assert(watcher_has_volumes(&v));
	json_set_str(json_array_get(instances, 0), "disk_template", "ext");
	cr_assert(!watcher_has_volumes(&v));
	json_set_str(json_array_get(instances, 0), "disk_template", "file");
	cr_assert(!watcher_has_volumes(&v));
}

/* --- nodes --- */

static bool ssh_answers, noded_answers;
static int noded_asked;

static bool fake_ssh(void *arg, const json_t *n)
{
	(void)arg, (void)n;
	return ssh_answers;
}

static bool fake_noded(void *arg, const json_t *n)
{
	(void)arg, (void)n;
	noded_asked++;
	return noded_answers;
}

static void plan_nodes(json_t *nodes, bool offline, bool readmit)
{
	const struct watcher_view v = {.nodes = nodes};
	const struct watcher_policy policy = {.offline = offline,
					      .readmit = readmit};
	const struct watcher_probe probe = {.ssh = fake_ssh,
					    .noded = fake_noded};

	json_array_clear(jobs);
	watcher_plan_nodes(report, state, &v, &policy, &probe, jobs);
	json_decref(nodes);
}

/* One node is silent. */
static json_t *silent(void)
{
	return json_make("[o, o, o]", node("node1", "a"), node("node2", NULL),
			 node("node3", "c"));
}

Test(watcher, a_silent_node_is_set_offline_after_some_runs_where_allowed)
{
	const json_t *ops;

	for (int i = 1; i < WATCHER_MISSES; i++) {
		plan_nodes(silent(), true, false);
		expect("");
	}
	plan_nodes(silent(), false, false);
	expect("");
	cr_assert(noted("auto_offline is off"));
	plan_nodes(silent(), true, false);
	expect("node2");
	cr_assert_str_eq(op_id(0), "OP_NODE_SET_PARAMS");
	ops = json_get(json_array_get(jobs, 0), "ops");
	cr_assert_str_eq(json_str(json_array_get(ops, 1), "OP_ID", ""),
			 "OP_TAGS_SET", "after the flag");
}

Test(watcher, a_node_that_answered_meanwhile_begins_again)
{
	for (int i = 1; i < WATCHER_MISSES; i++)
		plan_nodes(silent(), true, false);
	plan_nodes(json_make("[o]", node("node2", "b")), true, false);
	plan_nodes(silent(), true, false);
	expect("");
	cr_assert(noted("in 1 of"));
}

Test(watcher, a_host_that_answers_over_ssh_stays_online)
{
	ssh_answers = true;
	for (int i = 0; i < 2 * WATCHER_MISSES; i++)
		plan_nodes(silent(), true, false);
	expect("");
	cr_assert(noted("SSH does"));
}

Test(watcher, when_too_many_are_silent_nothing_is_done)
{
	for (int i = 0; i < 2 * WATCHER_MISSES; i++)
		plan_nodes(json_make("[o, o, o, o]", node("node1", "a"),
				     node("node2", NULL), node("node3", NULL),
				     node("node4", "d")),
			   true, false);
	expect("");
	cr_assert(noted("more than a third"));
}

Test(watcher, the_master_is_never_set_offline)
{
	for (int i = 0; i < 2 * WATCHER_MISSES; i++) {
		json_t *nodes = silent();

		json_set_bool(json_array_get(nodes, 1), "master", true);
		plan_nodes(nodes, true, false);
	}
	expect("");
}

/* node2 is offline, by the watcher or somebody else. */
static json_t *left(bool by_watcher)
{
	json_t *n = node("node2", NULL);

	json_set_bool(n, "offline", true);
	if (by_watcher)
		json_object_set_new(n, "tags", json_make("[s]", WATCHER_TAG));
	return json_make("[o, o]", node("node1", "a"), n);
}

Test(watcher, a_node_that_it_set_offline_comes_back_where_allowed)
{
	const json_t *ops;

	plan_nodes(left(true), false, true);
	expect("");
	cr_assert(noted("node2 is still silent"));
	noded_answers = true;
	noded_asked = 0;
	plan_nodes(left(true), false, false);
	expect("");
	cr_assert(noted("auto_readmit is off"));
	cr_assert_eq(noded_asked, 0, "nobody wants to know");
	plan_nodes(left(true), false, true);
	expect("node2");
	ops = json_get(json_array_get(jobs, 0), "ops");
	cr_assert(!json_bool(json_array_get(ops, 0), "offline", true));
	cr_assert_eq(json_array_size(ops), 1, "which takes the tag away");
}

Test(watcher, what_an_admin_set_offline_stays_so_and_is_not_asked)
{
	noded_answers = true;
	plan_nodes(left(false), true, true);
	expect("");
	cr_assert(!noted("node2"));
	cr_assert_eq(noded_asked, 0);
}

/* --- the state file --- */

static char *temporary(void)
{
	char *folder = xstrdup("/tmp/test_watcher.XXXXXX");

	cr_assert_not_null(mkdtemp(folder));
	return folder;
}

/* Only what has just broken is repaired: so the next run has to know. */
Test(watcher, broken_volume_groups_are_remembered)
{
	auto_free char *folder = temporary();
	auto_free char *file = xprintf("%s/watcher.status", folder);
	auto_json json_t *found =
		json_make("{s:[s], s:[], s:[[b, i]]}", "inconsistent", "node2",
			  "silent", "jobs", 1, 7);
	auto_json json_t *silent =
		json_make("{s:[], s:[s], s:[]}", "inconsistent", "silent",
			  "node3", "jobs");
	struct watcher_report *r = watcher_report_create(file);
	struct error err;

	cr_expect_null(watcher_report_list(r, "inconsistent"), "a first run");
	watcher_note_volumes(r, found);
	watcher_report_end(r, 0);
	watcher_report_destroy(r);
	r = watcher_report_create(file);
	cr_expect(json_array_has_str(watcher_report_list(r, "inconsistent"),
				     "node2"));
	watcher_note_volumes(r, silent);
	cr_expect(json_array_has_str(watcher_report_list(r, "inconsistent"),
				     "node2"),
		  "a node that does not answer changes nothing");
	watcher_report_destroy(r);
	cr_assert_eq(fs_remove_tree(folder, &err), 0);
}

Test(watcher, the_state_is_kept_in_the_form_of_ganeti)
{
	auto_free char *folder = temporary();
	auto_free char *file = xprintf("%s/watcher.x.data", folder);
	struct watcher_state *s, *other;
	auto_json json_t *data = NULL;
	struct error err;

	s = watcher_state_open(file, &err);
	cr_assert_not_null(s);
	watcher_state_tried(s, "web1", "restart", NOW);
	watcher_state_set_boot(s, "node1", "abc");
	cr_assert_eq(watcher_state_save(s, &err), 0);
	other = watcher_state_open(file, &err);
	cr_assert_null(other, "it is locked");
	watcher_state_close(s);
	data = json_read_file(file, 4096, &err);
	cr_assert_eq(json_int(json_get(json_get(data, "instance"), "web1"),
			      "restart_count", 0),
		     1);
	s = watcher_state_open(file, &err);
	cr_assert_str_eq(watcher_state_boot(s, "node1"), "abc");
	watcher_state_close(s);
	cr_assert_eq(fs_remove_tree(folder, &err), 0);
}

Test(watcher, a_damaged_state_begins_anew)
{
	auto_free char *folder = temporary();
	auto_free char *file = xprintf("%s/watcher.x.data", folder);
	struct watcher_state *s;
	struct error err;

	cr_assert_eq(fs_write_atomic(file, "{", 1, 0600, &err), 0);
	s = watcher_state_open(file, &err);
	cr_assert_not_null(s);
	cr_assert_eq(watcher_state_tries(s, "web1", "restart"), 0);
	watcher_state_close(s);
	cr_assert_eq(fs_remove_tree(folder, &err), 0);
}

Test(watcher, a_status_keeps_what_was_done_before)
{
	auto_free char *folder = temporary();
	auto_free char *file = xprintf("%s/watcher.status", folder);
	struct watcher_report *r = watcher_report_create(file);
	struct error err;

	watcher_did(r, "one");
	watcher_did_not(r, "two");
	watcher_report_end(r, 0);
	watcher_report_destroy(r);
	r = watcher_report_create(file);
	cr_assert_eq(
		json_array_size(json_get(watcher_report_data(r), "actions")),
		1);
	cr_assert_eq(json_array_size(json_get(watcher_report_data(r), "notes")),
		     0);
	watcher_report_destroy(r);
	cr_assert_eq(fs_remove_tree(folder, &err), 0);
}
