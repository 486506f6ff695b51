/* SPDX-License-Identifier: BSD-2-Clause */
/* The first log of a cluster: of one that is new, that Ganeti had, that had no
 * log, or whose files somebody else has changed while nothing ran.
 *
 * Who begins it must be the only one and have the newest files.  So the nodes
 * are asked who is master and what they have, as Ganeti's master daemon does at
 * each start; once there is a log, only its servers count. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/term.h"
#include "lib/model/rpc/rpc.h"
#include "masterd/quorum/quorum_private.h"

#define ASK_MS 10000u
#define SHUT_OUT_MS 3000u
#define NAMED_MAX 10
#define RETRY_MS 1000u
#define TRIES 60
/* So many terms those that are left behind may have gone on by; a term is the
 * time of an election at least.  By chance up to so many more: two who leave
 * each other behind must not lead in the same term, as nodes would obey both.
 */
#define TERM_LEAP (1 << 20)

void quorum_ballot_done(struct ballot *b)
{
	for (size_t i = 0; i < b->n; i++) {
		json_decref(b->voters[i].node);
		json_decref(b->voters[i].state);
	}
	free(b->voters);
	strv_done(&b->ignored);
}

const char *quorum_ballot_self(const struct ballot *b)
{
	return b->q->config.paths->hostname;
}

static void add_voter(void *arg, const char *uuid, const char *text)
{
	struct ballot *b = arg;
	struct error ignored;
	json_t *node = json_parse(text, strlen(text), &ignored);

	(void)uuid;
	if (node == NULL)
		return;
	if (b->how->ignore_offline && node_offline(node)) {
		strv_add(&b->ignored, node_name(node));
		json_decref(node);
		return;
	}
	b->voters = xrealloc(b->voters, (b->n + 1) * sizeof(*b->voters));
	b->voters[b->n++] = (struct voter){
		.node = node,
		.self = str_eq(node_name(node), quorum_ballot_self(b))};
}

/* --- asking --- */

/* Ganeti's node daemon only says who is master. */
static WAITS json_t *ask_ganetis(struct quorum *q, const json_t *node)
{
	struct error err;
	auto_json json_t *name = noderpc_call(
		q->rpc, node, rpc_within(rpc_master_node_name(), ASK_MS), &err);

	return name == NULL ? NULL : json_make("{s:O}", "master", name);
}

void quorum_ballot_ask(struct ballot *b)
{
	struct node_result *results = node_results_new(b->n);

	for (size_t i = 0; i < b->n; i++)
		results[i].node = json_ref(b->voters[i].node);
	noderpc_call_many(b->q->rpc, results, b->n,
			  rpc_within(rpc_master_state(), ASK_MS));
	for (size_t i = 0; i < b->n; i++) {
		json_decref(b->voters[i].state);
		b->voters[i].state = json_ref(results[i].payload);
		if (results[i].payload == NULL && !results[i].offline)
			b->voters[i].state =
				ask_ganetis(b->q, b->voters[i].node);
	}
	node_results_free(results, b->n);
}

/* --- counting --- */

static const char *master_by(const struct voter *v)
{
	return json_str(v->state, "master", "");
}

/* This node counts for itself, also without its node daemon. */
static bool answers(const struct voter *v)
{
	return v->state != NULL || v->self;
}

static char *name_silent(const struct ballot *b)
{
	auto_strv struct strv names = {0};

	for (size_t i = 0; i < b->n; i++)
		if (!answers(&b->voters[i]) && names.n < NAMED_MAX)
			strv_add(&names, node_name(b->voters[i].node));
	return strv_join(&names, ", ");
}

static size_t count_naming(const struct ballot *b, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->voters[i].self
			     ? str_eq(name, quorum_ballot_self(b))
			     : b->voters[i].state != NULL &&
				       str_eq(master_by(&b->voters[i]), name);
	return n;
}

static size_t count_answers(const struct ballot *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += answers(&b->voters[i]);
	return n;
}

static const char *other_master(const struct ballot *b, size_t *ret_n)
{
	const char *found = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < b->n; i++) {
		const char *name = master_by(&b->voters[i]);
		size_t n = *name == '\0' || str_eq(name, quorum_ballot_self(b))
				   ? 0
				   : count_naming(b, name);

		if (n > *ret_n) {
			*ret_n = n;
			found = name;
		}
	}
	return found;
}

/* Does half plus one of all nodes say that this one is the master?  Of a
 * failover it is enough that they answer. */
