/* SPDX-License-Identifier: BSD-2-Clause */
/* The master's timer for gantry-watcher: it runs the program as cron would,
 * every watcher_interval seconds (gnt-cluster modify --watcher-interval;
 * without it never).  So a cluster without cron and systemd has a watcher, too,
 * which moves with the master. */
#ifndef MASTERD_WATCHER_TIMER_H
#define MASTERD_WATCHER_TIMER_H

#include "lib/event/task.h"

struct config;
struct paths;
struct watcher_timer;

/* Begin; config and paths outlive it. */
struct watcher_timer *watcher_timer_begin(const struct config *config,
					  const struct paths *paths);
/* End it, without a wait: a run that has begun goes on, and what is left is
 * freed after it. */
void watcher_timer_end(struct watcher_timer *t);

#endif
