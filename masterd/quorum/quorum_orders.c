/* SPDX-License-Identifier: BSD-2-Clause */
/* Orders to a server, from the leader or from one that is to lead.  An order is
 * a list: its verb, then its arguments.  Numbers of 64 bits travel as
 * hexadecimal texts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/rpc/rpc.h"
#include "masterd/quorum/quorum_private.h"

/* How long a leader waits for the one that it hands over to. */
#define TRANSFER_US 5000000
#define POLL_MS 20
/* Who leads for another one has so long to be elected and to hand over. */
#define LEND_US 10000000
#define LEND_MS 100
/* What is committed is known everywhere within a heartbeat or two. */
#define APPLY_US 8000000
/* A server that could not write its files is told again so soon. */
#define WRITE_OUT_MS 200
/* Beside what running jobs may take. */
#define ORDER_MS 15000u
#define ASK_MS 5000u
/* A master starts so much later where a node hangs. */
#define OVERTAKEN_MS 1000u

static uint64_t number_of(const json_t *order, size_t i)
{
	const char *text = json_string_value(json_array_get(order, i));
	char *end = NULL;
	uint64_t number = text == NULL ? 0 : strtoull(text, &end, 16);

	return end == NULL || *end != '\0' ? 0 : number;
}

static char *number_text(uint64_t number)
{
	return xprintf("%016" PRIx64, number);
}

/* --- status --- */

json_t *quorum_tell_status(const struct quorum *q)
{
	auto_free char *cluster = number_text(q->me.cluster);
	auto_free char *id = number_text(q->me.id);
	uint64_t written = state_written(q->state);
	struct consensus_status status = {0};
	json_t *answer;

	if (q->log == NULL)
		return json_object();
	consensus_status(q->log, &status);
	answer = json_make(
		"{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "cluster", cluster,
		"id", id, "leads", status.raft.role == RAFT_LEADER, "term",
		(json_int_t)status.raft.term, "last",
		(json_int_t)status.raft.last, "last_term",
		(json_int_t)status.raft.last_term, "applied",
		(json_int_t)status.applied, "written",
		(json_int_t)(written > status.snapshot ? written
						       : status.snapshot));
	return answer;
}

/* --- join --- */

WAITS void quorum_turn_begin(struct quorum *q)
{
	while (q->turning)
		cond_wait(&q->turned);
	q->turning = true;
}

void quorum_turn_end(struct quorum *q)
{
	q->turning = false;
	cond_signal(&q->turned);
}

/* An order to take part with a number, and where the log of the leader who
 * gives it ends; zeros where a former version does not say so. */
struct join_order {
	struct consensus_identity me;
	uint64_t term, last;
};

/* By the rule of votes, of two logs the one that ends in the newer term, or is
 * longer, is the newer one.  No leader's is older than those of its followers,
 * so an order of a leader with an older one than ours came late. */
static bool is_newer(const struct raft_status *own, const struct join_order *o)
{
	return o->term != 0 &&
	       (own->last_term > o->term ||
		(own->last_term == o->term && own->last > o->last));
}

/* Whether it takes part under another number, and the order is one that came
 * late: a leader sends it something, or the log here is newer than the leader's
 * was.  A master of another log does not give that up, as there are
 * acknowledged changes in it: one of the two must end. */
static bool is_taken(const struct quorum *q, const struct join_order *o)
{
	struct consensus_status status;

	if (q->log == NULL)
		return false;
	consensus_status(q->log, &status);
	if (q->me.cluster != o->me.cluster)
		return status.raft.role == RAFT_LEADER;
	return status.raft.leader != 0 || is_newer(&status.raft, o);
}

static WAITS int join(struct quorum *q, const struct join_order *o,
		      struct error *err)
{
	const struct consensus_identity *me = &o->me;
	int rc;

