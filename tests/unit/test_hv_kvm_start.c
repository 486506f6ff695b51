/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU itself, as root in a network and with a run folder of the test's own:
 * what an instance of a real cluster is started with. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "lib/json/json.h"
#include "noded/hv/hv_kvm.h"
#include "tests/lib/netns.h"

#define QEMU "/usr/bin/qemu-system-x86_64"
#define NIC_UUID "11111111-2222-4333-8444-555555555555"
#define NIC2_UUID "21111111-2222-4333-8444-555555555555"

TestSuite(hv_kvm_start, .init = test_loop_start, .fini = test_loop_stop,
	  .timeout = 120);

static struct error err;
static struct paths *paths;

static void has(const char *text, const char *part)
{
	cr_assert_not_null(text, "%s", err.text);
	cr_expect_not_null(strstr(text, part), "no '%s' in: %s", part, text);
}

static void own_paths(void)
{
	if (access(QEMU, X_OK) < 0)
		cr_skip_test("QEMU is not installed");
	own_node();
	paths = paths_create("", "node1.example.com");
}

static json_t *nic_of(const char *uuid, const char *mac)
{
	return json_make("{s:s, s:s, s:{s:s, s:s}}", "uuid", uuid, "mac", mac,
			 "nicparams", "mode", "bridged", "link", "br0");
}

/* An instance with one NIC and these parameters. */
static json_t *instance_of(const char *hv_text)
{
	auto_json json_t *hv = json_parse(hv_text, strlen(hv_text), &err);

	cr_assert_not_null(hv, "%s", err.text);
	json_set_str(hv, "kvm_path", QEMU);
	json_set_str(hv, "kvm_flag", "disabled");
	return json_make("{s:s, s:s, s:O, s:{s:i, s:i}, s:[o]}", "name", "web1",
			 "hypervisor", "kvm", "hvparams", hv, "beparams",
			 "vcpus", 2, "maxmem", 64, "nics",
			 nic_of(NIC_UUID, "aa:00:00:00:00:01"));
}

/* One call of the class, in a task. */
struct job {
	const json_t *instance;
	const struct hv_plug *plug;
	const char *command;
	json_t *arguments, *reply;
	int rc;
};

static void start_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.start(paths, j->instance, NULL, 0, true, &err);
}

static void stop_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.stop(paths, j->instance, true, false, &err);
}

static void plug_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.hotplug(paths, j->instance, j->plug, &err);
}

static void ask_task(void *arg)
{
	struct job *j = arg;

	j->reply = kvm_monitor(paths, "web1", j->command, j->arguments, &err);
}

static int run(void (*fn)(void *), const json_t *instance)
{
	struct job j = {.instance = instance};

	task_spawn("run", fn, &j);
	test_run_tasks();
	return j.rc;
}

static json_t *ask(const char *command, json_t *arguments)
{
	struct job j = {.command = command, .arguments = arguments};

	task_spawn("ask", ask_task, &j);
	test_run_tasks();
	cr_assert_not_null(j.reply, "%s", err.text);
	return j.reply;
}

static void start(const json_t *instance)
{
	cr_assert_eq(run(start_task, instance), 0, "%s", err.text);
}

static void end(json_t *instance)
{
	cr_assert_eq(run(stop_task, instance), 0, "%s", err.text);
	json_decref(instance);
	paths_destroy(paths);
}

static void plug(const json_t *instance, enum hv_plug_action action,
		 const json_t *nic, size_t seq)
{
	const struct hv_plug what = {
		.action = action, .device = nic, .seq = seq};
	struct job j = {.instance = instance, .plug = &what};

	task_spawn("plug", plug_task, &j);
	test_run_tasks();
	cr_assert_eq(j.rc, 0, "%s", err.text);
}

static size_t count_ports(void)
{
	auto_free char *text =
		PRINTED("ip", "-o", "link", "show", "master", "br0", "up");
	size_t n = 0;

	for (const char *c = text; *c != '\0'; c++)
		n += *c == '\n';
	return n;
}

/* Wait until the bridge has so many; a killed process lets go of its files
 * when it is nearly gone. */
static void expect_ports(size_t wanted)
{
	for (int i = 0; i < 100 && count_ports() != wanted; i++)
		;
	cr_expect_eq(count_ports(), wanted);
}

/* A removal waits for the guest, so a paused one keeps its NIC. */
Test(hv_kvm_start, nics_are_in_the_bridge_as_long_as_it_runs)
{
	json_t *instance;
	auto_json json_t *second = nic_of(NIC2_UUID, "aa:00:00:00:00:02");
	auto_json json_t *notes = NULL, *filters = NULL;

	own_paths();
	instance = instance_of("{\"virtio_net_queues\": 2}");
	start(instance);
	expect_ports(1);
	plug(instance, PLUG_ADD, second, 1);
	expect_ports(2);
	notes = kvm_read_notes(paths, "web1");
	cr_expect_eq(json_object_size(json_get(notes, "taps")), 2);
	filters = ask("query-rx-filter", NULL);
	cr_expect_eq(json_array_size(filters), 2);
	end(instance);
	expect_ports(0);
}

Test(hv_kvm_start, without_its_bridge_it_does_not_start)
{
	json_t *instance;
	json_t *nic;

	own_paths();
	instance = instance_of("{}");
	nic = json_array_get(json_object_get(instance, "nics"), 0);
	json_set_str(json_object_get(nic, "nicparams"), "link", "br9");
	cr_assert_eq(run(start_task, instance), -1);
	has(err.text, "Failed to start instance web1: Cannot connect NIC 0");
	cr_expect_not(
		fs_exists("/run/ganeti/kvm-hypervisor/conf/web1.runtime"));
	end(instance);
}
