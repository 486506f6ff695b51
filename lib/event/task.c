/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks are threads that pass the control around with semaphores: at any time
 * one thread has it.  A task that has ended leaves its thread in a pool,
 * because starting a thread costs more than most jobs.
 *
 * While tasks_drive() runs the loop belongs to no thread: a task that waits
 * runs it where it stands.  So one that waits for an answer, with nothing else
 * to do, goes on in the same thread when the answer comes, and the next task on
 * the thread of the last one: waking a thread takes longer than most tasks run.
 * In uv_run() alone, as in the simulation, which ends tasks wherever they
 * stand, each task gives control back to the thread of the loop. */
#include "lib/event/task.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/event/timer.h"

/* Idle threads kept for reuse: twice as many as jobs run at once by default. */
#define POOL_MAX 40

struct task {
	struct list link; /* in ready, round, returning or pool */
	struct list all;  /* in tasks.all while it runs */
	uv_thread_t thread;
	uv_sem_t go; /* posted to hand control to this task */
	task_fn *fn;
	void *arg;
	void *owner;
	void *mark;
	uint64_t number;
	bool queued;  /* in ready, or about to run in this round */
	bool outside; /* between task_leave() and task_enter() */
	bool done;    /* fn returned */
	bool killed;  /* tasks_kill(): leave at the next chance */
	bool interrupted;
	bool quit;   /* in the pool: end the thread */
	bool frozen; /* by its owner; it goes into `standing` */
	char name[32];
};

/* The mutex guards `returning` alone; everything else belongs to whoever has
 * control. */
static struct {
	uv_idle_t idle; /* active while `ready` is not empty, so that the loop
			   does not sleep */
	uv_async_t async;
	uv_sem_t back; /* posted to hand control to the first thread, which
			  has the loop or drives it */
	uv_mutex_t mutex;
	struct list ready;
	struct list round;     /* while driving: to be run before the loop */
	struct list returning; /* tasks that want to enter again */
	struct list all;
	struct list pool;
	size_t n_all, n_pool;
	uint64_t last_number;
	void *loop_owner;	 /* owner tag while the loop itself runs */
	bool (*over)(void *arg); /* set while driving: in tasks_drive() */
	void *over_arg;
	struct task *ended; /* its thread is to be joined by the first one */
	bool simulated;
	struct list standing;	     /* frozen, else ready */
	WAITS void (*came_in)(void); /* in the simulation, see task.h */
} sched;

static _Thread_local struct task *self;

static bool is_driving(void)
{
	return sched.over != NULL;
}

static void on_idle(uv_idle_t *idle);

/* Let t run in the next round.  Idempotent. */
static void wake(struct task *t)
{
	if (t->queued || t->outside)
		return;
	t->queued = true;
	if (t->frozen) {
		list_append(&sched.standing, &t->link);
		return;
	}
	list_append(&sched.ready, &t->link);
	uv_idle_start(&sched.idle, on_idle);
}

static void thread_end(struct task *t)
{
	uv_thread_join(&t->thread);
	uv_sem_destroy(&t->go);
	free(t);
}

/* Forget a task that has ended.  Whether its thread goes into the pool. */
static bool put_away(struct task *t)
{
	list_remove(&t->all);
	sched.n_all--;
	if (t->killed || sched.n_pool >= POOL_MAX)
		return false;
	list_append(&sched.pool, &t->link);
	sched.n_pool++;
	return true;
}

static void task_ended(struct task *t)
{
	if (put_away(t))
		return;
	t->quit = true;
	uv_sem_post(&t->go);
	thread_end(t);
}

/* Hand control to t and take it back when t waits, leaves or ends. */
static void run(struct task *t)
{
	uv_sem_post(&t->go);
	uv_sem_wait(&sched.back);
	if (t->done)
		task_ended(t);
}

/* Run the tasks that are ready now.  A task that becomes ready meanwhile runs
 * in the next round, so that busy tasks cannot keep the loop from its I/O. */
static void on_idle(uv_idle_t *idle)
{
	struct list round;

	if (is_driving())
		return; /* next_task() has the next round */
	list_move_all(&round, &sched.ready);
	while (!list_empty(&round)) {
		struct task *t = container_of(round.next, struct task, link);
		list_remove(&t->link);
		t->queued = false;
		run(t);
	}
	if (list_empty(&sched.ready))
		uv_idle_stop(idle);
}

