/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: starting a container.  Its first disk holds its root file system, either
 * the whole disk or its first partition, for which a loop device is taken; the
 * stash says which one, so that it can be given back.  LXC mounts the rest
 * itself, inside. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/lxc/hv_lxc.h"

#define START_MS 120000
#define DISK_MS 30000
#define SECTOR 512
#define SECTORS_MAX (UINT64_C(1) << 50)
#define STASH_MAX 4096
#define LOG_MAX (4 * 1024 * 1024)
#define LOG_ERRORS_MAX 3
/* The word of Ganeti's in the stash. */
#define LOOP_DEVICE "allocated_loopdev"

/* --- the root file system --- */

/* What the program prints, to be freed; NULL with err. */
static WAITS char *output_of(const char *const *argv, struct error *err)
{
	const struct proc_spec spec = {.argv = argv, .timeout_ms = DISK_MS};
	auto_proc struct proc_result result = {0};
	char how[PROC_HOW_MAX];

	if (proc_run(&spec, &result, err) < 0)
		return NULL;
	if (proc_succeeded(&result)) {
		result.out[strcspn(result.out, "\n")] = '\0';
		return xstrdup(result.out);
	}
	str_repair_utf8(result.err);
	error_set(err, ERR_HYPERVISOR, NULL, "%s %s: %s", argv[0],
		  proc_how(&result, how), result.err);
	return NULL;
}

/* Whether there are partitions; then where the first one is, in bytes. */
static WAITS bool first_partition(const char *disk, uint64_t *ret_start,
				  uint64_t *ret_size)
{
	const char *const argv[] = {
		"partx", "--raw", "--noheadings", "--output", "START,SECTORS",
		"--nr",	 "1",	  disk,		  NULL};
	struct error none;
	auto_free char *out = output_of(argv, &none);
	uint64_t start, size;
	const char *rest;

	if (out == NULL || !str_to_number(out, SECTORS_MAX, &start, &rest) ||
	    *rest != ' ' || !str_to_number(rest + 1, SECTORS_MAX, &size, NULL))
		return false;
	*ret_start = start * SECTOR;
	*ret_size = size * SECTOR;
	return true;
}

static WAITS char *make_loop(const char *disk, uint64_t start, uint64_t size,
			     struct error *err)
{
	auto_free char *offset = xprintf("%" PRIu64, start);
	auto_free char *limit = xprintf("%" PRIu64, size);
	const char *const argv[] = {"losetup",	"--find", "--show",
				    "--offset", offset,	  "--sizelimit",
				    limit,	disk,	  NULL};

	return output_of(argv, err);
}

static int write_stash(const struct paths *p, const char *name,
		       const char *loop, struct error *err)
{
	auto_free char *file = lxc_file(p, name, "stash");
	auto_json json_t *stash = json_object();
	auto_free char *text = NULL;

	if (loop != NULL)
		json_set_str(stash, LOOP_DEVICE, loop);
	text = json_text(stash);
	return fs_write_atomic(file, text, strlen(text), 0600, err);
}

/* The disk, or a loop device of its first partition. */
static WAITS int prepare_root(const struct paths *p, const char *name,
			      const struct hv_disk *disk,
			      struct lxc_rootfs *ret, struct error *err)
{
	uint64_t start, size;

	ret->read_only = strcmp(json_str(disk->disk, "mode", "rw"), "ro") == 0;
	if (!first_partition(disk->path, &start, &size)) {
		/* Not by our link: LXC takes what stands before the colon in
		 * its name for a kind of storage. */
		ret->path = realpath(disk->path, NULL);
		if (ret->path == NULL)
			return error_set(err, ERR_HYPERVISOR, NULL, "%s: %s",
					 disk->path, strerror(errno));
		return write_stash(p, name, NULL, err);
	}
	ret->path = make_loop(disk->path, start, size, err);
	return ret->path == NULL ? -1 : write_stash(p, name, ret->path, err);
}

static bool is_loop(const char *device)
{
	static const char begin[] = "/dev/loop";

	return str_starts(device, begin) &&
	       str_all_digits(device + strlen(begin));
}

static WAITS void give_back(const struct paths *p, const char *name)
{
	auto_free char *file = lxc_file(p, name, "stash");
	struct error err;
	auto_json json_t *stash = json_read_file(file, STASH_MAX, &err);
	const char *device = json_str(stash, LOOP_DEVICE, "");
	const char *const argv[] = {"losetup", "--detach", device, NULL};

	if (is_loop(device) && proc_check(argv, DISK_MS, &err) < 0)
		log_warning("instance %s: %s, ignoring", name, err.text);
	fs_remove(file, &err);
}

void lxc_cleanup(const struct paths *p, const char *name)
{
	static const char *const files[] = {"config", "console.log"};
	auto_free char *folder = lxc_file(p, name, "");
	struct error err;

	if (lxc_pid(p, name, &err) != 0)
		return;
	give_back(p, name);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *file = lxc_file(p, name, files[i]);

		fs_remove(file, &err);
	}
	rmdir(folder); /* what others have put there stays */
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
	/* Not to pipes, which the container's own process would hold. */
	const struct proc_spec spec = {
		.argv = argv, .timeout_ms = START_MS, .output_file = log};
	auto_proc struct proc_result result = {0};
	size_t before = size_of(log);
	auto_free char *errors = NULL;
	char how[PROC_HOW_MAX];

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

/* Whether a limit for memory and swap can be set: this process has one. */
static bool counts_swap(void)
{
	static const struct lxc_key key = {
		"memory", "memory.memsw.limit_in_bytes", "memory.swap.max"};
	struct error none;
	auto_free char *value = lxc_cgroup_read(getpid(), &key, &none);

	return value != NULL;
}

static int write_config(const struct paths *p, const json_t *instance,
			const struct lxc_rootfs *root, struct error *err)
{
	auto_free char *file =
		lxc_file(p, json_str(instance, "name", ""), "config");
	struct lxc_host host = {.counts_swap = counts_swap()};
	auto_free char *text = NULL;
	int rc = lxc_cgroups_read(&host.cgroups, err);

	if (rc == 0)
		text = lxc_config(p, instance, root, &host, err);
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
	struct lxc_rootfs root = {0};
	int rc = prepare_root(p, name, disk, &root, err);

	/* Made here, as LXC would let others read it. */
	if (rc == 0 && (write_config(p, instance, &root, err) < 0 ||
			fs_write_atomic(console, "", 0, 0600, err) < 0))
		rc = -1;
	free(root.path);
	if (rc < 0 || hv_in_force(caller, err) < 0)
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
	if (check_disks(n_disks, err) < 0 ||
	    lxc_verify(p, json_get(instance, "hvparams"), err) < 0 ||
	    fs_mkdirs(folder, 0755, err) < 0)
		return error_wrap(err, "Failed to start instance %s", name);
	give_back(p, name); /* of one that crashed */
	if (run(p, instance, &disks[0], log, caller, err) == 0)
		return 0;
	/* Half started is not started. */
	if (lxc_pid(p, name, &ignored) > 0)
		lxc_command(p, "lxc-stop", name, kill, &ignored);
	lxc_cleanup(p, name);
	return error_wrap(err, "Failed to start instance %s", name);
}
