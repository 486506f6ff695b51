/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon that leads makes a master of the state that it has; one that led and
 * hears of another leader ends at once, as its tasks do not know. */
#include "masterd/role.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "masterd/core/master.h"
#include "masterd/master.h"
#include "masterd/role_private.h"

/* A master that is told to end waits so long for a majority. */
#define STOP_US 5000000

void role_say(const struct role *r, const char *text)
{
	log_info("%s", text);
	if (r->config.progress != NULL)
		r->config.progress(r->config.arg, text);
}

struct role *role_create(const struct role_config *config)
{
	struct role *r = xalloc(sizeof(*r));

	r->config = *config;
	cond_init(&r->changed);
	return r;
}

struct master *role_master(const struct role *r)
{
	return r->master;
}

struct quorum *role_quorum(const struct role *r)
{
	return r->quorum;
}

/* Another node leads: end.  NULL: nobody is known to. */
void role_end_if_elsewhere(struct role *r, const char *leader)
{
	struct error err;
	uint64_t term;

	if (r->over || leader == NULL ||
	    str_eq(leader, r->config.paths->hostname) ||
	    quorum_leads(r->quorum, &term))
		return;
	r->over = true;
	error_set(&err, ERR_SYSTEM, ECODE_FENCED,
		  "Another master has taken over: node %s", leader);
	r->config.end(r->config.arg, MASTER_EXIT_FENCED, &err);
}
static WAITS void promote_task(void *arg)
{
	struct role *r = arg;
	struct error err;

	if (role_promote(r, &err) < 0)
		r->config.end(r->config.arg, MASTER_EXIT_FATAL, &err);
}

/* --- what the log says --- */

/* The log of the daemon says from when to when nothing could be changed. */
static void tell_leading(struct role *r, bool leads)
{
	bool changed = leads != r->leading;
	struct error err;

	if (r->over || (!changed && (leads || r->named)))
		return;
	r->leading = leads;
	r->named = !leads && quorum_safe(r->quorum, &err) < 0;
	if (r->named)
		log_error("%s", err.text);
	else if (leads)
		log_info("Changes of the cluster can be kept");
	else if (changed)
		log_warning("This master asks the other candidates whether it "
			    "is still theirs");
}

static void check_lost(struct role *r)
{
	auto_free char *leader = quorum_leader(r->quorum);

	role_end_if_elsewhere(r, leader);
}

static void on_changed(void *arg)
{
	struct role *r = arg;
	uint64_t term;
	bool leads = quorum_leads(r->quorum, &term);

	cond_signal(&r->changed);
	if (r->master != NULL || r->promoting) {
		if (leads && r->master != NULL)
			noderpc_set_term(r->master->rpc, term);
		check_lost(r);
		tell_leading(r, leads);
		return;
	}
	if (leads && r->begun && !r->over) {
		r->promoting = true;
		task_spawn("promote", promote_task, r);
	}
}

/* What it missed is given to it at once. */
static void on_heard(void *arg)
{
	const struct role *r = arg;

	if (r->master != NULL && !r->over)
		master_hurry(r->master);
}

static void on_ended(void *arg, const struct error *err)
{
	struct role *r = arg;

	if (r->over)
		return;
	r->over = true;
	/* An older image takes part no more; it will be taken in anew. */
	if (error_is(err, ECODE_FENCED) || error_is(err, ECODE_FAULT))
		quorum_forget(r->config.disk, r->config.paths);
	r->config.end(r->config.arg, MASTER_EXIT_FATAL, err);
}

/* Only a master has shown a term to anybody. */
static void on_fenced(void *arg, const struct error *err)
{
	struct role *r = arg;

	if (r->over || (r->master == NULL && !r->promoting))
		return;
	r->over = true;
	r->config.end(r->config.arg, MASTER_EXIT_FENCED, err);
}

static void on_left(void *arg)
{
	role_begin_to_shut_out(arg);
}

static void on_quit(void *arg)
{
	struct role *r = arg;

	r->over = true;
	r->config.quit(r->config.arg, false);
}

static WAITS void finish_task(void *arg)
{
	struct role *r = arg;

	master_stop(r->master);
	r->finished = r->over = true;
	cond_signal(&r->changed);
}

/* Let the master's work end; what does not end in time the new master cuts
 * off.  One that is being made is made first: it can be ended then. */
