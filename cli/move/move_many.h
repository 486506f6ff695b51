/* SPDX-License-Identifier: BSD-2-Clause */
/* Several instances, some at the same time: each is a process. */
#ifndef CLI_MOVE_MANY_H
#define CLI_MOVE_MANY_H

#include <stdbool.h>

struct move_cluster;
struct move_options;

/* Move all instances of the options.  Whether all have moved.  When the user
 * interrupts it, no other one is begun; those on their way say which of their
 * jobs go on. */
bool move_many(const struct move_options *o, struct move_cluster *source,
	       struct move_cluster *dest);

#endif
