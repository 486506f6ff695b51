/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU itself, as root in a network and with a run folder of the test's own:
 * what an instance of a real cluster is started with. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "tests/lib/netns.h"

#define QEMU "/usr/bin/qemu-system-x86_64"
#define NIC_UUID "11111111-2222-4333-8444-555555555555"
#define NIC2_UUID "21111111-2222-4333-8444-555555555555"
#define DISK_UUID "31111111-2222-4333-8444-555555555555"
#define RUN_FOLDER "/var/run/ganeti/kvm-hypervisor"

TestSuite(hv_kvm_start, .init = test_loop_start, .fini = test_loop_stop,
	  .timeout = 120);

static struct error err;
static struct paths *paths;

static void has(const char *text, const char *part)
{
	cr_assert_not_null(text, "%s", err.text);
	cr_expect_not_null(strstr(text, part), "no '%s' in: %s", part, text);
}

static void write_to(const char *file, const char *text)
{
	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0600, &err), 0,
		     "%s", err.text);
}

static void own_paths(void)
{
	if (access(QEMU, X_OK) < 0)
		cr_skip_test("QEMU is not installed");
	own_node();
	cr_assert_eq(mount("logs", "/var/log", "tmpfs", 0, NULL), 0);
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
	const struct hv_disk *disks;
	size_t n_disks;
	const char *command;
	json_t *arguments, *reply;
	int64_t memory;
	char *info;
	int rc;
};

static void start_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.start(paths, j->instance, NULL, 0, true, NULL, &err);
}

static void stop_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.stop(paths, j->instance, true, false, &err);
}

static void reboot_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.reboot(paths, j->instance, &err);
}

static void balloon_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.balloon(paths, j->instance, j->memory, &err);
}

static void accept_task(void *arg)
{
	struct job *j = arg;

	j->rc = hv_kvm.accept(paths, j->instance, j->disks, j->n_disks, j->info,
			      "192.0.2.1", &err);
}

static void sending_info_task(void *arg)
{
	struct job *j = arg;

	j->info = hv_kvm.migration_info(paths, j->instance, &err);
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
	auto_free char *files = NULL;

	own_paths();
	instance = instance_of("{\"virtio_net_queues\": 2}");
	start(instance);
	expect_ports(1);
	plug(instance, PLUG_ADD, second, 1);
	expect_ports(2);
	notes = kvm_read_notes(paths, "web1");
	cr_expect_eq(json_object_size(json_get(notes, "taps")), 2);
	cr_expect_eq(json_object_size(json_get(notes, "tap_indexes")), 2);
	filters = ask("query-rx-filter", NULL);
	cr_expect_eq(json_array_size(filters), 2);
	files = PRINTED("/bin/sh", "-c",
			"cat " RUN_FOLDER "/nic/web1/0 " RUN_FOLDER
			"/nic/web1/1");
	cr_expect_str_eq(files, "tap0tap1");
	end(instance);
	cr_expect_not(fs_exists(RUN_FOLDER "/nic/web1"));
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

/* The actions stand as they were: it would end if its user did it. */
Test(hv_kvm_start, a_reboot_is_one_also_where_its_user_ends_it_by_one)
{
	json_t *instance;

	own_paths();
	instance = instance_of("{\"reboot_behavior\": \"exit\"}");
	start(instance);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(run(reboot_task, instance), 0, "%s", err.text);
		json_decref(ask("query-status", NULL));
	}
	json_decref(ask("system_reset", NULL));
	for (int i = 0; i < 1000 && kvm_running_pid(paths, "web1") != 0; i++)
		usleep(10000);
	cr_expect_eq(kvm_running_pid(paths, "web1"), 0);
	end(instance);
}

Test(hv_kvm_start, it_has_a_log_which_says_why_it_does_not_start)
{
	json_t *instance;

	own_paths();
	instance = instance_of("{\"kvm_extra\": \"-device nosuch\"}");
	cr_assert_eq(run(start_task, instance), -1);
	has(err.text, "'nosuch' is not a valid device model");
	cr_expect(fs_exists("/var/log/ganeti/kvm/web1.log"));
	end(instance);
}

/* --- memory --- */

