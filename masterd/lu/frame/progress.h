/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a long step of an opcode is, with the time left: entries of the type
 * "progress" in the job's log.  A terminal draws one over the other, all else
 * shows them as any entry; the text is all there is in them. */
#ifndef MASTERD_LU_FRAME_PROGRESS_H
#define MASTERD_LU_FRAME_PROGRESS_H

#include <stdint.h>

struct lu;

/* Short steps say nothing, long ones as often as this, */
#define PROGRESS_EVERY_US 2000000
/* and each whole per cent once, so that no log gets more than 100. */

struct progress {
	/* Private. */
	const char *what;
	int64_t begin_us, said_us;
	int percent;
};

/* what: "memory transfer"; a literal. */
void progress_begin(struct progress *p, const char *what);

/* done: from 0 to 1.  The time left comes from the speed so far. */
void progress_tell(struct progress *p, struct lu *lu, double done);

#endif
