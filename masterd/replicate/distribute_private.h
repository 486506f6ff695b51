/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of distribute*.c.
 *
 * Each other node is a peer with two lanes: one brings the configuration and
 * the ssconf files, one the job queue.  A lane is a task that makes one call
 * after the other while its peer lacks something, so nothing older can arrive
 * after something newer.  Whoever has something new only says so and waits
 * until enough lanes have brought it. */
#ifndef MASTERD_REPLICATE_DISTRIBUTE_PRIVATE_H
#define MASTERD_REPLICATE_DISTRIBUTE_PRIVATE_H

#include <stdint.h>

#include "lib/base/list.h"
#include "lib/json/json.h"
#include "masterd/replicate/distribute.h"

/* Something that several peers get, as text made once. */
struct parcel {
	unsigned refs;
	uint64_t number; /* counts those of its kind */
	size_t len;
	char *text;
};

struct peer;

/* One stream of calls to a peer. */
struct lane {
	struct peer *peer;
	const struct lane_class *class;
	bool runs;	/* its task does, */
	bool asking;	/* and is in an attempt now */
	bool failing;	/* the last call failed, */
	bool refused;	/* because the host refuses connections */
	bool declined;	/* the peer said no to what nobody counts on */
	char *said;	/* why it failed, when the peer itself said so */
	uint64_t tried; /* when (d->stamp) the last attempt began */
	uint64_t has;	/* number of the newest parcel that the peer has */
	struct cond kick;
};

/* The peer answers, and does not take something that it need not have for the
 * change to be safe.  It is asked again, and is not lost. */
#define LANE_DECLINED 1

struct lane_class {
	const char *name;
	/* Whether the peer lacks something. */
	bool (*wants)(const struct lane *l);
	/* Whether it lacks what makes a change safe. */
	bool (*lacks)(const struct lane *l);
	/* Bring some of it: 0, -1, or LANE_DECLINED with err. */
	WAITS int (*work)(struct lane *l, struct error *err);
	/* It failed: forget what the peer is known to have. */
	void (*failed)(struct lane *l);
};

/* What a candidate has of the job queue. */
enum peer_queue {
	PEER_QUEUE_UNKNOWN,
	PEER_QUEUE_CATCHING, /* what differs is being sent, then `batches` */
	PEER_QUEUE_GOOD,     /* it gets each batch as it is made */
};

/* Who is a candidate by the configuration as it is, and by the newest that is
 * safe.  While these differ a change needs enough of both. */
enum candidate_set { SET_NOW, SET_SAFE, CANDIDATE_SETS };

/* Another node that is not offline, or was a candidate until the change that is
 * under way. */
struct peer {
	struct list link;
	struct distribute *d;
	char *uuid;
	json_t *node; /* as configured */
	bool in[CANDIDATE_SETS];
	bool candidate; /* gets copies: it is in one of the sets */
	bool gone;	/* from the configuration; freed with its last lane */
	/* Ganeti's node daemon runs there.  It keeps the configuration, and
	 * counts for nothing: it has no queue of ours and promises nobody. */
	bool ganetis;
	bool logged;
	bool told_short; /* the log knows what Ganeti's daemon does not get */

	struct lane files;
	uint64_t config, ssconf; /* numbers of what it is known to have */

	struct lane queue;
	enum peer_queue state;
	struct parcel **batches; /* that it has to get, in order */
	size_t n_batches, cap_batches, batch_bytes;
};

struct distribute {
	struct master *m;
	struct list peers;
	uint64_t stamp; /* a clock for attempts */
	uint64_t asked; /* the newest stamp that somebody waits with */

	struct parcel *config; /* the newest; NULL: none yet */
	struct parcel *ssconf; /* the newest change; NULL: none yet */
	json_t *ssconf_values; /* all */
	uint64_t n_configs, n_ssconfs, n_batches;
	struct parcel *batch; /* the newest; NULL: none yet */
	int64_t set_serial;   /* configuration that changed SET_NOW last */

	int level; /* as last logged: failing none, some, too many */
	bool started, ending, stopping;
	struct cond changed; /* of a lane */
};

/* --- distribute.c --- */

struct parcel *parcel_new(uint64_t number, char *text STEALS, size_t len);
struct parcel *parcel_ref(struct parcel *p);
void parcel_unref(struct parcel *p);

/* Let all lanes work that have something to do. */
void distribute_wake(struct distribute *d);

/* Make the list of peers what the configuration says. */
void distribute_refresh(struct distribute *d);
/* The candidates are about to be others than before. */
bool distribute_changes(const struct distribute *d);
/* The configuration with this serial is safe. */
void distribute_settle(struct distribute *d, int64_t serial);
/* A lane of it has ended. */
void peer_release(struct peer *p);

/* --- distribute_lane.c --- */

void lane_init(struct lane *l, struct peer *p, const struct lane_class *class);
void lane_done(struct lane *l);
/* Let it work if there is something to do. */
void lane_wake(struct lane *l);
/* Call the peer; the payload, to be freed, or NULL. */
WAITS json_t *lane_call(struct lane *l, const char *procedure, const char *args,
			struct error *err);
/* The same for a call that takes longer by itself. */
WAITS json_t *lane_call_for(struct lane *l, const char *procedure,
			    const char *args, unsigned more_ms,
			    struct error *err);
const char *peer_name(const struct peer *p);

/* --- distribute_safe.c --- */

/* Wait until this number is safe in the lane of all peers: 0, or -1 when it
 * never will be. */
WAITS int safe_wait(struct distribute *d,
		    const struct lane *(*lane)(const struct peer *p),
		    uint64_t number, struct error *err);
/* A lane failed or is well again: tell the log. */
void safe_log(struct distribute *d);

/* --- distribute_config.c, distribute_queue.c --- */

extern const struct lane_class lane_files, lane_queue;
void batches_drop(struct peer *p);
char *batch_entry(const char *name, const char *content);
/* Wait until enough candidates have the queue as it is. */
WAITS int distribute_queue_wait_safe(struct distribute *d, struct error *err);

/* --- distribute_catch_up.c --- */

/* Bring what differs between the peer's copy of the queue and ours, then its
 * position. */
WAITS int distribute_catch_up(struct lane *l, struct error *err);

#endif
