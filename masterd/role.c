/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon that leads makes a master of the state that it has; one that led and
 * hears of another leader ends at once, as its tasks do not know. */
#include "masterd/role.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/failover/address.h"
#include "masterd/failover/config_rescue.h"
#include "masterd/master.h"
#include "masterd/quorum/quorum.h"
#include "masterd/state/state.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"

#define POLL_US 100000
/* A leader that is there is heard within this. */
#define HEAR_US 2000000
/* An election that can be won is won within this. */
#define SOON_US 700000
/* Who hears nobody asks so often whether there is one. */
#define ASK_US 3000000
#define WATCH_US 3000000
/* A master that is told to end waits so long for a majority. */
#define STOP_US 5000000
/* So long another one may lead for this one. */
#define LENT_US 10000000
/* After a failover so many jobs are named. */
#define CUT_OFF_NAMES 20

struct role {
	struct role_config config;
	struct quorum *quorum;
	struct master *master;
	struct cond changed;
	bool hurry;	/* role_begin() is to give up */
	bool begun;	/* and has returned */
	bool promoting; /* the master is being made */
	bool watching;	/* the task that looks for another master runs */
	bool leading;	/* the master could commit when it was looked at */
	bool finished;	/* the master's work has ended in order */
	bool over;	/* it has handed over, or ends */
};

static void say(const struct role *r, const char *text)
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
static void end_if_elsewhere(struct role *r, const char *leader)
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

/* --- to be the master --- */

static void on_master_end(struct master *m, int status, const struct error *err)
{
	struct role *r = m->arg;

	r->config.end(r->config.arg, status, err);
}

/* The configuration says that this node is the master. */
static WAITS int take_role(struct master *m, struct error *err)
{
	const char *self = m->paths->hostname;
	const json_t *own = config_find(m->config, CONFIG_NODE, self);
	json_t *cluster;

	if (own == NULL)
		return error_set(err, ERR_CONFIG, ECODE_STATE,
				 "Node %s is not in the configuration", self);
	if (config_is_master(m->config, object_uuid(own)))
		return 0;
	m->role.failover = true;
	cluster = config_edit(config_cluster(m->config));
	cluster_set_master_node(cluster, object_uuid(own));
	config_put_cluster(m->config, cluster);
	return config_commit(m->config, err);
}

/* Take the address from the node that had it, if that answers. */
static WAITS void take_address(struct role *r, const json_t *former)
{
	struct master *m = r->master;
	auto_json json_t *done = NULL;
	struct error err;

	if (former == NULL)
		return;
	done = noderpc_call(m->rpc, former,
			    address_down(config_cluster(m->config)), &err);
	if (done == NULL)
		say(r, err.text);
}

struct cut_off {
	struct role *role;
	size_t n;
};

static void tell_cut_off(const struct job *j, void *arg)
{
	struct cut_off *c = arg;
	char text[ERROR_TEXT_MAX];

	if (++c->n > CUT_OFF_NAMES)
		return;
	snprintf(text, sizeof(text),
		 "Job %ju (%s) was cut off: it ends with %s; look at what it "
		 "was about before you repeat it",
		 (uintmax_t)j->id, j->ops[0].summary,
		 job_state_name(job_status(j)));
	say(c->role, text);
}

/* Who takes over says which jobs the former master did not bring to an end. */
static void name_cut_off(struct role *r)
{
	struct cut_off c = {.role = r};
	char text[100];

	queue_each_cut_off(r->master->queue, tell_cut_off, &c);
	if (c.n <= CUT_OFF_NAMES)
		return;
	snprintf(text, sizeof(text),
		 "and %zu more, which gnt-job list shows with error",
		 c.n - CUT_OFF_NAMES);
	say(r, text);
}

/* A configuration that was changed by hand is everybody's from now on, unless
 * it makes no sense. */
static WAITS int take_edited(struct role *r, struct error *err)
{
	struct state *state = quorum_state(r->quorum);
	auto_free char *text = NULL;
	size_t len;

	if (state_origin(state) != CONFIG_EDITED)
		return 0;
	text = config_image_text(state_config(state), &len);
	if (config_check_text(text, len, err) < 0)
		return error_wrap(err, "Cannot use the configuration %s",
				  path(r->config.paths, PATH_CONFIG_DATA));
	return state_commit_image(state, err);
}

