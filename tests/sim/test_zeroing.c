/* SPDX-License-Identifier: BSD-2-Clause */
/* Exports whose free space is zeroed before: a helper machine does it, and the
 * instance is afterwards as it was. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/traced.h"

#define IMAGE "/srv/images/zero"
#define SIZE_MIB 1024

static void set_image(const char *image)
{
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "zeroing_image", image),
	       "success");
}

static void add(const char *template, bool up)
{
	json_t *op = op_add("web1", NODE2, true);

	set_image(IMAGE);
	json_set_str(op, "disk_template", template);
	json_set_bool(op, "start", up);
	json_set_int(json_array_get(json_object_get(op, "disks"), 0), "size",
		     SIZE_MIB);
	if (strcmp(template, "drbd") == 0)
		json_set_str(op, "snode", NODE3);
	expect(op, "success");
}

static void setup_zeroing(void)
{
	sim_init_big(&s, 3, 1, 1);
	s.nodes[1].guests_end = true;
}

TestSuite(zeroing, .init = setup_zeroing, .fini = traced_teardown,
	  .timeout = 60);

static json_t *export(void)
{
	return json_make("{s:s, s:s, s:s, s:b, s:b}", "OP_ID",
			 "OP_BACKUP_EXPORT", "instance_name", "web1",
			 "target_node", NODE3, "long_sleep", 1,
			 "zero_free_space", 1);
}

static const json_t *instance(void)
{
	return config_find(s.master->config, CONFIG_INSTANCE, "web1");
}

static void expect_calls(const char *wanted)
{
	static const char *const about[] = {
		"blockdev_create ",   "blockdev_image ",  "instance_start ",
		"instance_shutdown ", "blockdev_remove ", "import_start ",
		"finalize_export "};
	traced_expect(about, ARRAY_SIZE(about), wanted);
}

/* With its own disk only. */
static void expect_as_before(bool up)
{
	cr_expect_eq(
		json_object_size(config_all(s.master->config, CONFIG_DISK)), 1);
	cr_expect_eq(json_array_size(json_get(instance(), "disks")), 1);
	cr_expect_str_eq(json_str(instance(), "admin_state", ""),
			 up ? "up" : "down");
	cr_expect_eq(json_bool(instance(), "disks_active", !up), up);
	cr_expect_eq(table_get(&s.nodes[1].running, "web1") != NULL, up);
}

Test(zeroing, a_running_instance_runs_again)
{
	add("sharedfile", true);
	s.calls = &traced;
	expect(export(), "success");
	expect_calls("instance_shutdown blockdev_create blockdev_image "
		     "instance_start instance_shutdown blockdev_remove "
		     "import_start finalize_export instance_start ");
	expect_as_before(true);
}

Test(zeroing, one_that_is_down_stays_down)
{
	add("sharedfile", false);
	s.calls = &traced;
	expect(export(), "success");
	expect_calls("instance_shutdown blockdev_create blockdev_image "
		     "instance_start instance_shutdown blockdev_remove "
		     "import_start finalize_export ");
	expect_as_before(false);
}

Test(zeroing, mirrored_instances_have_it_on_the_primary)
{
	add("drbd", false);
	expect(export(), "success");
	cr_expect_str_eq(
		json_str(json_array_get(s.nodes[1].image, 0), "dev_type", ""),
		"plain");
	expect_as_before(false);
}

Test(zeroing, an_instance_that_goes_is_zeroed_as_well)
{
	json_t *op = export();

	add("sharedfile", false);
	json_set_bool(op, "remove_instance", true);
	expect(op, "success");
	cr_expect_null(instance());
	cr_expect_eq(
		json_object_size(config_all(s.master->config, CONFIG_DISK)), 0);
}

Test(zeroing, without_disks_there_is_nothing_to_zero)
{
	expect(op_add("web1", NODE2, false), "success");
	s.calls = &traced;
	expect(export(), "success");
	expect_calls("instance_shutdown finalize_export instance_start ");
}

static void expect_refused(json_t *op STEALS, const char *why)
{
	expect(op, why);
	expect_calls("");
	expect_as_before(false);
}

Test(zeroing, what_cannot_be_is_said_before_anything_is_done)
{
	json_t *live = export(), *negative = export(), *alone = export();

	add("sharedfile", false);
	s.calls = &traced;
	json_set_bool(live, "shutdown", false);
	json_set_bool(live, "long_sleep", false);
	expect_refused(live, "Unless the instance is shut down");
	json_set_int(negative, "zeroing_timeout_fixed", -1);
	expect_refused(negative, "must not be negative");
	json_set_bool(alone, "zero_free_space", false);
	json_set_int(alone, "zeroing_timeout_fixed", 3);
	expect_refused(alone, "only be used with --zero-free-space");
	s.nodes[1].fail_on = "get_file_info";
	expect_refused(export(), "The zeroing image " IMAGE);
	s.nodes[1].fail_on = NULL;
}

