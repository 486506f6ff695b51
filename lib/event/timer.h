/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers: one callback at a deadline of clock_mono_us().  Real time runs on one
 * uv timer; in the simulation timers_fire_one() fires what is due. */
#ifndef EVENT_TIMER_H
#define EVENT_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/list.h"

struct timer {
	void (*fired)(struct timer *t); /* set before timer_start */

	/* Private to timer.c. */
	int64_t deadline_us;
	uint64_t order; /* of equal deadlines the first fires first */
	size_t slot;	/* 1 + its place in the heap; 0: not running */
	void *owner;	/* task_owner() when started, set again when it fires */
};

/* Call t->fired(t) from the loop at the deadline, once.  A running timer is
 * moved.  *t may be freed after it fired or after timer_stop(). */
void timer_start(struct timer *t, int64_t deadline_us);
void timer_stop(struct timer *t); /* idempotent; zeroed timers too */
static inline bool timer_running(const struct timer *t)
{
	return t->slot != 0;
}

/* Called by tasks_init() and tasks_close() only. */
struct uv_loop_s;
void timers_init(struct uv_loop_s *loop);
void timers_close(void);

/* Simulation: from now on deadlines belong to the virtual clock that
 * clock_replace() was given; timers fire only by timers_fire_one(). */
void timers_set_simulated(bool simulated);
/* Stop all timers that were started for owner (see task_owner()). */
void timers_kill(void *owner);
/* The timers of owner do not fire until they are thawed; then those whose
 * deadline has passed do. */
void timers_freeze(void *owner);
void timers_thaw(void *owner);
/* The earliest deadline; -1: there is no timer. */
int64_t timers_next(void);
/* Fire one timer whose deadline is <= now (clock_mono_us); false if none. */
bool timers_fire_one(void);

#endif
