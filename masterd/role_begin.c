/* SPDX-License-Identifier: BSD-2-Clause */
/* How a daemon comes to lead: a start where it is the master already, a
 * failover, by order or by itself. */
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "masterd/failover/config_rescue.h"
#include "masterd/role_private.h"
#include "masterd/state/state.h"

/* A leader that is there is heard within this. */
#define HEAR_US 2000000
/* An election that can be won is won within this. */
#define SOON_US 700000
/* Who hears nobody asks so often whether there is one. */
#define ASK_US 3000000
/* So long another one may lead for this one. */
#define LENT_US 10000000

static WAITS int rescue(struct role *r, struct error *err)
{
	const struct role_config *c = &r->config;
	struct config_rescue rescue = {
		.disk = c->disk,
		.paths = c->paths,
		.transport = c->transport,
		.no_voting = c->no_voting,
		.progress = c->progress,
		.arg = c->arg,
	};

	return c->mode == ROLE_STANDBY ? 0 : config_rescue_run(&rescue, err);
}

static void on_progress(void *arg, const char *text)
{
	const struct role *r = arg;

	if (r->config.progress != NULL)
		r->config.progress(r->config.arg, text);
}

static bool is_stopped(void *arg)
{
	const struct role *r = arg;

	return r->hurry;
}

/* Ganeti has run here meanwhile, or a tool of its: they raise the serial
 * number. What was changed by hand under the same number is committed
 * (make_master()).
 */
static bool is_written_by_others(const struct role *r)
{
	enum config_origin origin = state_origin(quorum_state(r->quorum));

	return origin == CONFIG_NEWER || origin == CONFIG_UNKNOWN;
}

/* Whether it goes on without the agreement of others. */
static bool leaves_behind(const struct role *r)
{
	return r->config.no_voting || r->config.drop != NULL;
}

/* A log begins where there is none, where somebody else has written the files,
 * and where the others are to be left behind.  1: this node was taken into one
 * meanwhile. */
static WAITS int need_log(struct role *r, struct error *err)
{
	const struct role_config *c = &r->config;
	struct quorum_begin how = {
		.failover = c->mode == ROLE_FAILOVER,
		.no_voting = c->no_voting,
		.ignore_offline = c->ignore_offline,
		.drop = c->drop,
		.progress = on_progress,
		.stopped = is_stopped,
		.arg = r,
	};

	if (quorum_has_log(r->quorum) && !leaves_behind(r) &&
	    !is_written_by_others(r))
		return 0;
	return quorum_begin_log(r->quorum, &how, err);
}

/* Where the leader answers it hands over; otherwise this server is elected. */
static WAITS void ask_leader(struct role *r)
{
	int64_t until_us = clock_mono_us() + HEAR_US;
	char text[ERROR_TEXT_MAX + 100];
	struct error err;

	for (;;) {
		auto_free char *leader = quorum_leader(r->quorum);

		if (leader != NULL &&
		    !str_eq(leader, r->config.paths->hostname)) {
			snprintf(text, sizeof(text),
				 "Node %s hands over; jobs that run there have "
				 "%u seconds to end",
				 leader, QUORUM_HAND_OVER_MS / 1000);
			role_say(r, text);
			if (quorum_ask_for_lead(r->quorum, &err) < 0)
				role_say(r, err.text);
			return;
		}
		if (leader != NULL || clock_mono_us() > until_us || r->hurry)
			return;
		cond_wait_until(&r->changed, clock_mono_us() + ROLE_POLL_US);
	}
}

static int fail_newer(const char *newest, struct error *err)
{
	return error_set(err, ERR_SYSTEM, ECODE_STATE,
			 "Node %s has newer data: run gnt-cluster "
			 "master-failover there; --no-voting goes on with what "
			 "this node has",
			 newest);
}

static WAITS int no_lead(struct role *r, struct error *err)
{
	auto_free char *newest = NULL;

	if (r->hurry)
		return error_set(err, ERR_SYSTEM, ECODE_STATE,
				 "It was told to end");
	newest = quorum_find_newer(r->quorum);
	if (newest != NULL)
		return fail_newer(newest, err);
	if (quorum_safe(r->quorum, err) == 0)
		error_set(err, ERR_SYSTEM, ECODE_STATE,
			  "The other master candidates have not made this node "
			  "their master; --no-voting does without them");
	return -1;
}

/* With a master that is there, a start at home has nothing to do.  Without its
 * node daemon it hears of no master, so it asks (ask). */
static WAITS bool is_elsewhere(struct role *r, bool ask, struct error *err)
{
	auto_free char *leader =
		ask ? quorum_find_leader(r->quorum) : quorum_leader(r->quorum);
	uint64_t term;

	if (leader == NULL || str_eq(leader, r->config.paths->hostname) ||
	    r->config.mode == ROLE_FAILOVER || quorum_leads(r->quorum, &term))
		return false;
	error_set(err, ERR_SYSTEM, ECODE_FENCED,
		  "This is node %s, but the master of the cluster is %s",
		  r->config.paths->hostname, leader);
	return true;
}

