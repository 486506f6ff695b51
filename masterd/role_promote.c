/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon that leads makes a master of the state that it has, and looks from
 * time to time whether it is still the one. */
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/failover/address.h"
#include "masterd/master.h"
#include "masterd/role_private.h"
#include "masterd/state/state.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"

#define WATCH_US 3000000
/* A former master that does not answer keeps nobody waiting for longer. */
#define ADDRESS_MS 10000u
/* After a failover so many jobs are named. */
#define CUT_OFF_NAMES 20

static void on_master_end(struct master *m, int status, const struct error *err)
{
	struct role *r = m->arg;

	r->config.end(r->config.arg, status, err);
}

/* It may have been demoted while it was elected; a master is a candidate. */
static void be_candidate(struct master *m, const json_t *own)
{
	json_t *node;

	if (node_master_candidate(own))
		return;
	node = config_edit(own);
	node_set_master_candidate(node, true);
	config_put(m->config, CONFIG_NODE, node);
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
	be_candidate(m, own);
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
	done = noderpc_call(
		m->rpc, former,
		rpc_within(address_down(config_cluster(m->config)), ADDRESS_MS),
		&err);
	if (done == NULL)
		role_say(r, err.text);
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
	role_say(c->role, text);
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
	role_say(r, text);
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
	if (state_end_left(quorum_state(r->quorum), err) < 0 ||
	    take_edited(r, err) < 0)
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
	if (take_role(m, err) < 0 || (config_complete(m->config) > 0 &&
				      config_commit(m->config, err) < 0))
		return -1;
	if (m->role.failover) {
		take_address(r, former);
		name_cut_off(r);
	}
	return config->serve(config->arg, m, err);
}

static WAITS void end_if_shut_out(struct role *r)
{
	struct error err;
	uint64_t term;

	if (role_check_let_in(r, &err) == 0 || r->over ||
	    quorum_leads(r->quorum, &term))
		return;
	r->over = true;
	r->config.end(r->config.arg, MASTER_EXIT_FENCED, &err);
}

/* A master that hears nobody, since its node daemon is gone, learns in no other
 * way that there is another one.  Nor does one that is no candidate any more:
 * the others do not let it in, but their master calls its node.  Nobody calls a
 * node that was removed: it learns it from most nodes not letting it in. */
static WAITS void watch_task(void *arg)
{
	struct role *r = arg;

	while (!r->over && !r->hurry) {
		cond_wait_until(&r->changed, clock_mono_us() + WATCH_US);
		if (!r->over && !r->hurry && !r->leading) {
			auto_free char *leader = quorum_find_leader(r->quorum);

			if (leader == NULL)
				leader = quorum_replaced_by(r->quorum);
			if (leader != NULL)
				role_end_if_elsewhere(r, leader);
			else
				end_if_shut_out(r);
		}
	}
	r->watching = false;
	cond_signal(&r->changed);
}

int role_promote(struct role *r, struct error *err)
{
	int rc;

	/* It may lose the lead meanwhile, and then what it commits waits. */
	r->leading = r->watching = r->promoting = true;
	task_spawn("watch", watch_task, r);
	rc = make_master(r, err);
	r->promoting = false;
	cond_signal(&r->changed);
	if (rc < 0)
		return -1;
	master_start(r->master);
	quorum_members_begin(r->quorum);
	role_begin_to_shut_out(r);
	address_turn_up(r->master->config, r->master->rpc);
	if (r->master->role.failover)
		master_wait_announced(r->master);
	return 0;
}