	if (q->log != NULL && q->me.cluster == me->cluster &&
	    q->me.id == me->id)
		return 0;
	if (is_taken(q, o))
		return error_set(err, ERR_QUEUE, ECODE_STATE,
				 q->me.cluster == me->cluster
					 ? "This node takes part in the log "
					   "under another number"
					 : "This node is the master of another "
					   "log of the cluster");
	log_info("This node takes part in the log of the cluster from now on, "
		 "with the number %016" PRIx64,
		 me->id);
	quorum_close_log(q);
	state_other_log(q->state);
	task_leave(); /* nobody else uses the folder */
	rc = consensus_create(q->config.disk,
			      path(q->config.paths, PATH_CONSENSUS_DIR), me,
			      NULL, err);
	task_enter();
	return rc < 0 ? -1 : quorum_open_log(q, err);
}

static WAITS json_t *take_join(struct quorum *q, const json_t *order,
			       struct error *err)
{
	const struct join_order o = {
		.me = {.cluster = number_of(order, 1),
		       .id = number_of(order, 2)},
		.term = number_of(order, 3),
		.last = number_of(order, 4),
	};
	int rc;

	if (o.me.cluster == 0 ||
	    o.me.id >> QUORUM_LIFE_BITS !=
		    quorum_node_hash(q->config.paths->hostname)) {
		error_set(err, ERR_REQUEST, NULL,
			  "The order join has the number of another node");
		return NULL;
	}
	quorum_turn_begin(q);
	/* Who has dismissed it removes the log's files when it has ended. */
	rc = q->stopping || q->told_to_end
		     ? error_set(err, ERR_QUEUE, ECODE_STATE,
				 "The master daemon ends")
		     : join(q, &o, err);
	quorum_turn_end(q);
	return rc < 0 ? NULL : json_null();
}

/* --- hand over --- */

static int no_vote(bool current, struct error *err)
{
	return error_set(
		err, ERR_QUEUE, ECODE_STATE,
		current ? "It has no vote, and could not be given one in time"
			: "It has no vote, and has not all that the master has "
			  "yet: wait until it has caught up");
}

/* Of two candidates one has no vote.  As both answer it can be given one; from
 * then on nothing is done without it, so it must have all that there is. */
static WAITS int give_vote(struct quorum *q, uint64_t to, struct error *err)
{
	int64_t until_us = clock_mono_us() + TRANSFER_US;
	struct consensus_status status;
	struct raft_members wanted;
	bool current;

	for (;;) {
		consensus_status(q->log, &status);
		wanted = status.raft.members;
		if (raft_ids_have(&wanted.voters, to) && !status.raft.changing)
			return 0;
		if (!raft_members_have(&wanted, to))
			return error_set(err, ERR_QUEUE, ECODE_STATE,
					 "That node takes no part in the log "
					 "yet");
		current = quorum_is_up_to_date(q, &status, to);
		if (clock_mono_us() > until_us)
			return no_vote(current, err);
		raft_ids_remove(&wanted.learners, to);
		raft_ids_add(&wanted.voters, to);
		if (current)
			consensus_change_members(q->log, &wanted);
		task_sleep(POLL_MS);
	}
}

static WAITS int hand_over(struct quorum *q, uint64_t to, struct error *err)
{
	int64_t until_us = clock_mono_us() + TRANSFER_US;
	uint64_t term;

	while (quorum_leads(q, &term)) {
		if (clock_mono_us() > until_us)
			return error_set(err, ERR_QUEUE, ECODE_STATE,
					 "It did not take over in time");
		consensus_transfer(q->log, to);
		task_sleep(POLL_MS);
	}
	return 0;
}

static WAITS json_t *take_hand_over(struct quorum *q, const json_t *order,
				    struct error *err)
{
	uint64_t to = number_of(order, 1), term;
	int rc;

	/* Whoever had the turn before may have changed what this server is. */
	quorum_turn_begin(q);
	rc = quorum_leads(q, &term) && !q->stopping
		     ? give_vote(q, to, err)
		     : error_set(err, ERR_QUEUE, ECODE_STATE,
				 "This node is not the master");
	if (rc == 0 && q->config.finish != NULL)
		q->config.finish(q->config.arg);
	if (rc == 0)
		rc = hand_over(q, to, err);
	quorum_turn_end(q);
	return rc < 0 ? NULL : json_null();
}

