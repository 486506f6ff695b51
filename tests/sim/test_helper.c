/* SPDX-License-Identifier: BSD-2-Clause */
/* Operating systems whose script nobody trusts: the instance is started from a
 * temporary disk, and installs itself. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/planned.h"
#include "tests/sim/traced.h"

#define IMAGE "/srv/images/install"

static void setup_untrusted(void)
{
	sim_init_big(&s, 3, 1, 1);
	s.nodes[1].untrusted = true;
	s.nodes[1].guests_end = true;
}

TestSuite(helper, .init = setup_untrusted, .fini = traced_teardown,
	  .timeout = 60);

static void set(const char *key, const char *value)
{
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS", key,
			 value),
	       "success");
}

static json_t *add(const char *template)
{
	json_t *op = op_add("web1", NODE2, true);

	json_set_str(op, "disk_template", template);
	if (strcmp(template, "drbd") == 0)
		json_set_str(op, "snode", NODE3);
	json_set_bool(op, "start", false);
	return op;
}

static const json_t *instance(void)
{
	return config_find(s.master->config, CONFIG_INSTANCE, "web1");
}

static size_t n_disks(void)
{
	return json_object_size(config_all(s.master->config, CONFIG_DISK));
}

static void expect_calls(const char *wanted)
{
	static const char *const about[] = {
		"blockdev_create ", "blockdev_image ",
		"instance_start ",  "instance_metadata_modify ",
		"instance_os_add ", "instance_shutdown ",
		"blockdev_remove "};
	traced_expect(about, ARRAY_SIZE(about), wanted);
}

Test(helper, it_installs_and_leaves_nothing)
{
	set("install_image", IMAGE);
	s.calls = &traced;
	expect(add("sharedfile"), "success");
	expect_calls("blockdev_create blockdev_create blockdev_image "
		     "instance_start instance_shutdown blockdev_remove ");
	cr_assert_eq(json_array_size(json_get(instance(), "disks")), 1);
	cr_expect_eq(n_disks(), 1);
	cr_expect_eq(json_int(json_array_get(s.nodes[1].image, 2), "x", 3), 3);
	cr_expect_eq(json_integer_value(json_array_get(s.nodes[1].image, 2)),
		     3);
}

Test(helper, mirrored_instances_have_it_on_the_primary)
{
	const json_t *disk;

	set("install_image", IMAGE);
	expect(add("drbd"), "success");
	disk = json_array_get(s.nodes[1].image, 0);
	cr_expect_str_eq(json_str(disk, "dev_type", ""), "plain");
	cr_expect_eq(n_disks(), 1);
}

Test(helper, one_that_may_ask_is_answered)
{
	json_t *op = add("sharedfile");

	set("install_image", IMAGE);
	set("instance_communication_network", "talk");
	expect(op_delay(30, NULL), "success");
	json_set_bool(op, "instance_communication", true);
	json_object_set_new(op, "osparams_secret",
			    json_make("{s:s}", "pw", "hunter2"));
	s.calls = &traced;
	expect(op, "success");
	expect_calls("blockdev_create instance_metadata_modify "
		     "blockdev_create blockdev_image instance_start "
		     "instance_shutdown blockdev_remove ");
}

Test(helper, without_an_image_nothing_is_begun)
{
	s.calls = &traced;
	expect(add("sharedfile"), "--install-image");
	expect_calls("");
	cr_expect_null(instance());
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "install_image", "images/install"),
	       "Install image must be an absolute path");
	set("install_image", "gopher://www.example.com/image");
	expect(add("sharedfile"), "absolute path or a URL (http, https, ftp");
}

Test(helper, a_url_is_put_on_its_disk)
{
	set("install_image", "http://www.example.com/image");
	expect(add("sharedfile"), "success");
	cr_expect_str_eq(json_string_value(json_array_get(s.nodes[1].image, 1)),
			 "http://www.example.com/image");
}

Test(helper, a_server_that_does_not_have_it_is_named_without_passwords)
{
	auto_free char *got = NULL;

	set("install_image", "http://me:sesame@www.example.com/image");
	s.nodes[1].fail_on = "get_file_info";
	s.calls = &traced;
	got = sim_do(&s, add("sharedfile"));
	cr_expect_not_null(strstr(got, "http://www.example.com/image"), "%s",
			   got);
	cr_expect_null(strstr(got, "sesame"), "%s", got);
	expect_calls("");
	s.nodes[1].fail_on = NULL;
}

Test(helper, what_is_trusted_needs_none)
{
	s.nodes[1].untrusted = false;
	s.calls = &traced;
	expect(add("sharedfile"), "success");
	expect_calls("blockdev_create instance_os_add ");
}

Test(helper, who_does_not_end_is_ended)
{
	json_t *op = add("sharedfile");

	set("install_image", IMAGE);
	s.nodes[1].guests_end = false;
	json_set_int(op, "helper_shutdown_timeout", 600);
	expect(op, "within 600 seconds");
	cr_expect_null(instance());
	cr_expect_eq(n_disks(), 0);
	cr_expect_null(table_get(&s.nodes[1].running, "web1"));
}

Test(helper, one_that_does_not_come_up_in_time_is_given_up)
{
	json_t *op = add("sharedfile");

	set("install_image", IMAGE);
	s.nodes[1].start_ms = 60000;
	json_set_int(op, "helper_startup_timeout", 59);
	expect(op, "not come up within 59 seconds");
	cr_expect_null(instance());
	cr_expect_eq(n_disks(), 0);
	cr_expect_null(table_get(&s.nodes[1].running, "web1"));
	op = add("sharedfile");
	json_set_int(op, "helper_startup_timeout", 61);
	expect(op, "success");
}

Test(helper, time_limits_are_not_negative)
{
	static const char *const limits[] = {"helper_startup_timeout",
					     "helper_shutdown_timeout"};

	set("install_image", IMAGE);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		json_t *op = add("sharedfile");

		json_set_int(op, limits[i], -1);
		expect(op, "must not be negative");
	}
}

Test(helper, each_failing_step_is_taken_back)
{
	static const char *const steps[] = {"blockdev_image", "instance_start",
					    "blockdev_assemble"};

	set("install_image", IMAGE);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		s.nodes[1].fail_on = steps[i];
		expect(add("sharedfile"), "told to fail");
		s.nodes[1].fail_on = NULL;
		cr_expect_null(instance(), "%s", steps[i]);
		cr_expect_eq(n_disks(), 0, "%s", steps[i]);
	}
}

/* Let the helper of a creation run on and on. */
static uint64_t begin(void)
{
	uint64_t id;

	set("install_image", IMAGE);
	s.nodes[1].guests_end = false;
	id = sim_submit(&s, add("sharedfile"), NULL);
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_not_null(table_get(&s.nodes[1].running, "web1"));
	cr_assert_eq(n_disks(), 2);
	return id;
}

