/* SPDX-License-Identifier: BSD-2-Clause */
/* The order: ask all nodes for votes, in a failover stop the former master, get
 * the promise for a new term, copy newer data from other nodes, and in a
 * failover record the new master.  If this fails after the stop, the former
 * master's daemon is started again. */
#include "masterd/failover/takeover.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/term.h"
#include "masterd/failover/address.h"
#include "masterd/failover/takeover_private.h"

/* A line for the log, and for the user who asked for the take-over. */
static void say(const struct candidacy *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct candidacy *c, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_info("%s", text);
	if (c->t->progress != NULL)
		c->t->progress(c->t->arg, text);
}

static const struct vote_node *self(const struct candidacy *c)
{
	return &c->vote.nodes[c->vote.self];
}

static bool is_stopped(const struct candidacy *c)
{
	return c->t->stopped != NULL && c->t->stopped(c->t->arg);
}

/* --- may we? --- */

static int check_candidate(struct candidacy *c, struct error *err)
{
	if (c->vote.self == c->vote.n)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is not in the configuration of the "
				 "cluster that it has",
				 c->t->paths->hostname);
	if (self(c)->candidate || !c->t->failover)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Node %s is not a master candidate, only those can "
			 "become master; see gnt-node list -o name,role",
			 self(c)->name);
}

/* How often the configuration may prove older than another node's. */
#define RENEW_MAX 4

static bool is_newer(const struct vote_position *a,
		     const struct vote_position *b)
{
	return a->term != b->term ? a->term > b->term : a->number > b->number;
}

/* Ask all nodes.  Who has a vote is said by the newest configuration among
 * them, which may be another one than ours: then its nodes are asked. */
static WAITS int ask_all(struct candidacy *c, struct error *err)
{
	for (int i = 0; i < RENEW_MAX; i++) {
		const struct vote_node *newer;
		json_t *document;

		if (takeover_ask(c, err) < 0)
			return -1;
		newer = vote_newer_config(&c->vote);
		if (newer == NULL || c->t->no_voting ||
		    !is_newer(&newer->config, &c->position))
			return 0;
		document = takeover_read_config(c, newer, err);
		if (document == NULL)
			return error_wrap(err,
					  "%s has a newer configuration than "
					  "%s, which can't be read",
					  newer->name, self(c)->name);
		c->position = newer->config;
		takeover_forget(c);
		json_decref(c->document);
		c->document = document;
		takeover_list_nodes(c);
		if (check_candidate(c, err) < 0)
			return -1;
	}
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "The configuration keeps changing; try again");
}

/* Votes that are missing are waited for while they could win. */
static WAITS int ask_for_start(struct candidacy *c, struct error *err)
{
	for (int i = 0; i < TAKEOVER_TRIES; i++) {
		enum vote_outcome outcome;

		if (ask_all(c, err) < 0)
			return -1;
		outcome = vote_for_start(&c->vote, err);
		if (outcome == VOTE_WON)
			return 0;
		if (c->t->no_voting) {
			say(c, "Going on without a vote: %s", err->text);
			return 0;
		}
		if (outcome == VOTE_LOST || is_stopped(c))
			return -1;
		if (i == 0)
			say(c, "Waiting for more nodes: %s", err->text);
		task_sleep(TAKEOVER_RETRY_MS);
	}
	return -1;
}

static int refuse_rival(struct candidacy *c, struct error *err)
{
	const struct vote_node *rival = vote_rival(&c->vote);

	if (rival == NULL || c->t->no_voting)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_FENCED,
			 "%s is taking the role over or has just done so "
			 "(term %" PRIu64 ")",
			 rival->name, vote_highest_term(&c->vote));
}

static WAITS int ask_for_failover(struct candidacy *c, struct error *err)
{
	struct error ignored;

	if (ask_all(c, err) < 0)
		return -1;
	if (vote_for_start(&c->vote, &ignored) == VOTE_WON)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Node %s is the master already: run this on "
				 "the node that shall become master",
				 self(c)->name);
	if (vote_for_failover(&c->vote, err) != VOTE_WON) {
		if (!c->t->no_voting)
			return -1;
		say(c, "Going on without a quorum: %s", err->text);
	}
	return refuse_rival(c, err);
}

/* --- the former master --- */

static const struct vote_node *former_master(const struct candidacy *c)
{
	const char *uuid = cluster_master_node(document_cluster(c->document));
	const char *name =
		node_name(json_get(document_nodes(c->document), uuid));

	for (size_t i = 0; i < c->vote.n; i++)
		if (str_eq(c->vote.nodes[i].name, name) && i != c->vote.self)
			return &c->vote.nodes[i];
	return NULL;
}

