/* SPDX-License-Identifier: BSD-2-Clause */
/* The end that reads or writes the disk, a device or a file.  Zeros are left
 * out of files, so that a sparse disk stays sparse. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "noded/impexp/impexp.h"

#define EXPORT_MODE 0600
/* Written data is flushed in pieces of this size, so that a large flush at the
 * end does not hold up the node's other disks. */
#define PIECE ((off_t)16 * 1024 * 1024)

static int fail(struct error *err, const char *path, const char *what)
{
	return error_set(err, ERR_SYSTEM, NULL, "%s: can't %s: %s", path, what,
			 strerror(errno));
}

int impexp_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Fill a chunk, as a pipe gives less at once; 0 at the end. */
static ssize_t read_chunk(int fd, char *data)
{
	size_t have = 0;

	while (have < IMPEXP_CHUNK) {
		ssize_t n = read(fd, data + have, IMPEXP_CHUNK - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static int run_out(const char *path, int disk, int fd, struct impexp_shared *s,
		   struct error *err)
{
	auto_free char *data = xalloc(IMPEXP_CHUNK);
	off_t size = lseek(disk, 0, SEEK_END);
	ssize_t n;

	if (size < 0 || lseek(disk, 0, SEEK_SET) < 0)
		return fail(err, path, "tell its size");
	s->total = size;
	while ((n = read_chunk(disk, data)) > 0) {
		if (impexp_write_all(fd, data, (size_t)n) < 0)
			return fail(err, path, "pass on its data");
		s->bytes += n;
	}
	return n < 0 ? fail(err, path, "read") : 0;
}

static bool all_zero(const char *data, size_t n)
{
	return n == 0 || (data[0] == 0 && memcmp(data, data + 1, n - 1) == 0);
}

/* Write zeros from offset on, without allocating space if possible. */
static int put_zeros(int disk, const char *zeros, size_t n, off_t offset)
{
	if (fallocate(disk, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
		      (off_t)n) == 0 &&
	    lseek(disk, offset + (off_t)n, SEEK_SET) >= 0)
		return 0;
	return impexp_write_all(disk, zeros, n);
}

static int put(const char *path, int disk, bool sparse, const char *data,
	       size_t n, off_t offset, struct error *err)
{
	int rc = sparse && all_zero(data, n) ? put_zeros(disk, data, n, offset)
					     : impexp_write_all(disk, data, n);

	return rc < 0 ? fail(err, path, "write") : 0;
}

/* After n more bytes: start to flush a piece that is complete now, and wait for
 * the one before it. */
static void write_out(int disk, off_t before, size_t n)
{
	off_t piece = before / PIECE * PIECE;

	if ((before + (off_t)n) / PIECE == before / PIECE)
		return;
	sync_file_range(disk, piece, PIECE, SYNC_FILE_RANGE_WRITE);
	if (piece > 0)
		sync_file_range(disk, piece - PIECE, PIECE,
				SYNC_FILE_RANGE_WAIT_BEFORE |
					SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER);
}

/* limit: a disk must not grow beyond it; -1: none. */
static int run_in(const char *path, int disk, bool sparse, off_t limit, int fd,
		  struct impexp_shared *s, struct error *err)
{
	auto_free char *data = xalloc(IMPEXP_CHUNK);
	off_t offset = 0;
	ssize_t n;

	while ((n = read_chunk(fd, data)) > 0) {
		if (limit >= 0 && offset + n > limit)
			return error_set(err, ERR_SYSTEM, NULL,
					 "%s: more data than the disk of %jd "
					 "bytes holds",
					 path, (intmax_t)limit);
		if (put(path, disk, sparse, data, (size_t)n, offset, err) < 0)
			return -1;
		write_out(disk, offset, (size_t)n);
		offset += n;
		s->bytes = offset;
	}
	if (n < 0)
		return fail(err, path, "take data");
	if (limit < 0 && sparse && ftruncate(disk, offset) < 0)
		return fail(err, path, "set the size");
	return fsync(disk) < 0 ? fail(err, path, "write to the disk") : 0;
}

static int open_end(const struct impexp_spec *spec, struct error *err)
{
	int flags = O_CLOEXEC | O_NOFOLLOW;
	int fd;

	if (!spec->import)
		flags |= O_RDONLY;
	else if (spec->kind == IMPEXP_FILE)
		flags |= O_RDWR | O_CREAT | O_EXCL;
	else
		flags |= O_RDWR;
	fd = open(spec->path, flags, EXPORT_MODE);
	return fd < 0 ? fail(err, spec->path, "open") : fd;
}

/* The size of the disk; -1: no limit. */
static off_t room_of(const struct impexp_spec *spec, int disk)
{
	off_t size;

	if (spec->kind != IMPEXP_RAW)
		return -1;
	size = lseek(disk, 0, SEEK_END);
	if (size >= 0 && lseek(disk, 0, SEEK_SET) < 0)
		size = -1;
	return size >= 0 && spec->limit > 0 && spec->limit < size ? spec->limit
								  : size;
}

int impexp_end_run(const struct impexp_spec *spec, int fd,
		   struct impexp_shared *s, struct error *err)
{
	auto_close int disk = open_end(spec, err);
	struct stat st;

	if (disk < 0)
		return -1;
	if (!spec->import)
		return run_out(spec->path, disk, fd, s, err);
	if (fstat(disk, &st) < 0)
		return fail(err, spec->path, "look at");
	return run_in(spec->path, disk, S_ISREG(st.st_mode),
		      room_of(spec, disk), fd, s, err);
}