/* --- lend --- */

/* Nothing came of it in time: whoever is missing may come hours later.  Wait
 * for votes that were asked for, and end if they make this server lead. */
static WAITS void lend_no_more(struct quorum *q)
{
	int64_t until_us = clock_mono_us() + LEND_US;
	struct consensus_status status = {0};

	quorum_lead_no_more(q);
	while (!q->stopping && q->log != NULL && clock_mono_us() < until_us) {
		consensus_status(q->log, &status);
		if (status.raft.role == RAFT_FOLLOWER ||
		    status.raft.role == RAFT_LEADER)
			break;
		task_sleep(LEND_MS);
	}
	if (status.raft.role == RAFT_LEADER && !q->stopping)
		q->config.quit(q->config.arg);
	else
		q->lend_to = 0;
}

/* Whether this server wants to lead without that order as well: it is a master
 * that waits for its majority, or becomes one. */
static bool wants_to_lead(const struct quorum *q)
{
	struct consensus_status status;

	if (q->log == NULL)
		return false;
	consensus_status(q->log, &status);
	return status.told;
}

/* Be elected, and hand over at once: to a server that is to lead and cannot be
 * elected, as this one has more.  One that cannot hand over leads itself if it
 * wanted that before; any other one ends, as it would lead without being a
 * master. */
static WAITS void lend_task(void *arg)
{
	struct quorum *q = arg;
	int64_t until_us = clock_mono_us() + LEND_US;
	bool wanted = wants_to_lead(q);
	struct consensus_status status;

	while (!q->stopping && q->log != NULL && clock_mono_us() < until_us) {
		consensus_status(q->log, &status);
		if (status.raft.leader == q->lend_to)
			break;
		if (status.raft.role == RAFT_LEADER && status.raft.ready)
			consensus_transfer(q->log, q->lend_to);
		else if (status.raft.leader == 0 && !wanted)
			consensus_lead(q->log);
		task_sleep(LEND_MS);
	}
	if (wanted) {
		q->lend_to = 0;
		quorum_on_changed(q);
	} else {
		lend_no_more(q);
	}
	quorum_turn_end(q);
}

static json_t *take_lend(struct quorum *q, const json_t *order,
			 struct error *err)
{
	uint64_t to = number_of(order, 1);
	struct consensus_status status = {0};

	if (q->log != NULL)
		consensus_status(q->log, &status);
	if (q->log == NULL || q->turning || status.raft.leader != 0 ||
	    !raft_members_vote(&status.raft.members, to)) {
		error_set(err, ERR_QUEUE, ECODE_STATE,
			  "This node has something else to do");
		return NULL;
	}
	q->lend_to = to;
	q->turning = true;
	task_spawn("lend", lend_task, q);
	return json_null();
}

/* --- files --- */

/* Bring all up to this index into the files. */
static WAITS json_t *take_write_out(struct quorum *q, const json_t *order,
				    struct error *err)
{
	int64_t until_us = clock_mono_us() + APPLY_US;
	uint64_t index = number_of(order, 1);
	struct consensus_status status = {0};

	while (q->log != NULL && !q->stopping && clock_mono_us() < until_us) {
		consensus_status(q->log, &status);
		if (status.applied >= index)
			break;
		task_sleep(POLL_MS);
	}
	if (q->log == NULL || status.applied < index) {
		error_set(err, ERR_QUEUE, ECODE_STATE,
			  "This node has not everything yet");
		return NULL;
	}
	return state_write_out(q->state, err) < 0 ? NULL : json_null();
}

static bool writes_files(const struct quorum *q, const struct raft_members *now,
			 const struct quorum_candidate *c)
{
	return c->online && !c->ganetis && !quorum_is_left_out(now, c) &&
	       c->hash != q->me.id >> QUORUM_LIFE_BITS;
}

/* The node answers, and its master daemon does not: it is just starting. */
static bool may_follow(const struct node_result *r)
{
	return r->payload == NULL && r->err != NULL && r->err->kind == ERR_EXEC;
}