/* term: the newest that the node may know for this to be done; 0: any.  With
 * calls of its own, as c->rpc has no term to be refused for. */
static WAITS void tell_former(struct candidacy *c, uint64_t term,
			      struct rpc_request request, const char *what)
{
	const struct vote_node *node = former_master(c);
	struct noderpc *rpc = noderpc_create(&c->t->transport);
	auto_json json_t *done = NULL;
	struct error err;

	noderpc_set_term(rpc, term);
	done = noderpc_call(rpc, takeover_object(c, node), request, &err);
	noderpc_destroy(rpc);
	if (done == NULL)
		say(c, "%s failed, going on: %s", what, err.text);
}

/* What it does not do now it cannot do later: the promise fences it.  Both are
 * meant for the master of the term that the node knows now: when they come
 * late, they must not stop a newer one there, or take its address away. */
static WAITS void stop_former(struct candidacy *c)
{
	const struct vote_node *node = former_master(c);

	if (node == NULL || !node->answered)
		return;
	say(c,
	    "Stopping the master daemon on %s; jobs that run there "
	    "have %u seconds to end",
	    node->name, TAKEOVER_STOP_MS / 1000);
	c->has_stopped = true;
	tell_former(c, node->term,
		    rpc_within(rpc_node_stop_master(), TAKEOVER_STOP_MS),
		    "Stopping it");
	tell_former(c, node->term,
		    rpc_within(address_down(document_cluster(c->document)),
			       TAKEOVER_ASK_MS),
		    "Taking its address down");
}

/* We did not become master: better the former one than none. */
static WAITS void start_former(struct candidacy *c)
{
	const struct vote_node *node = former_master(c);

	if (!c->has_stopped || node == NULL)
		return;
	say(c, "Starting the master daemon on %s again", node->name);
	/* It votes itself: no term is too late for that. */
	tell_former(c, 0,
		    rpc_within(rpc_node_start_master_daemons(false),
			       TAKEOVER_STOP_MS),
		    "Starting it");
}

/* --- the promise --- */

static WAITS int get_promise(struct candidacy *c, uint64_t *ret_term,
			     struct error *err)
{
	uint64_t term = vote_highest_term(&c->vote) + 1;

	if (c->t->failover)
		say(c, "Asking %zu nodes to follow %s (term %" PRIu64 ")",
		    c->vote.n, self(c)->name, term);
	if (takeover_ask_promise(c, term, err) < 0)
		return -1;
	*ret_term = term;
	if (vote_for_term(&c->vote, term, err) == VOTE_WON)
		return 0;
	if (!c->t->no_voting || vote_highest_term(&c->vote) > term)
		return -1;
	say(c, "Going on without their promise: %s", err->text);
	return 0;
}

/* --- the newest data --- */

static int refuse_to_be_older(char *sentence STEALS,
			      const struct vote_node *newer, struct error *err)
{
	auto_free char *text = sentence;

	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s. Run gnt-cluster master-failover on %s, or on "
			 "this node, which then takes the newer data over; "
			 "--no-voting goes on without it",
			 text, newer->name);
}

/* The last thing a master wrote may have reached others and not its own disk;
 * that is its own.  What somebody else wrote since is not. */
static bool may_pull(const struct candidacy *c,
		     const struct vote_position *newer,
		     const struct vote_position *own)
{
	return c->t->failover || (newer->term == own->term && own->term > 0);
}

static WAITS int renew_config(struct candidacy *c, struct error *err)
{
	const struct vote_node *newer = vote_newer_config(&c->vote);
	auto_free char *text = NULL;

	if (newer == NULL)
		return 0;
	text = vote_tell_config(&c->vote, newer);
	if (c->t->no_voting) {
		say(c, "Going on with older data: %s", text);
		return 0;
	}
	if (!may_pull(c, &newer->config, &self(c)->config))
		return refuse_to_be_older(steal(&text), newer, err);
	say(c, "%s: taking it over", text);
	if (takeover_pull_config(c, newer, err) == 0)
		return 0;
	return error_wrap(err, "%s, which can't be read", text);
}

/* Nobody has a newer queue than we; do we have one ourselves? */
static int check_whole(struct candidacy *c, struct error *err)
{
	if (!self(c)->half)
		return 0;
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "The job queue of %s is half replaced by that of a former "
		  "master, and no node that answers has a whole one. Start the "
		  "other nodes; if they are lost for good, --no-voting goes on "
		  "with what this node has",
		  self(c)->name);
	if (!c->t->no_voting)
		return -1;
	say(c, "Going on with half of a queue: %s", err->text);
	return 0;
}

