/* SPDX-License-Identifier: BSD-2-Clause */
/* Work on many hosts at the same time: tasks on a loop that lives as long as
 * they do.  Outside of it the commands have no loop, and call the master
 * blocking. */
#ifndef CLI_REMOTE_LOOP_H
#define CLI_REMOTE_LOOP_H

#include <stddef.h>

#include "lib/event/task.h"

/* So many of them at once; the others wait until one has ended. */
#define LOOP_TASKS_MAX 256

/* Call fn for each of n items of this size, each time in a task of its own, and
 * wait until all have ended. */
void loop_each(task_fn *fn, void *items, size_t size, size_t n);

#endif
