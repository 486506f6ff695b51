/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: starting a container.  The file system of its first disk is mounted on
 * rootfs in its folder, as LXC itself can mount files and volumes of LVM, but
 * no other devices; it stays until the container's files are removed. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/hv_mount.h"
#include "noded/hv/lxc/hv_lxc.h"
#include "noded/hv/scope.h"

#define START_MS 120000
#define LOG_MAX (4 * 1024 * 1024)
#define LOG_ERRORS_MAX 3

int lxc_cleanup(const struct paths *p, const char *name, struct error *err)
{
	static const char *const files[] = {"config", "console.log"};
	auto_free char *folder = lxc_file(p, name, "");
	auto_free char *rootfs = lxc_file(p, name, LXC_ROOTFS);
	pid_t pid = lxc_pid(p, name, err);
	struct error none;

	if (pid != 0)
		return pid < 0 ? -1 : 0;
	if (hv_mount_undo(rootfs, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *file = lxc_file(p, name, files[i]);

		fs_remove(file, &none);
	}
	rmdir(folder); /* what others have put there stays */
	return 0;
}

/* Where it matters that something stays, the next step fails by it. */
static WAITS void clean_up(const struct paths *p, const char *name)
{
	struct error err;

	if (lxc_cleanup(p, name, &err) < 0)
		log_warning("instance %s: %s, ignoring", name, err.text);
}

/* --- what went wrong --- */

/* The message of a line "lxc-start web1 2026... ERROR  start - file.c:f:5 - m";
 * NULL: it is of another kind. */
static const char *error_of(char *line)
{
	char *level = strstr(line, " ERROR ");
	char *at = level != NULL ? strstr(level, " - ") : NULL;

	at = at != NULL ? strstr(at + 3, " - ") : NULL;
	return at != NULL ? at + 3 : NULL;
}

char *lxc_log_errors(const char *file, size_t from)
{
	struct error err;
	size_t len = 0;
	auto_free char *text = fs_read(file, LOG_MAX, &len, &err);
	auto_strv struct strv lines = {0}, errors = {0};

	if (text == NULL || from >= len)
		return xstrdup("");
	str_repair_utf8(text + from);
	str_split(&lines, text + from, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		const char *message = error_of(lines.items[i]);

		if (message != NULL && errors.n < LOG_ERRORS_MAX)
			strv_add(&errors, message);
	}
	return strv_join(&errors, "; ");
}

static size_t size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? (size_t)st.st_size : 0;
}

/* --- the container --- */

static WAITS int run_start(const struct paths *p, const char *name,
			   const char *log, struct error *err)
{
	auto_free char *config = lxc_file(p, name, "config");
	const char *const argv[] = {
		"lxc-start", "-P",   path(p, PATH_LXC_INSTANCE_DIR),
		"-n",	     name,   "-o",
		log,	     "-l",   "DEBUG",
		"-f",	     config, "-d",
		NULL};
	auto_strv struct strv words = {0};
	/* Not to pipes, which the container's own process would hold. */
	struct proc_spec spec = {.timeout_ms = START_MS, .output_file = log};
	auto_proc struct proc_result result = {0};
	size_t before = size_of(log);
	auto_free char *errors = NULL;
	char how[PROC_HOW_MAX];

	scope_of_instance(p, name, argv, &words);
	spec.argv = (const char *const *)words.items;
	if (proc_run(&spec, &result, err) < 0)
		return error_wrap(err, "lxc-start (package lxc)");
	if (proc_succeeded(&result))
		return 0;
	errors = lxc_log_errors(log, before);
	return error_set(err, ERR_HYPERVISOR, NULL, "lxc-start %s: %s (see %s)",
			 proc_how(&result, how),
			 *errors != '\0' ? errors : "it says no more", log);
}

static WAITS int wait_running(const struct paths *p, const json_t *instance,
			      struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *seconds =
		xprintf("%" PRId64, json_int(json_get(instance, "hvparams"),
					     "startup_timeout", 30));
	const char *const argv[] = {
		"lxc-wait", "-P", path(p, PATH_LXC_INSTANCE_DIR),
		"-n",	    name, "-s",
		"RUNNING",  "-t", seconds,
		NULL};
	pid_t pid;

	if (proc_check(argv, 0, err) < 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Instance %s state didn't change to RUNNING "
				 "within %s secs",
				 name, seconds);
	pid = lxc_pid(p, name, err);
	if (pid == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "lxc process exited after being daemonized");
	return pid < 0 ? -1 : 0;
}

static int write_config(const struct paths *p, const json_t *instance,
			struct error *err)
{
	auto_free char *file =
		lxc_file(p, json_str(instance, "name", ""), "config");
	struct lxc_host host = {0};
	auto_free char *text = NULL;

	if (lxc_cgroups_read(&host.cgroups, err) == 0) {
		host.counts_swap = lxc_cgroups_count_swap(&host.cgroups);
		text = lxc_config(p, instance, &host, err);
	}
	lxc_cgroups_done(&host.cgroups);
	return text == NULL
		       ? -1
		       : fs_write_atomic(file, text, strlen(text), 0600, err);
}

static WAITS int run(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disk, const char *log,
		     const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *console = lxc_file(p, name, "console.log");
	auto_free char *rootfs = lxc_file(p, name, LXC_ROOTFS);

	/* The console's file is made here, as LXC would let others read it. */
	if (write_config(p, instance, err) < 0 ||
	    fs_write_atomic(console, "", 0, 0600, err) < 0 ||
	    hv_in_force(caller, err) < 0 || hv_mount(disk, rootfs, err) < 0 ||
	    hv_in_force(caller, err) < 0)
		return -1;
	return run_start(p, name, log, err) < 0 ||
			       wait_running(p, instance, err) < 0
		       ? -1
		       : 0;
}

static int check_disks(size_t n, struct error *err)
{
	if (n == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "LXC cannot have diskless instances.");
	if (n > 1)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "At the moment, LXC cannot support more than "
				 "one disk attached to it. Please create this "
				 "instance anew with fewer disks.");
	return 0;
}

/* Containers have no pause before their first step, as Ganeti's have not. */
int lxc_start(const struct paths *p, const json_t *instance,
	      const struct hv_disk *disks, size_t n_disks, bool paused,
	      const struct hv_caller *caller, struct error *err)
{
	static const char *const kill[] = {"--kill", NULL};
	const char *name = json_str(instance, "name", "");
	auto_free char *folder = lxc_file(p, name, "");
	auto_free char *log = xprintf("%s/%s.%s.log", path(p, PATH_LXC_LOG_DIR),
				      name, json_str(instance, "uuid", ""));
	struct error ignored;

	(void)paused;
	if (lxc_pid(p, name, &ignored) > 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: already running",
				 name);
	if (check_disks(n_disks, err) < 0 ||
	    lxc_verify(p, json_get(instance, "hvparams"), err) < 0)
		return error_wrap(err, "Failed to start instance %s", name);
	clean_up(p, name); /* of one that crashed */
	if (fs_mkdirs(folder, 0755, err) < 0)
		return error_wrap(err, "Failed to start instance %s", name);
	if (run(p, instance, &disks[0], log, caller, err) == 0)
		return 0;
	/* Half started is not started. */
	if (lxc_pid(p, name, &ignored) > 0)
		lxc_command(p, "lxc-stop", name, kill, &ignored);
	clean_up(p, name);
	return error_wrap(err, "Failed to start instance %s", name);
}