/* Tell the others once; true: some of them may follow in a moment. */
static WAITS bool tell_to_write_out(struct quorum *q, const char *index,
				    unsigned timeout_ms)
{
	struct consensus_status status;
	struct node_result *results;
	bool again = false;
	size_t n = 0;

	quorum_nodes_refresh(q);
	consensus_status(q->log, &status);
	results = node_results_new(q->n_candidates);
	for (size_t i = 0; i < q->n_candidates; i++)
		if (writes_files(q, &status.raft.members, &q->candidates[i]))
			results[n++].node = json_incref(q->candidates[i].node);
	noderpc_call_many(q->rpc, results, n,
			  rpc_within(rpc_log_order(json_make(
					     "[s, s]", "write_out", index)),
				     timeout_ms));
	for (size_t i = 0; i < n; i++)
		again |= may_follow(&results[i]);
	node_results_free(results, n);
	return again;
}

void quorum_write_out(struct quorum *q, unsigned timeout_ms)
{
	int64_t until_us = clock_mono_us() + timeout_ms * INT64_C(1000);
	struct consensus_status status;
	auto_free char *index = NULL;
	struct error err;

	if (q->log == NULL)
		return;
	consensus_status(q->log, &status);
	index = number_text(status.applied);
	if (state_write_out(q->state, &err) < 0)
		log_warning("%s", err.text);
	for (int64_t left_us = timeout_ms * INT64_C(1000);
	     q->log != NULL && !q->stopping && left_us > 0 &&
	     tell_to_write_out(q, index, (unsigned)(left_us / 1000) + 1);
	     left_us = until_us - clock_mono_us())
		task_sleep(WRITE_OUT_MS);
}

/* --- away --- */

/* This node takes part no more (leave), or a daemon that shall be the master is
 * to be started in place of this one (make_way). */
static json_t *take_leave(struct quorum *q, bool for_good, struct error *err)
{
	struct consensus_status status = {0};

	if (q->log != NULL)
		consensus_status(q->log, &status);
	if (status.raft.role == RAFT_LEADER) {
		error_set(err, ERR_QUEUE, ECODE_STATE,
			  "This node is the master");
		return NULL;
	}
	if (for_good)
		quorum_forget(q->config.disk, q->config.paths);
	q->told_to_end = true;
	q->config.quit(q->config.arg);
	return json_null();
}

/* Somebody wants to go on without these, and asks before this daemon ends. */
static WAITS json_t *take_may_drop(struct quorum *q, const json_t *order,
				   struct error *err)
{
	auto_strv struct strv drop = {0};
	const json_t *name;
	size_t i;

	json_array_foreach (order, i, name)
		if (i > 0 && json_is_string(name))
			strv_add(&drop, json_string_value(name));
	return quorum_may_drop(q, &drop, err) < 0 ? NULL : json_null();
}

/* --- all of them --- */

json_t *quorum_order(struct quorum *q, const json_t *order, struct error *err)
{
	const char *verb = json_string_value(json_array_get(order, 0));

	if (str_eq(verb, "status"))
		return quorum_tell_status(q);
	if (str_eq(verb, "join"))
		return take_join(q, order, err);
	if (str_eq(verb, "hand_over"))
		return take_hand_over(q, order, err);
	if (str_eq(verb, "lend"))
		return take_lend(q, order, err);
	if (str_eq(verb, "write_out"))
		return take_write_out(q, order, err);
	if (str_eq(verb, "certificates"))
		return quorum_tell_certs(q);
	if (str_eq(verb, "may_drop"))
		return take_may_drop(q, order, err);
	if (str_eq(verb, "leave") || str_eq(verb, "make_way"))
		return take_leave(q, str_eq(verb, "leave"), err);
	error_set(err, ERR_REQUEST, NULL, "Unknown order '%.50s'",
		  verb == NULL ? "" : verb);
	return NULL;
}

char *quorum_serve(struct quorum *q, const char *data, size_t len)
{
	struct error err;
	auto_json json_t *order = json_parse(data, len, &err);
	auto_json json_t *payload =
		order == NULL ? NULL : quorum_order(q, order, &err);
	auto_json json_t *answer =
		payload != NULL ? json_make("[b, O]", true, payload)
				: json_make("[b, s]", false, err.text);

	return json_text(answer);
}

