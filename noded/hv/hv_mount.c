/* SPDX-License-Identifier: BSD-2-Clause */
/* Mounts disks by mount and umount.  A file, and a partition, get a loop
 * device, which the kernel takes back at the unmount; so nothing is to be
 * noted, and no device mapper is needed. */
#include "noded/hv/hv_mount.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
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
	dev_t device;

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	if (hv_mount_is_there(folder, &device))
		return 0;
	buf_adds(&options, strcmp(json_str(disk->disk, "mode", "rw"), "ro") == 0
				   ? "ro"
				   : "rw");
	add_partition(disk->path, &options);
	argv[2] = options.data;
	return proc_check(argv, MOUNT_MS, err);
}

/* Add the mount points below the folder, those that were mounted last first.
 * The kernel names them without links, and /var/run often is one. */
static int mounts_below(const char *folder, struct strv *ret, struct error *err)
{
	auto_free char *text =
		fs_read("/proc/self/mounts", MOUNTS_MAX, NULL, err);
	auto_free char *real = realpath(folder, NULL);
	auto_free char *begin = xprintf("%s/", real != NULL ? real : folder);
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

static WAITS int unmount(const char *folder, struct error *err)
{
	const char *const argv[] = {"umount", folder, NULL};
	int rc = -1;

	for (int i = 0; rc < 0 && i < BUSY_TRIES; i++) {
		if (i > 0)
			task_sleep(BUSY_WAIT_MS);
		rc = proc_check(argv, MOUNT_MS, err);
	}
	return rc;
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
