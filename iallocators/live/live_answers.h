/* SPDX-License-Identifier: BSD-2-Clause */
/* What a master tells about its cluster, whichever way it was asked: private
 * to live*.c. */
#ifndef IALLOCATORS_LIVE_LIVE_ANSWERS_H
#define IALLOCATORS_LIVE_LIVE_ANSWERS_H

#include <jansson.h>

#include "iallocators/live/live.h"

/* The status of a value, as LUXI queries have it: it is there, or not. */
#define RS_NORMAL 0
#define RS_NODATA 2

/* Lists of rows of [status, value], by the fields below; info is an object.
 * resources is what QueryResources of our master says, guarantees has rows of
 * an instance's name and minmem where that matters; else they are NULL. */
struct live_answers {
	json_t *nodes, *instances, *info, *groups;
	json_t *resources, *guarantees;
};
void live_answers_done(struct live_answers *a);

/* The column of nodes that is there when they have answered. */
#define LIVE_NODE_MEMORY 1

/* In the order of the columns, up to a NULL. */
extern const char *const live_node_fields[];
extern const char *const live_instance_fields[];
extern const char *const live_group_fields[];

/* Read the cluster that the answers describe, as live_read() does. */
int live_take(struct cluster *c, const struct live_answers *a,
	      int64_t kvm_node_memory, struct buf *ret_text, struct error *err);

/* Put what is recorded in place of what nodes report (live_record.c): their
 * sizes, with what is booked of them, and the groups' max-node-failures.  The
 * nodes and instances are as they were read, and not yet finished. */
void live_record(struct cluster *c, const struct live_answers *a);

/* Whether some group has to survive the loss of nodes. */
bool live_promises_failures(const json_t *resources);

#endif
