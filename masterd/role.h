/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a master daemon: it stands by as a server of the replicated log
 * (masterd/quorum/), becomes the master when it leads, and ends.  The same for
 * the daemon and the simulation. */
#ifndef MASTERD_ROLE_H
#define MASTERD_ROLE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "masterd/rpc/noderpc.h"

struct consensus_question;
struct role;
struct master;
struct quorum;

/* A start that finds no majority gives up after this. */
#define ROLE_LEAD_MS 60000u
/* and a failover, for which somebody waits, after this. */
#define ROLE_FAILOVER_MS 15000u
/* Where master_failover is automatic, a candidate that has heard no master for
 * so long asks for votes; a little later, by chance, so that not all do. */
#define ROLE_SILENCE_MS 10000u
#define ROLE_SPREAD_MS 2000u

enum role_mode {
	ROLE_HOME,     /* this node is the master, by its files */
	ROLE_STANDBY,  /* it only takes part */
	ROLE_FAILOVER, /* it shall be master in place of another */
};

struct role_config {
	struct disk *disk;
	const struct paths *paths;
	const struct noderpc_transport *transport;
	enum role_mode mode;
	bool no_voting;	     /* go on without the agreement of others */
	bool ignore_offline; /* nodes that are offline have no say */
	/* Candidates that are lost for good (quorum_begin.drop). */
	const struct strv *drop;

	void *arg;
	/* What is being done, a line each, for people.  NULL: nobody. */
	void (*progress)(void *arg, const char *text);
	/* The log is open: let requests of other servers come in. */
	int (*listen)(void *arg, struct error *err);
	/* It is the master now: let clients in, before its jobs begin. */
	WAITS int (*serve)(void *arg, struct master *m, struct error *err);
	/* It hands over: let no more clients in. */
	void (*close)(void *arg);
	/* Nothing may be written or promised any more: end here and now. */
	void (*end)(void *arg, int status, const struct error *err);
	/* End in order; again: and stand by then, as it has handed over. */
	void (*quit)(void *arg, bool again);
	/* It has handed over, and not all has ended: stand by at once. */
	void (*cut)(void *arg);
};

struct role *role_create(const struct role_config *config);
/* 0: it stands by, or is the master (as its mode says).  -1 with err: it has
 * nothing to do here; with ECODE_FENCED another node is the master. */
WAITS int role_begin(struct role *r, struct error *err);
/* The master, NULL while it stands by. */
struct master *role_master(const struct role *r);
/* Its server of the log; NULL before it is open. */
struct quorum *role_quorum(const struct role *r);
/* What other servers send: a parcel of the log (quorum_receive()); an order,
 * with its answer, to be freed. */
bool role_parcel(struct role *r, const void *data, size_t len,
		 struct consensus_question *question);
WAITS char *role_order(struct role *r, const char *data, size_t len);
/* role_begin() is to give up.  Does not wait. */
void role_hurry(struct role *r);
/* The same, while it runs: a node that is being made the master gets so long as
 * others follow it.  Where what that records never can be committed, it ends
 * without it (end() of the configuration).  Returns when no master is being
 * made, which may be before role_begin() does. */
WAITS void role_stop_promotion(struct role *r);
/* End in order: running jobs end, all is written.  Not before role_begin() has
 * returned. */
WAITS void role_stop(struct role *r);
/* Whether tasks of the master are left behind role_stop(): it was told to end
 * when it did not lead any more, so their work could not end. */
bool role_has_work(const struct role *r);
/* No task may be left that uses it. */
void role_free(struct role *r);

#endif
