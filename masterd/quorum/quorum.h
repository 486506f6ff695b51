/* SPDX-License-Identifier: BSD-2-Clause */
/* This node's server of the replicated log (doc/design/log.md): each master
 * candidate has one, in its master daemon.  One of them leads; its daemon is
 * the master, the others stand by.
 *
 * Servers are known by numbers that say which node it is (quorum_node_hash())
 * and which life of its disk.  What they send each other goes through the node
 * daemons: parcels of the log, and orders, which have an answer. */
#ifndef MASTERD_QUORUM_QUORUM_H
#define MASTERD_QUORUM_QUORUM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "masterd/rpc/noderpc.h"

struct consensus_question;
struct quorum;
struct state;

/* A leader that is told to hand over lets running jobs go on for so long. */
#define QUORUM_HAND_OVER_MS 20000u

struct quorum_config {
	struct disk *disk;
	const struct paths *paths;
	const struct noderpc_transport *transport;
	/* It only takes part: a state that cannot be used is left, and fetched
	 * anew. */
	bool standby;
	/* Somebody goes on with what this node has: a log that is damaged is
	 * kept under another name, and a new one can begin. */
	bool forced;
	void *arg;
	/* Who leads, who takes part, or what is silent has changed. */
	void (*changed)(void *arg);
	/* To the leader: a member that was silent is heard again, or its node
	 * answers again.  NULL: no matter. */
	void (*heard)(void *arg);
	/* The daemon has to end now: a write failed, another server leads, or
	 * (ECODE_FENCED) this server's disk is an older image. */
	void (*ended)(void *arg, const struct error *err);
	/* A node knows a newer term than that under which this server led. */
	void (*fenced)(void *arg, const struct error *err);
	/* The daemon has nothing to do here any more: end in order. */
	void (*quit)(void *arg);
	/* A node that is no candidate any more has left the log.  NULL: nobody
	 * wants to know. */
	void (*left)(void *arg);
	/* A leader is to hand over: end the work of the master, so that nothing
	 * is under way any more.  NULL: there is nothing to end. */
	WAITS void (*finish)(void *arg);
};

/* Open the state, and the log if this node takes part in one; nothing is sent
 * yet.  NULL with err. */
WAITS struct quorum *quorum_open(const struct quorum_config *config,
				 struct error *err);
/* This node takes part in no log any more, as its disk is not what it was; the
 * leader takes it in anew.  For the next life of this server. */
void quorum_forget(struct disk *disk, const struct paths *paths);
/* Begin to take part. */
void quorum_start(struct quorum *q);
/* Bring everything into the files and end.  Proposals end with an error. */
WAITS void quorum_stop(struct quorum *q);
/* After quorum_stop(), or in the simulation after the tasks were killed. */
void quorum_free(struct quorum *q); /* NULL: nothing */

/* The state: never NULL, and only what is committed is in it. */
struct state *quorum_state(struct quorum *q);

/* Whether this node takes part in a log. */
bool quorum_has_log(const struct quorum *q);
/* Whether this server is to make itself the leader when the one that there was
 * is gone: the cluster's parameter master_failover. */
bool quorum_is_automatic(struct quorum *q);

/* How a log is to begin. */
struct quorum_begin {
	bool failover;	     /* this node shall be master in place of another */
	bool no_voting;	     /* also where others do not agree */
	bool ignore_offline; /* offline nodes have no say */
	/* Candidates that are lost for good: go on without them, if all the
	 * others answer and have nothing newer.  NULL: none. */
	const struct strv *drop;
	/* What is being done, a line each, for people.  NULL: nobody. */
	void (*progress)(void *arg, const char *text);
	/* The caller wants no master any more.  NULL: never. */
	bool (*stopped)(void *arg);
	void *arg;
};

/* Begin a log with this server as its only one, whose state is what its files
 * have now, after asking the nodes whether there is nobody else who has newer
 * files or who leads.  1: there is a log with a leader in which this server
 * takes part, so none was begun.  -1 with err, which says who is in the way. */
WAITS int quorum_begin_log(struct quorum *q, const struct quorum_begin *how,
			   struct error *err);

/* This server is to lead: it asks for votes until it does, or another one does
 * (quorum_leader()).  While it hears a leader, nothing: to be said again. */
void quorum_lead(struct quorum *q);
/* It shall not lead any more, unless it does already. */
void quorum_lead_no_more(struct quorum *q);
/* It leads, and its state has all that was ever acknowledged.  *ret_term is the
 * term of its node calls. */
