/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything here may take as long as the disk likes, so it is done beside the
 * loop. */
#include "noded/storage/bdev_device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "noded/storage/bdev.h"

#define CHUNK ((int64_t)1024 * 1024)

static int fail(const char *local, const char *what, struct error *err)
{
	return error_set(err, ERR_BLOCKDEV, NULL, "%s: can't %s: %s", local,
			 what, strerror(errno));
}

static int64_t bytes_of(int fd)
{
	uint64_t bytes = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (S_ISREG(st.st_mode))
		return st.st_size;
	return ioctl(fd, BLKGETSIZE64, &bytes) == 0 ? (int64_t)bytes : -1;
}

WAITS int64_t bdev_device_bytes(const char *local, struct error *err)
{
	auto_close int fd = -1;
	int64_t bytes = -1;

	task_leave();
	fd = open(local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		bytes = bytes_of(fd);
	task_enter();
	return bytes >= 0 ? bytes : fail(local, "get the size", err);
}

static int write_zeros(int fd, int64_t at, int64_t left)
{
	auto_free char *zeros = xalloc((size_t)CHUNK);

	while (left > 0) {
		size_t n = (size_t)(left < CHUNK ? left : CHUNK);
		ssize_t done = pwrite(fd, zeros, n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		at += done;
		left -= done;
	}
	return fdatasync(fd);
}

/* The kernel lets the device do it, and writes itself where that cannot. */
static int zero(int fd, int64_t at, int64_t len)
{
	uint64_t range[2] = {(uint64_t)at, (uint64_t)len};

	if (ioctl(fd, BLKZEROOUT, range) == 0)
		return 0;
	return write_zeros(fd, at, len);
}

static int wipe_now(const char *local, int64_t at, int64_t len,
		    struct error *err)
{
	auto_close int fd = open(local, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int64_t bytes = fd < 0 ? -1 : bytes_of(fd);

	if (bytes < 0)
		return fail(local, "open", err);
	if (at < 0 || len < 0 || len > bytes || at > bytes - len)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: the part to wipe is not inside the disk",
				 local);
	return zero(fd, at, len) < 0 ? fail(local, "wipe", err) : 0;
}

WAITS int bdev_device_wipe(const char *local, int64_t offset_mib,
			   int64_t size_mib, struct error *err)
{
	int rc;

	if (offset_mib < 0 || size_mib < 0 ||
	    offset_mib > INT64_MAX / 4 / MIB || size_mib > INT64_MAX / 4 / MIB)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%" PRId64 " MiB from %" PRId64
				 " on are no part of a disk",
				 size_mib, offset_mib);
	task_leave();
	rc = wipe_now(local, offset_mib * MIB, size_mib * MIB, err);
	task_enter();
	return rc;
}
