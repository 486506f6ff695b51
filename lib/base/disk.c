/* SPDX-License-Identifier: BSD-2-Clause */
/* The real disk.  Most functions call those of fs.h.  A lazy write is a rename
 * without a sync; syncfs() makes all of them durable at once.  New files get
 * the owner that the function given to disk_real_set_owner() names, if there is
 * one. */
#include "lib/base/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"

static int fail(struct error *err, const char *what, const char *path)
{
	bool full = errno == ENOSPC || errno == EDQUOT;

	return error_set(err, ERR_SYSTEM, full ? ECODE_NOSPACE : ECODE_ENVIRON,
			 "Cannot %s %s: %s", what, path, strerror(errno));
}

/* --- owners --- */

static disk_owner_fn *owner_of;

/* NULL: a new file belongs to this process's user */
static const struct fs_owner *owner(const char *path, struct fs_owner *space)
{
	return owner_of != NULL && owner_of(path, space) ? space : NULL;
}

void disk_real_set_owner(disk_owner_fn *fn)
{
	owner_of = fn;
}

static int give(int fd, const char *path)
{
	struct fs_owner space;
	const struct fs_owner *o = owner(path, &space);

	return o == NULL ? 0 : fchown(fd, o->uid, o->gid);
}

/* --- the functions --- */

static char *real_read(struct disk *d, const char *path, size_t max,
		       size_t *ret_len, struct error *err)
{
	(void)d;
	return fs_read_file(path, max, ret_len, err);
}

static int real_write_atomic(struct disk *d, const char *path, const void *data,
			     size_t len, mode_t mode, struct error *err)
{
	struct fs_owner space;

	(void)d;
	return fs_write_atomic_as(path, data, len, mode, owner(path, &space),
				  err);
}

static int real_mkdirs(struct disk *d, const char *path, mode_t mode,
		       struct error *err)
{
	struct fs_owner space;
	const struct fs_owner *o = owner(path, &space);
	struct stat st;

	(void)d;
	if (fs_mkdirs(path, mode, err) < 0)
		return -1;
	if (o == NULL || (stat(path, &st) == 0 && st.st_uid == o->uid &&
			  st.st_gid == o->gid))
		return 0;
	return chown(path, o->uid, o->gid) < 0 ? fail(err, "give away", path)
					       : 0;
}

static int real_list(struct disk *d, const char *path, struct strv *ret_names,
		     struct error *err)
{
	(void)d;
	return fs_list(path, ret_names, err);
}

static int real_remove(struct disk *d, const char *path, struct error *err)
{
	(void)d;
	return fs_remove(path, err);
}

static bool real_exists(struct disk *d, const char *path)
{
	(void)d;
	return fs_exists(path);
}

static int pwrite_all(int fd, const char *data, size_t len, off_t offset)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		offset += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Make a new file.  A file that an interrupted write left under this name, or
 * that somebody put there, is removed first and never written to. */
static int create(const char *path, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(path, flags, mode);

	if (fd >= 0 || errno != EEXIST || unlink(path) < 0)
		return fd;
	return open(path, flags, mode);
}

static int real_write_lazy(struct disk *d, const char *path, const void *data,
			   size_t len, mode_t mode, struct error *err)
{
	auto_free char *temporary = xprintf("%s.new", path);
	auto_close int fd = create(temporary, mode);

	(void)d;
	if (fd < 0)
		return fail(err, "create", temporary);
	if (give(fd, path) < 0 || pwrite_all(fd, data, len, 0) < 0 ||
	    rename(temporary, path) < 0) {
		fail(err, "write", path);
		unlink(temporary);
		return -1;
	}
	return 0;
}

static int real_rename(struct disk *d, const char *from, const char *to,
		       struct error *err)
{
	(void)d;
	return rename(from, to) < 0 ? fail(err, "rename", from) : 0;
}

static int real_sync_all(struct disk *d, const char *folder, struct error *err)
{
	auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)d;
	if (fd < 0 || syncfs(fd) < 0)
		return fail(err, "sync", folder);
	return 0;
}

/* Zeros are written, not only reserved: a later write into them changes no
 * metadata, so that fdatasync costs one write of the device. */
static int fill(int fd, size_t from, size_t size)
{
	static const char zeros[65536];

	while (from < size) {
		size_t n = size - from < sizeof(zeros) ? size - from
						       : sizeof(zeros);

		if (pwrite_all(fd, zeros, n, (off_t)from) < 0)
			return -1;
		from += n;
	}
	return fsync(fd);
}

static int real_log_open(struct disk *d, const char *path, size_t size,
			 struct error *err)
{
	int fd = fs_open_file(path, O_RDWR | O_CREAT, 0640, err);
	struct stat st;

	(void)d;
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || (st.st_size == 0 && give(fd, path) < 0) ||
	    ((size_t)st.st_size < size &&
	     fill(fd, (size_t)st.st_size, size) < 0)) {
		fail(err, "prepare", path);
		close(fd);
		return -1;
	}
	return fd;
}

static int real_log_write(struct disk *d, int log, size_t offset,
			  const void *data, size_t len, struct error *err)
{
	(void)d;
	return pwrite_all(log, data, len, (off_t)offset) < 0
		       ? fail(err, "write", "the journal")
		       : 0;
}

static int real_log_sync(struct disk *d, int log, struct error *err)
{
	(void)d;
	return fdatasync(log) < 0 ? fail(err, "sync", "the journal") : 0;
}

static void real_log_close(struct disk *d, int log)
{
	(void)d;
	close(log);
}

static int real_lock(struct disk *d, const char *path, struct error *err)
{
	int fd = fs_lock(path, err);

	(void)d;
	if (fd < 0 || give(fd, path) == 0)
		return fd;
	fail(err, "give away", path);
	close(fd);
	return -1;
}

static void real_unlock(struct disk *d, int handle)
{
	(void)d;
	close(handle);
}

static int64_t real_written_ns(struct disk *d, const char *path)
{
	struct stat st;

	(void)d;
	if (stat(path, &st) < 0)
		return 0;
	return st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
}

struct disk *disk_real(void)
{
	static struct disk real = {
		.read = real_read,
		.write_atomic = real_write_atomic,
		.mkdirs = real_mkdirs,
		.list = real_list,
		.remove = real_remove,
		.exists = real_exists,
		.write_lazy = real_write_lazy,
		.rename = real_rename,
		.sync_all = real_sync_all,
		.log_open = real_log_open,
		.log_write = real_log_write,
		.log_sync = real_log_sync,
		.log_close = real_log_close,
		.lock = real_lock,
		.unlock = real_unlock,
		.written_ns = real_written_ns,
	};

	return &real;
}
