/* SPDX-License-Identifier: BSD-2-Clause */
/* The stream that is a pipe.  What has been written is on its way, and who
 * reads it says by its own status whether it has taken all. */
#include "noded/impexp/impexp_stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "noded/impexp/impexp.h"

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

static int fail(const struct impexp_pipe *p, const char *what,
		struct error *err)
{
	return error_set(err, ERR_SYSTEM, NULL, "%s: can't %s: %s", p->path,
			 what, strerror(errno));
}

static int put(struct impexp_stream *s, const void *data, size_t n,
	       struct error *err)
{
	const struct impexp_pipe *p =
		container_of(s, struct impexp_pipe, stream);

	return impexp_write_all(p->fd, data, n) < 0
		       ? fail(p, "pass on its data", err)
		       : 0;
}

static ssize_t get(struct impexp_stream *s, void *data, size_t n,
		   struct error *err)
{
	const struct impexp_pipe *p =
		container_of(s, struct impexp_pipe, stream);
	ssize_t got;

	do {
		got = read(p->fd, data, n);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? fail(p, "take data", err) : got;
}

static int end(struct impexp_stream *s, struct error *err)
{
	(void)s;
	(void)err;
	return 0;
}

void impexp_stream_of_pipe(struct impexp_pipe *p, int fd, const char *path)
{
	*p = (struct impexp_pipe){
		.stream = {.put = put, .get = get, .end = end},
		.fd = fd,
		.path = path,
	};
}
