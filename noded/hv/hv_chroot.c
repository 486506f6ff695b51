/* SPDX-License-Identifier: BSD-2-Clause */
/* chroot: an instance is what runs in a folder.  Its first disk is mounted
 * there, and a script on it (init_script, made by the OS definition) starts and
 * stops its programs.  It runs as long as some process uses the file system:
 * has its root, its working folder, its program or an open file there.
 *
 * There are no limits, no reboot and no migration. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/hv.h"

#define MOUNT_MS 60000
/* The script starts or stops what is in there, and waits for it. */
#define SCRIPT_MS 300000
#define MOUNTS_MAX (1024 * 1024)
#define PATH_OF_ROOT "PATH=/sbin:/bin:/usr/sbin:/usr/bin"

static char *folder_of(const struct paths *p, const char *name)
{
	return xprintf("%s/%s", path(p, PATH_CHROOT_HYPERVISOR_DIR), name);
}

/* --- what is mounted --- */

/* Whether a file system is mounted there; then its device. */
static bool is_mounted(const char *folder, dev_t *ret)
{
	auto_free char *above = xprintf("%s/..", folder);
	struct stat here, there;

	if (lstat(folder, &here) < 0 || !S_ISDIR(here.st_mode) ||
	    stat(above, &there) < 0 || here.st_dev == there.st_dev)
		return false;
	*ret = here.st_dev;
	return true;
}

/* Add the mount points below the folder, those that were mounted last first. */
static int mounts_below(const char *folder, struct strv *ret, struct error *err)
{
	auto_free char *text =
		fs_read("/proc/self/mounts", MOUNTS_MAX, NULL, err);
	auto_free char *begin = xprintf("%s/", folder);
	auto_strv struct strv lines = {0};

	if (text == NULL)
		return -1;
	str_split(&lines, text, '\n');
	for (size_t i = lines.n; i > 0; i--) {
		auto_strv struct strv words = {0};

		str_split(&words, lines.items[i - 1], ' ');
		if (words.n > 1 && str_starts(words.items[1], begin))
			strv_add(ret, words.items[1]);
	}
	return 0;
}

/* --- who uses it --- */

static bool leads_to(const char *link, dev_t device)
{
	struct stat st;

	return stat(link, &st) == 0 && st.st_dev == device;
}

static bool has_file_open(const char *process, dev_t device)
{
	auto_free char *folder = xprintf("%s/fd", process);
	auto_strv struct strv names = {0};
	struct error gone;

	if (fs_list(folder, &names, &gone) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *link = xprintf("%s/%s", folder, names.items[i]);

		if (leads_to(link, device))
			return true;
	}
	return false;
}

static bool uses(const char *pid, dev_t device)
{
	static const char *const links[] = {"root", "cwd", "exe"};
	auto_free char *process = xprintf("/proc/%s", pid);

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		auto_free char *link = xprintf("%s/%s", process, links[i]);

		if (leads_to(link, device))
			return true;
	}
	return has_file_open(process, device);
}

/* Send the signal (0: none) to all that use the file system; whether there are
 * any. */
static bool signal_users(dev_t device, int sig)
{
	auto_strv struct strv names = {0};
	struct error err;
	bool any = false;
	int64_t pid;

	if (fs_list("/proc", &names, &err) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++) {
		if (!str_all_digits(names.items[i]) ||
		    !str_to_int64(names.items[i], &pid) || pid == getpid() ||
		    !uses(names.items[i], device))
			continue;
		if (sig == 0)
			return true;
		any = true;
		if (kill((pid_t)pid, sig) < 0 && errno != ESRCH)
			log_warning("cannot signal process %s: %s",
				    names.items[i], strerror(errno));
	}
	return any;
}

static bool is_live(const char *folder)
{
	dev_t device;

	return is_mounted(folder, &device) && signal_users(device, 0);
}

/* --- looking --- */

static json_t *chroot_node_info(const struct paths *p, const json_t *hvparams,
				struct error *err)
{
	(void)p, (void)hvparams;
	return hv_linux_node_info(err);
}

static int chroot_verify(const struct paths *p, const json_t *hvparams,
			 struct error *err)
{
	static const char *const programs[] = {"chroot", "mount", "umount"};

	(void)hvparams;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!hv_has_program(programs[i]))
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "Required command %s not found",
					 programs[i]);
	return fs_mkdirs(path(p, PATH_CHROOT_HYPERVISOR_DIR), 0775, err);
}

static int chroot_validate(const struct paths *p, const json_t *hvparams,
			   struct error *err)
{
	const char *script = json_str(hvparams, "init_script", "");

	if (!paths_is_normal(script))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Hypervisor parameter 'init_script' must be "
				 "an absolute normalized path, not '%s'",
				 script);
	return chroot_verify(p, hvparams, err);
}

static int chroot_list(const struct paths *p, const json_t *hvparams,
		       struct strv *ret_names, struct error *err)
{
	const char *above = path(p, PATH_CHROOT_HYPERVISOR_DIR);
	auto_strv struct strv names = {0};

	(void)hvparams;
	if (!fs_is_dir(above))
		return 0;
	if (fs_list(above, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *folder = folder_of(p, names.items[i]);

		if (str_valid_hostname(names.items[i]) && is_live(folder))
			strv_add(ret_names, names.items[i]);
	}
	return 0;
}

/* Nobody counts what it uses. */
static int chroot_info(const struct paths *p, const char *name,
		       const json_t *hvparams, struct hv_info *ret,
		       struct error *err)
{
	auto_free char *folder = folder_of(p, name);