bool quorum_receive(struct quorum *q, const void *data, size_t len,
		    struct consensus_question *question)
{
	return q->log != NULL && consensus_receive(q->log, data, len, question);
}

typedef bool status_fits(const json_t *status, const json_t *own);

static WAITS void ask_for_status(struct quorum *q, struct node_result *results,
				 size_t n, unsigned limit_ms)
{
	noderpc_call_many(q->rpc, results, n,
			  rpc_within(rpc_log_order(json_make("[s]", "status")),
				     limit_ms));
}

/* The first of these nodes whose status is so, by asking all of them at most so
 * long; to be freed. */
static WAITS json_t *first_by_status(struct quorum *q,
				     struct node_result *results, size_t n,
				     unsigned limit_ms, status_fits *fits)
{
	auto_json json_t *own = quorum_tell_status(q);
	json_t *found = NULL;

	ask_for_status(q, results, n, limit_ms);
	for (size_t i = 0; i < n && found == NULL; i++)
		if (results[i].payload != NULL && fits(results[i].payload, own))
			found = json_ref(results[i].node);
	return found;
}

/* The other candidates, to be asked. */
static struct node_result *other_candidates(struct quorum *q, size_t *ret_n)
{
	struct node_result *results;
	size_t n = 0;

	quorum_nodes_refresh(q);
	results = node_results_new(q->n_candidates);
	for (size_t i = 0; i < q->n_candidates; i++)
		if (q->candidates[i].hash !=
		    quorum_node_hash(q->config.paths->hostname))
			results[n++].node = json_incref(q->candidates[i].node);
	*ret_n = n;
	return results;
}

static bool says_it_leads(const json_t *status, const json_t *own)
{
	(void)own;
	return json_is_true(json_get(status, "leads"));
}

char *quorum_find_leader(struct quorum *q)
{
	size_t n;
	struct node_result *others = other_candidates(q, &n);
	auto_json json_t *node =
		first_by_status(q, others, n, ASK_MS, says_it_leads);

	node_results_free(others, n);
	return node == NULL ? NULL : xstrdup(node_name(node));
}

bool quorum_has_more(const json_t *status, const json_t *own)
{
	int64_t theirs = json_int(status, "last_term", 0);
	int64_t ours = json_int(own, "last_term", 0);

	if (theirs != ours)
		return theirs > ours;
	return json_int(status, "last", 0) > json_int(own, "last", 0);
}

/* The candidate that has the most, if that is more than this one has; to be
 * freed.  Another one that has more is of no use: it is not elected by those
 * that have more than it has. */
static WAITS json_t *find_newest(struct quorum *q)
{
	auto_json json_t *own = quorum_tell_status(q);
	const json_t *most = own;
	json_t *found = NULL;
	size_t n;
	struct node_result *others = other_candidates(q, &n);

	ask_for_status(q, others, n, ASK_MS);
	for (size_t i = 0; i < n; i++) {
		if (others[i].payload == NULL ||
		    !quorum_has_more(others[i].payload, most))
			continue;
		most = others[i].payload;
		found = others[i].node;
	}
	json_incref(found);
	node_results_free(others, n);
	return found;
}

char *quorum_find_newer(struct quorum *q)
{
	auto_json json_t *node = find_newest(q);

	return node == NULL ? NULL : xstrdup(node_name(node));
}

/* What is applied is committed.  That it merely has more says nothing: a master
 * that alone has a vote sends what its own disk does not have yet. */
static bool has_what_lacks(const json_t *status, const json_t *own)
{
	return str_eq(json_str(status, "cluster", ""),
		      json_str(own, "cluster", "-")) &&
	       json_int(status, "applied", 0) > json_int(own, "last", 0);
}

static bool is_member(const struct raft_members *m, const json_t *node)
{
	return quorum_ids_have_node(&m->voters, node) ||
	       quorum_ids_have_node(&m->outgoing, node) ||
	       quorum_ids_have_node(&m->learners, node);
}