static WAITS void on_finish(void *arg)
{
	struct role *r = arg;
	int64_t until_us =
		clock_mono_us() + QUORUM_HAND_OVER_MS * INT64_C(1000);

	while (r->promoting && !r->over &&
	       cond_wait_until(&r->changed, until_us))
		;
	if (r->master == NULL || r->over)
		return;
	r->handing = task_self();
	r->config.close(r->config.arg);
	task_spawn("hand over", finish_task, r);
	while (!r->over && cond_wait_until(&r->changed, until_us))
		;
	r->over = true;
}

int role_open_quorum(struct role *r, struct error *err)
{
	struct quorum_config config = {
		.disk = r->config.disk,
		.paths = r->config.paths,
		.transport = r->config.transport,
		.standby = r->config.mode == ROLE_STANDBY,
		.forced = r->config.no_voting,
		.arg = r,
		.changed = on_changed,
		.heard = on_heard,
		.ended = on_ended,
		.fenced = on_fenced,
		.quit = on_quit,
		.left = on_left,
		.finish = on_finish,
	};

	r->quorum = quorum_open(&config, err);
	if (r->quorum == NULL)
		return -1;
	return r->config.listen(r->config.arg, err);
}

/* --- begin --- */

int role_begin(struct role *r, struct error *err)
{
	int rc = role_reach(r, err);

	r->begun = true;
	if (rc == 0 && r->master == NULL) {
		role_begin_electing(r);
		on_changed(r);
	}
	return rc;
}

void role_hurry(struct role *r)
{
	r->hurry = true;
	cond_signal(&r->changed);
}

/* What could not end in time must not go on beside the new master. */
static void end_handed_over(struct role *r)
{
	if (r->finished)
		r->config.quit(r->config.arg, true);
	else
		r->config.cut(r->config.arg);
}

bool role_parcel(struct role *r, const void *data, size_t len,
		 struct consensus_question *question)
{
	return r->quorum != NULL &&
	       quorum_receive(r->quorum, data, len, question);
}

char *role_order(struct role *r, const char *data, size_t len)
{
	char *answer = quorum_serve(r->quorum, data, len);

	/* Whether there is a master is known only once it is this order's turn:
	 * it may have come while the master was made. */
	if (r->handing != NULL && r->handing == task_self()) {
		r->handing = NULL;
		end_handed_over(r);
	}
	return answer;
}

/* --- end --- */

static bool is_promoting(const struct role *r)
{
	return r->promoting;
}

static bool is_tidying(const struct role *r)
{
	return r->tidying;
}

static bool is_unfinished(const struct role *r)
{
	return !r->finished;
}

/* Without a majority nothing of what still runs can be recorded. */
static WAITS void wait_while(struct role *r, bool (*busy)(const struct role *))
{
	int64_t lost_us = 0;
	struct error err;
	uint64_t term;

	while (busy(r)) {
		int64_t now_us = clock_mono_us();

		if (quorum_leads(r->quorum, &term))
			lost_us = 0;
		else if (lost_us == 0)
			lost_us = now_us;
		if (lost_us != 0 && now_us - lost_us > STOP_US) {
			error_set(
				&err, ERR_SYSTEM, ECODE_STATE,
				"The master daemon ends without a majority of "
				"the candidates: what it has not recorded yet "
				"is cut off");
			r->config.end(r->config.arg, MASTER_EXIT_FATAL, &err);
		}
		cond_wait_until(&r->changed, now_us + ROLE_POLL_US);
	}
}

void role_stop_promotion(struct role *r)
{
	role_hurry(r);
	wait_while(r, is_promoting);
}

void role_stop(struct role *r)
{
	bool over = r->over;

	role_stop_promotion(r);
	wait_while(r, is_tidying);
	if (r->master != NULL && !over) {
		task_spawn("finish", finish_task, r);
		wait_while(r, is_unfinished);
	}
	r->over = true;
	cond_signal(&r->changed);
	while (r->watching || r->electing)
		cond_wait_until(&r->changed, clock_mono_us() + ROLE_POLL_US);
	if (r->quorum != NULL)
		quorum_stop(r->quorum);
}

bool role_has_work(const struct role *r)
{
	return r != NULL && r->master != NULL && !r->finished;
}

void role_free(struct role *r)
{
	if (r == NULL)
		return;
	/* Jobs that did not end when it handed over still hold it. */
	if (r->finished || tasks_count() == 0)
		master_free(r->master);
	quorum_free(r->quorum);
	free(r);
}
