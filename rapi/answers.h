/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers to GET that still hold, so that who asks the same again need not wait
 * for the master.  One holds while the master's pulse (lib/base/pulse.h) is the
 * one of before it was asked: neither the configuration nor a job has changed
 * since.  What nodes tell may change without the master's knowing; such an
 * answer holds for ANSWERS_LIVE_MS at most. */
#ifndef RAPI_ANSWERS_H
#define RAPI_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/pulse.h"
#include "lib/base/table.h"

struct route;

#define ANSWERS_LIVE_MS 100
/* Longer ones, and more than these, are not kept. */
#define ANSWERS_BYTES_MAX (8u * 1024 * 1024)
#define ANSWERS_ONE_MAX (64u * 1024)

struct answer {
	const struct route *route;
	uint64_t pulse;
	int64_t until_us; /* clock_mono_us(); 0: by the pulse alone */
	char *text;
	size_t len;
	const char *type;
	char *headers; /* lines "Name: value" */
};

/* Zeroed is empty. */
struct answers {
	struct pulse_view pulse;
	struct table by_target;
	size_t bytes;
};

/* Look for the master's pulse, and forget all answers; now and then. */
void answers_look(struct answers *a, const char *pulse_file);
void answers_done(struct answers *a);

/* Keep a copy of this answer of a GET with the status 200, if answers of this
 * kind can be; pulse: what pulse_now() was before the master was asked. */
void answers_keep(struct answers *a, const char *target,
		  const struct answer *answer, uint64_t pulse, int64_t now_us);

/* The one that was kept, if it holds now; until the next call. */
const struct answer *answers_find(const struct answers *a, const char *target,
				  int64_t now_us);

#endif
