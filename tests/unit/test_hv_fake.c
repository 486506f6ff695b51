/* SPDX-License-Identifier: BSD-2-Clause */
#include "noded/hv/hv.h"
#include "tests/lib/node.h"

#define STATE "/var/run/ganeti/fake-hypervisor/"

static struct test_root root;
static struct error err;

static void setup(void)
{
	test_root_create(&root);
}

static void teardown(void)
{
	test_root_destroy(&root);
}

TestSuite(hv_fake, .init = setup, .fini = teardown, .timeout = 60);

static void start(const char *name, int memory)
{
	auto_json json_t *instance = test_instance(name, memory);

	cr_assert_eq(
		hv_fake.start(root.paths, instance, NULL, 0, false, NULL, &err),
		0, "%s", err.text);
}

static int64_t free_memory(void)
{
	auto_json json_t *info = hv_fake.node_info(root.paths, NULL, &err);

	cr_assert_not_null(info);
	return json_int(info, "memory_free", -1);
}

Test(hv_fake, a_running_instance_is_a_file_as_ganetis)
{
	auto_free char *file = paths_local(root.paths, STATE "web1");
	auto_free char *text = NULL;

	start("web1", 64);
	text = fs_read(file, 100, NULL, &err);
	cr_assert_str_eq(text, "0\n64\n2\n");
}

Test(hv_fake, lists_and_describes_what_runs)
{
	auto_strv struct strv names = {0};
	struct hv_info info = {0};

	start("web10", 32);
	start("web2", 64);
	cr_assert_eq(hv_fake.list(root.paths, NULL, &names, &err), 0);
	cr_assert_eq(names.n, 2);
	cr_assert(strv_has(&names, "web2"));
	cr_assert_eq(hv_fake.info(root.paths, "web2", NULL, &info, &err), 1);
	cr_assert_eq(info.memory, 64);
	cr_assert_eq(info.vcpus, 2);
	cr_assert_eq(hv_fake.info(root.paths, "web3", NULL, &info, &err), 0);
}

Test(hv_fake, nothing_runs_without_a_folder)
{
	auto_strv struct strv names = {0};

	cr_assert_eq(hv_fake.list(root.paths, NULL, &names, &err), 0);
	cr_assert_eq(names.n, 0);
}

Test(hv_fake, refuses_a_second_start)
{
	auto_json json_t *instance = test_instance("web1", 64);

	start("web1", 64);
	cr_assert_eq(
		hv_fake.start(root.paths, instance, NULL, 0, false, NULL, &err),
		-1);
	cr_assert_str_eq(err.text,
			 "Failed to start instance web1: already running");
}

Test(hv_fake, stops_what_runs_and_only_that)
{
	auto_json json_t *instance = test_instance("web1", 64);

	start("web1", 64);
	cr_assert_eq(hv_fake.stop(root.paths, instance, false, false, &err), 0);
	cr_assert_eq(hv_fake.stop(root.paths, instance, true, true, &err), -1);
	cr_assert_str_eq(err.text, "Failed to stop instance web1: not running");
}

/* The machine's own free memory moves while the test runs: far less than what
 * the instance takes. */
Test(hv_fake, instances_take_memory_of_the_node)
{
	int64_t total = free_memory(), left;
	int64_t half = total / 2;

	start("big", (int)half);
	left = free_memory();
	cr_assert_lt(left, total - half / 2);
}

Test(hv_fake, an_instance_larger_than_the_node_gets_its_minimum)
{
	auto_json json_t *be = json_make("{s:{s:i, s:i}}", "beparams", "maxmem",
					 1000, "minmem", 200);

	cr_assert_eq(hv_startup_memory(be, 5000), 1000);
	cr_assert_eq(hv_startup_memory(be, 700), 700);
	cr_assert_eq(hv_startup_memory(be, 100), 200);
}

Test(hv_fake, balloons_only_what_runs)
{
	auto_json json_t *instance = test_instance("web1", 64);
	struct hv_info info = {0};

	cr_assert_eq(hv_fake.balloon(root.paths, instance, 48, &err), -1);
	start("web1", 64);
	cr_assert_eq(hv_fake.balloon(root.paths, instance, 48, &err), 0);
	hv_fake.info(root.paths, "web1", NULL, &info, &err);
	cr_assert_eq(info.memory, 48);
}