static int balloon(const json_t *instance, int64_t memory)
{
	struct job j = {.instance = instance, .memory = memory};

	task_spawn("balloon", balloon_task, &j);
	test_run_tasks();
	return j.rc;
}

static int64_t machine_mib(void)
{
	auto_json json_t *size = ask("query-memory-size-summary", NULL);

	return json_int(size, "base-memory", 0) / (1024 * 1024);
}

/* It goes from here to a node of another time: stopped, then accepted. */
static void arrive(const json_t *before, const json_t *after)
{
	struct job j = {.instance = before};

	task_spawn("info", sending_info_task, &j);
	test_run_tasks();
	cr_assert_not_null(j.info, "%s", err.text);
	cr_assert_eq(run(stop_task, before), 0, "%s", err.text);
	j.instance = after;
	task_spawn("accept", accept_task, &j);
	test_run_tasks();
	cr_assert_eq(j.rc, 0, "%s", err.text);
	free(j.info);
}

/* Both ends need the same hardware, whatever the balloon has taken. */
Test(hv_kvm_start, a_ballooned_one_arrives_on_a_machine_of_full_size)
{
	json_t *instance;
	auto_json json_t *notes = NULL;

	own_paths();
	instance = instance_of("{}");
	start(instance);
	cr_expect_eq(balloon(instance, 65), -1);
	has(err.text, "was started with 64 MiB");
	cr_expect_eq(balloon(instance, 40), 0, "%s", err.text);
	cr_expect_eq(machine_mib(), 64);
	arrive(instance, instance);
	cr_expect_eq(machine_mib(), 64);
	notes = kvm_read_notes(paths, "web1");
	cr_expect_eq(json_int(notes, "memory", 0), 40);
	end(instance);
}

