/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: an instance is a QEMU process that outlives the daemon.  It is known by
 * its pid file, and by its command line, so that a reused pid is never taken
 * for it; everything else is asked over its monitor. */
#include "noded/hv/hv_kvm.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/hv_kvm_devices.h"
#include "noded/hv/qmp.h"

#define SSH_PORT 22
#define SMALL_FILE_MAX (256 * 1024)
#define START_TIMEOUT_MS 60000
#define END_WAIT_MS 20
#define END_WAITS 250 /* five seconds for a killed process to be gone */

char *kvm_file(const struct paths *p, const char *folder, const char *name,
	       const char *suffix)
{
	return xprintf("%s/%s/%s%s", path(p, PATH_KVM_HYPERVISOR_DIR), folder,
		       name, suffix);
}

static int make_folders(const struct paths *p, struct error *err)
{
	static const char *const names[] = {"pid", "ctrl", "conf"};

	for (size_t i = 0; i < 3; i++) {
		auto_free char *folder = xprintf(
			"%s/%s", path(p, PATH_KVM_HYPERVISOR_DIR), names[i]);

		if (fs_mkdirs(folder, 0750, err) < 0)
			return -1;
	}
	return 0;
}

/* --- the process --- */

/* The pid if it runs and is that instance's, else 0. */
static pid_t running_pid(const struct paths *p, const char *name)
{
	auto_free char *pid_file = kvm_file(p, "pid", name, "");
	auto_free char *cmdline_file = NULL, *cmdline = NULL;
	struct error err;
	auto_free char *text = fs_read(pid_file, 64, NULL, &err);
	int64_t pid;
	size_t len = 0;

	if (text == NULL)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	if (!str_to_int64(text, &pid) || pid <= 1)
		return 0;
	cmdline_file = xprintf("/proc/%jd/cmdline", (intmax_t)pid);
	cmdline = fs_read(cmdline_file, SMALL_FILE_MAX, &len, &err);
	if (cmdline == NULL ||
	    memmem(cmdline, len, pid_file, strlen(pid_file) + 1) == NULL)
		return 0;
	return (pid_t)pid;
}