static void on_async(uv_async_t *async)
{
	struct list came;

	(void)async;
	uv_mutex_lock(&sched.mutex);
	list_move_all(&came, &sched.returning);
	uv_mutex_unlock(&sched.mutex);
	while (!list_empty(&came)) {
		struct task *t = container_of(came.next, struct task, link);
		list_remove(&t->link);
		t->outside = false;
		wake(t);
	}
}

/* --- driving --- */

/* The task that runs next, when the loop has run as long as there was none;
 * NULL: it is over. */
static struct task *next_task(void)
{
	struct task *t;

	while (list_empty(&sched.round)) {
		if (sched.over(sched.over_arg))
			return NULL;
		uv_run(sched.idle.loop, UV_RUN_ONCE);
		list_move_all(&sched.round, &sched.ready);
		uv_idle_stop(&sched.idle);
	}
	t = container_of(sched.round.next, struct task, link);
	list_remove(&t->link);
	t->queued = false;
	return t;
}

/* On the thread of `me`, which has control: drive until me is to run.  NULL: on
 * the first thread, until it is over. */
static void drive(struct task *me)
{
	struct task *next;

	self = NULL;
	while ((next = next_task()) != me) {
		uv_sem_post(next == NULL ? &sched.back : &next->go);
		uv_sem_wait(me == NULL ? &sched.back : &me->go);
		if (me != NULL)
			break; /* whoever drives now has chosen me */
		if (sched.ended != NULL)
			thread_end(sched.ended);
		sched.ended = NULL;
	}
	self = me;
}

void tasks_drive(bool (*over)(void *arg), void *arg)
{
	assert(self == NULL && !is_driving() && !sched.simulated);
	sched.over = over;
	sched.over_arg = arg;
	drive(NULL);
	sched.over = NULL;
}

/* --- the relief --- */

/* A thread that takes the control from a task that is outside for too long, and
 * gives it to the first thread.  It sleeps for the clock, which is set when the
 * task leaves, and taken back when it is there again in time. */
static struct {
	uv_thread_t thread;
	int clock; /* of the kernel; -1: there is no such thread */
	_Atomic(const struct task *) of; /* who is outside, with the control */
	_Atomic bool quit;
} relief = {.clock = -1};

static void set_clock(unsigned us)
{
	struct itimerspec at = {
		.it_value = {.tv_sec = us / 1000000,
			     .tv_nsec = (long)(us % 1000000) * 1000},
	};

	timerfd_settime(relief.clock, 0, &at, NULL);
}

static void relief_main(void *arg)
{
	uint64_t rang;

	(void)arg;
	while (!relief.quit) {
		if (read(relief.clock, &rang, sizeof(rang)) < 0)
			continue;
		if (atomic_exchange(&relief.of, NULL) != NULL)
			uv_sem_post(&sched.back);
	}
}

static bool relief_stands_by(void)
{
	if (relief.clock >= 0)
		return true;
	relief.clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (relief.clock < 0)
		return false;
	relief.quit = false;
	if (uv_thread_create(&relief.thread, relief_main, NULL) == 0)
		return true;
	close(relief.clock);
	relief.clock = -1;
	return false;
}

/* This task is outside, and has the control for so long at most. */
static void relief_call(unsigned us)
{
	if (!relief_stands_by()) {
		uv_sem_post(&sched.back);
		return;
	}
	relief.of = self;
	set_clock(us);
}

/* Whether this task has kept the control. */
static bool relief_send_back(void)
{
	const struct task *expected = self;

	if (!atomic_compare_exchange_strong(&relief.of, &expected, NULL))
		return false;
	set_clock(0);
	return true;
}

static void relief_end(void)
{
	if (relief.clock < 0)
		return;
	relief.quit = true;
	set_clock(1);
	uv_thread_join(&relief.thread);
	close(relief.clock);
	relief.clock = -1;
}

/* --- the threads --- */

static void leave_if_killed(void)
{
	if (!self->killed)
		return;
	/* End this thread.  Its cleanup attributes run; they may log and free
	 * but not wait. */
	pthread_exit(NULL);
}