/* Of these nodes those that keep a part of the log come first; returns how many
 * that are.  Only the node daemons are asked, as an order starts a server. */
static WAITS size_t keep_those_with_log(struct quorum *q,
					struct node_result *nodes, size_t n)
{
	struct node_result *asked = node_results_new(n);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		asked[i].node = json_ref(nodes[i].node);
	noderpc_call_many(q->rpc, asked, n,
			  rpc_within(rpc_master_state(), OVERTAKEN_MS));
	for (size_t i = 0; i < n; i++) {
		json_t *node = nodes[i].node;

		if (!json_is_true(json_get(asked[i].payload, "log")))
			continue;
		nodes[i].node = nodes[kept].node;
		nodes[kept++].node = node;
	}
	node_results_free(asked, n);
	return kept;
}

char *quorum_overtaken_by(struct quorum *q)
{
	struct quorum_begin how = {0};
	__attribute__((cleanup(quorum_ballot_done))) struct ballot b = {
		.q = q, .how = &how};
	struct consensus_status status;
	auto_json json_t *found = NULL;
	struct node_result *results;
	struct error ignored;
	size_t n = 0;

	if (q->log == NULL || quorum_ballot_begin(&b, &ignored) < 0)
		return NULL;
	consensus_status(q->log, &status);
	results = node_results_new(b.n);
	for (size_t i = 0; i < b.n; i++)
		if (!b.voters[i].self && !node_offline(b.voters[i].node) &&
		    !is_member(&status.raft.members, b.voters[i].node))
			results[n++].node = json_ref(b.voters[i].node);
	found = first_by_status(q, results, keep_those_with_log(q, results, n),
				OVERTAKEN_MS, has_what_lacks);
	node_results_free(results, n);
	if (found == NULL)
		return NULL;
	/* It needs the vote of this server, and has to be heard here for that.
	 */
	quorum_learn_certs(q, found);
	return xstrdup(node_name(found));
}

bool quorum_borrow(struct quorum *q)
{
	auto_json json_t *node = find_newest(q);
	auto_free char *id = number_text(q->me.id);
	auto_json json_t *answer = NULL;
	struct error err;

	if (node == NULL)
		return false;
	answer = quorum_give_order(q, node, json_make("[s, s]", "lend", id),
				   ORDER_MS, &err);
	if (answer != NULL)
		log_info("Node %s has newer data: it hands them over",
			 node_name(node));
	else
		log_info("%s", err.text);
	return answer != NULL;
}

json_t *quorum_tell(struct quorum *q, const char *node_name,
		    json_t *order STEALS, unsigned timeout_ms,
		    struct error *err)
{
	auto_free char *leader = node_name == NULL ? quorum_leader(q) : NULL;
	const char *name = node_name == NULL ? leader : node_name;
	auto_json json_t *node =
		name == NULL ? NULL
			     : quorum_node_of(q, quorum_node_hash(name)
							 << QUORUM_LIFE_BITS);

	if (node != NULL)
		return quorum_give_order(q, node, order, timeout_ms, err);
	json_decref(order);
	error_set(err, ERR_PREREQ, ECODE_NOENT,
		  name == NULL ? "It is not known which node is the master"
			       : "Node '%.100s' is not known",
		  name);
	return NULL;
}

int quorum_ask_for_lead(struct quorum *q, struct error *err)
{
	auto_free char *id = number_text(q->me.id);
	struct consensus_status status;
	auto_json json_t *node = NULL;
	auto_json json_t *answer = NULL;

	if (q->log == NULL)
		return error_set(err, ERR_QUEUE, ECODE_STATE,
				 "This node takes part in no log");
	consensus_status(q->log, &status);
	node = quorum_node_of(q, status.raft.leader);
	if (node == NULL)
		return error_set(err, ERR_QUEUE, ECODE_STATE,
				 "It is not known who leads");
	answer =
		quorum_give_order(q, node, json_make("[s, s]", "hand_over", id),
				  QUORUM_HAND_OVER_MS + ORDER_MS, err);
	return answer == NULL ? -1 : 0;
}