static double cpu_seconds(pid_t pid)
{
	auto_free char *file = xprintf("/proc/%d/stat", (int)pid);
	struct error err;
	auto_free char *text = fs_read(file, SMALL_FILE_MAX, NULL, &err);
	const char *rest = text == NULL ? NULL : strrchr(text, ')');
	unsigned long user, system;

	if (rest == NULL ||
	    sscanf(rest,
		   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &user, &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

json_t *kvm_read_notes(const struct paths *p, const char *name)
{
	auto_free char *file = kvm_file(p, "conf", name, ".runtime");
	struct error err;

	return json_read_file(file, SMALL_FILE_MAX, &err);
}

int kvm_write_notes(const struct paths *p, const char *name,
		    const json_t *notes, struct error *err)
{
	auto_free char *file = kvm_file(p, "conf", name, ".runtime");
	auto_free char *text = json_text(notes);

	return fs_write_atomic(file, text, strlen(text), 0640, err);
}

/* What the guest sees of the parameters must stay until it ends, also on the
 * node that it migrates to. */
static json_t *guest_params(const json_t *hvparams)
{
	static const char *const keys[] = {
		"acpi",
		"cpu_cores",
		"cpu_sockets",
		"cpu_threads",
		"cpu_type",
		"disk_aio",
		"disk_cache",
		"disk_type",
		"kvm_pci_reservations",
		"machine_version",
		"nic_type",
		"scsi_controller_type",
		"serial_console",
		"soundhw",
		"usb_devices",
		"usb_mouse",
		"vga",
	};
	json_t *seen = json_object();

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		json_t *value = json_object_get(hvparams, keys[i]);

		if (value != NULL)
			json_object_set(seen, keys[i], value);
	}
	return seen;
}

static int note_start(const struct paths *p, const json_t *instance,
		      const struct kvm_start *start, struct error *err)
{
	auto_json json_t *notes = json_make(
		"{s:I, s:I, s:o, s:O}", "memory", (json_int_t)start->memory,
		"vcpus",
		(json_int_t)json_int(json_get(instance, "beparams"), "vcpus",
				     1),
		"hvparams", guest_params(json_get(instance, "hvparams")),
		"places", start->places);
	json_t *nics = json_object_get(instance, "nics");

	json_object_set_new(notes, "nics",
			    nics == NULL ? json_array() : json_incref(nics));
	return kvm_write_notes(p, json_str(instance, "name", ""), notes, err);
}

static void kvm_cleanup(const struct paths *p, const char *name)
{
	static const char *const files[][2] = {
		{"pid", ""},	  {"ctrl", ".qmp"},	{"ctrl", ".serial"},
		{"ctrl", ".qga"}, {"conf", ".runtime"},
	};
	struct error err;

	if (running_pid(p, name) != 0)
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		auto_free char *file =
			kvm_file(p, files[i][0], name, files[i][1]);

		fs_remove(file, &err); /* what stays is written over */
	}
}

/* Kill it and wait until it is gone. */
static WAITS int end_process(const struct paths *p, const char *name,
			     struct error *err)
{
	pid_t pid = running_pid(p, name);

	if (pid != 0)
		kill(pid, SIGKILL);
	for (int i = 0; i < END_WAITS && running_pid(p, name) != 0; i++)
		task_sleep(END_WAIT_MS);
	if (running_pid(p, name) != 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The process %d of instance %s does not end",
				 (int)pid, name);
	kvm_cleanup(p, name);
	return 0;
}

json_t *kvm_monitor(const struct paths *p, const char *name,
		    const char *command, json_t *arguments STEALS,
		    struct error *err)
{
	auto_free char *socket_path = kvm_file(p, "ctrl", name, ".qmp");
	json_t *result = qmp_command(socket_path, command, arguments, err);

	if (result == NULL)
		error_wrap(err, "Instance %s", name);
	return result;
}

/* --- looking --- */

static json_t *kvm_node_info(const struct paths *p, const json_t *hvparams,
			     struct error *err)
{
	(void)p;
	(void)hvparams;
	return hv_linux_node_info(err);
}

static int kvm_verify(const struct paths *p, const json_t *hvparams,
		      struct error *err)
{
	const char *program = json_str(hvparams, "kvm_path", "/usr/bin/kvm");

	if (!fs_is_executable(program))
		return error_set(
			err, ERR_HYPERVISOR, NULL,
			"The KVM binary ('%s') does not exist (install "
			"qemu-system-x86, or set kvm_path)",
			program);
	return make_folders(p, err);
}

static int need_file(const json_t *hvparams, const char *key, struct error *err)
{
	const char *file = json_str(hvparams, key, "");

	if (*file == '\0' || strstr(file, "://") != NULL || fs_exists(file))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Parameter '%s' fails validation: file '%s' not found "
			 "on this node",
			 key, file);
}

static int kvm_validate(const struct paths *p, const json_t *hvparams,
			struct error *err)
{
	static const char *const files[] = {
		"kernel_path",	     "initrd_path",	  "cdrom_image_path",
		"cdrom2_image_path", "floppy_image_path", "mem_path"};

	if (kvm_verify(p, hvparams, err) < 0 ||
	    kvm_check_protection(hvparams, err) < 0)
		return -1;
	if (*json_str(hvparams, "spice_bind", "") != '\0' &&
	    *json_str(hvparams, "vnc_bind_address", "") != '\0')
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Both SPICE and VNC are configured, but only "
				 "one of them can be used at a given time");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (need_file(hvparams, files[i], err) < 0)
			return -1;
	return 0;
}

static int kvm_list(const struct paths *p, const json_t *hvparams,
		    struct strv *ret_names, struct error *err)
{
	auto_free char *folder =
		xprintf("%s/pid", path(p, PATH_KVM_HYPERVISOR_DIR));
	auto_strv struct strv names = {0};

