/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of role*.c: role.c has the life of a master daemon and what the
 * log tells it, role_begin.c how it comes to lead, role_promote.c how one that
 * leads becomes the master. */
#ifndef MASTERD_ROLE_PRIVATE_H
#define MASTERD_ROLE_PRIVATE_H

#include "masterd/quorum/quorum.h"
#include "masterd/role.h"

/* What waits looks again so often. */
#define ROLE_POLL_US 100000

struct role {
	struct role_config config;
	struct quorum *quorum;
	struct master *master;
	struct cond changed;
	struct task *handing; /* this task's order to hand over ends it */
	bool hurry;	      /* role_begin() is to give up */
	bool begun;	      /* and has returned */
	bool promoting;	      /* the master is being made */
	bool electing;	      /* the task that waits for a silence runs */
	bool watching;	      /* the task that looks for another master runs */
	bool tidying;	      /* that of role_certs.c runs */
	bool tidy_again;      /* and has more to do */
	bool named;	      /* who is silent while it could not */
	bool leading;  /* the master could commit when it was looked at */
	bool finished; /* the master's work has ended in order */
	bool over;     /* it has handed over, or ends */
};

/* A line for people: to the log, and to who has started the daemon. */
void role_say(const struct role *r, const char *text);

/* --- role_begin.c --- */

/* Begin to look, beside all else, whether there is a master, and become it
 * where there is none and the cluster wants that. */
void role_begin_electing(struct role *r);
/* -1 (ECODE_FENCED) with err: most nodes do not let this one in, or obey a
 * newer master, so that it is none.  Asks all of them, which may take some
 * seconds. */
WAITS int role_check_let_in(struct role *r, struct error *err);
/* Until the daemon stands by, or leads (as its mode says).  -1 with err: it has
 * nothing to do here. */
WAITS int role_reach(struct role *r, struct error *err);

/* --- role_promote.c --- */

/* It leads: make a master of its state.  -1 is fatal. */
WAITS int role_promote(struct role *r, struct error *err);

/* --- role_certs.c --- */

/* Begin to shut out the nodes that are neither candidates nor members of the
 * log: after a promotion, and when one has left. */
void role_begin_to_shut_out(struct role *r);

/* --- role.c --- */

/* The log is opened, with what the role does when that says something. */
WAITS int role_open_quorum(struct role *r, struct error *err);
/* Another node leads: end.  NULL: nobody is known to. */
void role_end_if_elsewhere(struct role *r, const char *leader);

#endif