static WAITS int renew_queue(struct candidacy *c, struct error *err)
{
	const struct vote_node *newer = vote_newer_queue(&c->vote);
	auto_free char *text = NULL;

	if (newer == NULL)
		return check_whole(c, err);
	text = vote_tell_queue(&c->vote, newer);
	if (c->t->no_voting) {
		say(c, "Going on with older data: %s", text);
		return 0;
	}
	if (!may_pull(c, &newer->queue, &self(c)->queue))
		return refuse_to_be_older(steal(&text), newer, err);
	say(c, "%s: taking it over", text);
	if (takeover_pull_queue(c, newer, err) == 0)
		return 0;
	return error_wrap(err, "%s, which can't be read", text);
}

/* A start that would be refused for older data shall not fence a master. */
static int refuse_early(struct candidacy *c, struct error *err)
{
	const struct vote_node *config = vote_newer_config(&c->vote);
	const struct vote_node *queue = vote_newer_queue(&c->vote);

	if (c->t->failover || c->t->no_voting)
		return 0;
	if (config != NULL && !may_pull(c, &config->config, &self(c)->config))
		return refuse_to_be_older(vote_tell_config(&c->vote, config),
					  config, err);
	if (queue != NULL && !may_pull(c, &queue->queue, &self(c)->queue))
		return refuse_to_be_older(vote_tell_queue(&c->vote, queue),
					  queue, err);
	return 0;
}

/* The configuration says that we are the master. */
static WAITS int write_role(struct candidacy *c, uint64_t term,
			    struct error *err)
{
	struct config *config = config_load(c->t->disk, c->t->paths, err);
	const json_t *own;
	json_t *cluster;
	int rc = -1;

	if (config == NULL)
		return -1;
	config_set_term(config, term);
	own = config_find(config, CONFIG_NODE, c->t->paths->hostname);
	if (own == NULL) {
		error_set(err, ERR_CONFIG, ECODE_STATE,
			  "Node %s is not in the newest configuration",
			  c->t->paths->hostname);
	} else {
		cluster = config_edit(config_cluster(config));
		cluster_set_master_node(cluster, object_uuid(own));
		config_put_cluster(config, cluster);
		rc = config_commit(config, err);
	}
	config_free(config);
	return rc;
}

/* --- all of it --- */

static WAITS int agree(struct candidacy *c, uint64_t *ret_term,
		       struct error *err)
{
	if (check_candidate(c, err) < 0)
		return -1;
	if (c->t->failover) {
		if (ask_for_failover(c, err) < 0)
			return -1;
		stop_former(c);
	} else if (ask_for_start(c, err) < 0 || refuse_rival(c, err) < 0 ||
		   refuse_early(c, err) < 0) {
		return -1;
	}
	return get_promise(c, ret_term, err);
}

static WAITS int become_master(struct candidacy *c, struct master_role *ret,
			       struct error *err)
{
	uint64_t term;

	if (agree(c, &term, err) < 0 || renew_config(c, err) < 0 ||
	    renew_queue(c, err) < 0)
		return -1;
	if (c->t->failover && write_role(c, term, err) < 0)
		return -1;
	*ret = (struct master_role){.term = term,
				    .no_voting = c->t->no_voting,
				    .failover = c->t->failover};
	return 0;
}

static int read_own_config(struct candidacy *c, struct error *err)
{
	struct config *config = config_load(c->t->disk, c->t->paths, err);
	struct config_term term;
	int rc;

	if (config == NULL)
		return -1;
	c->document = config_document(config);
	c->own_serial = config_serial(config);
	rc = term_load_config(c->t->disk, c->t->paths, &term, err);
	if (rc == 0)
		c->position = (struct vote_position){
			.term = term_of_config(&term, c->own_serial),
			.number = (uint64_t)c->own_serial};
	config_free(config);
	return rc;
}

int takeover_run(const struct takeover *t, struct master_role *ret_role,
		 struct error *err)
{
	struct candidacy c = {.t = t};
	int rc = read_own_config(&c, err);

	if (rc == 0) {
		c.rpc = noderpc_create(&t->transport);
		takeover_list_nodes(&c);
		rc = become_master(&c, ret_role, err);
		if (rc < 0)
			start_former(&c);
		takeover_forget(&c);
		noderpc_destroy(c.rpc);
	}
	json_decref(c.document);
	return rc;
}