	(void)hvparams;
	if (!fs_is_dir(folder))
		return 0;
	if (fs_list(folder, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		if (running_pid(p, names.items[i]) != 0)
			strv_add(ret_names, names.items[i]);
	return 0;
}

static int kvm_info(const struct paths *p, const char *name,
		    const json_t *hvparams, struct hv_info *ret,
		    struct error *err)
{
	pid_t pid = running_pid(p, name);
	auto_json json_t *notes = NULL;

	(void)hvparams;
	(void)err;
	if (pid == 0)
		return 0;
	notes = kvm_read_notes(p, name);
	*ret = (struct hv_info){
		.memory = json_int(notes, "memory", 0),
		.vcpus = json_int(notes, "vcpus", 0),
		.time = cpu_seconds(pid),
	};
	return 1;
}

/* --- starting and stopping --- */

/* Run QEMU until it has gone to the background. */
static WAITS int launch(const struct paths *p, const json_t *instance,
			const struct hv_disk *disks, size_t n_disks,
			const struct kvm_start *start, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_strv struct strv argv = {0};
	auto_proc struct proc_result result = {0};
	struct proc_spec spec = {.timeout_ms = START_TIMEOUT_MS};
	char how[PROC_HOW_MAX];

	if (make_folders(p, err) < 0)
		return -1;
	kvm_cleanup(p, name); /* of a process that died */
	if (kvm_args(p, instance, disks, n_disks, start, &argv, err) < 0)
		return -1;
	spec.argv = (const char *const *)argv.items;
	if (proc_run(&spec, &result, err) < 0)
		return error_wrap(err, "Failed to start instance %s", name);
	if (result.status != 0) {
		kvm_cleanup(p, name);
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: %s %s: %s", name,
				 argv.items[0], proc_how(&result, how),
				 result.err);
	}
	if (running_pid(p, name) == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: its process "
				 "ended at once",
				 name);
	return note_start(p, instance, start, err);
}

static int start_with(const struct paths *p, const json_t *instance,
		      const struct hv_disk *disks, size_t n_disks, bool paused,
		      const char *incoming, struct error *err)
{
	auto_json json_t *node = hv_linux_node_info(err);
	auto_json json_t *places = json_object();
	struct kvm_start start = {
		.paused = paused, .incoming = incoming, .places = places};

	if (node == NULL)
		return -1;
	start.memory =
		hv_startup_memory(instance, json_int(node, "memory_free", 0));
	return launch(p, instance, disks, n_disks, &start, err);
}

static int kvm_start(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks, bool paused,
		     struct error *err)
{
	const char *name = json_str(instance, "name", "");

	if (running_pid(p, name) != 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: already running",
				 name);
	return start_with(p, instance, disks, n_disks, paused, NULL, err);
}

static int kvm_stop(const struct paths *p, const json_t *instance, bool force,
		    bool retry, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	bool acpi = json_bool(json_get(instance, "hvparams"), "acpi", true);
	json_t *done;

	if (running_pid(p, name) == 0) {
		kvm_cleanup(p, name);
		return 0;
	}
	if (force || !acpi)
		return end_process(p, name, err);
	/* Again each time: a guest that still boots hears no button. */
	(void)retry;
	done = kvm_monitor(p, name, "system_powerdown", NULL, err);
	json_decref(done);
	return done == NULL ? -1 : 0;
}

static int kvm_reboot(const struct paths *p, const json_t *instance,
		      struct error *err)
{
	json_t *done = kvm_monitor(p, json_str(instance, "name", ""),
				   "system_reset", NULL, err);

