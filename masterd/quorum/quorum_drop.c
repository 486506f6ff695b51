/* SPDX-License-Identifier: BSD-2-Clause */
/* Going on without candidates that are lost for good (gnt-cluster recover): may
 * it be done, and from this node?
 *
 * Whoever is left behind must have no part of the log with which it could go on
 * by itself, and of those who answer nobody may have more than this server. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/quorum/quorum_private.h"

#define ASK_MS 10000u

/* What a candidate's server says of itself: NULL when it does not answer; an
 * empty object where it has no log. */
static WAITS json_t *ask_server(const struct ballot *b, const struct voter *v)
{
	struct error ignored;

	return v->state == NULL ? NULL
				: quorum_give_order(b->q, v->node,
						    json_make("[s]", "status"),
						    ASK_MS, &ignored);
}

/* One that is to be left behind must have nothing of this log to go on with. */
static int check_lost(const struct ballot *b, const struct voter *v,
		      const json_t *theirs, const json_t *own,
		      struct error *err)
{
	const char *cluster = json_str(own, "cluster", "-");

	if (v->self)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s cannot be left behind by itself",
				 quorum_ballot_self(b));
	if (theirs == NULL || !str_eq(json_str(theirs, "cluster", ""), cluster))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s answers, and has its part of the cluster's log: "
			 "it is not lost. Without --drop for it the cluster "
			 "has one vote more",
			 node_name(v->node));
}

/* One that is not named must answer, and this server must have all it has. */
static int check_kept(const struct voter *v, const json_t *theirs,
		      const json_t *own, struct error *err)
{
	const char *name = node_name(v->node);

	if (v->self)
		return 0;
	if (theirs == NULL)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "%s does not answer either: start its "
				 "daemons, or name it with --drop",
				 name);
	if (!quorum_has_more(theirs, own))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s has newer data: run gnt-cluster recover there",
			 name);
}

/* Whether a vote in the log is this node's: also that of one that is no
 * candidate any more and keeps it until another one has joined. */
static bool has_vote(const struct ballot *b, const json_t *node)
{
	struct consensus_status now;

	consensus_status(b->q->log, &now);
	return quorum_ids_have_node(&now.raft.members.voters, node) ||
	       quorum_ids_have_node(&now.raft.members.outgoing, node);
}

/* While others are asked, the log of this server may end. */
static bool takes_part(const struct ballot *b, const json_t *node)
{
	return node_master_candidate(node) ||
	       (b->q->log != NULL && has_vote(b, node));
}

static int check_drop_name(const struct ballot *b, const char *name,
			   struct error *err)
{
	for (size_t i = 0; i < b->n; i++) {
		const json_t *node = b->voters[i].node;

		if (!str_eq(name, node_name(node)))
			continue;
		if (takes_part(b, node))
			return 0;
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is no master candidate", name);
	}
	return error_set(err, ERR_PREREQ, ECODE_NOENT, "Node '%s' not known",
			 name);
}

static int check_drop_names(const struct ballot *b, struct error *err)
{
	for (size_t i = 0; i < b->how->drop->n; i++)
		if (check_drop_name(b, b->how->drop->items[i], err) < 0)
			return -1;
	return 0;
}

static bool answers(const void *answering, uint64_t id)
{
	return raft_ids_have(answering, id);
}

/* Are those that answer a majority of the log's voters, and while these are
 * exchanged, of the former ones? */
static bool are_enough(const struct ballot *b, const struct raft_ids *answering)
{
	struct consensus_status status;

	consensus_status(b->q->log, &status);
	return raft_members_quorum(&status.raft.members, answers, answering);
}

int quorum_ballot_holds(const struct ballot *b, uint64_t id, struct error *err)
{
	if (b->q->log != NULL && b->q->me.id == id)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "A master has just taken %s into its log: there is "
			 "nobody to be left behind",
			 quorum_ballot_self(b));
}

/* Another master that can change something makes this a mistake. */
static int check_needed(const struct ballot *b,
			const struct raft_ids *answering, struct error *err)
{
	if (!are_enough(b, answering))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "The master candidates that answer are enough: start "
			 "the master daemon, or run gnt-cluster "
			 "master-failover; nobody need be left behind");
}

int quorum_ballot_without(struct ballot *b, struct error *err)
{
	auto_json json_t *own = quorum_tell_status(b->q);
	struct raft_ids answering = {0};
	uint64_t id = b->q->me.id;

	if (b->q->log == NULL)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "%s has no part of the cluster's log. "
				 "gnt-cluster master-failover --no-voting goes "
				 "on with the files that it has",
				 quorum_ballot_self(b));
	raft_ids_add(&answering, b->q->me.id);
	if (check_drop_names(b, err) < 0)
		return -1;
	quorum_ballot_ask(b);
	for (size_t i = 0; i < b->n; i++) {
		const struct voter *v = &b->voters[i];
		bool lost = strv_has(b->how->drop, node_name(v->node));
		auto_json json_t *theirs = NULL;

		if (!takes_part(b, v->node) || (node_offline(v->node) && !lost))
			continue;
		theirs = v->self ? NULL : ask_server(b, v);
		if ((lost ? check_lost(b, v, theirs, own, err)
			  : check_kept(v, theirs, own, err)) < 0)
			return -1;
		raft_ids_add(&answering,
			     strtoull(json_str(theirs, "id", "0"), NULL, 16));
	}
	return quorum_ballot_holds(b, id, err) < 0
		       ? -1
		       : check_needed(b, &answering, err);
}

int quorum_may_drop(struct quorum *q, const struct strv *drop,
		    struct error *err)
{
	struct quorum_begin how = {.drop = drop};
	__attribute__((cleanup(quorum_ballot_done))) struct ballot b = {
		.q = q, .how = &how};
	int rc;

	quorum_turn_begin(q);
	rc = quorum_open_aside(q, err) < 0 ||
			     quorum_ballot_begin(&b, err) < 0 ||
			     quorum_ballot_without(&b, err) < 0
		     ? -1
		     : 0;
	quorum_close_aside(q);
	quorum_turn_end(q);
	return rc;
}
