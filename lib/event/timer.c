/* SPDX-License-Identifier: BSD-2-Clause */
/* A binary heap of timers over one uv timer.  When a deadline has passed
 * already, an idle handle is used: libuv would never leave a timer of 0 ms that
 * its own callback arms again. */
#include "lib/event/timer.h"

#include <assert.h>
#include <stdlib.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

/* timers_freeze() adds this to a deadline, which then never comes. */
#define FROZEN_US (INT64_C(1) << 60)

static struct {
	uv_timer_t uv;
	uv_idle_t idle;
	struct timer **heap;
	size_t n, cap;
	uint64_t started;
	bool simulated, open;
} timers;

static bool before(const struct timer *a, const struct timer *b)
{
	if (a->deadline_us != b->deadline_us)
		return a->deadline_us < b->deadline_us;
	return a->order < b->order;
}

static void put(size_t i, struct timer *t)
{
	timers.heap[i] = t;
	t->slot = i + 1;
}

static void sift_up(size_t i, struct timer *t)
{
	while (i > 0 && before(t, timers.heap[(i - 1) / 2])) {
		put(i, timers.heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(i, t);
}

static void sift_down(size_t i, struct timer *t)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= timers.n)
			break;
		if (child + 1 < timers.n &&
		    before(timers.heap[child + 1], timers.heap[child]))
			child++;
		if (!before(timers.heap[child], t))
			break;
		put(i, timers.heap[child]);
		i = child;
	}
	put(i, t);
}

static void arm(void);

static void fire_due(void)
{
	/* Timers that a callback starts now fire in the next round at the
	 * earliest, so that no chain of timers can keep I/O from running. */
	uint64_t limit = timers.started;

	while (timers.n > 0 && timers.heap[0]->order <= limit &&
	       timers_fire_one())
		;
	arm();
}

static void on_timer(uv_timer_t *uv)
{
	(void)uv;
	fire_due();
}

static void on_idle(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	fire_due();
}

static void arm(void)
{
	int64_t left;

	if (timers.simulated || !timers.open)
		return;
	if (timers.n == 0) {
		uv_timer_stop(&timers.uv);
		uv_idle_stop(&timers.idle);
		return;
	}
	left = timers.heap[0]->deadline_us - clock_mono_us();
	if (left <= 0) {
		uv_idle_start(&timers.idle, on_idle);
		return;
	}
	uv_update_time(timers.uv.loop);
	uv_timer_start(&timers.uv, on_timer, (uint64_t)(left + 999) / 1000, 0);
}

void timer_start(struct timer *t, int64_t deadline_us)
{
	timer_stop(t);
	t->deadline_us = deadline_us;
	t->order = ++timers.started;
	t->owner = task_owner();
	if (timers.n == timers.cap) {
		timers.cap = timers.cap == 0 ? 64 : timers.cap * 2;
		timers.heap = xrealloc(timers.heap,
				       timers.cap * sizeof(*timers.heap));
	}
	sift_up(timers.n++, t);
	if (timers.heap[0] == t)
		arm();
}

void timer_stop(struct timer *t)
{
	size_t i = t->slot - 1;
	struct timer *last;

	if (t->slot == 0)
		return;
	assert(timers.heap[i] == t);
	t->slot = 0;
	last = timers.heap[--timers.n];
	if (last == t)
		return;
	if (i > 0 && before(last, timers.heap[(i - 1) / 2]))
		sift_up(i, last);
	else
		sift_down(i, last);
}

void timers_init(struct uv_loop_s *loop)
{
	uv_timer_init(loop, &timers.uv);
	uv_idle_init(loop, &timers.idle);
	timers.open = true;
}

void timers_close(void)
{
	timers.open = false;
	uv_close((uv_handle_t *)&timers.uv, NULL);
	uv_close((uv_handle_t *)&timers.idle, NULL);
	free(timers.heap);
	timers.heap = NULL;
	timers.n = timers.cap = 0;
}

void timers_set_simulated(bool simulated)
{
	timers.simulated = simulated;
}

void timers_kill(void *owner)
{
	/* From the end of the heap, and again from the end after each hit:
	 * stopping a timer moves another one into its place. */
	for (size_t i = timers.n; i-- > 0;)
		if (i < timers.n && timers.heap[i]->owner == owner) {
			timer_stop(timers.heap[i]);
			i = timers.n;
		}
}

/* Move the deadlines of all timers of owner by FROZEN_US, up or down, in the
 * order in which the timers were started. */
static void move_deadlines(void *owner, bool frozen, int64_t by)
{
	struct timer **found = xcalloc(timers.n + 1, sizeof(*found));
	size_t n = 0;

	for (size_t i = 0; i < timers.n; i++)
		if (timers.heap[i]->owner == owner &&
		    (timers.heap[i]->deadline_us >= FROZEN_US) == frozen)
			found[n++] = timers.heap[i];
	for (size_t i = 0; i < n; i++) {
		timer_stop(found[i]);
		found[i]->deadline_us += by;
		sift_up(timers.n++, found[i]);
	}
	free(found);
}

void timers_freeze(void *owner)
{
	move_deadlines(owner, false, FROZEN_US);
}

void timers_thaw(void *owner)
{
	move_deadlines(owner, true, -FROZEN_US);
}

int64_t timers_next(void)
{
	if (timers.n == 0 || timers.heap[0]->deadline_us >= FROZEN_US)
		return -1;
	return timers.heap[0]->deadline_us;
}

bool timers_fire_one(void)
{
	struct timer *t;

	if (timers.n == 0 || timers.heap[0]->deadline_us > clock_mono_us())
		return false;
	t = timers.heap[0];
	timer_stop(t);
	task_set_owner(t->owner);
	t->fired(t);
	task_set_owner(NULL);
	return true;
}