	json_decref(done);
	return done == NULL ? -1 : 0;
}

static int kvm_balloon(const struct paths *p, const json_t *instance,
		       int64_t memory, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	json_t *done = kvm_monitor(
		p, name, "balloon",
		json_make("{s:I}", "value", (json_int_t)memory * 1024 * 1024),
		err);
	auto_json json_t *notes = NULL;

	if (done == NULL)
		return -1;
	json_decref(done);
	notes = kvm_read_notes(p, name);
	json_set_int(notes, "memory", memory);
	return kvm_write_notes(p, name, notes, err);
}

static json_t *serial_console(const struct paths *p, const char *name,
			      const json_t *node)
{
	auto_free char *serial = kvm_file(p, "ctrl", name, ".serial");
	auto_free char *peer = xprintf("UNIX-CONNECT:%s", serial);

	return json_make("{s:s, s:s, s:I, s:s, s:[s, s, s]}", "kind", "ssh",
			 "host", json_str(node, "name", ""), "port",
			 (json_int_t)json_int(json_get(node, "ndparams"),
					      "ssh_port", SSH_PORT),
			 "user", "root", "command", "socat",
			 "STDIO,raw,echo=0,escape=0x1d", peer);
}

static json_t *kvm_console(const struct paths *p, const json_t *instance,
			   const json_t *node, const json_t *hvparams,
			   struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *vnc = json_str(hvparams, "vnc_bind_address", "");
	const char *spice = json_str(hvparams, "spice_bind", "");
	json_int_t port = json_int(instance, "network_port", 0);

	(void)err;
	if (json_bool(hvparams, "serial_console", true))
		return serial_console(p, name, node);
	if (*vnc != '\0' && port > VNC_BASE_PORT)
		return json_make("{s:s, s:s, s:I, s:I}", "kind", "vnc", "host",
				 vnc, "port", port, "display",
				 port - VNC_BASE_PORT);
	if (*spice != '\0')
		return json_make("{s:s, s:s, s:I}", "kind", "spice", "host",
				 spice, "port", port);
	return json_make("{s:s, s:o}", "kind", "msg", "message",
			 json_sprintf("No serial shell for instance %s", name));
}

/* --- migration --- */

static char *kvm_migration_info(const struct paths *p, const json_t *instance,
				struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *notes = kvm_read_notes(p, name);

	if (notes == NULL || running_pid(p, name) == 0) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Instance %s does not run here", name);
		return NULL;
	}
	return json_text(notes);
}

static char *migration_uri(const json_t *instance, const char *target)
{
	return xprintf("tcp:%s:%jd", target,
		       (intmax_t)json_int(json_get(instance, "hvparams"),
					  "migration_port", 8102));
}

/* The machine as it runs over there: its hardware is what it was started with,
 * and what was plugged since. */
static json_t *as_it_runs(const json_t *instance, const json_t *notes)
{
	json_t *copy = json_copy((json_t *)instance);
	json_t *nics = json_object_get(notes, "nics");

	json_object_set_new(copy, "hvparams",
			    json_overlay(json_get(instance, "hvparams"),
					 json_get(notes, "hvparams")));
	if (nics != NULL)
		json_object_set(copy, "nics", nics);
	return copy;
}

/* Of the disks those that it knows (all, where nothing is noted), in their
 * order; their number. */
static size_t known_disks(const struct hv_disk *disks, size_t n,
			  const json_t *places, struct hv_disk *ret)
{
	size_t n_known = 0;

	for (size_t i = 0; i < n; i++) {
		auto_free char *id = kvm_device_id("disk", disks[i].disk, i);

		if (json_object_size(places) == 0 ||
		    json_get(places, id) != NULL)
			ret[n_known++] = disks[i];
	}
	return n_known;
}

static int kvm_accept(const struct paths *p, const json_t *instance,
		      const struct hv_disk *disks, size_t n_disks,
		      const char *info, const char *target, struct error *err)
{
	auto_json json_t *notes = json_parse(info, strlen(info), err);
	auto_free char *uri = migration_uri(instance, target);
	auto_free struct hv_disk *known =
		xcalloc(n_disks + 1, sizeof(struct hv_disk));
	auto_json json_t *running = as_it_runs(instance, notes);
	auto_json json_t *places =
		json_overlay(json_get(notes, "places"), NULL);
	struct kvm_start start = {
		/* The same size as over there, not what fits here. */
		.memory = json_int(notes, "memory", 0),
		.incoming = uri,
		.places = places,
	};

	if (start.memory <= 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Invalid migration information for instance "
				 "%s",
				 json_str(instance, "name", ""));
	n_disks = known_disks(disks, n_disks, start.places, known);
	return launch(p, running, known, n_disks, &start, err);
}