static WAITS int make_master(struct role *r, struct error *err)
{
	const struct role_config *config = &r->config;
	struct master_role role = {0};
	auto_json json_t *former = NULL;
	struct master *m;

	quorum_leads(r->quorum, &role.term);
	if (take_edited(r, err) < 0)
		return -1;
	m = master_create(
		config->disk,
		paths_create(config->paths->root, config->paths->hostname),
		config->transport, &role, r->quorum, err);
	if (m == NULL)
		return -1;
	former = json_ref(config_master(m->config));
	r->master = m;
	m->end = on_master_end;
	m->arg = r;
	if (take_role(m, err) < 0)
		return -1;
	if (m->role.failover) {
		take_address(r, former);
		name_cut_off(r);
	}
	return config->serve(config->arg, m, err);
}

/* A master that hears nobody, since its node daemon is gone, learns in no other
 * way that there is another one. */
static WAITS void watch_task(void *arg)
{
	struct role *r = arg;

	while (!r->over && !r->hurry) {
		cond_wait_until(&r->changed, clock_mono_us() + WATCH_US);
		if (!r->over && !r->hurry && !r->leading) {
			auto_free char *leader = quorum_find_leader(r->quorum);

			end_if_elsewhere(r, leader);
		}
	}
	r->watching = false;
	cond_signal(&r->changed);
}

static WAITS int promote(struct role *r, struct error *err)
{
	int rc;

	r->promoting = true;
	rc = make_master(r, err);
	r->promoting = false;
	if (rc < 0)
		return -1;
	r->leading = r->watching = true;
	task_spawn("watch", watch_task, r);
	master_start(r->master);
	quorum_members_begin(r->quorum);
	address_turn_up(r->master->config, r->master->rpc);
	if (r->master->role.failover)
		master_wait_announced(r->master);
	return 0;
}

static WAITS void promote_task(void *arg)
{
	struct role *r = arg;
	struct error err;

	if (promote(r, &err) < 0)
		r->config.end(r->config.arg, MASTER_EXIT_FATAL, &err);
}

/* --- what the log says --- */

/* The log of the daemon says from when to when nothing could be changed. */
static void tell_leading(struct role *r, bool leads)
{
	struct error err;

	if (r->over || leads == r->leading)
		return;
	r->leading = leads;
	if (leads)
		log_info("Changes of the cluster can be kept");
	else if (quorum_safe(r->quorum, &err) < 0)
		log_error("%s", err.text);
	else
		log_warning("This master asks the other candidates whether it "
			    "is still theirs");
}

