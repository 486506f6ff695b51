/* SPDX-License-Identifier: BSD-2-Clause */
/* What has changed in the cluster, in the order of the log: the newest
 * EVENTS_KEPT changes are kept in memory, on each server of the log, so that
 * who follows them can go on at another master.
 *
 * An event's index is made of that of its log entry and of its place in there:
 * the same on all servers, and ever higher.  What was before the floor is not
 * known here. */
#ifndef MASTERD_STATE_EVENTS_H
#define MASTERD_STATE_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/list.h"

struct config_image;
struct events;

#define EVENTS_KEPT 32768
/* So many bits of an index say which change of an entry it is. */
#define EVENTS_PLACE_BITS 16

struct events *events_create(void);
void events_free(struct events *e); /* NULL: nothing */

/* The state is now that of this index of the log, and how it came to be so is
 * not known (unless it is). */
void events_begin(struct events *e, uint64_t log_index);
/* The log is another one from now on. */
void events_other_log(struct events *e);
/* For the next process: all up to the index `reached` of the log, at least, is
 * here; and what the former one has left.  Both block. */
void events_save(struct events *e, struct disk *disk, const char *file,
		 uint64_t reached);
void events_load(struct events *e, struct disk *disk, const char *file);

/* A record of the queue or of the configuration is committed; before: the
 * configuration without it.  Nobody sees the events before events_show(). */
void events_of_queue(struct events *e, uint64_t log_index, const void *record,
		     size_t len);
void events_of_config(struct events *e, uint64_t log_index,
		      const struct config_image *before, const void *record,
		      size_t len);
/* Show what there is, and tell who waits, from the loop. */
void events_show(struct events *e);

/* The index of the newest event that is shown (the floor if there is none); and
 * the floor: all events above it are there. */
uint64_t events_last(const struct events *e);
uint64_t events_floor(const struct events *e);

/* The events above this index, at most max, as a list to be freed.  An event is
 * {"index", "time": seconds, "topic", "name", "type"}; of jobs also "job",
 * "user" (the first source in the reason trail; or null), "opcode" and "log"
 * (the serial of the newest log entry).  With "object", {"kind", "name"}, it
 * says what a job, a token's change or a login is about. */
json_t *events_above(const struct events *e, uint64_t index, size_t max);

/* Wait without a task until more is shown: changed() is called once. */
struct events_watch {
	void (*changed)(struct events_watch *w);
	struct list link; /* private; all zero: it watches nothing */
};
void events_watch(struct events *e, struct events_watch *w);
void events_unwatch(struct events_watch *w);

#endif
