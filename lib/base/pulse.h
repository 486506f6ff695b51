/* SPDX-License-Identifier: BSD-2-Clause */
/* A number in shared memory that one process raises whenever what it would tell
 * others changes.  Who has read the number before he asked, and finds it the
 * same later, knows that the answer still holds, without asking again and
 * without a system call.
 *
 * The file outlives the process: the next one goes on with its number. */
#ifndef BASE_PULSE_H
#define BASE_PULSE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* This process raises the number in the file, which is made if need be. */
int pulse_begin(const char *file, struct error *err);
/* Something has changed; nothing without pulse_begin(). */
void pulse_beat(void);

/* Zeroed: nothing is known. */
struct pulse_view {
	const uint64_t *word;
	dev_t dev;
	ino_t ino;
};

/* Look at this file, also if there is another one by now, or none. */
void pulse_look(struct pulse_view *v, const char *file);
void pulse_view_done(struct pulse_view *v);
/* The number; 0: it is not known. */
uint64_t pulse_now(const struct pulse_view *v);

#endif