Test(zeroing, parameters_have_their_types)
{
	static const char *const wrong[][2] = {
		{"zero_free_space", "\"yes\""},
		{"zeroing_timeout_fixed", "1.5"},
		{"zeroing_timeout_per_mib", "\"fast\""},
	};

	add("sharedfile", false);
	s.calls = &traced;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		json_t *op = export();
		struct error err;

		json_object_set_new(
			op, wrong[i][0],
			json_parse(wrong[i][1], strlen(wrong[i][1]), &err));
		expect_refused(op, wrong[i][0]);
	}
}

Test(zeroing, an_image_is_needed)
{
	expect(op_add("web1", NODE2, true), "success");
	s.calls = &traced;
	expect(export(), "gnt-cluster modify --zeroing-image");
	expect_calls("");
}

Test(zeroing, one_that_takes_too_long_is_ended_and_the_export_made)
{
	json_t *op = export();
	int64_t begin_us, took_s;

	add("sharedfile", true);
	s.nodes[1].guests_end = false;
	json_set_int(op, "zeroing_timeout_fixed", 100);
	json_object_set_new(op, "zeroing_timeout_per_mib", json_real(0.5));
	begin_us = clock_mono_us();
	s.calls = &traced;
	expect(op, "success");
	took_s = (clock_mono_us() - begin_us) / 1000000;
	cr_expect_geq(took_s, 100 + SIZE_MIB / 2);
	cr_expect_lt(took_s, 100 + SIZE_MIB / 2 + 60);
	expect_calls("instance_shutdown blockdev_create blockdev_image "
		     "instance_start instance_shutdown blockdev_remove "
		     "import_start finalize_export instance_start ");
	expect_as_before(true);
}

Test(zeroing, each_failing_step_is_taken_back)
{
	static const char *const steps[] = {"blockdev_create", "blockdev_image",
					    "import_start"};

	add("sharedfile", true);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		s.nodes[1].fail_on = s.nodes[2].fail_on = steps[i];
		expect(export(), "told to fail");
		s.nodes[1].fail_on = s.nodes[2].fail_on = NULL;
		expect_as_before(true);
	}
}

Test(zeroing, a_machine_that_does_not_start_leaves_the_instance_down)
{
	add("sharedfile", false);
	s.nodes[1].fail_on = "instance_start";
	expect(export(), "Could not zero the free space of instance web1");
	s.nodes[1].fail_on = NULL;
	expect_as_before(false);
}

/* --- cut off --- */

/* Let the helper run on and on. */
static uint64_t begin(bool up)
{
	uint64_t id;

	add("sharedfile", up);
	s.nodes[1].guests_end = false;
	id = sim_submit(&s, export(), NULL);
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_not_null(table_get(&s.nodes[1].running, "web1"));
	cr_assert_eq(json_array_size(json_get(instance(), "disks")), 2);
	return id;
}

Test(zeroing, another_job_takes_back_what_a_killed_one_began)
{
	cr_expect_str_eq(sim_kill_job(&s, begin(false)), "error");
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	expect_as_before(false);
}

Test(zeroing, it_also_starts_the_instance)
{
	cr_expect_str_eq(sim_kill_job(&s, begin(true)), "error");
	s.calls = &traced;
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	expect_calls("instance_shutdown blockdev_remove instance_start ");
	expect_as_before(true);
}

Test(zeroing, so_does_a_new_master)
{
	begin(true);
	sim_crash(&s, 1);
	s.calls = &traced;
	sim_restart(&s);
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	expect_calls("instance_shutdown blockdev_remove instance_start ");
	expect_as_before(true);
}

/* Its node does not end the machine: no disk of it is touched until it does. */
Test(zeroing, what_cannot_be_put_away_waits_for_another_master)
{
	json_t *op = export();
	uint64_t id;

	add("sharedfile", true);
	s.nodes[1].guests_end = false;
	json_set_int(op, "zeroing_timeout_fixed", 100);
	id = sim_submit(&s, op, NULL);
	sim_run(&s, 60000, NULL, NULL);
	s.nodes[1].fail_on = "instance_shutdown";
	s.calls = &traced;
	cr_expect_str_eq(sim_wait(&s, id), "error");
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	cr_expect_eq(json_array_size(json_get(instance(), "disks")), 2);
	expect_calls("instance_shutdown instance_shutdown ");
	s.nodes[1].fail_on = NULL;
	sim_crash(&s, 1);
	sim_restart(&s);
	sim_run(&s, TRACED_LONG_MS, NULL, NULL);
	expect_as_before(true);
}
