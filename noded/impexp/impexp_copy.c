/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a disk as a stream, and back.
 *
 * Between two node daemons of ours parts that are zero are not sent: the stream
 * is a row of records, eight bytes of kind and length (big endian, the kind in
 * the first byte), and for data the bytes.  The last record says that it is the
 * end, so a stream that is cut is noticed.  To others all bytes go as they are;
 * holes of a file are not read in either case. */
#include "noded/impexp/impexp_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"

#define HEADER 8
#define LENGTH_BITS 56
enum { RECORD_DATA = 1, RECORD_ZERO, RECORD_END };

/* Written data is flushed in pieces of this size, so that a large flush at the
 * end does not hold up the node's other disks. */
#define PIECE ((off_t)16 * 1024 * 1024)

static int fail(const struct impexp_copy *c, const char *what,
		struct error *err)
{
	return error_set(err, ERR_SYSTEM, NULL, "%s: can't %s: %s", c->path,
			 what, strerror(errno));
}

static bool all_zero(const char *data, size_t n)
{
	return n == 0 || (data[0] == 0 && memcmp(data, data + 1, n - 1) == 0);
}

/* --- out --- */

static void fill_header(char *header, int kind, int64_t len)
{
	uint64_t value = ((uint64_t)kind << LENGTH_BITS) | (uint64_t)len;

	for (int i = 0; i < HEADER; i++)
		header[i] = (char)(value >> (8 * (HEADER - 1 - i)) & 0xff);
}

static int put_header(struct impexp_copy *c, int kind, int64_t len,
		      struct error *err)
{
	char header[HEADER];

	fill_header(header, kind, len);
	return c->stream->put(c->stream, header, HEADER, err);
}

/* Before the data there is room for a header. */
static int put_data(struct impexp_copy *c, char *data, size_t n,
		    struct error *err)
{
	if (!c->sparse)
		return c->stream->put(c->stream, data, n, err);
	fill_header(data - HEADER, RECORD_DATA, (int64_t)n);
	return c->stream->put(c->stream, data - HEADER, HEADER + n, err);
}

static int put_zeros(struct impexp_copy *c, int64_t n, struct error *err)
{
	auto_free char *zeros = NULL;

	if (c->sparse)
		return put_header(c, RECORD_ZERO, n, err);
	zeros = xalloc(IMPEXP_CHUNK);
	while (n > 0) {
		size_t part = n < IMPEXP_CHUNK ? (size_t)n : IMPEXP_CHUNK;

		if (c->stream->put(c->stream, zeros, part, err) < 0)
			return -1;
		n -= (int64_t)part;
	}
	return 0;
}

/* Where the next data begin and end; what cannot tell has data everywhere. */
static void find_data(int disk, off_t at, off_t size, off_t *ret_begin,
		      off_t *ret_end)
{
	off_t begin = lseek(disk, at, SEEK_DATA);
	off_t end;

	if (begin < 0)
		begin = errno == ENXIO ? size : at;
	end = begin < size ? lseek(disk, begin, SEEK_HOLE) : size;
	*ret_begin = begin < size ? begin : size;
	*ret_end = end > begin && end < size ? end : size;
}