static void check_lost(struct role *r)
{
	auto_free char *leader = quorum_leader(r->quorum);

	end_if_elsewhere(r, leader);
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
 * off. */
static WAITS void on_finish(void *arg)
{
	struct role *r = arg;
	int64_t until_us =
		clock_mono_us() + QUORUM_HAND_OVER_MS * INT64_C(1000);

	if (r->master == NULL || r->over)
		return;
	r->config.close(r->config.arg);
	task_spawn("hand over", finish_task, r);
	while (!r->over && cond_wait_until(&r->changed, until_us))
		;
	r->over = true;
}

/* --- begin --- */

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

static WAITS int open_quorum(struct role *r, struct error *err)
{
	struct quorum_config config = {
		.disk = r->config.disk,
		.paths = r->config.paths,
		.transport = r->config.transport,
		.standby = r->config.mode == ROLE_STANDBY,
		.arg = r,
		.changed = on_changed,
		.ended = on_ended,
		.fenced = on_fenced,
		.quit = on_quit,
		.finish = on_finish,
	};

	r->quorum = quorum_open(&config, err);
	if (r->quorum == NULL)
		return -1;
	return r->config.listen(r->config.arg, err);
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

/* A log begins where there is none, where somebody else has written the files,
 * and where the others are to be left behind. */
static WAITS int need_log(struct role *r, struct error *err)
{
	const struct role_config *c = &r->config;
	struct quorum_begin how = {
		.failover = c->mode == ROLE_FAILOVER,
		.no_voting = c->no_voting,
		.ignore_offline = c->ignore_offline,
		.progress = on_progress,
		.stopped = is_stopped,
		.arg = r,
	};

	if (quorum_has_log(r->quorum) && !c->no_voting &&
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
			say(r, text);
			if (quorum_ask_for_lead(r->quorum, &err) < 0)
				say(r, err.text);
			return;
		}
		if (leader != NULL || clock_mono_us() > until_us || r->hurry)
			return;
		cond_wait_until(&r->changed, clock_mono_us() + POLL_US);
	}
}

static WAITS int no_lead(struct role *r, struct error *err)
{
	auto_free char *newest = NULL;

	if (r->hurry)
		return error_set(err, ERR_SYSTEM, ECODE_STATE,
				 "It was told to end");
	newest = quorum_find_newer(r->quorum);
	if (newest != NULL)
		return error_set(err, ERR_SYSTEM, ECODE_STATE,
				 "Node %s has newer data: run gnt-cluster "
				 "master-failover there; --no-voting goes on "
				 "with what this node has",
				 newest);
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

static WAITS int wait_for_lead(struct role *r, struct error *err)
{
	unsigned limit_ms = r->config.mode == ROLE_FAILOVER ? ROLE_FAILOVER_MS
							    : ROLE_LEAD_MS;
	int64_t until_us = clock_mono_us() + limit_ms * INT64_C(1000);
	int64_t ask_us = clock_mono_us() + SOON_US, lent_us = 0;
	char text[ERROR_TEXT_MAX];
	uint64_t term;

	if (r->config.mode == ROLE_FAILOVER) {
		snprintf(text, sizeof(text),
			 "Asking the master candidates to follow %s",
			 r->config.paths->hostname);
		say(r, text);
	}
	quorum_lead(r->quorum);
	while (!quorum_leads(r->quorum, &term)) {
		if (clock_mono_us() > lent_us &&
		    is_elsewhere(r, clock_mono_us() > ask_us, err))
			return -1;
		if (clock_mono_us() > ask_us) {
			if (quorum_borrow(r->quorum))
				lent_us = clock_mono_us() + LENT_US;
			ask_us = clock_mono_us() + ASK_US;
		}
		if (clock_mono_us() > until_us || r->hurry)
			return no_lead(r, err);
		cond_wait_until(&r->changed, clock_mono_us() + POLL_US);
	}
	return 0;
}

static WAITS int begin(struct role *r, struct error *err)
{
	bool had_log;

	if (rescue(r, err) < 0 || open_quorum(r, err) < 0)
		return -1;
	quorum_start(r->quorum);
	if (r->config.mode == ROLE_STANDBY)
		return 0;
	had_log = quorum_has_log(r->quorum);
	if (need_log(r, err) < 0)
		return -1;
	if (had_log && r->config.mode == ROLE_FAILOVER && !r->config.no_voting)
		ask_leader(r);
	if (wait_for_lead(r, err) < 0)
		return -1;
	return promote(r, err);
}

int role_begin(struct role *r, struct error *err)
{
	int rc = begin(r, err);

	r->begun = true;
	if (rc == 0 && r->master == NULL)
		on_changed(r);
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

void role_parcel(struct role *r, const void *data, size_t len)
{
	if (r->quorum != NULL)
		quorum_receive(r->quorum, data, len);
}

char *role_order(struct role *r, const char *data, size_t len)
{
	bool led = r->master != NULL && !r->over;
	char *answer = quorum_serve(r->quorum, data, len);

	if (led && r->over)
		end_handed_over(r);
	return answer;
}

/* --- end --- */

/* Without a majority nothing of what still runs can be recorded. */
static WAITS void stop_master(struct role *r)
{
	int64_t lost_us = 0;
	struct error err;
	uint64_t term;

	task_spawn("finish", finish_task, r);
	while (!r->finished) {
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
		cond_wait_until(&r->changed, now_us + POLL_US);
	}
}

void role_stop(struct role *r)
{
	bool over = r->over;

	role_hurry(r);
	while (r->promoting)
		cond_wait_until(&r->changed, clock_mono_us() + POLL_US);
	if (r->master != NULL && !over)
		stop_master(r);
	r->over = true;
	cond_signal(&r->changed);
	while (r->watching)
		cond_wait_until(&r->changed, clock_mono_us() + POLL_US);
	if (r->quorum != NULL)
		quorum_stop(r->quorum);
}

void role_free(struct role *r)
{
	if (r == NULL)
		return;
	master_free(r->master);
	quorum_free(r->quorum);
	free(r);
}