int role_check_let_in(struct role *r, struct error *err)
{
	const char *self = r->config.paths->hostname;
	auto_free char *by = quorum_shut_out_by(r->quorum);

	if (by == NULL)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_FENCED,
			 "The nodes of the cluster do not obey %s any more (%s "
			 "says so), as they have another master: run gnt-node "
			 "add --readd %s there. If there is none, --no-voting "
			 "goes on with what this node has",
			 self, by, self);
}

/* Not of one that is to take over: it may have been away for long. */
static WAITS bool is_shut_out(struct role *r, struct error *err)
{
	return r->config.mode != ROLE_FAILOVER && !leaves_behind(r) &&
	       role_check_let_in(r, err) < 0;
}

static WAITS int wait_for_lead(struct role *r, struct error *err)
{
	unsigned limit_ms = r->config.mode == ROLE_FAILOVER ? ROLE_FAILOVER_MS
							    : ROLE_LEAD_MS;
	int64_t until_us = clock_mono_us() + limit_ms * INT64_C(1000);
	int64_t ask_us = clock_mono_us() + SOON_US, lent_us = 0;
	char text[ERROR_TEXT_MAX];
	bool lent = false;
	uint64_t term;

	if (r->config.mode == ROLE_FAILOVER) {
		snprintf(text, sizeof(text),
			 "Asking the master candidates to follow %s",
			 r->config.paths->hostname);
		role_say(r, text);
	}
	while (!quorum_leads(r->quorum, &term)) {
		quorum_lead(r->quorum);
		if (clock_mono_us() > lent_us &&
		    is_elsewhere(r, clock_mono_us() > ask_us, err))
			return -1;
		/* To ask nodes that are off takes its time. */
		if (clock_mono_us() > ask_us &&
		    !quorum_leads(r->quorum, &term)) {
			if (is_shut_out(r, err))
				return -1;
			if (quorum_borrow(r->quorum)) {
				lent_us = clock_mono_us() + LENT_US;
				/* The other one needs its time, too. */
				if (!lent)
					until_us = lent_us + LENT_US;
				lent = true;
			}
			ask_us = clock_mono_us() + ASK_US;
		}
		if (clock_mono_us() > until_us || r->hurry)
			return no_lead(r, err);
		cond_wait_until(&r->changed, clock_mono_us() + ROLE_POLL_US);
	}
	/* Where others have a vote, theirs shows that they let it in. */
	return quorum_is_alone(r->quorum) && is_shut_out(r, err) ? -1 : 0;
}

/* An older image of a time when others were candidates must not lead. */
static WAITS int check_newest(struct role *r, struct error *err)
{
	auto_free char *newest =
		leaves_behind(r) ? NULL : quorum_overtaken_by(r->quorum);

	return newest == NULL ? 0 : fail_newer(newest, err);
}

int role_reach(struct role *r, struct error *err)
{
	bool had_log;
	int rc;

	if (rescue(r, err) < 0 || role_open_quorum(r, err) < 0)
		return -1;
	quorum_start(r->quorum);
	if (r->config.mode == ROLE_STANDBY)
		return 0;
	had_log = quorum_has_log(r->quorum);
	rc = need_log(r, err);
	if (rc < 0)
		return -1;
	if ((had_log || rc > 0) && r->config.mode == ROLE_FAILOVER &&
	    !leaves_behind(r))
		ask_leader(r);
	if (check_newest(r, err) < 0 || wait_for_lead(r, err) < 0)
		return -1;
	return role_promote(r, err);
}

/* --- by itself --- */

static int64_t end_of_silence(void)
{
	return clock_mono_us() +
	       (ROLE_SILENCE_MS + random_below(ROLE_SPREAD_MS)) * INT64_C(1000);
}

/* Whoever leads, and what the cluster wants, is told by r->changed. */
static WAITS void elect_task(void *arg)
{
	struct role *r = arg;
	int64_t until_us = 0; /* 0: a master is heard, or nobody wants one */
	struct error err;

	while (!r->over && !r->hurry && r->master == NULL && !r->promoting) {
		auto_free char *leader = quorum_leader(r->quorum);

		if (leader != NULL || !quorum_is_automatic(r->quorum)) {
			until_us = 0;
			cond_wait(&r->changed);
			continue;
		}
		if (until_us == 0)
			until_us = end_of_silence();
		if (clock_mono_us() < until_us) {
			cond_wait_until(&r->changed, until_us);
			continue;
		}
		if (check_newest(r, &err) == 0) {
			log_warning("No master is heard: asking the master "
				    "candidates to follow this node");
			quorum_lead(r->quorum);
		} else {
			log_warning("No master is heard, but %s", err.text);
		}
		until_us = end_of_silence();
	}
	r->electing = false;
	cond_signal(&r->changed);
}

void role_begin_electing(struct role *r)
{
	r->electing = true;
	task_spawn("elect", elect_task, r);
}
