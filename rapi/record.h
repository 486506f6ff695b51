/* SPDX-License-Identifier: BSD-2-Clause */
/* What a virtual cluster's remote API does for those who test their programs
 * with it: it thinks before each answer as a busy one does, and notes requests
 * and answers, a line of JSON each:
 *   {"time", "ms", "address", "user", "method", "target", "headers", "body",
 *    "status", "answer_headers", "answer"}
 * Bodies are JSON values, texts where they are none, and null where there are
 * none.  No secret gets there: neither who says so (Authorization, cookies) nor
 * members and arguments that are called so. */
#ifndef RAPI_RECORD_H
#define RAPI_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct https_request;
struct paths;

struct record {
	int fd;		     /* -1: nothing is noted */
	unsigned latency_ms; /* 0: answers come at once */
};

struct record_entry {
	const char *address, *user; /* user: NULL, not known */
	const char *method, *target;
	const struct https_request *http; /* NULL: it was refused */
	int64_t begin_us;		  /* clock_mono_us() */
	int status;
	const char *headers; /* of the answer: lines "Name: value"; NULL */
	const char *answer;
};

/* Read what the node of a virtual cluster is told; an open file is closed
 * first.  On a host nothing is noted. */
int record_open(struct record *r, const struct paths *p, struct error *err);
void record_close(struct record *r);

void record_write(const struct record *r, const struct record_entry *e);

#endif
