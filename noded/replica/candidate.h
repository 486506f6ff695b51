/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node keeps for the day it becomes master, and its promise to the one
 * that is (doc/design/failover.md). */
#ifndef NODED_REPLICA_CANDIDATE_H
#define NODED_REPLICA_CANDIDATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "lib/model/files/term.h"
#include "noded/replica/replica.h"

struct candidate {
	struct disk *disk;
	const struct paths *paths;
	struct term promise; /* as on disk once it was looked at */
	bool looked;
	struct replica *queue;
};

/* paths stay the caller's.  queue: see replica.h; its disk and folder are
 * filled in. */
void candidate_init(struct candidate *c, struct disk *disk,
		    const struct paths *paths, struct replica_config queue);
void candidate_done(struct candidate *c);

enum candidate_verdict { CANDIDATE_SERVE, CANDIDATE_STALE, CANDIDATE_ERROR };

/* May a call with this term (0: it has none) be served?  A higher one than
 * ours is promised first.  STALE and ERROR come with err. */
enum candidate_verdict candidate_check(struct candidate *c, uint64_t term,
				       struct error *err);

/* The answer to master_state, to be freed.  ssconf_master may be NULL. */
WAITS json_t *candidate_state(struct candidate *c, const char *ssconf_master,
			      bool masterd_runs, struct error *err);

#endif