/* The command line of the process, with blanks between. */
static char *line_of(void)
{
	auto_free char *file = xprintf("/proc/%d/cmdline",
				       (int)kvm_running_pid(paths, "web1"));
	size_t len = 0;
	char *text = fs_read(file, 65536, &len, &err);

	cr_assert_not_null(text, "%s", err.text);
	for (size_t i = 0; i + 1 < len; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return text;
}

/* What was changed since is for its next start. */
Test(hv_kvm_start, a_changed_one_arrives_on_the_machine_that_it_has)
{
	json_t *instance;
	auto_json json_t *changed = NULL;
	auto_free char *line = NULL;
	json_t *hv;

	own_paths();
	instance = instance_of("{\"cpu_mask\": \"0:0\", \"kvm_extra\": \"\", "
			       "\"floppy_image_path\": \"\", "
			       "\"reboot_behavior\": \"reboot\"}");
	start(instance);
	changed = json_deep_copy(instance);
	json_set_int(json_object_get(changed, "beparams"), "vcpus", 1);
	hv = json_object_get(changed, "hvparams");
	json_set_str(hv, "cpu_mask", "0");
	json_set_str(hv, "floppy_image_path", "/run/floppy");
	json_set_str(hv, "kvm_extra", "-device pvpanic");
	json_set_str(hv, "reboot_behavior", "exit");
	json_set_str(hv, "keymap", "fr");
	arrive(instance, changed);
	line = line_of();
	has(line, " -smp 2 ");
	cr_expect_null(strstr(line, "if=floppy"));
	cr_expect_null(strstr(line, "pvpanic"));
	cr_expect_null(strstr(line, "-no-reboot"));
	has(line, " -k fr");
	end(instance);
}

/* Both wait for the monitor with the notes as they were. */
Test(hv_kvm_start, ballooning_and_hotplug_leave_each_others_notes_alone)
{
	json_t *instance;
	auto_json json_t *second = nic_of(NIC2_UUID, "aa:00:00:00:00:02");
	auto_json json_t *notes = NULL;
	const struct hv_plug what = {
		.action = PLUG_ADD, .device = second, .seq = 1};
	struct job plugged = {.plug = &what}, ballooned = {.memory = 40};

	own_paths();
	instance = instance_of("{}");
	start(instance);
	plugged.instance = ballooned.instance = instance;
	task_spawn("plug", plug_task, &plugged);
	task_spawn("balloon", balloon_task, &ballooned);
	test_run_tasks();
	cr_expect_eq(plugged.rc, 0, "%s", err.text);
	cr_expect_eq(ballooned.rc, 0, "%s", err.text);
	notes = kvm_read_notes(paths, "web1");
	cr_expect_eq(json_int(notes, "memory", 0), 40);
	cr_expect_eq(json_array_size(json_get(notes, "nics")), 2);
	cr_expect_eq(json_object_size(json_get(notes, "taps")), 2);
	end(instance);
}

/* As the one that migrates has it, whatever is the rule for new ones. */
Test(hv_kvm_start, the_graphics_card_stays)
{
	json_t *instance;
	auto_json json_t *notes = NULL;
	auto_free char *first = NULL, *last = NULL;
	json_t *hv;

	own_paths();
	instance = instance_of("{\"vga\": \"\"}");
	start(instance);
	first = line_of();
	has(first, " -display none -vga std ");
	/* An old version's: without a card, and not noted. */
	notes = kvm_read_notes(paths, "web1");
	hv = json_object_get(notes, "hvparams");
	cr_expect_str_eq(json_str(hv, "vga", ""), "std");
	json_set_str(hv, "vga", "");
	cr_assert_eq(kvm_write_notes(paths, "web1", notes, &err), 0);
	arrive(instance, instance);
	last = line_of();
	has(last, " -vga none ");
	end(instance);
}

/* --- started by Ganeti --- */

/* The options that make the machine of the command line that Ganeti notes. */
#define GANETI_MACHINE                                                         \
	"-name", "web1", "-m", "64", "-smp", "2,cores=2", "-pidfile",          \
		RUN_FOLDER "/pid/web1", "-device", "virtio-balloon",           \
		"-daemonize", "-machine", "pc", "-monitor",                    \
		"unix:" RUN_FOLDER "/ctrl/web1.monitor,server,nowait",         \
		"-serial",                                                     \
		"unix:" RUN_FOLDER "/ctrl/web1.serial,server,nowait", "-usb",  \
		"-usbdevice", "tablet", "-display", "none", "-uuid", NIC_UUID
#define GANETI_NIC "nic-11111111-2222-4333"
#define GANETI_DISK "disk-31111111-2222-4333"

static json_t *placed(json_t *device, const char *driver, const char *id,
		      const char *slot)
{
	json_object_set_new(device, "hvinfo",
			    json_make("{s:s, s:s, s:s, s:s}", "driver", driver,
				      "id", id, "bus", "pci.0", "addr", slot));
	return device;
}

/* Run it as Ganeti does, with its notes and the file about its NIC; a disk of
 * this type. */
static void start_ganetis(const json_t *instance, const char *disk_type)
{
	static const char *const words[] = {QEMU, GANETI_MACHINE};
	auto_json json_t *command = json_array();
	auto_json json_t *hv =
		json_overlay(json_get(instance, "hvparams"), NULL);
	auto_json json_t *list = NULL;
	auto_free char *text = NULL, *line = NULL, *printed = NULL;
	auto_strv struct strv argv = {0};

	cr_assert_eq(kvm_make_folders(paths, &err), 0, "%s", err.text);
	cr_assert_eq(fs_mkdirs(RUN_FOLDER "/nic/web1", 0755, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		json_array_append_new(command, str_eq(words[i], "64")
						       ? json_integer(64)
						       : json_string(words[i]));
		strv_add(&argv, words[i]);
	}
	json_set_str(hv, "disk_type", disk_type);
	json_set_str(hv, "boot_order", "disk");
	list = json_make("[O, [o], O, [[o, s, n]]]", command,
			 placed(nic_of(NIC_UUID, "aa:00:00:00:00:01"),
				"virtio-net-pci", GANETI_NIC, "0xd"),
			 hv,
			 placed(json_make("{s:s, s:s}", "uuid", DISK_UUID,
					  "dev_type", "file"),
				"virtio-blk-pci", GANETI_DISK, "0xc"),
			 "/run/disk");
	text = json_text(list);
	write_to(RUN_FOLDER "/conf/web1.runtime", text);
	write_to(RUN_FOLDER "/nic/web1/0", "tap7");
	write_to("/run/disk", "0123456789abcdef");
	line = strv_join(&argv, " ");
	free(text);
	text = xprintf(
		"ip link set lo up; exec %s -S "
		"-netdev type=tap,id=" GANETI_NIC
		",ifname=tap7,script=no,downscript=no -device virtio-net-pci,"
		"id=" GANETI_NIC ",bus=pci.0,addr=0xd,netdev=" GANETI_NIC
		",mac=aa:00:00:00:00:01 "
		"-qmp unix:" RUN_FOLDER "/ctrl/web1.qmp,server,nowait "
		"-boot c -device virtio-blk-pci,id=" GANETI_DISK
		",bus=pci.0,addr=0xc,drive=" GANETI_DISK
		" -drive file=/run/disk,format=raw,if=none,aio=threads,"
		"id=" GANETI_DISK ",auto-read-only=off 2>&1",
		line);
	printed = PRINTED("/bin/sh", "-c", text);
	cr_assert_neq(kvm_running_pid(paths, "web1"), 0, "%s", printed);
}

static void look_task_of(void *arg)
{
	struct job *j = arg;
	struct hv_info info = {0};

	j->rc = hv_kvm.info(paths, "web1", NULL, &info, &err);
	j->memory = info.memory;
	cr_expect_eq(info.vcpus, 2);
}

static int64_t memory_of(void)
{
	struct job j = {.rc = 0};

	task_spawn("look", look_task_of, &j);
	test_run_tasks();
	cr_assert_eq(j.rc, 1, "%s", err.text);
	return j.memory;
}

Test(hv_kvm_start, one_that_ganeti_has_started_is_known)
{
	json_t *instance;
	auto_json json_t *second = nic_of(NIC2_UUID, "aa:00:00:00:00:02");
	auto_json json_t *notes = NULL;

	own_paths();
	instance = instance_of("{}");
	start_ganetis(instance, "paravirtual");
	cr_expect_eq(memory_of(), 64);
	cr_expect_eq(balloon(instance, 65), -1);
	has(err.text, "was started with 64 MiB");
	cr_expect_eq(balloon(instance, 40), 0, "%s", err.text);
	plug(instance, PLUG_ADD, second, 1);
	notes = kvm_read_notes(paths, "web1");
	cr_expect_eq(json_int(notes, "memory", 0), 40);
	cr_expect_eq(json_int(json_get(notes, "places"), GANETI_NIC, 0), 0xd);
	cr_expect_eq(json_array_size(json_get(notes, "nics")), 2);
	cr_expect_str_eq(json_str(json_get(notes, "taps"), GANETI_NIC, ""),
			 "tap7");
	end(instance);
	cr_expect_not(fs_exists(RUN_FOLDER "/conf/web1.runtime"));
}

/* Wait until the answer's status is another one, and return it, to be freed. */
static char *status_after(const char *question, const char *first)
{
	char *status = xstrdup(first);

	for (int i = 0;
	     i < 2000 && (str_eq(status, first) || str_eq(status, "setup"));
	     i++) {
		auto_json json_t *reply = ask(question, NULL);

		free(status);
		status = xstrdup(json_str(reply, "status", ""));
	}
	return status;
}

/* A real transfer, by way of a file: QEMU would end if the machine that takes
 * it were another one. */
Test(hv_kvm_start, one_that_ganeti_has_started_migrates_to_the_same_machine)
{
	json_t *instance;
	auto_json json_t *disk =
		json_make("{s:s, s:s}", "uuid", DISK_UUID, "dev_type", "file");
	const struct hv_disk disks[] = {{disk, mem_unconst("/run/disk")}};
	auto_json json_t *notes = NULL;
	auto_free char *sent = NULL, *came = NULL, *printed = NULL;
	struct job j = {.disks = disks, .n_disks = 1};

	own_paths();
	instance = instance_of("{\"kernel_args\": \"ro\"}");
	start_ganetis(instance, "paravirtual");
	j.instance = instance;
	task_spawn("info", sending_info_task, &j);
	test_run_tasks();
	cr_assert_not_null(j.info, "%s", err.text);
	json_decref(ask("migrate",
			json_make("{s:s}", "uri", "exec:cat > /run/state")));
	sent = status_after("query-migrate", "active");
	cr_assert_str_eq(sent, "completed");
	cr_assert_eq(run(stop_task, instance), 0, "%s", err.text);

	task_spawn("accept", accept_task, &j);
	test_run_tasks();
	cr_assert_eq(j.rc, 0, "%s", err.text);
	printed = PRINTED("/bin/bash", "-c",
			  "cat /run/state > /dev/tcp/192.0.2.1/8102");
	came = status_after("query-status", "inmigrate");
	cr_expect(str_eq(came, "prelaunch") || str_eq(came, "paused"), "%s",
		  came);
	notes = kvm_read_notes(paths, "web1");
	cr_expect(kvm_is_ganetis(notes));
	cr_expect_eq(memory_of(), 64);
	free(j.info);
	end(instance);
}

Test(hv_kvm_start, a_machine_that_cannot_be_made_again_stays)
{
	json_t *instance;
	struct job j = {.rc = 0};

	own_paths();
	instance = instance_of("{}");
	start_ganetis(instance, "ide");
	j.instance = instance;
	task_spawn("info", sending_info_task, &j);
	test_run_tasks();
	cr_assert_null(j.info);
	has(err.text, "was started by Ganeti");
	has(err.text, "stop and start it");
	end(instance);
}

/* --- the command line --- */

/* As many parameters at once as go together. */
Test(hv_kvm_start, qemu_takes_what_the_parameters_ask_for)
{
	static const char *const sets[] = {
		"{\"soundhw\": \"all\", \"acpi\": false, \"vga\": \"cirrus\", "
		"\"usb_mouse\": \"mouse\", \"nic_type\": \"e1000\", "
		"\"cdrom_image_path\": \"/run/image\", \"cdrom_disk_type\": "
		"\"scsi\", \"cdrom2_image_path\": \"/run/image\", "
		"\"floppy_image_path\": \"/run/floppy\", \"boot_order\": "
		"\"floppy\", \"use_localtime\": true, \"cpu_type\": "
		"\"qemu64\", "
		"\"cpu_cores\": 2, \"cpu_sockets\": 1, \"cpu_threads\": 1}",
		"{\"spice_bind\": \"br0\", \"soundhw\": \"hda\", "
		"\"spice_ip_version\": 4, \"spice_image_compression\": "
		"\"auto_glz\", \"spice_jpeg_wan_compression\": \"auto\", "
		"\"spice_zlib_glz_wan_compression\": \"never\", "
		"\"spice_streaming_video\": \"filter\", "
		"\"spice_playback_compression\": false, \"use_guest_agent\": "
		"true, \"cdrom_image_path\": \"/run/image\", "
		"\"boot_order\": \"cdrom\", \"machine_version\": \"q35\"}",
		"{\"vnc_bind_address\": \"/run\", \"vnc_tls\": true, "
		"\"keymap\": \"fr\", \"reboot_behavior\": \"exit\", "
		"\"cdrom_image_path\": \"/run/image\", \"cdrom_disk_type\": "
		"\"paravirtual\", \"boot_order\": \"network\", "
		"\"usb_devices\": \"tablet\", \"user_shutdown\": true, "
		"\"mem_path\": \"/run\", \"use_chroot\": true}",
	};

	own_paths();
	cr_assert_eq(fs_write_atomic("/run/image", "0123456789abcdef", 16, 0600,
				     &err),
		     0);
	cr_assert_eq(fs_write_atomic("/run/floppy", "0123456789abcdef", 16,
				     0600, &err),
		     0);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		auto_json json_t *instance = instance_of(sets[i]);

		json_set_int(instance, "network_port", 11000);
		cr_expect_eq(run(start_task, instance), 0, "%s: %s", sets[i],
			     err.text);
		cr_expect_eq(run(stop_task, instance), 0, "%s", err.text);
	}
	paths_destroy(paths);
}

/* --- confinement --- */

/* A field of the process's status, and of its threads' first. */
static char *status_of(const char *field)
{
	auto_free char *file =
		xprintf("/proc/%d/status", (int)kvm_running_pid(paths, "web1"));
	auto_free char *text = fs_read(file, 65536, NULL, &err);
	char *line = text == NULL ? NULL : strstr(text, field);

	cr_assert_not_null(line, "no %s", field);
	line[strcspn(line, "\n")] = '\0';
	return xstrdup(line);
}

static void set_pool(const char *text)
{
	cr_assert_eq(mount("data", "/var/lib", "tmpfs", 0, NULL), 0);
	cr_assert_eq(fs_mkdirs("/var/lib/ganeti", 0755, &err), 0);
	cr_assert_eq(fs_write_atomic("/var/lib/ganeti/ssconf_uid_pool", text,
				     strlen(text), 0444, &err),
		     0);
}

Test(hv_kvm_start, it_runs_as_the_user_and_sees_no_files)
{
	json_t *instance;
	auto_json json_t *disk = json_make("{s:s}", "uuid", NIC_UUID);
	auto_free char *uid = NULL, *root = NULL;
	const struct hv_plug what = {
		.is_disk = true, .device = disk, .path = "/run/disk"};
	struct job j = {.plug = &what};
	char folder[128] = "";

	own_paths();
	instance = instance_of("{\"security_model\": \"user\", "
			       "\"security_domain\": \"nobody\", "
			       "\"use_chroot\": true}");
	start(instance);
	uid = status_of("Uid:");
	has(uid, "65534\t65534\t65534");
	root = xprintf("/proc/%d/root", (int)kvm_running_pid(paths, "web1"));
	cr_assert_gt(readlink(root, folder, sizeof(folder) - 1), 0);
	has(folder, "/kvm-hypervisor/chroot/web1");
	/* It can open no file: a disk comes as an open one. */
	cr_assert_eq(fs_write_atomic("/run/disk", "0123456789abcdef", 16, 0600,
				     &err),
		     0);
	j.instance = instance;
	task_spawn("plug", plug_task, &j);
	test_run_tasks();
	cr_assert_eq(j.rc, 0, "%s", err.text);
	end(instance);
	cr_expect_not(fs_exists(RUN_FOLDER "/chroot/web1"));
}

Test(hv_kvm_start, what_one_left_in_its_folder_is_not_for_the_next)
{
	auto_json json_t *instance = NULL;
	auto_strv struct strv kept = {0};
	auto_free char *file = NULL;

	own_paths();
	instance = instance_of("{\"use_chroot\": true}");
	start(instance);
	write_to(RUN_FOLDER "/chroot/web1/core", "left");
	cr_assert_eq(run(stop_task, instance), 0, "%s", err.text);
	cr_expect_not(fs_exists(RUN_FOLDER "/chroot/web1"));
	cr_assert_eq(fs_list(RUN_FOLDER "/chroot-quarantine", &kept, &err), 0,
		     "%s", err.text);
	cr_assert_eq(kept.n, 1);
	cr_expect(str_starts(kept.items[0], "web1-"), "%s", kept.items[0]);
	file = xprintf(RUN_FOLDER "/chroot-quarantine/%s/core", kept.items[0]);
	cr_expect(fs_exists(file));
	paths_destroy(paths);
}

struct confinement {
	const json_t *instance;
	struct strv argv;
};

static void confine_task(void *arg)
{
	struct confinement *c = arg;
	struct kvm_start start = {.run_as = "nobody"};

	cr_assert_eq(kvm_find_run_with(json_get(c->instance, "hvparams"),
				       &start, &err),
		     0, "%s", err.text);
	kvm_add_confinement(paths, &c->argv, c->instance, &start);
}

/* The options by which a program with this help is confined; to be freed. */
static char *confined_by(const char *help)
{
	auto_json json_t *instance =
		instance_of("{\"security_model\": \"user\", "
			    "\"security_domain\": \"nobody\", "
			    "\"use_chroot\": true}");
	struct confinement c = {.instance = instance};
	auto_free char *script = xprintf("#!/bin/sh\necho '%s'\n", help);
	char *words;

	cr_assert_eq(
		fs_write_atomic("/run/kvm", script, strlen(script), 0755, &err),
		0);
	json_set_str(json_object_get(instance, "hvparams"), "kvm_path",
		     "/run/kvm");
	task_spawn("confine", confine_task, &c);
	test_run_tasks();
	words = strv_join(&c.argv, " ");
	strv_done(&c.argv);
	return words;
}

/* QEMU 7, 8.1 to 9.0 and 9.1. */
Test(hv_kvm_start, newer_ones_are_confined_by_another_option)
{
	auto_free char *old = NULL, *newer = NULL, *newest = NULL;

	own_paths();
	old = confined_by("usage:\n-chroot dir     chroot to dir\n"
			  "-runas user     change to user\n");
	newer = confined_by("usage:\n"
			    "-run-with [async-teardown=on|off][,chroot=dir]\n"
			    "-runas user     change to user=user\n");
	newest = confined_by("usage:\n-run-with [chroot=dir]"
			     "[,user=username|uid:gid]\n");
	has(old, "-chroot /var/run/ganeti/kvm-hypervisor/chroot/web1 "
		 "-runas nobody");
	has(newer,
	    "-runas nobody "
	    "-run-with chroot=/var/run/ganeti/kvm-hypervisor/chroot/web1");
	has(newest,
	    "-run-with chroot=/var/run/ganeti/kvm-hypervisor/chroot/web1,"
	    "user=nobody");
}

Test(hv_kvm_start, each_has_a_user_of_its_own_from_the_pool)
{
	json_t *instance;
	auto_json json_t *other = NULL;
	struct kvm_user user;
	auto_free char *uid = NULL;

	own_paths();
	set_pool("4000-4001");
	instance = instance_of("{\"security_model\": \"pool\"}");
	start(instance);
	uid = status_of("Uid:");
	has(uid, "4000\t4000");
	other = json_deep_copy(instance);
	json_set_str(other, "name", "web2");
	cr_assert_eq(kvm_user_take(paths, other, &user, &err), 0, "%s",
		     err.text);
	cr_expect_str_eq(user.run_as, "4001:4001");
	/* One that is about to start has it as well. */
	json_set_str(other, "name", "web3");
	{
		auto_user struct kvm_user third;

		cr_expect_eq(kvm_user_take(paths, other, &third, &err), -1);
		has(err.text, "No user id");
	}
	kvm_user_done(&user);
	/* It never came to run. */
	cr_assert_eq(kvm_user_take(paths, other, &user, &err), 0, "%s",
		     err.text);
	cr_expect_str_eq(user.run_as, "4001:4001");
	kvm_user_done(&user);
	/* Who had it before cannot give it away. */
	kvm_user_release(paths, "web2", 4001);
	cr_expect(fs_exists("/run/ganeti/kvm-hypervisor/uid/4001"));
	kvm_user_release(paths, "web3", 4001);
	cr_expect_not(fs_exists("/run/ganeti/kvm-hypervisor/uid/4001"));
	end(instance);
	cr_expect_not(fs_exists("/run/ganeti/kvm-hypervisor/uid/4000"));
}

/* --- the machine --- */

/* "pc" is another one with each version of QEMU. */
Test(hv_kvm_start, which_machine_it_is_is_noted_for_a_migration)
{
	auto_json json_t *notes = NULL;
	json_t *instance;
	const char *noted;

	own_paths();
	instance = instance_of("{\"machine_version\": \"pc,usb=off\"}");
	start(instance);
	notes = kvm_read_notes(paths, "web1");
	noted = json_str(json_get(notes, "hvparams"), "machine_version", "");
	cr_expect(str_starts(noted, "pc-i440fx-"), "%s", noted);
	cr_expect(str_ends(noted, ",usb=off"), "%s", noted);
	end(instance);
}

/* --- CPUs --- */

/* The CPUs that the thread of a vCPU may use, as the kernel lists them. */
static char *cpus_of(size_t vcpu)
{
	auto_json json_t *vcpus = ask("query-cpus-fast", NULL);
	auto_free char *file =
		xprintf("/proc/%jd/status",
			(intmax_t)json_int(json_array_get(vcpus, vcpu),
					   "thread-id", 0));
	auto_free char *text = fs_read(file, 65536, NULL, &err);
	char *line = text == NULL ? NULL : strstr(text, "Cpus_allowed_list:");

	cr_assert_not_null(line);
	line[strcspn(line, "\n")] = '\0';
	return xstrdup(line);
}

Test(hv_kvm_start, each_vcpu_is_on_its_cpus)
{
	json_t *instance;
	auto_free char *first = NULL, *second = NULL;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		cr_skip_test("one CPU is not enough");
	own_paths();
	instance = instance_of("{\"cpu_mask\": \"1:all\"}");
	start(instance);
	first = cpus_of(0);
	second = cpus_of(1);
	cr_expect_str_eq(first, "Cpus_allowed_list:\t1");
	cr_expect_str_neq(second, "Cpus_allowed_list:\t1");
	end(instance);
}

Test(hv_kvm_start, one_list_of_cpus_is_for_all)
{
	json_t *instance;
	auto_free char *first = NULL, *process = NULL;

	own_paths();
	instance = instance_of("{\"cpu_mask\": \"0\"}");
	start(instance);
	first = cpus_of(1);
	process = status_of("Cpus_allowed_list:");
	cr_expect_str_eq(first, "Cpus_allowed_list:\t0");
	cr_expect_str_eq(process, "Cpus_allowed_list:\t0");
	end(instance);
}

Test(hv_kvm_start, a_list_for_each_vcpu_or_one)
{
	json_t *instance;

	own_paths();
	instance = instance_of("{\"cpu_mask\": \"0:0:0\"}");
	cr_assert_eq(run(start_task, instance), -1);
	has(err.text, "3 lists of CPUs for 2 vCPUs");
	cr_expect_eq(kvm_running_pid(paths, "web1"), 0);
	end(instance);
}

/* --- user_shutdown --- */

static void info_task(void *arg)
{
	struct job *j = arg;
	struct hv_info info = {0};

	j->rc = hv_kvm.info(paths, "web1", NULL, &info, &err);
	if (j->rc == 1)
		j->rc += (int)info.state;
}

/* What is left when QEMU ended by itself. */
static void own_files_of_a_shut_down_one(const char *file, const char *text)
{
	auto_strv struct strv names = {0};

	paths = paths_create("", "node1.example.com");
	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0600, &err), 0);
	cr_expect_eq(run(info_task, NULL), 1 + HV_SHUTDOWN);
	kvm_list_shut_down(paths, &names);
	cr_expect(strv_has(&names, "web1"));
	paths_destroy(paths);
}

