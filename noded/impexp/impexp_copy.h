/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a disk, from or into a stream. */
#ifndef NODED_IMPEXP_COPY_H
#define NODED_IMPEXP_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "noded/impexp/impexp.h"
#include "noded/impexp/impexp_stream.h"

struct impexp_copy {
	const char *path; /* for messages */
	int disk;
	struct impexp_stream *stream;
	bool sparse;  /* the stream is one of records */
	bool regular; /* the disk is a file */
	off_t limit;  /* it must not grow beyond it; -1: none */
};

/* Copy all bytes of the disk into the stream, and end it; counts them, and
 * tells how many there are. */
int impexp_copy_out(struct impexp_copy *c, struct impexp_shared *s,
		    struct error *err);

/* Copy the stream onto the disk, up to its end; then all is on the disk. */
int impexp_copy_in(struct impexp_copy *c, struct impexp_shared *s,
		   struct error *err);

#endif