static int check_votes(const struct ballot *b, struct error *err)
{
	size_t needed = b->n / 2 + 1, n, others;
	auto_free char *silent = name_silent(b);
	const char *other = other_master(b, &others);

	n = b->how->failover ? count_answers(b)
			     : count_naming(b, quorum_ballot_self(b));
	if (n >= needed)
		return 0;
	if (!b->how->failover && others >= needed)
		return error_set(err, ERR_PREREQ, ECODE_FENCED,
				 "%s is not the master: %zu of %zu nodes say "
				 "that it is %s",
				 quorum_ballot_self(b), others, b->n, other);
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Only %zu of %zu nodes %s, %zu are needed%s%s. Start "
			 "their node daemons; if no other master can be "
			 "running, --no-voting does without them",
			 n, b->n,
			 b->how->failover ? "answer"
					  : "say that this node is "
					    "the master",
			 needed, *silent == '\0' ? "" : "; no answer from ",
			 silent);
}

/* At home this node knows whether there is a log, unless it has forgotten its
 * part of it, which was an older image (quorum_forget()). */
static bool may_know_nothing(const struct ballot *b)
{
	return b->how->failover || quorum_has_forgotten(b->q);
}

/* A candidate that does not answer may have a log of which nobody here knows.
 */
static int check_candidates(const struct ballot *b, struct error *err)
{
	for (size_t i = 0; i < b->n && may_know_nothing(b); i++)
		if (!answers(&b->voters[i]) &&
		    node_master_candidate(b->voters[i].node))
			return error_set(
				err, ERR_PREREQ, ECODE_STATE,
				"%s does not answer, and may have newer data. "
				"Start its node daemon; if it is lost for "
				"good, --no-voting goes on without it",
				node_name(b->voters[i].node));
	return 0;
}

static bool has_answered(const struct ballot *b, const char *name)
{
	for (size_t i = 0; i < b->n; i++)
		if (answers(&b->voters[i]) &&
		    str_eq(node_name(b->voters[i].node), name))
			return true;
	return false;
}

/* The configuration here may be so old that the master and its candidates are
 * not even in it: but the nodes that are know who it is. */
static int check_masters(const struct ballot *b, struct error *err)
{
	for (size_t i = 0; i < b->n && may_know_nothing(b); i++) {
		const char *master = master_by(&b->voters[i]);

		if (*master != '\0' && !has_answered(b, master) &&
		    !strv_has(&b->ignored, master))
			return error_set(
				err, ERR_PREREQ, ECODE_STATE,
				"Node %s says that the master is %s, which "
				"does not answer, or is not known to %s. Run "
				"gnt-cluster master-failover on another node; "
				"--no-voting goes on with what this node has",
				node_name(b->voters[i].node), master,
				quorum_ballot_self(b));
	}
	return 0;
}

/* What this node knows of terms, by its log or as its node daemon has noted. */
static int64_t own_term(const struct ballot *b)
{
	const struct quorum_config *config = &b->q->config;
	auto_json json_t *own = quorum_tell_status(b->q);
	auto_term struct term noted = {0};
	int64_t term = json_int(own, "term", 0);
	struct error err;

	if (term_load(config->disk, config->paths, &noted, &err) < 0)
		log_warning("%s, ignoring", err.text);
	return (int64_t)noted.number > term ? (int64_t)noted.number : term;
}

char *quorum_replaced_by(struct quorum *q)
{
	const struct quorum_config *config = &q->config;
	struct consensus_status status;
	auto_term struct term noted = {0};
	struct error err;

	if (q->log == NULL)
		return NULL;
	consensus_status(q->log, &status);
	if (term_load(config->disk, config->paths, &noted, &err) < 0) {
		log_warning("%s, ignoring", err.text);
		return NULL;
	}
	return noted.number > status.raft.term &&
			       !str_eq(noted.master, config->paths->hostname)
		       ? steal(&noted.master)
		       : NULL;
}

static bool is_asked(const struct voter *v)
{
	return !v->self && !node_offline(v->node);
}

/* It does not let this node in, or has obeyed a newer master. */
static bool refuses(const struct node_result *r)
{
	return error_is(r->err, ECODE_SHUT_OUT) ||
	       error_is(r->err, ECODE_FENCED);
}

static void count_refusals(const struct node_result *results, size_t n,
			   size_t *ret_refusing, size_t *ret_serving,
			   const char **ret_by)
{
	for (size_t i = 0; i < n; i++) {
		if (results[i].err == NULL) {
			++*ret_serving;
		} else if (refuses(&results[i])) {
			++*ret_refusing;
			*ret_by = node_name(results[i].node);
		}
	}
}

