/* SPDX-License-Identifier: BSD-2-Clause */
/* What locks stand for: objects of the configuration. */
#ifndef MASTERD_JOBS_LOCK_OBJECT_H
#define MASTERD_JOBS_LOCK_OBJECT_H

#include "queue/locks/locks.h"

struct config;

/* The enum config_kind of the objects of a level, -1: it has none. */
int lock_object_kind(enum lock_level level);

/* What an object of the level is called: "node". */
const char *lock_object_word(enum lock_level level);

/* The lock as people know it, "node/node1.example.com", "node/[lockset]" for
 * all of a level (name NULL); to be freed. */
char *lock_object_text(const struct config *c, enum lock_level level,
		       const char *name);

#endif