bool quorum_leads(const struct quorum *q, uint64_t *ret_term);
/* The name of the node whose server leads, as far as this one knows; to be
 * freed.  NULL: nobody is known to. */
char *quorum_leader(struct quorum *q);
/* The same by asking the candidates, which may take some seconds: for a server
 * that hears nobody. */
WAITS char *quorum_find_leader(struct quorum *q);
/* Asks all nodes: the name of one that does not let this node in, or obeys a
 * newer master, if these are enough to say that there is another master; NULL:
 * they are not.  To be freed.
 *
 * For a server that needs no other vote than its own it is enough that they are
 * more than those that answer.  One that asks for votes goes on with that until
 * most of all nodes refuse it: a few may only have an old list, and the others
 * may be just starting. */
WAITS char *quorum_shut_out_by(struct quorum *q);

/* The name of the master that the node daemon here has obeyed in a newer term
 * than this server knows: it has been removed from the log, and nobody there
 * speaks to it any more.  To be freed; NULL: there is none. */
char *quorum_replaced_by(struct quorum *q);
/* The name of the candidate with the newest part of the log, by asking all;
 * NULL: none that answers has more than this server. */
WAITS char *quorum_find_newer(struct quorum *q);
/* Asks the nodes that have no part of the log by what this server knows: the
 * name of one that knows of committed changes which this server lacks, to be
 * freed.  The membership here is an old one then, of a disk that was put back
 * to an image; those that were members at that time might follow it.  Or this
 * node was away while others became candidates: so its node daemon lets in from
 * now on whom that one lets in.  NULL: nobody who answers in time knows of any.
 */
WAITS char *quorum_overtaken_by(struct quorum *q);
/* Let the candidate with the newest part lead and hand over to this server,
 * which gets what it lacks in this way.  Does not wait for that; false: none
 * has more. */
WAITS bool quorum_borrow(struct quorum *q);
/* Let the leader hand over to this server, and wait until it has tried. -1 with
 * err: it does not answer, or will not. */
WAITS int quorum_ask_for_lead(struct quorum *q, struct error *err);

/* Give an order to the node of this name (NULL: to that of the leader), within
 * this time: its answer, to be freed; NULL with err. */
WAITS json_t *quorum_tell(struct quorum *q, const char *node_name,
			  json_t *order STEALS, unsigned timeout_ms,
			  struct error *err);

/* Whether a change can be committed now: 0; -1 with err, which names the
 * candidates that are missing. */
int quorum_safe(struct quorum *q, struct error *err);
/* Add the names of candidates that take part and are not heard; whether these
 * are so many that nothing can be committed. */
bool quorum_missing(struct quorum *q, struct strv *ret_names);
/* Whether the log goes on without any other candidate. */
bool quorum_is_alone(const struct quorum *q);

/* A leader makes the candidates of the configuration members of the log, one
 * after the other, and sends others away. */
void quorum_members_begin(struct quorum *q);

/* Whether this node is a member of the log, as a former candidate may be until
 * others have joined in its place. */
bool quorum_has_member(const struct quorum *q, const char *node_name);

/* The same, or it may just become one, as what is committed names it as a
 * candidate. */
bool quorum_may_have_member(struct quorum *q, const char *node_name);

/* This node is no candidate any more: it is told so (node_demote_from_mc) as
 * soon as it is no member of the log, which may be when others have joined in
 * its place.  False: it is none now, nor is it just being told; the caller
 * tells it. */
bool quorum_dismiss(struct quorum *q, const char *node_name);

/* Wait until the candidates that answer take part, for so long at most. */
WAITS void quorum_settle(struct quorum *q, unsigned timeout_ms);

/* Wait until the files of all servers that answer have what is committed now,
 * for so long at most; for who compares them. */
WAITS void quorum_write_out(struct quorum *q, unsigned timeout_ms);

/* A parcel has come through the node daemon; true: the question (which may be
 * NULL) is kept, and answered later. */
bool quorum_receive(struct quorum *q, const void *data, size_t len,
		    struct consensus_question *question);
/* What the node call that brought a parcel is answered, to be freed.  data: of
 * the question; NULL: nothing. */
char *quorum_answer_text(const void *data, size_t len);
/* An order has come (a JSON list: verb, arguments): its answer, to be freed, or
 * NULL with err. */
WAITS json_t *quorum_order(struct quorum *q, const json_t *order,
			   struct error *err);
/* The same as text: the order, and the answer, [true, payload] or [false,
 * text], to be freed. */
WAITS char *quorum_serve(struct quorum *q, const char *data, size_t len);

/* The part of a server's number that says which node it is. */
uint64_t quorum_node_hash(const char *node_name);

#endif
