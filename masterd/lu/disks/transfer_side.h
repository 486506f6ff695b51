/* SPDX-License-Identifier: BSD-2-Clause */
/* One of the two processes that copy a disk, on its node: started, asked how
 * far it is, cleaned up.  It continues without its node daemon, so one that
 * does not answer for a while does not end it. */
#ifndef MASTERD_LU_DISKS_TRANSFER_SIDE_H
#define MASTERD_LU_DISKS_TRANSFER_SIDE_H

#include "masterd/lu/frame/lu.h"

/* The pause before the first question; the next ones are longer. */
#define TRANSFER_POLL_MIN_MS 50

struct transfer_side {
	struct lu *lu;
	size_t index;		 /* of the disk, for the sentences */
	const char *node, *verb; /* "receiving" */
	char *name;		 /* NULL: it was not started */
	bool connected, finished;
	json_t *status;
	int64_t silent_us; /* since when it does not answer; 0: it does */
	int64_t began_us;
};

/* By this call, whose arguments are given away.  what: "import". */
WAITS int transfer_side_start(struct transfer_side *s,
			      struct rpc_request request, const char *what,
			      struct error *err);

/* "disk0", to be freed. */
char *transfer_side_component(const struct transfer_side *s);

/* The port on which an importing side listens, or -1. */
WAITS int64_t transfer_side_await_port(struct transfer_side *s,
				       struct error *err);

/* Ask how far it is.  -1 when it failed. */
WAITS int transfer_side_look(struct transfer_side *s, struct error *err);
/* The same; says when it is through. */
WAITS int transfer_side_follow(struct transfer_side *s, struct error *err);

/* Whether it has failed for no other reason than that its peer was not there
 * any more; a node daemon of Ganeti's does not say. */
bool transfer_side_lost_peer(const struct transfer_side *s);

/* Pause before the next question, and make *pause_ms longer, up to a second: a
 * short transfer is noticed at once.  -1 when the job was killed. */
WAITS int transfer_side_pause(struct lu *lu, unsigned *pause_ms,
			      struct error *err);

/* What its programs said, if it failed. */
void transfer_side_tell_output(const struct transfer_side *s);

/* The process ends, and what it has open is free; frees what *s holds. */
WAITS void transfer_side_clean(struct transfer_side *s);

#endif