/* Give control to the loop until this task is resumed. */
static WAITS void park(void)
{
	assert(!self->killed);
	if (is_driving()) {
		drive(self);
		return;
	}
	uv_sem_post(&sched.back);
	uv_sem_wait(&self->go);
	leave_if_killed();
}

/* Runs also when the task leaves through pthread_exit(). */
static void on_thread_exit(void *arg)
{
	struct task *t = arg;

	t->done = true;
	uv_sem_post(&sched.back);
}

static void run_killable(struct task *t)
{
	pthread_cleanup_push(on_thread_exit, t);
	t->fn(t->arg);
	pthread_cleanup_pop(0);
}

/* Until the thread has another task, or is to end: t->quit. */
static void rest(struct task *t)
{
	if (!is_driving()) {
		on_thread_exit(t);
		uv_sem_wait(&t->go);
	} else if (put_away(t)) {
		drive(t);
	} else {
		t->quit = true;
		sched.ended = t;
		uv_sem_post(&sched.back);
	}
}

static void task_main(void *arg)
{
	struct task *t = arg;

	self = t;
	uv_sem_wait(&t->go);
	while (!t->quit) {
		if (t->killed) { /* before its first run */
			on_thread_exit(t);
			return;
		}
		run_killable(t);
		rest(t);
	}
}

const char *task_name(void)
{
	return self == NULL ? NULL : self->name;
}

void task_set_name(const char *name)
{
	snprintf(self->name, sizeof(self->name), "%s", name);
}

uint64_t task_number(void)
{
	return self == NULL ? 0 : self->number;
}

void *task_mark(void)
{
	return self == NULL ? NULL : self->mark;
}

void task_set_mark(void *mark)
{
	self->mark = mark;
}

void tasks_init(uv_loop_t *loop)
{
	uv_idle_init(loop, &sched.idle);
	uv_async_init(loop, &sched.async, on_async);
	uv_sem_init(&sched.back, 0);
	uv_mutex_init(&sched.mutex);
	list_init(&sched.ready);
	list_init(&sched.round);
	list_init(&sched.standing);
	list_init(&sched.returning);
	list_init(&sched.all);
	list_init(&sched.pool);
	timers_init(loop);
	log_set_context(task_name);
}

uv_loop_t *tasks_loop(void)
{
	return sched.idle.loop;
}

size_t tasks_count(void)
{
	return sched.n_all;
}

bool tasks_ready(void)
{
	return !list_empty(&sched.ready);
}

void tasks_close(void)
{
	assert(sched.n_all == 0);
	while (!list_empty(&sched.pool)) {
		struct task *t =
			container_of(sched.pool.next, struct task, link);
		list_remove(&t->link);
		t->quit = true;
		uv_sem_post(&t->go);
		thread_end(t);
	}
	sched.n_pool = 0;
	relief_end();
	timers_close();
	uv_close((uv_handle_t *)&sched.idle, NULL);
	uv_close((uv_handle_t *)&sched.async, NULL);
}

void tasks_set_simulated(bool simulated)
{
	sched.simulated = simulated;
	sched.came_in = NULL;
}

void tasks_set_came_in(WAITS void (*fn)(void))
{
	sched.came_in = fn;
}

static struct task *task_new(void)
{
	uv_thread_options_t options = {
		.flags = UV_THREAD_HAS_STACK_SIZE,
		.stack_size = TASK_STACK,
	};
	struct task *t;
	int rc;

	if (!list_empty(&sched.pool)) {
		/* Take the thread that was pooled last, as its stack is still
		 * in the cache. */
		t = container_of(sched.pool.prev, struct task, link);
		list_remove(&t->link);
		sched.n_pool--;
		return t;
	}
	t = xalloc(sizeof(*t));
	list_init(&t->link);
	list_init(&t->all);
	uv_sem_init(&t->go, 0);
	rc = uv_thread_create_ex(&t->thread, &options, task_main, t);
	if (rc != 0) {
		fprintf(stderr, "cannot start a thread: %s\n", uv_strerror(rc));
		abort();
	}
	return t;
}

