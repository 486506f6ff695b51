/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks: sequential code on the event loop.
 *
 * A task is a function that may wait: for an RPC, a lock, a timer, a child
 * process.  It has a stack of its own (a thread from a pool), but at any moment
 * either the loop or one single task runs; the others are parked.  The loop may
 * run on any of these threads (see tasks_drive).  Control moves only inside the
 * functions marked WAITS.  So code between two waits is atomic: no other module
 * needs a mutex, and a borrowed pointer stays good until the next wait.
 *
 * A task waits for a condition of some object, never for another task:
 *
 *	while (!request->done)
 *		cond_wait(&request->changed);
 *
 * Everything here except task_leave()/task_enter() is for whoever has control:
 * a callback of the loop or the running task.
 *
 * Stacks are TASK_STACK bytes, for a task and a callback of the loop: no large
 * arrays on them.
 */
#ifndef EVENT_TASK_H
#define EVENT_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/base/list.h"

/* Marks a function that gives control away, and a pointer or type of such
 * functions; tests/lint/waits.py checks that none is missing. */
#ifdef __clang__
#define WAITS __attribute__((annotate("waits")))
#else
#define WAITS
#endif
#define TASK_STACK (1024 * 1024)

/* The body of a task; arg is what task_spawn() was given. */
typedef WAITS void task_fn(void *arg);

/* Once per process, before anything else here; loop outlives the tasks. */
void tasks_init(uv_loop_t *loop);

/* The loop of this process. */
uv_loop_t *tasks_loop(void);

/* Run the loop and the tasks until over(arg), which is asked before each turn
 * of the loop.  From the thread that called tasks_init(); meanwhile callbacks
 * of the loop are called on the threads of tasks, too, on top of what these do.
 * As uv_run() in turns, but tasks take over from each other faster. */
void tasks_drive(bool (*over)(void *arg), void *arg);

/* How many tasks have not ended. */
size_t tasks_count(void);

/* Whether a task could run now; the simulation moves the time when none can. */
bool tasks_ready(void);

/* To be called when no task is left; ends the pooled threads. */
void tasks_close(void);

/* In the simulation task_leave() and task_enter() do nothing, so that the
 * order of all work depends on the seed alone. */
void tasks_set_simulated(bool simulated);

/* Simulation only: call fn at the end of each task_enter(); it may wait, as if
 * the disk took its time. */
void tasks_set_came_in(WAITS void (*fn)(void));

/* Start fn(arg) as a task; it ends when fn returns.  Tasks first run in the
 * order in which they were spawned.  A task belongs to the owner of its
 * spawner (see task_set_owner). */
void task_spawn(const char *name, task_fn *fn, void *arg);

/* The name of the running task, NULL on the loop. */
const char *task_name(void);

/* Rename the running task (it shows in the log and in gdb). */
void task_set_name(const char *name);

/* A pointer that belongs to the running task, so that code far below can note
 * who did something.  NULL on the loop, and until it is set. */
void *task_mark(void);
void task_set_mark(void *mark);

/* The number of the running task, which no other task ever has; 0 on the
 * loop. */
uint64_t task_number(void);

/* Ask a task to give up what it waits for: its present wait returns.  A loop
 * that waits for something that may never come has to end on
 * task_interrupted(), which stays true until the task ends. */
struct task;
struct task *task_self(void); /* NULL on the loop */
void task_interrupt(struct task *t);
bool task_interrupted(void);

/* The owner tag of what runs now (a task, or what the loop calls).  The
 * simulation has one owner for each simulated master. */
void *task_owner(void);
void task_set_owner(void *owner);

/* Simulation only: end all tasks of owner, as kill -9 would.  Each is resumed
 * once and leaves through pthread_exit(), so only its cleanup attributes run.
 * Must not be called from a task of this owner. */
void tasks_kill(void *owner);

/* Simulation only: no task of owner runs until tasks_thaw(), as between SIGSTOP
 * and SIGCONT.  A task that freezes its own owner stops at its next wait.  No
 * task may be spawned for the owner meanwhile.  See also timers_freeze(). */
void tasks_freeze(void *owner);
void tasks_thaw(void *owner);

/* Something that tasks can wait for to change. */
struct cond {
	struct list waiters;
};

/* Prepare a condition for which nobody waits; it needs no clean-up. */
void cond_init(struct cond *c);

/* Wait until c is signalled or the task is interrupted meanwhile; a task that
 * has been interrupted before waits all the same.  What one waits for may have
 * changed again by then: look, and wait in a loop that ends on
 * task_interrupted() where the wait may be for ever. */
WAITS void cond_wait(struct cond *c);

/* As cond_wait, at most until the deadline (clock_mono_us).  False: the
 * deadline passed, whether c was signalled as well or not.  True: it did not,
 * so c was signalled or the task interrupted.  Either way look for what was
 * waited for. */
WAITS bool cond_wait_until(struct cond *c, int64_t deadline_us);

/* Make all who wait for c runnable; they run in the order of their waits. */
void cond_signal(struct cond *c);

/* Wait for so long, or until the task is interrupted. */
WAITS void task_sleep(unsigned ms);

/* Let every task that is ready now run once before this one goes on. */
WAITS void task_yield(void);

/* Between these two the task runs beside the loop, for calls that block (fsync,
 * sqlite, libssh2).  Meanwhile it must not touch anything that others use. */
void task_leave(void);
WAITS void task_enter(void);

/* The same for a call that is mostly short: the loop stands still until it is
 * over, but no longer than so many microseconds.  Short calls then wake no
 * thread. */
void task_leave_within(unsigned us);

#endif
