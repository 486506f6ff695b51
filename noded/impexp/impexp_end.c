/* SPDX-License-Identifier: BSD-2-Clause */
/* The end that reads or writes the disk, a device or a file (impexp_copy.c has
 * the loops). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "noded/impexp/impexp.h"
#include "noded/impexp/impexp_copy.h"
#include "noded/impexp/impexp_net.h"
#include "noded/impexp/impexp_stream.h"
#include "noded/impexp/lend.h"

#define EXPORT_MODE 0600

static int fail(struct error *err, const char *path, const char *what)
{
	return error_set(err, ERR_SYSTEM, NULL, "%s: can't %s: %s", path, what,
			 strerror(errno));
}

/* Names of volumes and other devices are links that udev has made. */
static bool is_device(const struct impexp_spec *spec)
{
	return spec->kind == IMPEXP_RAW &&
	       strncmp(spec->path, "/dev/", strlen("/dev/")) == 0;
}

static int open_end(const struct impexp_spec *spec, struct error *err)
{
	int flags = O_CLOEXEC | (is_device(spec) ? 0 : O_NOFOLLOW);
	int fd;

	if (!spec->import)
		flags |= O_RDONLY;
	else if (spec->kind == IMPEXP_FILE)
		flags |= O_RDWR | O_CREAT | O_EXCL;
	else
		flags |= O_RDWR;
	fd = open(spec->lent_at != NULL ? spec->lent_at : spec->path, flags,
		  EXPORT_MODE);
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

static int copy(const struct impexp_spec *spec, int disk,
		struct impexp_stream *stream, struct impexp_shared *s,
		struct error *err)
{
	struct impexp_copy copy = {
		.path = spec->path,
		.disk = disk,
		.stream = stream,
		.sparse = spec->sparse,
	};
	struct stat st;

	if (!spec->import)
		return impexp_copy_out(&copy, s, err);
	if (fstat(disk, &st) < 0)
		return fail(err, spec->path, "look at");
	copy.regular = S_ISREG(st.st_mode);
	copy.limit = room_of(spec, disk);
	return impexp_copy_in(&copy, s, err);
}

/* Through the pipe or, where there is none, with the peer itself. */
static int copy_opened(const struct impexp_spec *spec, int fd,
		       struct impexp_shared *s, bool *ret_net,
		       struct error *err)
{
	auto_close int disk = open_end(spec, err);
	struct impexp_pipe pipe;
	struct impexp_net *net;
	int rc;

	if (disk < 0)
		return -1;
	if (fd >= 0) {
		impexp_stream_of_pipe(&pipe, fd, spec->path);
		return copy(spec, disk, &pipe.stream, s, err);
	}
	net = impexp_net_meet(spec, s, err);
	*ret_net = net == NULL;
	if (net == NULL)
		return -1;
	rc = copy(spec, disk, impexp_net_stream(net), s, err);
	*ret_net = impexp_net_failed(net);
	impexp_net_drop(net);
	return rc;
}

int impexp_end_run(const struct impexp_spec *spec, int fd,
		   struct impexp_shared *s, bool *ret_net, struct error *err)
{
	struct lend lent = {0};
	struct error other;
	int rc;

	*ret_net = false;
	if (spec->lent_at != NULL &&
	    lend_begin(spec->path, spec->snapshot, spec->import, spec->lent_at,
		       &lent, err) < 0)
		return -1;
	rc = copy_opened(spec, fd, s, ret_net, err);
	if (lend_end(&lent, &other) < 0 && rc == 0) {
		*err = other;
		rc = -1;
	}
	return rc;
}
