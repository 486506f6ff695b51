/* SPDX-License-Identifier: BSD-2-Clause */
/* A line for each request, in the common log format that other programs
 * read. */
#ifndef RAPI_ACCESS_LOG_H
#define RAPI_ACCESS_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct access_log {
	int fd;
};

struct access_line {
	const char *address;
	/* NULL: not known */
	const char *user, *method, *target, *version;
	int status;
	size_t bytes; /* of the answer's body */
};

/* Append to this file.  An open log is closed first, so that this also follows
 * a rotation. */
int access_log_open(struct access_log *log, const char *file,
		    struct error *err);
void access_log_close(struct access_log *log);

void access_log_write(const struct access_log *log,
		      const struct access_line *line);

/* The text of a line without its end, to be freed; time in seconds since
 * 1970. */
char *access_log_text(const struct access_line *line, int64_t time);

#endif