static void expect_nothing_left(void)
{
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	cr_expect_null(instance());
	cr_expect_eq(n_disks(), 0);
	cr_expect_null(table_get(&s.nodes[1].running, "web1"));
}

Test(helper, another_job_takes_back_what_a_killed_one_began)
{
	cr_expect_str_eq(sim_kill_job(&s, begin()), "error");
	expect_nothing_left();
}

Test(helper, a_new_master_takes_back_what_the_old_one_began)
{
	begin();
	sim_crash(&s, 1);
	sim_restart(&s);
	expect_nothing_left();
}

/* --- an instance that is there --- */

static json_t *reinstall(void)
{
	return op_named("OP_INSTANCE_REINSTALL", "web1");
}

static void add_installed(void)
{
	set("install_image", IMAGE);
	expect(add("sharedfile"), "success");
}

static void expect_only_its_disk(void)
{
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	cr_expect_eq(n_disks(), 1);
	cr_expect_eq(json_array_size(json_get(instance(), "disks")), 1);
	cr_expect_null(table_get(&s.nodes[1].running, "web1"));
	cr_expect_str_eq(json_str(instance(), "admin_state", ""), "down");
}

Test(helper, an_instance_is_reinstalled)
{
	add_installed();
	s.calls = &traced;
	expect(reinstall(), "success");
	expect_calls("blockdev_create blockdev_image instance_start "
		     "instance_shutdown blockdev_remove ");
	s.calls = NULL;
	expect_only_its_disk();
}

Test(helper, a_reinstallation_has_time_limits_as_well)
{
	json_t *op = reinstall();

	add_installed();
	s.nodes[1].guests_end = false;
	json_set_int(op, "helper_shutdown_timeout", 5);
	expect(op, "within 5 seconds");
	expect_only_its_disk();
}

Test(helper, a_plan_does_not_wait_for_it)
{
	auto_json json_t *op = add("sharedfile");

	set("install_image", IMAGE);
	s.nodes[1].guests_end = false;
	json_decref(sim_plan(&s, op));
	s.nodes[1].guests_end = true;
	sim_expect_as_planned(&s, steal(&op));
}

Test(helper, a_failing_reinstallation_leaves_its_disk_alone)
{
	static const char *const steps[] = {"blockdev_create", "blockdev_image",
					    "instance_start",
					    "blockdev_assemble"};

	add_installed();
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		s.nodes[1].fail_on = steps[i];
		expect(reinstall(), "told to fail");
		s.nodes[1].fail_on = NULL;
		expect_only_its_disk();
	}
}

/* Let it run on and on. */
static uint64_t begin_again(void)
{
	uint64_t id;

	add_installed();
	s.nodes[1].guests_end = false;
	id = sim_submit(&s, reinstall(), NULL);
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_not_null(table_get(&s.nodes[1].running, "web1"));
	cr_assert_eq(n_disks(), 2);
	return id;
}

Test(helper, a_killed_reinstallation_is_taken_back_by_another_job)
{
	cr_expect_str_eq(sim_kill_job(&s, begin_again()), "error");
	expect_only_its_disk();
}

Test(helper, a_new_master_takes_back_a_reinstallation)
{
	begin_again();
	sim_crash(&s, 1);
	sim_restart(&s);
	expect_only_its_disk();
}
