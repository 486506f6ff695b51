/* SPDX-License-Identifier: BSD-2-Clause */
/* A master whose configuration and nodes say what a message for an allocator
 * says, to ask our own hail by its text and by a call (masterd/allocator). */
#ifndef TESTS_LIB_MESSAGE_MASTER_H
#define TESTS_LIB_MESSAGE_MASTER_H

#include "lib/json/json.h"
#include "masterd/core/master.h"

struct message_master {
	struct master m;
	char *top;	 /* the folder of its root */
	json_t *answers; /* {node: {procedure: payload}} */
};

/* Of which nodes the configuration has the resources; they are not asked. */
enum message_record { RECORD_NONE, RECORD_MOST, RECORD_ALL };

/* Make it.  -1 with err when the message says what no configuration can;
 * nothing is left then. */
int message_master_begin(struct message_master *w, const json_t *message,
			 enum message_record record, struct error *err);
void message_master_end(struct message_master *w);

/* Ask both ways about this moment.  What came of it, the same both ways, as
 * {success, info, result} or {error}, to be freed; NULL with the difference in
 * err.  For tasks. */
WAITS json_t *message_master_ask(struct message_master *w,
				 const json_t *request, struct error *err);

/* By a call alone; what came of it, to be freed. */
WAITS json_t *message_master_call(struct message_master *w,
				  const json_t *request);

#endif