char *quorum_shut_out_by(struct quorum *q)
{
	struct quorum_begin how = {0};
	__attribute__((cleanup(quorum_ballot_done))) struct ballot b = {
		.q = q, .how = &how};
	struct node_result *results;
	size_t n = 0, refusing = 0, serving = 0, others;
	const char *by = NULL;
	struct error err;
	char *found;

	if (quorum_ballot_begin(&b, &err) < 0)
		return NULL;
	results = node_results_new(b.n);
	for (size_t i = 0; i < b.n; i++)
		if (is_asked(&b.voters[i]))
			results[n++].node = json_ref(b.voters[i].node);
	noderpc_call_many(q->rpc, results, n,
			  rpc_within(rpc_version(), SHUT_OUT_MS));
	count_refusals(results, n, &refusing, &serving, &by);
	others = quorum_is_alone(q) ? serving : n / 2;
	found = refusing > others ? xstrdup(by) : NULL;
	node_results_free(results, b.n);
	return found;
}

/* Somebody has led since this node's disk was written. */
static int check_term(const struct ballot *b, struct error *err)
{
	int64_t own = own_term(b);

	for (size_t i = 0; i < b->n; i++)
		if (json_int(b->voters[i].state, "term", 0) > own)
			return error_set(
				err, ERR_PREREQ, ECODE_STATE,
				"Node %s has obeyed a master of which %s knows "
				"nothing: what is here is not the newest. Run "
				"gnt-cluster master-failover on another node; "
				"--no-voting goes on with what this node has",
				node_name(b->voters[i].node),
				quorum_ballot_self(b));
	return 0;
}

/* A log that was not brought into the files at its end. */
static int check_own(const struct ballot *b, struct error *err)
{
	auto_json json_t *own = quorum_tell_status(b->q);

	if (json_get(own, "id") == NULL ||
	    json_int(own, "last", 0) == json_int(own, "applied", 0))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "The configuration of %s was written by somebody "
			 "else, but the log of the cluster here has changes "
			 "that are in no file yet. Put the former "
			 "configuration back and start again; --no-voting "
			 "goes on without those changes",
			 quorum_ballot_self(b));
}

/* --- newer data --- */

static const struct voter *find_self(const struct ballot *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->voters[i].self)
			return &b->voters[i];
	return NULL;
}

static int check_config(const struct ballot *b, struct error *err)
{
	const struct voter *self = find_self(b);
	const json_t *own =
		json_get(self == NULL ? NULL : self->state, "config");

	for (size_t i = 0; i < b->n; i++) {
		const json_t *config = json_get(b->voters[i].state, "config");

		if (b->voters[i].self || !json_is_integer(config) ||
		    json_integer_value(config) <= json_integer_value(own))
			continue;
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "%s has a newer configuration than %s. Run "
				 "gnt-cluster master-failover there; "
				 "--no-voting goes on without it",
				 node_name(b->voters[i].node),
				 quorum_ballot_self(b));
	}
	return 0;
}

/* A log of others that has more than what this server had of it. */
static WAITS int check_log_of(const struct ballot *b, const struct voter *v,
			      const json_t *own, struct error *err)
{
	struct error ignored;
	auto_json json_t *theirs = quorum_give_order(
		b->q, v->node, json_make("[s]", "status"), ASK_MS, &ignored);

	if (theirs == NULL)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "%s keeps the log of this cluster, and does "
				 "not say what it has: %s",
				 node_name(v->node), ignored.text);
	if (str_eq(json_str(theirs, "cluster", ""),
		   json_str(own, "cluster", "-")) &&
	    !json_is_true(json_get(theirs, "leads")) &&
	    !quorum_has_more(theirs, own))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s keeps the log of this cluster, and %s has no "
			 "part of it that is as new. Run gnt-cluster "
			 "master-failover on %s, or on another node that has; "
			 "--no-voting goes on with what this node has",
			 node_name(v->node), quorum_ballot_self(b),
			 node_name(v->node));
}

static WAITS int check_logs(const struct ballot *b, struct error *err)
{
	auto_json json_t *own = quorum_tell_status(b->q);

	for (size_t i = 0; i < b->n; i++)
		if (!b->voters[i].self &&
		    json_is_true(json_get(b->voters[i].state, "log")) &&
		    check_log_of(b, &b->voters[i], own, err) < 0)
			return -1;
	return 0;
}

/* --- all of it --- */

static void say(const struct ballot *b, const char *text)
{
	log_info("%s", text);
	if (b->how->progress != NULL)
		b->how->progress(b->how->arg, text);
}

static bool is_stopped(const struct ballot *b)
{
	return b->how->stopped != NULL && b->how->stopped(b->how->arg);
}

