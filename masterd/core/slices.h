/* SPDX-License-Identifier: BSD-2-Clause */
/* Long work for clients, in slices, so that it holds up nobody for long.
 *
 * Who computes counts steps, each of about half a microsecond.  After
 * SLICE_STEPS of them it lets the loop and all other tasks run; and of all who
 * have used up a slice only one goes on at a time, the one that has done least
 * so far.  So a small request is answered at once however many large ones there
 * are.
 *
 * What is counted are steps, not time, so that tests can tell. */
#ifndef MASTERD_CORE_SLICES_H
#define MASTERD_CORE_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/task.h"

/* About a millisecond. */
#define SLICE_STEPS 2000

/* Of a master; zeroed is not good, see slices_init(). */
struct slices {
	struct list waiting; /* struct slice_work */
	bool taken;
	uint64_t longest; /* slice so far, in steps; for tests */
	uint64_t ended;	  /* slices that were used up; the same */
	uint64_t steps;	  /* of all work; the same */

	unsigned n_asking; /* of those who ask nodes (slices_ask) */
	struct cond asked;
};

struct slice_work {
	struct slices *slices; /* NULL: no slices, it works on */
	uint64_t steps;	       /* in all */

	/* Private. */
	uint64_t begun; /* steps at the begin of this slice */
	bool holds;
	struct list link;
	struct cond changed;
};

/* Nobody works in slices yet. */
void slices_init(struct slices *s);

/* The work of one request; slices may be NULL. */
void slice_begin(struct slice_work *w, struct slices *slices);

/* So many steps are done: when that makes a slice, wait for the next one.  On
 * the loop (outside of tasks) it only counts.  Returns whether it waited. */
WAITS bool slice_steps(struct slice_work *w, uint64_t n);

/* Before and after nodes are asked, which at most `max` do at once; s may be
 * NULL. */
WAITS void slices_ask(struct slices *s, unsigned max);
void slices_asked(struct slices *s);

/* Let others have the turn: before a wait for something else, and at the end.
 */
void slice_rest(struct slice_work *w);

#endif
