/* SPDX-License-Identifier: BSD-2-Clause */
/* Mounts disks by mount and umount.  A file, and a partition, get a loop
 * device, which the kernel takes back at the unmount; so nothing is to be
 * noted, and no device mapper is needed. */
#include "noded/hv/hv_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"

#define MOUNT_MS 60000
#define MOUNTS_MAX (1024 * 1024)
#define SECTOR 512
#define SECTORS_MAX (UINT64_C(1) << 50)
/* What has been killed may use it for a moment longer. */
#define BUSY_TRIES 20
#define BUSY_WAIT_MS 100

/* --- what is mounted --- */

bool hv_mount_is_there(const char *folder, dev_t *ret_device)
{
	auto_free char *above = xprintf("%s/..", folder);
	struct stat here, there;

	if (lstat(folder, &here) < 0 || !S_ISDIR(here.st_mode) ||
	    stat(above, &there) < 0 || here.st_dev == there.st_dev)
		return false;
	*ret_device = here.st_dev;
	return true;
}

/* The lines of what is mounted, and the folder as they have it: without links,
 * one of which /var/run often is. */
static int read_mounts(const char *folder, struct strv *ret_lines,
		       char **ret_real, struct error *err)
{
	auto_free char *text =
		fs_read("/proc/self/mounts", MOUNTS_MAX, NULL, err);
	char *real = realpath(folder, NULL);

	if (text != NULL)
		str_split(ret_lines, text, '\n');
	*ret_real = real != NULL ? real : xstrdup(folder);
	return text == NULL ? -1 : 0;
}

/* Add the mount points below the folder, those that were mounted last first. */
static int mounts_below(const char *folder, struct strv *ret, struct error *err)
{
	auto_strv struct strv lines = {0};
	auto_free char *real = NULL, *begin = NULL;

	if (read_mounts(folder, &lines, &real, err) < 0)
		return -1;
	begin = xprintf("%s/", real);
	for (size_t i = lines.n; i > 0; i--) {
		auto_strv struct strv words = {0};

		str_split(&words, lines.items[i - 1], ' ');
		if (words.n > 1 && str_starts(words.items[1], begin))
			strv_add(ret, words.items[1]);
	}
	return 0;
}

/* What was mounted last on the folder; to be freed, NULL with err. */
static char *source_of(const char *folder, struct error *err)
{
	auto_strv struct strv lines = {0};
	auto_free char *real = NULL;

	if (read_mounts(folder, &lines, &real, err) < 0)
		return NULL;
	for (size_t i = lines.n; i > 0; i--) {
		auto_strv struct strv words = {0};

		str_split(&words, lines.items[i - 1], ' ');
		if (words.n > 1 && strcmp(words.items[1], real) == 0)
			return xstrdup(words.items[0]);
	}
	error_set(err, ERR_HYPERVISOR, NULL,
		  "What is mounted on %s is not listed in /proc/self/mounts",
		  folder);
	return NULL;
}

/* --- unmounting --- */

static WAITS int unmount_error(const char *folder, struct error *err)
{
	auto_free char *why = xstrdup(err->text);
	auto_free char *users = NULL;
	dev_t device;

	if (hv_mount_is_there(folder, &device))
		users = hv_mount_users(device);
	if (str_empty(users))
		return error_wrap(err, "Cannot unmount %s", folder);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Cannot unmount %s: %s; it is used by processes: %s",
			 folder, why, users);
}

static WAITS int unmount(const char *folder, struct error *err)
{
	const char *const argv[] = {"umount", folder, NULL};
	int rc = -1;

	for (int i = 0; rc < 0 && i < BUSY_TRIES; i++) {
		if (i > 0)
			task_sleep(BUSY_WAIT_MS);
		rc = proc_check(argv, MOUNT_MS, err);
	}
	return rc < 0 ? unmount_error(folder, err) : 0;
}

int hv_mount_undo(const char *folder, struct error *err)
{
	auto_strv struct strv below = {0};
	dev_t device;

	if (hv_mount_is_there(folder, &device)) {
		if (mounts_below(folder, &below, err) < 0)
			return -1;
		for (size_t i = 0; i < below.n; i++)
			if (unmount(below.items[i], err) < 0)
				return -1;
		if (unmount(folder, err) < 0)
			return -1;
	}
	if (rmdir(folder) == 0 || errno == ENOENT)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL, "Cannot remove %s: %s",
			 folder, strerror(errno));
}

/* --- mounting --- */

/* The loop device has this file or device behind it. */
static bool is_behind(const char *loop, const struct stat *disk)
{
	auto_close int fd = open(loop, O_RDONLY | O_CLOEXEC);
	struct loop_info64 info;

	if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
		return false;
	return S_ISBLK(disk->st_mode) ? info.lo_rdevice == disk->st_rdev
				      : info.lo_device == disk->st_dev &&
						info.lo_inode == disk->st_ino;
}

static bool is_source(const char *source, const char *disk)
{
	struct stat here, wanted;

	if (stat(source, &here) < 0 || !S_ISBLK(here.st_mode) ||
	    stat(disk, &wanted) < 0)
		return false;
	return (S_ISBLK(wanted.st_mode) && here.st_rdev == wanted.st_rdev) ||
	       is_behind(source, &wanted);
}

/* 1: this disk is mounted there already; 0: nothing is, any more; -1. */
static WAITS int clear_place(const struct hv_disk *disk, const char *folder,
			     struct error *err)
{
	auto_free char *source = NULL;
	bool is_same;
	dev_t device;

	if (!hv_mount_is_there(folder, &device))
		return 0;
	source = source_of(folder, err);
	if (source == NULL)
		return -1;
	task_leave(); /* disks may be on network file systems */
	is_same = is_source(source, disk->path);
	task_enter();
	if (is_same)
		return 1;
	if (hv_mount_undo(folder, err) < 0)
		return error_wrap(err, "Instead of %s, %s is mounted there",
				  disk->path, source);
	return fs_mkdirs(folder, 0755, err);
}

/* Add where the first partition is, as options of mount, if there are any. */
static WAITS void add_partition(const char *disk, struct buf *options)
{
	const char *const argv[] = {
		"partx", "--raw", "--noheadings", "--output", "START,SECTORS",
		"--nr",	 "1",	  disk,		  NULL};
	const struct proc_spec spec = {.argv = argv, .timeout_ms = MOUNT_MS};
	auto_proc struct proc_result result = {0};
	struct error none;
	uint64_t start, size;
	const char *rest;

	if (proc_run(&spec, &result, &none) < 0 || !proc_succeeded(&result))
		return; /* there is no table */
	result.out[strcspn(result.out, "\n")] = '\0';
	if (str_to_number(result.out, SECTORS_MAX, &start, &rest) &&
	    *rest == ' ' && str_to_number(rest + 1, SECTORS_MAX, &size, NULL))
		buf_addf(options, ",loop,offset=%" PRIu64 ",sizelimit=%" PRIu64,
			 start * SECTOR, size * SECTOR);
}

int hv_mount(const struct hv_disk *disk, const char *folder, struct error *err)
{
	auto_buf struct buf options = {0};
	const char *argv[] = {"mount", "-o", NULL, disk->path, folder, NULL};
	int rc = fs_mkdirs(folder, 0755, err);

	if (rc == 0)
		rc = clear_place(disk, folder, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	buf_adds(&options, strcmp(json_str(disk->disk, "mode", "rw"), "ro") == 0
				   ? "ro"
				   : "rw");
	add_partition(disk->path, &options);
	argv[2] = options.data;
	return proc_check(argv, MOUNT_MS, err);
}
