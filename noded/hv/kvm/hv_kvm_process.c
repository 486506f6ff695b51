/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: the process of an instance and its files.  It is known by its pid file,
 * and by its command line, so that a reused pid is never taken for it. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_net.h"
#include "noded/hv/kvm/qmp.h"

#define SMALL_FILE_MAX (256 * 1024)
#define END_WAIT_MS 20
#define END_WAITS 250 /* five seconds for a killed process to be gone */

char *kvm_file(const struct paths *p, const char *folder, const char *name,
	       const char *suffix)
{
	return xprintf("%s/%s/%s%s", path(p, PATH_KVM_HYPERVISOR_DIR), folder,
		       name, suffix);
}

char *kvm_log_file(const struct paths *p, const char *name)
{
	return xprintf("%s/%s.log", path(p, PATH_KVM_LOG_DIR), name);
}

int kvm_make_folders(const struct paths *p, struct error *err)
{
	static const char *const names[] = {
		"pid", "ctrl", "conf", "uid", "chroot", "chroot-quarantine"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *folder = xprintf(
			"%s/%s", path(p, PATH_KVM_HYPERVISOR_DIR), names[i]);

		if (fs_mkdirs(folder, 0750, err) < 0)
			return -1;
	}
	return fs_mkdirs(path(p, PATH_KVM_LOG_DIR), 0750, err);
}

/* --- the process --- */

/* The pid if it runs and is that instance's, else 0. */
pid_t kvm_running_pid(const struct paths *p, const char *name)
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

double kvm_cpu_seconds(pid_t pid)
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
	json_t *notes = json_read_file(file, SMALL_FILE_MAX, &err), *ours;

	if (!json_is_array(notes))
		return notes;
	ours = kvm_ganeti_notes(p, name, notes);
	json_decref(notes);
	return ours;
}

int kvm_write_notes(const struct paths *p, const char *name,
		    const json_t *notes, struct error *err)
{
	auto_free char *file = kvm_file(p, "conf", name, ".runtime");
	auto_free char *text = json_text(notes);

	return fs_write_atomic(file, text, strlen(text), 0640, err);
}

int kvm_note(const struct paths *p, const char *name, const json_t *members,
	     struct error *err)
{
	auto_json json_t *notes = kvm_read_notes(p, name);

	if (notes == NULL)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "There are no notes of instance %s any more",
				 name);
	json_object_update(notes, json_unconst(members));
	return kvm_write_notes(p, name, notes, err);
}

void kvm_cleanup(const struct paths *p, const char *name)
{
	static const char *const files[][2] = {
		{"pid", ""},
		{"ctrl", ".qmp"},
		{"ctrl", ".monitor"},
		{"ctrl", ".kvmd"}, /* Ganeti's */
		{"ctrl", ".serial"},
		{"ctrl", ".qga"},
		{"ctrl", ".events.in"},
		{"ctrl", ".events.out"},
		{"conf", ".runtime"},
		{"conf", ".copies"},
	};
	auto_json json_t *notes = NULL;
	struct error err;

	if (kvm_running_pid(p, name) != 0)
		return;
	notes = kvm_read_notes(p, name);
	kvm_net_down(json_get(notes, "nics"), notes);
	kvm_net_show_none(p, name);
	kvm_user_release(p, name, json_int(notes, "uid", 0));
	kvm_remove_keys(p, name);
	if (kvm_is_ganetis(notes)) { /* who it ran as */
		auto_free char *file = kvm_file(p, "uid", name, "");

		fs_remove(file, &err);
	}
	kvm_remove_chroot(p, name);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *file =
			kvm_file(p, files[i][0], name, files[i][1]);

		fs_remove(file, &err); /* a file that stays is overwritten */
	}
}

/* Kill it and wait until it is gone. */
int kvm_end_process(const struct paths *p, const char *name, struct error *err)
{
	pid_t pid = kvm_running_pid(p, name);

	if (pid != 0)
		kill(pid, SIGKILL);
	for (int i = 0; i < END_WAITS && kvm_running_pid(p, name) != 0; i++)
		task_sleep(END_WAIT_MS);
	if (kvm_running_pid(p, name) != 0)
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

int kvm_order(const struct paths *p, const char *name, const char *command,
	      json_t *arguments STEALS, struct error *err)
{
	json_t *done = kvm_monitor(p, name, command, arguments, err);

	json_decref(done);
	return done == NULL ? -1 : 0;
}

int kvm_orders(const struct paths *p, const char *name,
	       const struct qmp_step *steps, size_t n, struct error *err)
{
	auto_free char *socket_path = kvm_file(p, "ctrl", name, ".qmp");
	json_t *done = qmp_commands(socket_path, steps, n, err);

	json_decref(done);
	return done == NULL ? error_wrap(err, "Instance %s", name) : 0;
}
