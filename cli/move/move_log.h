/* SPDX-License-Identifier: BSD-2-Clause */
/* What a job says: its log, as the remote API gives it, and how it ended. */
#ifndef CLI_MOVE_LOG_H
#define CLI_MOVE_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

/* How far a log was read. */
struct move_log {
	int64_t serial; /* of the last entry, -1 before the first */
	/* The content of the entry "remote-import", unchecked; NULL: not there
	 * yet. */
	json_t *import;
	/* A message says that disks have not come whole.  The job of a Ganeti
	 * cluster is a success all the same. */
	bool lost;
	/* Gets the text of each message; NULL: nobody wants them. */
	void (*tell)(void *arg, const char *text);
	void *arg;
};

#define MOVE_LOG_INIT                                                          \
	{                                                                      \
		.serial = -1                                                   \
	}

void move_log_done(struct move_log *l);

/* Read entries, [[serial, timestamp, type, message], ...] or null; those that
 * were read before are passed over. */
int move_log_read(struct move_log *l, const json_t *entries, struct error *err);

/* Whether that says where each of n disks is awaited:
 * {"disks": [[host, port, magic, hmac, salt], ...], "x509_ca": PEM}. */
int move_log_check_import(const json_t *import, size_t n, struct error *err);

/* The result of the only opcode of a job, borrowed, from what GET /2/jobs/ID
 * says of one that has ended; NULL with err when it has failed (kind, code and
 * text are the opcode's) or was canceled. */
const json_t *move_log_result(const json_t *job, struct error *err);

/* Whether the result of an export says that all was copied:
 * [end of the instance's removal, [disk, ...]]. */
int move_log_check_export(const json_t *result, size_t n, struct error *err);

/* Whether a job of this status has ended. */
bool move_log_is_end(const char *status);

#endif