	(void)hvparams, (void)err;
	*ret = (struct hv_info){.state = HV_RUNNING};
	return is_live(folder) ? 1 : 0;
}

/* --- starting and stopping --- */

static WAITS int run_script(const char *folder, const json_t *instance,
			    const char *what, struct error *err)
{
	const char *script = json_str(json_get(instance, "hvparams"),
				      "init_script", "/ganeti-chroot");
	const char *const argv[] = {"chroot", folder, script, what, NULL};
	static const char *const env[] = {PATH_OF_ROOT, "LC_ALL=C", NULL};
	const struct proc_spec spec = {.argv = argv,
				       .env = env,
				       .cwd = "/",
				       .merge_stderr = true,
				       .timeout_ms = SCRIPT_MS};
	auto_proc struct proc_result result = {0};
	char how[PROC_HOW_MAX];

	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (proc_succeeded(&result))
		return 0;
	str_repair_utf8(result.out);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Can't run the chroot %s script: %s %s: %s", what,
			 script, proc_how(&result, how), result.out);
}

static WAITS int mount_disk(const char *folder, const struct hv_disk *disks,
			    size_t n, struct error *err)
{
	dev_t device;
	const char *argv[] = {"mount", "-o", "rw", NULL, folder, NULL};

	if (is_mounted(folder, &device))
		return 0;
	if (n == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The chroot manager needs at least one disk");
	argv[2] = json_str(disks[0].disk, "mode", "rw");
	argv[3] = disks[0].path;
	if (strcmp(argv[2], "ro") != 0)
		argv[2] = "rw";
	if (proc_check(argv, MOUNT_MS, err) < 0)
		return error_wrap(err, "Can't mount the chroot dir");
	return 0;
}

static WAITS int unmount(const char *folder, struct error *err)
{
	const char *const argv[] = {"umount", folder, NULL};

	return proc_check(argv, MOUNT_MS, err);
}

static WAITS void chroot_cleanup(const struct paths *p, const char *name)
{
	auto_free char *folder = folder_of(p, name);
	auto_strv struct strv below = {0};
	struct error err;
	dev_t device;

	if (!fs_is_dir(folder) || is_live(folder))
		return;
	if (mounts_below(folder, &below, &err) < 0)
		log_warning("%s, ignoring", err.text);
	for (size_t i = 0; i < below.n; i++)
		if (unmount(below.items[i], &err) < 0)
			log_warning("instance %s: %s, ignoring", name,
				    err.text);
	if (is_mounted(folder, &device) && unmount(folder, &err) < 0)
		log_warning("instance %s: can't umount the chroot dir: %s",
			    name, err.text);
	rmdir(folder); /* fails as long as something is mounted there */
}

static WAITS int chroot_start(const struct paths *p, const json_t *instance,
			      const struct hv_disk *disks, size_t n_disks,
			      bool paused, const struct hv_caller *caller,
			      struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *folder = folder_of(p, name);
	dev_t device;

	(void)paused;
	if (fs_mkdirs(folder, 0755, err) == 0 &&
	    mount_disk(folder, disks, n_disks, err) == 0 &&
	    hv_in_force(caller, err) == 0 &&
	    run_script(folder, instance, "start", err) == 0)
		return 0;
	/* What a failed script has started must not keep the disk. */
	if (is_mounted(folder, &device))
		signal_users(device, SIGKILL);
	chroot_cleanup(p, name);
	return error_wrap(err, "Failed to start instance %s", name);
}

static WAITS int chroot_stop(const struct paths *p, const json_t *instance,
			     bool force, bool retry, struct error *err)
{
	auto_free char *folder = folder_of(p, json_str(instance, "name", ""));
	dev_t device;

	if (!is_live(folder))
		return 0;
	/* The script is run once; what it leaves is told to end. */
	if (!retry && !force && run_script(folder, instance, "stop", err) < 0)
		return -1;
	if (is_mounted(folder, &device))
		signal_users(device, force ? SIGKILL : SIGTERM);
	return 0;
}

static int chroot_reboot(const struct paths *p, const json_t *instance,
			 struct error *err)
{
	(void)p, (void)instance;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "The chroot manager doesn't implement the reboot "
			 "functionality");
}

/* There is no limit that could change. */
static int chroot_balloon(const struct paths *p, const json_t *instance,
			  int64_t memory, struct error *err)
{
	(void)p, (void)instance, (void)memory, (void)err;
	return 0;
}

static json_t *chroot_console(const struct paths *p, const json_t *instance,
			      const json_t *node, const json_t *hvparams,
			      struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *folder = folder_of(p, name);
	const char *const argv[] = {"chroot", folder, NULL};
	dev_t device;

	(void)hvparams;
	if (is_mounted(folder, &device))
		return hv_ssh_console(node, argv);
	error_set(err, ERR_HYPERVISOR, NULL, "Instance %s is not running",
		  name);
	return NULL;
}

const struct hv_class hv_chroot = {
	.name = "chroot",
	.node_info = chroot_node_info,
	.verify = chroot_verify,
	.validate = chroot_validate,
	.list = chroot_list,
	.info = chroot_info,
	.start = chroot_start,
	.stop = chroot_stop,
	.cleanup = chroot_cleanup,
	.reboot = chroot_reboot,
	.balloon = chroot_balloon,
	.console = chroot_console,
};
