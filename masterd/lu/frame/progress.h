/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a long step of an opcode is, with the time left: entries of the type
 * "progress" in the job's log.  A terminal shows only the last one; other
 * output shows each as an entry.  The entry has no more than the text. */
#ifndef MASTERD_LU_FRAME_PROGRESS_H
#define MASTERD_LU_FRAME_PROGRESS_H

#include <stdint.h>

struct lu;

/* Steps that end before this get no entry, longer ones an entry this often, */
#define PROGRESS_EVERY_US 2000000
/* and at most one for each per cent, so that a log gets at most 100. */

struct progress {
	/* Private. */
	const char *what;
	int64_t begin_us, said_us;
	int percent;
};

/* what: "memory transfer"; a literal. */
void progress_begin(struct progress *p, const char *what);

/* done: from 0 to 1.  The time left is computed from the average speed so
 * far. */
void progress_tell(struct progress *p, struct lu *lu, double done);

#endif
