/* SPDX-License-Identifier: BSD-2-Clause */
/* Long work for clients is done in slices, so that it holds up nobody.
 *
 * The code that computes counts steps; a step takes about half a microsecond.
 * After SLICE_STEPS of them it lets the loop and all other tasks run.  Of all
 * works that have used up a slice only one goes on at a time, the one with the
 * fewest steps so far.  So a small request is answered at once, even among many
 * large ones.
 *
 * Steps are counted in place of time, so that tests give the same result each
 * time. */
#ifndef MASTERD_CORE_SLICES_H
#define MASTERD_CORE_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/task.h"

/* A slice takes about a millisecond. */
#define SLICE_STEPS 2000

/* The state of all work of a master; zeroed is not valid, see slices_init(). */
struct slices {
	struct list waiting; /* struct slice_work */
	bool taken;
	uint64_t longest; /* longest slice, in steps; for tests */
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

/* Count so many steps.  When they complete a slice, wait for the next one;
 * outside of tasks (on the loop) never.  Returns whether it has waited. */
WAITS bool slice_steps(struct slice_work *w, uint64_t n);

/* Begin and end of asking nodes, which at most `max` works do at a time; s may
 * be NULL. */
WAITS void slices_ask(struct slices *s, unsigned max);
void slices_asked(struct slices *s);

/* Give up the turn: before a wait for something else, and at the end. */
void slice_rest(struct slice_work *w);

#endif