void task_spawn(const char *name, task_fn *fn, void *arg)
{
	struct task *t = task_new();

	snprintf(t->name, sizeof(t->name), "%s", name);
	t->fn = fn;
	t->mark = NULL;
	t->number = ++sched.last_number;
	t->arg = arg;
	t->owner = task_owner();
	t->done = t->frozen = false;
	t->interrupted = false;
	list_append(&sched.all, &t->all);
	sched.n_all++;
	wake(t);
}

struct task *task_self(void)
{
	return self;
}

void task_interrupt(struct task *t)
{
	t->interrupted = true;
	wake(t);
}

bool task_interrupted(void)
{
	return self != NULL && self->interrupted;
}

void *task_owner(void)
{
	return self == NULL ? sched.loop_owner : self->owner;
}

void task_set_owner(void *owner)
{
	if (self == NULL)
		sched.loop_owner = owner;
	else
		self->owner = owner;
}

void tasks_kill(void *owner)
{
	struct task *t, *tmp;

	assert(self == NULL || self->owner != owner);
	list_each_safe (t, tmp, &sched.all, all) {
		if (t->owner != owner || t->done)
			continue;
		assert(!t->outside);
		t->killed = true;
		list_remove(&t->link);
		run(t);
	}
}

void tasks_freeze(void *owner)
{
	struct task *t;

	list_each (t, &sched.all, all) {
		if (t->owner != owner)
			continue;
		t->frozen = true;
		if (!t->queued)
			continue;
		list_remove(&t->link);
		list_append(&sched.standing, &t->link);
	}
}

void tasks_thaw(void *owner)
{
	struct task *t, *tmp;

	list_each (t, &sched.all, all)
		if (t->owner == owner)
			t->frozen = false;
	list_each_safe (t, tmp, &sched.standing, link) {
		if (t->frozen)
			continue;
		list_remove(&t->link);
		t->queued = false;
		wake(t);
	}
}

struct waiter {
	struct list link; /* in cond.waiters */
	struct task *task;
};

static void waiter_remove(struct waiter *w)
{
	list_remove(&w->link);
}

void cond_init(struct cond *c)
{
	list_init(&c->waiters);
}

void cond_wait(struct cond *c)
{
	/* The cleanup attribute is for tasks_kill(), which unwinds the stack
	 * from park(). */
	__attribute__((cleanup(waiter_remove))) struct waiter w = {
		.task = self};

	assert(self != NULL);
	list_append(&c->waiters, &w.link);
	park();
}

struct alarm {
	struct timer timer;
	struct task *task;
	bool rang;
};

static void on_alarm(struct timer *timer)
{
	struct alarm *a = container_of(timer, struct alarm, timer);

	a->rang = true;
	wake(a->task);
}

static void alarm_off(struct alarm *a)
{
	timer_stop(&a->timer);
}

bool cond_wait_until(struct cond *c, int64_t deadline_us)
{
	__attribute__((cleanup(alarm_off))) struct alarm a = {
		.timer.fired = on_alarm,
		.task = self,
	};

	timer_start(&a.timer, deadline_us);
	cond_wait(c);
	return !a.rang;
}

void cond_signal(struct cond *c)
{
	struct waiter *w;

	list_each (w, &c->waiters, link)
		wake(w->task);
}

void task_leave(void)
{
	assert(self != NULL);
	if (sched.simulated)
		return;
	self->outside = true;
	mem_json_pauses(true);
	uv_sem_post(&sched.back);
}

void task_leave_within(unsigned us)
{
	if (sched.simulated || !is_driving()) {
		task_leave();
		return;
	}
	self->outside = true;
	mem_json_pauses(true);
	relief_call(us);
}

void task_enter(void)
{
	struct task *t = self;

	if (sched.simulated) {
		if (sched.came_in != NULL)
			sched.came_in();
		return;
	}
	mem_json_pauses(false);
	if (relief_send_back()) {
		t->outside = false;
		return;
	}
	uv_mutex_lock(&sched.mutex);
	list_append(&sched.returning, &t->link);
	uv_mutex_unlock(&sched.mutex);
	uv_async_send(&sched.async);
	uv_sem_wait(&t->go);
}

void task_sleep(unsigned ms)
{
	int64_t deadline = clock_mono_us() + (int64_t)ms * 1000;
	struct cond never;

	cond_init(&never);
	while (!task_interrupted() && cond_wait_until(&never, deadline))
		;
}

void task_yield(void)
{
	wake(self);
	park();
}
