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
#include "masterd/quorum/quorum_private.h"

/* How long a leader waits for the one that it hands over to. */
#define TRANSFER_US 5000000
#define POLL_MS 20
/* Beside what running jobs may take. */
#define ORDER_MS 15000u

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
	struct consensus_status status = {0};
	json_t *answer;

	if (q->log == NULL)
		return json_object();
	consensus_status(q->log, &status);
	answer = json_make("{s:s, s:s, s:b, s:I, s:I, s:I}", "cluster", cluster,
			   "id", id, "leads", status.raft.role == RAFT_LEADER,
			   "term", (json_int_t)status.raft.term, "last",
			   (json_int_t)status.raft.last, "applied",
			   (json_int_t)status.applied);
	return answer;
}

/* --- join --- */

/* An order that changes what this server is: one after the other. */
static WAITS void turn_begin(struct quorum *q)
{
	while (q->turning)
		cond_wait(&q->turned);
	q->turning = true;
}

static void turn_end(struct quorum *q)
{
	q->turning = false;
	cond_signal(&q->turned);
}

static WAITS int join(struct quorum *q, const struct consensus_identity *me,
		      struct error *err)
{
	int rc;

	if (q->log != NULL && q->me.cluster == me->cluster &&
	    q->me.id == me->id)
		return 0;
	log_info("This node takes part in the log of the cluster from now on, "
		 "with the number %016" PRIx64,
		 me->id);
	quorum_close_log(q);
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
	struct consensus_identity me = {.cluster = number_of(order, 1),
					.id = number_of(order, 2)};
	int rc;

	if (me.cluster == 0 ||
	    me.id >> QUORUM_LIFE_BITS !=
		    quorum_node_hash(q->config.paths->hostname)) {
		error_set(err, ERR_REQUEST, NULL,
			  "The order join has the number of another node");
		return NULL;
	}
	turn_begin(q);
	rc = q->stopping ? error_set(err, ERR_QUEUE, ECODE_STATE,
				     "The master daemon ends")
			 : join(q, &me, err);
	turn_end(q);
	return rc < 0 ? NULL : json_null();
}

/* --- hand over --- */

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
	struct consensus_status status;
	int rc;

	if (q->log == NULL || !quorum_leads(q, &term)) {
		error_set(err, ERR_QUEUE, ECODE_STATE,
			  "This node is not the master");
		return NULL;
	}
	consensus_status(q->log, &status);
	if (!raft_members_vote(&status.raft.members, to)) {
		error_set(err, ERR_QUEUE, ECODE_STATE,
			  "That node has no vote in the log yet");
		return NULL;
	}
	turn_begin(q);
	if (q->config.finish != NULL)
		q->config.finish(q->config.arg);
	rc = hand_over(q, to, err);
	turn_end(q);
	return rc < 0 ? NULL : json_null();
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
	q->config.quit(q->config.arg);
	return json_null();
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

void quorum_receive(struct quorum *q, const void *data, size_t len)
{
	if (q->log != NULL)
		consensus_receive(q->log, data, len);
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