static int plug(enum hv_plug_action action, const char *uuid)
{
	auto_json json_t *instance = test_instance("web1", 64);
	auto_json json_t *nic = json_make("{s:s}", "uuid", uuid);

	return hv_fake.hotplug(
		root.paths, instance,
		&(struct hv_plug){.action = action, .device = nic}, &err);
}

Test(hv_fake, devices_come_and_go_while_it_runs)
{
	auto_free char *file = paths_local(root.paths, STATE "web1");
	auto_free char *with = NULL, *without = NULL;

	cr_assert_eq(plug(PLUG_ADD, "a"), -1);
	cr_expect_str_eq(err.text, "Failed to plug a device for web1: not "
				   "running");
	start("web1", 64);
	cr_assert_eq(plug(PLUG_ADD, "a"), 0);
	cr_assert_eq(plug(PLUG_ADD, "b"), 0);
	cr_assert_eq(plug(PLUG_MODIFY, "b"), 0);
	cr_assert_eq(plug(PLUG_ADD, "b"), 0);
	with = fs_read(file, 100, NULL, &err);
	cr_expect_str_eq(with, "0\n64\n2\nnic a\nnic b\n");
	cr_assert_eq(plug(PLUG_REMOVE, "a"), 0);
	without = fs_read(file, 100, NULL, &err);
	cr_expect_str_eq(without, "0\n64\n2\nnic b\n");
	cr_assert_eq(plug(PLUG_REMOVE, "a"), -1);
	cr_expect_str_eq(err.text,
			 "Cannot find runtime info for nic with UUID a");
}

Test(hv_fake, a_migration_moves_the_file)
{
	auto_json json_t *instance = test_instance("web1", 64);
	struct test_root target;
	struct hv_info info;

	test_root_create(&target);
	start("web1", 64);
	cr_assert_eq(hv_fake.accept(target.paths, instance, NULL, 0, "",
				    "127.0.0.2", &err),
		     0);
	cr_assert_eq(hv_fake.migrate(root.paths, "cluster", instance,
				     "127.0.0.2", true, NULL, &err),
		     0);
	cr_assert_eq(hv_fake.finalize_dst(target.paths, instance, "", true,
					  NULL, &err),
		     0);
	cr_assert_eq(hv_fake.finalize_src(root.paths, instance, true, true,
					  NULL, &err),
		     0);
	cr_expect_eq(hv_fake.info(root.paths, "web1", NULL, &info, &err), 0);
	cr_expect_eq(hv_fake.info(target.paths, "web1", NULL, &info, &err), 1);
	test_root_destroy(&target);
}

Test(hv_fake, a_failed_migration_stays_at_the_source)
{
	auto_json json_t *instance = test_instance("web1", 64);
	struct hv_info info;

	start("web1", 64);
	cr_assert_eq(hv_fake.finalize_src(root.paths, instance, false, true,
					  NULL, &err),
		     0);
	cr_expect_eq(hv_fake.info(root.paths, "web1", NULL, &info, &err), 1);
}

Test(hv_fake, says_which_file_is_broken)
{
	struct hv_info info;

	start("web1", 64);
	{
		auto_free char *file = paths_local(root.paths, STATE "web1");

		cr_assert_eq(truncate(file, 2), 0);
	}
	cr_assert_eq(hv_fake.info(root.paths, "web1", NULL, &info, &err), -1);
	cr_assert_not_null(strstr(err.text, STATE "web1"));
}

Test(hv_fake, checks_its_parameter)
{
	auto_json json_t *good = json_make("{s:s}", "migration_mode", "live");
	auto_json json_t *bad = json_make("{s:s}", "migration_mode", "x");

	cr_assert_eq(hv_fake.validate(root.paths, good, &err), 0);
	cr_assert_eq(hv_fake.validate(root.paths, bad, &err), -1);
}

Test(hv_fake, is_found_by_name_and_others_are_not)
{
	cr_assert_eq(hv_find("fake", &err), &hv_fake);
	cr_assert_null(hv_find("hyper-x", &err));
	cr_assert_not_null(strstr(err.text, "hyper-x"));
}