/* One chunk of data, or fewer bytes before the end; 0: the disk has ended. */
static ssize_t copy_chunk(struct impexp_copy *c, char *data, off_t at,
			  off_t end, struct error *err)
{
	size_t want =
		end - at < IMPEXP_CHUNK ? (size_t)(end - at) : IMPEXP_CHUNK;
	ssize_t n;
	int rc;

	do {
		n = pread(c->disk, data, want, at);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail(c, "read", err);
	rc = c->sparse && all_zero(data, (size_t)n)
		     ? put_zeros(c, n, err)
		     : put_data(c, data, (size_t)n, err);
	return rc < 0 ? -1 : n;
}

static int copy_data(struct impexp_copy *c, off_t from, off_t end,
		     struct impexp_shared *s, struct error *err)
{
	auto_free char *data = xalloc(HEADER + IMPEXP_CHUNK);

	while (from < end) {
		ssize_t n = copy_chunk(c, data + HEADER, from, end, err);

		if (n < 0)
			return -1;
		if (n == 0)
			return error_set(err, ERR_SYSTEM, NULL,
					 "%s: it ended before its size",
					 c->path);
		from += n;
		s->bytes = from;
	}
	return 0;
}

int impexp_copy_out(struct impexp_copy *c, struct impexp_shared *s,
		    struct error *err)
{
	off_t size = lseek(c->disk, 0, SEEK_END);
	off_t at = 0, begin, end;

	if (size < 0)
		return fail(c, "tell its size", err);
	s->total = size;
	while (at < size) {
		find_data(c->disk, at, size, &begin, &end);
		if (begin > at && put_zeros(c, begin - at, err) < 0)
			return -1;
		s->bytes = begin;
		if (copy_data(c, begin, end, s, err) < 0)
			return -1;
		at = end;
	}
	if (c->sparse && put_header(c, RECORD_END, 0, err) < 0)
		return -1;
	return c->stream->end(c->stream, err);
}

/* --- in --- */

/* All n bytes, or fewer before the end; -1 with err. */
static ssize_t take(struct impexp_copy *c, void *data, size_t n,
		    struct error *err)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = c->stream->get(c->stream, (char *)data + have,
					     n - have, err);

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* What comes before a pipe has ended, as the supervisor (main.c) sees by the
 * text. */
static int take_all(struct impexp_copy *c, void *data, size_t n,
		    struct error *err)
{
	ssize_t have = take(c, data, n, err);

	if (have < 0 || (size_t)have == n)
		return have < 0 ? -1 : 0;
	return error_set(err, ERR_SYSTEM, NULL,
			 "%s: the data ended too early (%s)", c->path,
			 strerror(EPIPE));
}

static int write_at(int disk, const char *data, size_t n, off_t at)
{
	while (n > 0) {
		ssize_t done = pwrite(disk, data, n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		data += done;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Zeros from there on: a hole in a file; a device may be able to do it itself,
 * and what was on it before must not stay. */
static int zero_at(const struct impexp_copy *c, off_t at, int64_t n)
{
	uint64_t range[2] = {(uint64_t)at, (uint64_t)n};
	auto_free char *zeros = NULL;

	if (c->regular ? fallocate(c->disk,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   at, n) == 0
		       : ioctl(c->disk, BLKZEROOUT, range) == 0)
		return 0;
	zeros = xalloc(IMPEXP_CHUNK);
	while (n > 0) {
		size_t part = n < IMPEXP_CHUNK ? (size_t)n : IMPEXP_CHUNK;

		if (write_at(c->disk, zeros, part, at) < 0)
			return -1;
		at += (off_t)part;
		n -= (int64_t)part;
	}
	return 0;
}

/* After n more bytes: start to flush a piece that is complete now, and wait for
 * the one before it. */
static void write_out(int disk, off_t before, int64_t n)
{
	off_t piece = before / PIECE * PIECE;

	if ((before + n) / PIECE == before / PIECE)
		return;
	sync_file_range(disk, piece, PIECE, SYNC_FILE_RANGE_WRITE);
	if (piece > 0)
		sync_file_range(disk, piece - PIECE, PIECE,
				SYNC_FILE_RANGE_WAIT_BEFORE |
					SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER);
}

/* The next record: its kind and length; -1 with err. */
static int get_header(struct impexp_copy *c, int64_t *ret_len,
		      struct error *err)
{
	unsigned char header[HEADER];
	uint64_t value = 0;
	int kind;

	if (take_all(c, header, HEADER, err) < 0)
		return -1;
	for (int i = 0; i < HEADER; i++)
		value = value << 8 | header[i];
	kind = (int)(value >> LENGTH_BITS);
	*ret_len = (int64_t)(value & ((UINT64_C(1) << LENGTH_BITS) - 1));
	if (kind == RECORD_END || kind == RECORD_ZERO ||
	    (kind == RECORD_DATA && *ret_len <= IMPEXP_CHUNK))
		return kind;
	return error_set(err, ERR_SYSTEM, NULL,
			 "%s: what was sent is no disk's data", c->path);
}

static int check_room(const struct impexp_copy *c, off_t at, int64_t n,
		      struct error *err)
{
	if (c->limit < 0 || n <= c->limit - at)
		return 0;
	return error_set(err, ERR_SYSTEM, NULL,
			 "%s: more data than the disk of %jd bytes holds",
			 c->path, (intmax_t)c->limit);
}

/* A record's data, at that place. */
static int take_record(struct impexp_copy *c, int kind, int64_t n, off_t at,
		       char *data, struct error *err)
{
	if (check_room(c, at, n, err) < 0)
		return -1;
	if (kind == RECORD_ZERO)
		return zero_at(c, at, n) < 0 ? fail(c, "write", err) : 0;
	if (take_all(c, data, (size_t)n, err) < 0)
		return -1;
	if (write_at(c->disk, data, (size_t)n, at) < 0)
		return fail(c, "write", err);
	return 0;
}

static int take_records(struct impexp_copy *c, struct impexp_shared *s,
			off_t *ret_end, struct error *err)
{
	auto_free char *data = xalloc(IMPEXP_CHUNK);
	off_t at = 0;

	for (;;) {
		int64_t n = 0;
		int kind = get_header(c, &n, err);

		if (kind < 0)
			return -1;
		if (kind == RECORD_END)
			break;
		if (take_record(c, kind, n, at, data, err) < 0)
			return -1;
		if (kind == RECORD_DATA)
			write_out(c->disk, at, n);
		at += n;
		s->bytes = at;
	}
	*ret_end = at;
	return 0;
}

static int take_bytes(struct impexp_copy *c, struct impexp_shared *s,
		      off_t *ret_end, struct error *err)
{
	auto_free char *data = xalloc(IMPEXP_CHUNK);
	off_t at = 0;
	ssize_t n;

	while ((n = take(c, data, IMPEXP_CHUNK, err)) > 0) {
		bool zero = all_zero(data, (size_t)n);

		if (check_room(c, at, n, err) < 0)
			return -1;
		if ((zero ? zero_at(c, at, n)
			  : write_at(c->disk, data, (size_t)n, at)) < 0)
			return fail(c, "write", err);
		write_out(c->disk, at, n);
		at += n;
		s->bytes = at;
	}
	*ret_end = at;
	return n < 0 ? -1 : 0;
}

int impexp_copy_in(struct impexp_copy *c, struct impexp_shared *s,
		   struct error *err)
{
	off_t end = 0;
	int rc = c->sparse ? take_records(c, s, &end, err)
			   : take_bytes(c, s, &end, err);

	if (rc < 0 || c->stream->end(c->stream, err) < 0)
		return -1;
	if (c->limit < 0 && c->regular && ftruncate(c->disk, end) < 0)
		return fail(c, "set the size", err);
	return fsync(c->disk) < 0 ? fail(c, "write to the disk", err) : 0;
}
