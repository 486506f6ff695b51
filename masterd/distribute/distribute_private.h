/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of distribute*.c.  Each node is a peer with a task that makes one
 * call after the other while the peer lacks something, so nothing older can
 * arrive after something newer. */
#ifndef MASTERD_DISTRIBUTE_DISTRIBUTE_PRIVATE_H
#define MASTERD_DISTRIBUTE_DISTRIBUTE_PRIVATE_H

#include <stdint.h>

#include "lib/base/list.h"
#include "lib/json/json.h"
#include "masterd/distribute/distribute.h"

/* The peer answers, and does not take what it is given. */
#define DISTRIBUTE_DECLINED 1
/* It is known whose node daemon the peer has, or that it does not say so. */
#define DISTRIBUTE_ASKED 2

/* A node that is not offline. */
struct peer {
	struct list link;
	struct distribute *d;
	char *uuid;
	json_t *node; /* as configured */
	bool candidate;
	bool gone;	 /* from the configuration; freed with its task */
	bool asked;	 /* whose node daemon it is; then: */
	bool ganetis;	 /* Ganeti's */
	bool told_short; /* the log knows what Ganeti's daemon does not get */
	bool logged;

	uint64_t config, ssconf; /* numbers of what it is known to have */
	bool runs;		 /* its task does */
	bool failing;		 /* the last call failed, */
	bool declined;		 /* or the peer said no */
	bool hurry;		 /* it may be back */
	struct cond kick;
};

struct distribute {
	struct master *m;
	struct list peers;
	json_t *ssconf_values; /* all; NULL: none yet */
	json_t *ssconf_newest; /* the newest change */
	uint64_t n_configs, n_ssconfs;
	bool started, stopping;
	struct cond changed; /* of a peer */
};

/* --- distribute.c --- */

const char *peer_name(const struct peer *p);

/* --- distribute_files.c --- */

/* Whether the peer lacks something that it takes. */
bool peer_lacks(const struct peer *p);
/* Bring some of it: 0, -1, or DISTRIBUTE_DECLINED with err; DISTRIBUTE_ASKED
 * says nothing about whether it answers. */
WAITS int peer_give(struct peer *p, struct error *err);
/* There are new ssconf values: those that have changed. */
void distribute_new_ssconf(struct distribute *d, const json_t *values);

#endif
