/* SPDX-License-Identifier: BSD-2-Clause */
/* A master that was stopped and goes on may call nobody for long, and still
 * answer with what was true once.  The node daemon here learns of a new master
 * as all do; what it has noted says that this one is none any more. */
#ifndef MASTERD_CORE_TERM_WATCH_H
#define MASTERD_CORE_TERM_WATCH_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct disk;
struct paths;
struct term_watch;

/* Look every second until the node here has noted a newer term than this one;
 * then call over(arg, err), whose ecode is ECODE_FENCED, and look no more.
 * disk and paths live longer. */
struct term_watch *
term_watch_begin(struct disk *disk, const struct paths *paths, uint64_t term,
		 void (*over)(void *arg, const struct error *err), void *arg);

/* Look no more, wait until that has ended, and free it; NULL is fine. */
WAITS void term_watch_end(struct term_watch *w);

#endif