static int kvm_migrate(const struct paths *p, const char *cluster_name,
		       const json_t *instance, const char *target, bool live,
		       struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	const char *name = json_str(instance, "name", "");
	auto_free char *uri = migration_uri(instance, target);
	json_t *done;

	(void)cluster_name;
	if (!live) {
		done = kvm_monitor(p, name, "stop", NULL, err);
		if (done == NULL)
			return -1;
		json_decref(done);
	}
	done = kvm_monitor(
		p, name, "migrate-set-parameters",
		json_make("{s:I, s:I}", "max-bandwidth",
			  (json_int_t)json_int(hv, "migration_bandwidth", 32) *
				  1024 * 1024,
			  "downtime-limit",
			  (json_int_t)json_int(hv, "migration_downtime", 30)),
		err);
	if (done == NULL)
		return -1;
	json_decref(done);
	done = kvm_monitor(p, name, "migrate", json_make("{s:s}", "uri", uri),
			   err);
	json_decref(done);
	return done == NULL ? -1 : 0;
}

static int kvm_finalize_dst(const struct paths *p, const json_t *instance,
			    const char *info, bool success, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	json_t *done;

	(void)info;
	if (!success)
		return end_process(p, name, err);
	done = kvm_monitor(p, name, "cont", NULL, err);
	json_decref(done);
	return done == NULL ? -1 : 0;
}

static int kvm_finalize_src(const struct paths *p, const json_t *instance,
			    bool success, bool live, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	json_t *done;

	if (success)
		return end_process(p, name, err);
	done = kvm_monitor(p, name, "migrate_cancel", NULL, err);
	json_decref(done);
	if (done == NULL || live)
		return done == NULL ? -1 : 0;
	done = kvm_monitor(p, name, "cont", NULL, err);
	json_decref(done);
	return done == NULL ? -1 : 0;
}

static json_t *kvm_migration_status(const struct paths *p,
				    const json_t *instance, struct error *err)
{
	auto_json json_t *state = kvm_monitor(p, json_str(instance, "name", ""),
					      "query-migrate", NULL, err);
	const char *status = json_str(state, "status", "none");
	const json_t *ram = json_get(state, "ram");
	static const struct {
		const char *theirs, *ours;
	} names[] = {
		{"completed", "completed"}, {"failed", "failed"},
		{"cancelled", "cancelled"}, {"cancelling", "cancelled"},
		{"none", "failed"},
	};
	const char *ours = "active";

	if (state == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].theirs, status) == 0)
			ours = names[i].ours;
	return json_make("{s:s, s:I, s:I}", "status", ours, "transferred_ram",
			 (json_int_t)json_int(ram, "transferred", 0),
			 "total_ram", (json_int_t)json_int(ram, "total", 0));
}

const struct hv_class hv_kvm = {
	.name = "kvm",
	.node_info = kvm_node_info,
	.verify = kvm_verify,
	.validate = kvm_validate,
	.list = kvm_list,
	.info = kvm_info,
	.start = kvm_start,
	.stop = kvm_stop,
	.cleanup = kvm_cleanup,
	.reboot = kvm_reboot,
	.balloon = kvm_balloon,
	.hotplug_supported = kvm_hotplug_supported,
	.hotplug = kvm_hotplug,
	.console = kvm_console,
	.migration_info = kvm_migration_info,
	.accept = kvm_accept,
	.migrate = kvm_migrate,
	.finalize_dst = kvm_finalize_dst,
	.finalize_src = kvm_finalize_src,
	.migration_status = kvm_migration_status,
};
