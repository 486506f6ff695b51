/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of a disk's bytes between its end and the peer: a pipe to the next
 * process (below) or, where nothing stands between them, the connection itself
 * (impexp_net.h). */
#ifndef NODED_IMPEXP_STREAM_H
#define NODED_IMPEXP_STREAM_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/error.h"

struct impexp_stream {
	/* All of it, or -1 with err. */
	int (*put)(struct impexp_stream *s, const void *data, size_t n,
		   struct error *err);
	/* At most n bytes; 0 at the end, -1 with err. */
	ssize_t (*get)(struct impexp_stream *s, void *data, size_t n,
		       struct error *err);
	/* No more bytes are to come: who reads makes sure of it, who writes
	 * says so, and waits until they are taken. */
	int (*end)(struct impexp_stream *s, struct error *err);
};

struct impexp_pipe {
	struct impexp_stream stream;
	int fd;		  /* not owned */
	const char *path; /* of the disk, for messages */
};

/* Its end is that of the process. */
void impexp_stream_of_pipe(struct impexp_pipe *p, int fd, const char *path);

#endif