static WAITS int look(struct ballot *b, struct error *err)
{
	for (int i = 0; i < TRIES; i++) {
		quorum_ballot_ask(b);
		if (check_votes(b, err) == 0 || error_is(err, ECODE_FENCED) ||
		    count_answers(b) == b->n || is_stopped(b))
			break;
		if (b->how->no_voting)
			return -1;
		if (i == 0)
			say(b, err->text);
		task_sleep(RETRY_MS);
	}
	if (check_votes(b, err) < 0 || check_candidates(b, err) < 0 ||
	    check_masters(b, err) < 0 || check_term(b, err) < 0 ||
	    check_own(b, err) < 0 || check_config(b, err) < 0)
		return -1;
	return check_logs(b, err);
}

/* Without a vote, though others may have gone on without this node. */
static bool is_forced(const struct ballot *b)
{
	return b->how->no_voting || b->how->drop != NULL;
}

/* Above what any node has obeyed, and what this server's last log had.  When
 * those come back that do not answer, they obey. */
static uint64_t next_term(const struct ballot *b)
{
	int64_t term = own_term(b);

	for (size_t i = 0; i < b->n; i++) {
		int64_t theirs = json_int(b->voters[i].state, "term", 0);

		if (theirs > term)
			term = theirs;
	}
	return (uint64_t)term +
	       (is_forced(b) ? TERM_LEAP + random_below(TERM_LEAP) : 1);
}

int quorum_ballot_begin(struct ballot *b, struct error *err)
{
	config_image_each(state_config(b->q->state), "nodes", add_voter, b);
	if (find_self(b) != NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Node %s is not in the configuration of the cluster "
			 "that it has",
			 quorum_ballot_self(b));
}

/* Another server leads the log in which this one takes part by now: there is
 * nothing to be begun. */
static bool is_led(const struct quorum *q)
{
	struct consensus_status status;

	if (q->log == NULL)
		return false;
	consensus_status(q->log, &status);
	return status.raft.leader != 0 && status.raft.leader != q->me.id;
}

/* It was taken into a log while it asked, whether or not anybody leads that one
 * at the moment. */
static bool is_taken_in(const struct quorum *q,
			const struct consensus_identity *before)
{
	return q->log != NULL &&
	       (q->me.cluster != before->cluster || q->me.id != before->id);
}

/* The one that led may be gone: who has not joined yet does not notice. */
static bool hears_leader(const struct quorum *q)
{
	struct consensus_status status;

	if (!is_led(q))
		return false;
	consensus_status(q->log, &status);
	return !raft_ids_have(&status.silent, status.raft.leader);
}

/* Whether those that are to be left behind still have to be: a master that was
 * silent may be heard again. */
static int check_left(const struct ballot *b,
		      const struct consensus_identity *before,
		      struct error *err)
{
	if (quorum_ballot_holds(b, before->id, err) < 0)
		return -1;
	if (!hears_leader(b->q))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s hears a master: there is nobody to be left behind",
			 quorum_ballot_self(b));
}

/* Nobody makes this node part of a log meanwhile.  before: the one that it had
 * a part of when it began to ask. */
static WAITS int begin_alone(struct ballot *b,
			     const struct consensus_identity *before,
			     struct error *err)
{
	struct quorum *q = b->q;
	int rc = 0;

	quorum_turn_begin(q);
	if (b->how->drop != NULL)
		rc = check_left(b, before, err);
	else if (!b->how->no_voting && (is_led(q) || is_taken_in(q, before)))
		rc = 1;
	if (rc == 0)
		rc = quorum_found(q, next_term(b), err);
	quorum_turn_end(q);
	return rc;
}

static WAITS int begin_log(struct quorum *q, const struct quorum_begin *how,
			   struct error *err)
{
	__attribute__((cleanup(quorum_ballot_done))) struct ballot b = {
		.q = q, .how = how};
	struct consensus_identity before = {0};

	if (q->log != NULL)
		before = q->me;
	if (quorum_ballot_begin(&b, err) < 0)
		return -1;
	if (how->drop != NULL) {
		if (quorum_ballot_without(&b, err) < 0)
			return -1;
	} else if (look(&b, err) < 0) {
		if (!how->no_voting)
			return -1;
		say(&b, err->text);
	}
	return begin_alone(&b, &before, err);
}

/* Files that a recovery has written in part are no beginning of a log. */
static int check_aside(const struct quorum *q, const struct quorum_begin *how,
		       struct error *err)
{
	if (!q->aside || how->drop != NULL || how->no_voting)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "A recovery of %s was cut off: run gnt-cluster "
			 "recover --drop there once more, or gnt-cluster "
			 "master-failover on a node that has the log",
			 q->config.paths->hostname);
}

int quorum_begin_log(struct quorum *q, const struct quorum_begin *how,
		     struct error *err)
{
	int rc = quorum_open_aside(q, err);

	if (rc == 0)
		rc = check_aside(q, how, err);
	if (rc == 0)
		rc = begin_log(q, how, err);
	if (rc < 0)
		quorum_close_aside(q);
	return rc;
}
