/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls with errors as sentences.  Regular files alone are opened
 * without following a link or waiting for a pipe.  A pid file is locked while
 * its process lives, so fs_read_pid() tries the lock before it believes the
 * number. */
#include "lib/base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"

static int fail(struct error *err, const char *what, const char *path)
{
	bool full = errno == ENOSPC || errno == EDQUOT;

	return error_set(err, ERR_SYSTEM, full ? ECODE_NOSPACE : ECODE_ENVIRON,
			 "Cannot %s %s: %s", what, path, strerror(errno));
}

static int not_a_file(const char *path, struct error *err)
{
	return error_set(err, ERR_SYSTEM, ECODE_NOFILE,
			 "%s is no regular file (but a link, a pipe, a folder "
			 "or the like)",
			 path);
}

int fs_open_file(const char *path, int flags, mode_t mode, struct error *err)
{
	/* Without O_NONBLOCK the open of a pipe would wait for somebody to
	 * write to it. */
	auto_close int fd =
		open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO || errno == EISDIR
			       ? not_a_file(path, err)
			       : fail(err, "open", path);
	if (fstat(fd, &st) < 0)
		return fail(err, "look at", path);
	if (!S_ISREG(st.st_mode))
		return not_a_file(path, err);
	return ({
		int file = fd;
		fd = -1;
		file;
	});
}

/* Read from fd up to its end; fd stays open. */
static char *read_all(int fd, const char *path, size_t max, size_t *ret_len,
		      struct error *err)
{
	auto_buf struct buf b = {0};
	char chunk[16384];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail(err, "read", path);
			return NULL;
		}
		if (b.len + (size_t)n > max) {
			error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				  "%s has more than %zu bytes", path, max);
			return NULL;
		}
		buf_add(&b, chunk, (size_t)n);
	}
	if (ret_len != NULL)
		*ret_len = b.len;
	return buf_steal(&b);
}

char *fs_read(const char *path, size_t max, size_t *ret_len, struct error *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return read_all(fd, path, max, ret_len, err);
	fail(err, "open", path);
	return NULL;
}

char *fs_read_file(const char *path, size_t max, size_t *ret_len,
		   struct error *err)
{
	auto_close int fd = fs_open_file(path, O_RDONLY, 0, err);

	return fd < 0 ? NULL : read_all(fd, path, max, ret_len, err);
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int sync_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder =
		slash == NULL
			? xstrdup(".")
			: xstrndup(path,
				   slash == path ? 1 : (size_t)(slash - path));
	auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

static int give(int fd, const struct fs_owner *owner)
{
	return owner == NULL ? 0 : fchown(fd, owner->uid, owner->gid);
}

int fs_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
		    struct error *err)
{
	return fs_write_atomic_as(path, data, len, mode, NULL, err);
}

int fs_write_atomic_as(const char *path, const void *data, size_t len,
		       mode_t mode, const struct fs_owner *owner,
		       struct error *err)
{
	auto_free char *temporary = xprintf("%s.new.XXXXXX", path);
	auto_close int fd = mkostemp(temporary, O_CLOEXEC);

	if (fd < 0)
		return fail(err, "create a file beside", path);
	if (give(fd, owner) < 0 || fchmod(fd, mode) < 0 ||
	    write_all(fd, data, len) < 0 || fsync(fd) < 0 ||
	    rename(temporary, path) < 0) {
		fail(err, "write", path);
		unlink(temporary);
		return -1;
	}
	if (sync_folder_of(path) == 0)
		return 0;
	fail(err, "sync the folder of", path);
	err->ecode = ECODE_ENVIRON; /* the new content may be there already */
	return -1;
}

int fs_mkdirs(const char *path, mode_t mode, struct error *err)
{
	auto_free char *copy = xstrdup(path);

	for (char *p = copy + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return fail(err, "make the folder", copy);
		*p = c;
		if (c == '\0')
			break;
	}
	if (!fs_is_dir(path)) {
		errno = ENOTDIR;
		return fail(err, "make the folder", path);
	}
	return 0;
}

/* The folder that contains path; of "/" it is "/" itself. */
static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL)
		strcpy(path, ".");
	else
		slash[slash == path] = '\0';
}

static bool is_top(const char *path)
{
	return strcmp(path, "/") == 0 || strcmp(path, ".") == 0;
}

char *fs_mount_point(const char *path)
{
	auto_free char *at = xstrdup(path);
	auto_free char *above = xstrdup(path);
	struct stat here = {0}, there;

	while (stat(at, &here) < 0 && !is_top(at))
		go_up(at);
	while (!is_top(at)) {
		strcpy(above, at);
		go_up(above);
		if (stat(above, &there) < 0 || there.st_dev != here.st_dev)
			break;
		strcpy(at, above);
	}
	return steal(&at);
}

int fs_check_writable(const char *folder, struct error *err)
{
	auto_free char *mount = NULL;

	if (access(folder, W_OK | X_OK) == 0)
		return 0;
	if (errno != EROFS)
		return fail(err, "write into", folder);
	mount = fs_mount_point(folder);
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "The file system %s can only be read, but %s is in "
			 "it and must be written to: mount it for writing "
			 "(mount -o remount,rw %s; the kernel does that to a "
			 "disk with errors, see dmesg)",
			 mount, folder, mount);
}

bool fs_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool fs_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool fs_is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

/* The lowest number that is free is given. */
void fs_hold_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

char *fs_own_folder(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	return xstrndup(exe, (size_t)(strrchr(exe, '/') - exe));
}

int fs_list(const char *path, struct strv *ret_names, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (dir == NULL)
		return fail(err, "list", path);
	while ((entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			strv_add(ret_names, entry->d_name);
	closedir(dir);
	strv_sort(ret_names);
	return 0;
}

int fs_remove(const char *path, struct error *err)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return fail(err, "remove", path);
	return 0;
}

/* A mount below path is not found by comparing the device numbers of files: on
 * an overlay files and folders have different ones.  fts knows this; nftw does
 * not. */
int fs_remove_tree(const char *path, struct error *err)
{
	char *const roots[] = {mem_unconst(path), NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *entry;
	int rc = 0;

	if (fts == NULL)
		return fail(err, "read", path);
	while (rc == 0 && (entry = fts_read(fts)) != NULL) {
		if (entry->fts_info == FTS_D)
			continue; /* shown again after its contents */
		if (remove(entry->fts_path) < 0 && errno != ENOENT)
			rc = fail(err, "remove", entry->fts_path);
	}
	fts_close(fts);
	return rc;
}

int fs_lock(const char *path, struct error *err)
{
	auto_close int fd = fs_open_file(path, O_RDWR | O_CREAT, 0640, err);

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return fail(err, "lock", path);
		return error_set(err, ERR_SYSTEM, ECODE_STATE,
				 "%s is locked by another process", path);
	}
	return ({
		int held = fd;
		fd = -1;
		held;
	});
}

int fs_write_pid(const char *path, struct error *err)
{
	int fd = fs_lock(path, err);
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (fd < 0)
		return -1;
	if (ftruncate(fd, 0) < 0 || write_all(fd, text, (size_t)n) < 0) {
		fail(err, "write", path);
		close(fd);
		return -1;
	}
	return fd;
}

pid_t fs_read_pid(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	int64_t pid;

	if (fd < 0)
		return 0;
	/* Shared, so that two who look do not take each other for the daemon.
	 * Closing gives the lock back. */
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return str_to_int64(text, &pid) && pid > 1 ? (pid_t)pid : 0;
}
