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

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/hv_mount.h"
#include "noded/hv/scope.h"
#include "noded/scripts/script.h"

/* The script starts or stops what is in there, and waits for it. */
#define SCRIPT_MS 300000
/* What was killed is gone a moment later. */
#define KILL_TRIES 50
#define KILL_WAIT_MS 100
#define PATH_OF_ROOT "PATH=/sbin:/bin:/usr/sbin:/usr/bin"

static char *folder_of(const struct paths *p, const char *name)
{
	return xprintf("%s/%s", path(p, PATH_CHROOT_HYPERVISOR_DIR), name);
}

/* --- looking --- */

static WAITS bool is_live(const char *folder)
{
	dev_t device;

	return hv_mount_is_there(folder, &device) && hv_mount_signal(device, 0);
}

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

static WAITS int chroot_list(const struct paths *p, const json_t *hvparams,
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
static WAITS int chroot_info(const struct paths *p, const char *name,
			     const json_t *hvparams, struct hv_info *ret,
			     struct error *err)
{
	auto_free char *folder = folder_of(p, name);

	(void)hvparams, (void)err;
	*ret = (struct hv_info){.state = HV_RUNNING};
	return is_live(folder) ? 1 : 0;
}

/* --- starting and stopping --- */

/* What it starts lives in a scope of the instance. */
static WAITS int run_script(const struct paths *p, const char *folder,
			    const json_t *instance, const char *what,
			    struct error *err)
{
	const char *script = json_str(json_get(instance, "hvparams"),
				      "init_script", "/ganeti-chroot");
	const char *const argv[] = {"chroot", folder, script, what, NULL};
	static const char *const env[] = {PATH_OF_ROOT, "LC_ALL=C", NULL};
	auto_strv struct strv words = {0};
	struct proc_spec spec = {.env = env,
				 .cwd = "/",
				 .merge_stderr = true,
				 .timeout_ms = SCRIPT_MS};
	auto_proc struct proc_result result = {0};
	auto_free char *said = NULL;
	char how[PROC_HOW_MAX];

	scope_of_instance(p, json_str(instance, "name", ""), argv, &words);
	spec.argv = (const char *const *)words.items;
	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (proc_succeeded(&result))
		return 0;
	said = script_text(result.out, result.out_len, true);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Can't run the chroot %s script: %s %s: %s", what,
			 script, proc_how(&result, how), said);
}

static WAITS int mount_disk(const char *folder, const struct hv_disk *disks,
			    size_t n, struct error *err)
{
	if (n == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The chroot manager needs at least one disk");
	if (hv_mount(&disks[0], folder, err) < 0)
		return error_wrap(err, "Can't mount the chroot dir");
	return 0;
}

static WAITS int chroot_cleanup(const struct paths *p, const char *name,
				struct error *err)
{
	auto_free char *folder = folder_of(p, name);
	auto_free char *users = NULL;
	dev_t device;

	if (!fs_is_dir(folder))
		return 0;
	if (!is_live(folder) || !hv_mount_is_there(folder, &device))
		return hv_mount_undo(folder, err);
	/* What its script has mounted below stays with them. */
	users = hv_mount_users(device);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "%s is still used by processes: %s", folder, users);
}

/* What a failed script has started must not keep the disk. */
static WAITS void give_up(const struct paths *p, const char *name)
{
	auto_free char *folder = folder_of(p, name);
	struct error err;
	dev_t device;

	for (int i = 0; i < KILL_TRIES && hv_mount_is_there(folder, &device) &&
			hv_mount_signal(device, SIGKILL);
	     i++)
		task_sleep(KILL_WAIT_MS);
	if (chroot_cleanup(p, name, &err) < 0)
		log_warning("instance %s: %s, ignoring", name, err.text);
}

static WAITS int chroot_start(const struct paths *p, const json_t *instance,
			      const struct hv_disk *disks, size_t n_disks,
			      bool paused, const struct hv_caller *caller,
			      struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *folder = folder_of(p, name);

	(void)paused;
	if (is_live(folder))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: already running",
				 name);
	if (mount_disk(folder, disks, n_disks, err) == 0 &&
	    hv_in_force(caller, err) == 0 &&
	    run_script(p, folder, instance, "start", err) == 0)
		return 0;
	give_up(p, name);
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
	if (!retry && !force &&
	    run_script(p, folder, instance, "stop", err) < 0)
		return -1;
	if (hv_mount_is_there(folder, &device))
		hv_mount_signal(device, force ? SIGKILL : SIGTERM);
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
	if (hv_mount_is_there(folder, &device))
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
