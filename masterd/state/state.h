/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cluster knows: configuration and job queue, as the records of the
 * replicated log make them (doc/design/log.md).  Each server of the log has one
 * of these, the leader like the others.
 *
 * A record is in memory when it is committed; config.data and the files of the
 * queue follow in the background, in Ganeti's formats.  Records hold whole
 * contents, so replaying the log from an older record than the newest one in
 * the files gives the same state. */
#ifndef MASTERD_STATE_STATE_H
#define MASTERD_STATE_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/config/config_digest.h"
#include "lib/model/files/paths.h"
#include "masterd/state/config_image.h"

struct events;
struct noderpc;
struct store;

/* Entries of the log are not longer than this and a little; a longer record is
 * in several. */
#define STATE_PART_BYTES (1024u * 1024)

/* The newest format of entries that this program can read.  It goes up with
 * each new kind of record or change of one; such records are written when all
 * servers of the log can read them. */
#define STATE_FORMAT 1

struct state_config {
	struct disk *disk;
	const struct paths *paths;
	void *arg;
	/* Commit an entry of the log: 0 after state_apply() got it. */
	WAITS int (*commit)(void *arg, char *data STEALS, size_t len,
			    struct error *err);
	/* The newest format of entries that all servers of the log can read. */
	unsigned (*format)(void *arg);
	/* The files hold more than before (state_written()). */
	void (*written)(void *arg);
	/* The cluster, or a node of it, is another than before. */
	void (*nodes_changed)(void *arg);
	/* Nothing can be promised any more: a write has failed, or the log has
	 * an entry that this version does not know. */
	void (*fatal)(void *arg, const struct error *err);
};

struct state;

/* Read config.data and open the files of the queue, which nobody else may have
 * then.  NULL with err. */
WAITS struct state *state_open(const struct state_config *config,
			       struct error *err);
/* Bring all that is committed into the files, unless the disk is full; then
 * nothing more is committed.  -1 with err. */
WAITS int state_flush(struct state *s, struct error *err);
/* After state_flush(), or in the simulation after the tasks were killed. */
void state_close(struct state *s); /* NULL: nothing */

/* Wait until all that is committed is in the files.  -1 with err: it cannot be
 * written now. */
WAITS int state_write_out(struct state *s, struct error *err);
/* What the files have is the state of a new log, whoever has written them. */
void state_begin(struct state *s);
/* Commit the whole configuration, as this server has it: for one that was
 * changed by hand. */
WAITS int state_commit_image(struct state *s, struct error *err);
/* For a new leader, before anything else is committed: what a former one has
 * left of a record keeps the log from being cut no longer. */
WAITS int state_end_left(struct state *s, struct error *err);

/* An entry of the log is committed; borrowed. */
void state_apply(struct state *s, uint64_t index, const void *data, size_t len);
/* The state is that of a snapshot: of this server's own files
 * (state_written()), or what state_pull() has brought.  Blocks. */
int state_adopt(struct state *s, uint64_t index, struct error *err);

/* Bring the files of another server here, by difference, from the node of this
 * configuration object: what they have is as new as its snapshot of this index,
 * or newer.  Durable when it returns 0.  Until state_adopt() they count as half
 * another's (state_is_half()). */
WAITS int state_pull(struct state *s, struct noderpc *rpc, const json_t *node,
		     uint64_t index, struct error *err);
bool state_is_half(const struct state *s);
/* All up to this index is in the files, durable. */
uint64_t state_written(const struct state *s);

/* Commit changes of the configuration: a record of config_image_record(). */
WAITS int state_commit_config(struct state *s, struct buf *record STEALS,
			      struct error *err);

/* The log is another one from now on. */
void state_other_log(struct state *s);
/* After state_flush(), for the next process: the log had come to this index. */
WAITS void state_keep_events(struct state *s, uint64_t reached);
/* What has changed; the state's own. */
struct events *state_events(struct state *s);

/* The files of the job queue; the state's own. */
struct store *state_store(struct state *s);
const struct config_image *state_config(const struct state *s);
/* What config.data was when it was read: other than CONFIG_WHOLE, somebody else
 * has written it, and the log knows nothing of that. */
enum config_origin state_origin(const struct state *s);

/* Whether new things should be refused, since files cannot be written. */
bool state_full(const struct state *s, struct error *err);

#endif