/* Events are written down as they come: killed is not shut down. */
Test(hv_kvm_start, events_are_written_down)
{
	json_t *instance;
	auto_free char *text = NULL;
	static const char *const file =
		"/run/ganeti/kvm-hypervisor/ctrl/web1.events.out";
	static const char from_inside[] =
		"{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, "
		"\"reason\": \"guest-shutdown\"}}\n";

	own_paths();
	instance = instance_of("{\"user_shutdown\": true}");
	start(instance);
	cr_expect_eq(run(info_task, instance), 1);
	json_decref(ask("cont", NULL));
	for (int i = 0;
	     i < 200 && (text == NULL || strstr(text, "RESUME") == NULL); i++) {
		free(text);
		text = fs_read(file, 65536, NULL, &err);
	}
	has(text, "RESUME");
	end(instance);
	own_files_of_a_shut_down_one(file, from_inside);
}

Test(hv_kvm_start, the_user_or_somebody_else_has_shut_it_down)
{
#define INSIDE(reason)                                                         \
	"{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, \"reason\": "   \
	"\"" reason "\"}}\n"

	cr_expect(kvm_events_tell_user(
		"{\"QMP\": {}}\n{\"return\": {}}\n" INSIDE("guest-shutdown")));
	cr_expect(kvm_events_tell_user(INSIDE("guest-reset")));
	cr_expect_not(kvm_events_tell_user(INSIDE("guest-panic")));
	cr_expect_not(kvm_events_tell_user(
		"{\"event\": \"POWERDOWN\"}\n" INSIDE("guest-shutdown")));
	cr_expect_not(kvm_events_tell_user(
		"{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": false, "
		"\"reason\": \"host-signal\"}}\n"));
	cr_expect_not(kvm_events_tell_user(""));
}
