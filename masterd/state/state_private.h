/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the room share: state.c takes entries of the log,
 * state_files.c writes config.data, state_pull.c gets another server's files.
 */
#ifndef MASTERD_STATE_STATE_PRIVATE_H
#define MASTERD_STATE_STATE_PRIVATE_H

#include "lib/store/store.h"
#include "masterd/state/events.h"
#include "masterd/state/state.h"

/* The first byte of an entry: what its record changes. */
enum state_kind { STATE_QUEUE = 1, STATE_CONFIG = 2, STATE_KINDS };
/* The second: the record goes on in the next entry of its kind; it began in an
 * earlier one. */
enum { STATE_MORE = 1, STATE_LATER = 2 };
#define STATE_HEAD_BYTES 2

/* A record of which not all entries have come. */
struct state_part {
	struct buf bytes;
	uint64_t first; /* index of its first entry; 0: there is none */
};

struct state {
	struct state_config config;
	struct store *store;
	int lock; /* of the queue; -1: none */
	struct config_image *image;
	struct state_part parts[STATE_KINDS];
	uint64_t applied;
	struct events *events;
	/* The queue commits a record: its events are shown when the queue knows
	 * that it is committed, as who is told looks there. */
	bool queue_commits;

	/* config.data */
	enum config_origin origin;
	bool dirty; /* it is older than the image */
	bool writing;
	uint64_t covered;  /* it has all up to there */
	uint64_t covering; /* the same of what is just being written */
	int64_t next_us;   /* not to be written again before */
	bool full;
	struct error why;
	bool closing;
	struct cond changed;
};

/* The image has changed. */
void state_config_changed(struct state *s);
/* Wait until config.data is the image, or cannot be written; with flush, for
 * the last time. */
WAITS int state_config_write_out(struct state *s, struct error *err);
WAITS int state_config_flush(struct state *s, struct error *err);
/* Read config.data into the image. */
int state_config_read(struct state *s, struct error *err);

/* --- state_pull.c --- */

/* The log has a snapshot of this index: if it is the one that was fetched, the
 * files are whole again. */
int state_end_half(struct state *s, uint64_t index, struct error *err);

#endif
