/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of quorum*.c: server.c has the life, quorum_nodes.c the numbers
 * and the nodes behind them, quorum_net.c what is sent, quorum_orders.c what is
 * answered, quorum_members.c brings candidates in. */
#ifndef MASTERD_QUORUM_QUORUM_PRIVATE_H
#define MASTERD_QUORUM_QUORUM_PRIVATE_H

#include "lib/consensus/consensus.h"
#include "masterd/quorum/quorum.h"
#include "masterd/state/state.h"

/* A number is the node's hash and this many bits that are random. */
#define QUORUM_LIFE_BITS 24

/* A master candidate by the configuration. */
struct quorum_candidate {
	uint64_t hash;
	json_t *node; /* name and primary_ip */
	bool online;
	/* The leader's view. */
	uint64_t minted;  /* number that it was given and has not used yet */
	int64_t asked_us; /* when it was asked last; 0: at once */
	bool asked;	  /* it is being asked */
	bool turned_away; /* it was said that the log has no room for it */
	unsigned unheard; /* questions in a row that it did not answer */
	bool away;	  /* its node did not answer the last parcel */
	bool refuses;	  /* it did not serve this node at all */
	bool ganetis;	  /* Ganeti's node daemon runs there: it has no part */
};

struct quorum {
	struct quorum_config config;
	struct raft_ids silent; /* who was, when the leader last looked */
	struct noderpc *rpc;
	struct state *state;
	struct consensus *log; /* NULL: this node is in none */
	struct consensus_identity me;
	bool started, stopping;
	bool told_to_end; /* by an order: to leave, or to make way */

	/* Candidates as the configuration has them. */
	struct quorum_candidate *candidates;
	size_t n_candidates;
	bool automatic;	  /* the cluster's master_failover */
	bool nodes_stale; /* the configuration has others */

	/* The task that changes the membership. */
	bool members_run;
	bool exchanging;   /* a change of members was not told yet */
	bool letting_in;   /* the task of quorum_certs.c runs */
	bool certs_stale;  /* and has more to do */
	unsigned n_seeing; /* tasks that ask candidates, or dismiss nodes */
	/* Nodes that are to be told that they are no candidates, when they are
	 * no members, and those that are just being told. */
	struct strv leaving, dismissed, untold;
	int64_t untold_us; /* when the last of these could not be told */
	struct cond kick, ended;

	/* It ends: the files are being written, somebody looks whether that
	 * can go on. */
	bool flushing, guarded;

	/* It leads only to hand over to this server, which has less. */
	uint64_t lend_to;

	/* `log` was set aside by a recovery that was cut off: it is only looked
	 * at, and has not started. */
	bool aside;

	/* An order that changes what this server is goes alone. */
	bool turning;
	struct cond turned;
};

/* --- server.c --- */

/* Open the log in the folder and begin to take part, if the server has begun.
 */
WAITS int quorum_open_log(struct quorum *q, struct error *err);
/* Where a recovery was cut off and there is no log: open the one that it has
 * set aside, to be looked at, and to be ended by quorum_found().  Others do not
 * hear of it. */
WAITS int quorum_open_aside(struct quorum *q, struct error *err);
WAITS void quorum_close_aside(struct quorum *q);
/* A log of this server alone begins, with this term. */
WAITS int quorum_found(struct quorum *q, uint64_t term, struct error *err);
/* End taking part. */
WAITS void quorum_close_log(struct quorum *q);
/* As consensus_hooks.changed; also when it leads for another server no more. */
void quorum_on_changed(void *arg);

/* Whether this node had a part of the log and was made to forget it. */
bool quorum_has_forgotten(const struct quorum *q);

/* --- quorum_certs.c --- */

/* Begin to write down whom the configuration lets in: it has changed. */
void quorum_let_in(struct quorum *q);
/* The answer to the order "certificates": {"applied": index, "certs": {uuid of
 * a node: digest}}. */
json_t *quorum_tell_certs(const struct quorum *q);
/* Let in whom this node lets in, which has more of the log than this server. It
 * has to have said the number of the log, which only candidates are told: any
 * other node could name itself. */
WAITS void quorum_learn_certs(struct quorum *q, const json_t *node);

/* --- quorum_nodes.c --- */

/* The candidates, as the configuration has them now. */
void quorum_nodes_refresh(struct quorum *q);
void quorum_nodes_done(struct quorum *q);
/* The node behind a number: an object with name and primary_ip, to be freed;
 * NULL: it is not known. */
json_t *quorum_node_of(struct quorum *q, uint64_t id);
/* The whole object of that node in the configuration, to be freed; NULL: it is
 * not there. */
json_t *quorum_configured(struct quorum *q, uint64_t id);
/* Whether one of the servers is that node's. */
bool quorum_ids_have_node(const struct raft_ids *ids, const json_t *node);
const char *quorum_candidate_name(const struct quorum_candidate *c);
/* The candidate behind a number, or NULL. */
struct quorum_candidate *quorum_candidate_of(struct quorum *q, uint64_t id);

/* --- quorum_net.c --- */

/* As consensus_hooks.send. */
void quorum_send(void *arg, uint64_t to, char *data STEALS, size_t len,
		 consensus_sent_fn *sent, void *sent_arg);
/* Give an order to the server of a node (name and primary_ip): its answer, to
 * be freed; NULL with err. */
WAITS json_t *quorum_give_order(struct quorum *q, const json_t *node,
				json_t *order STEALS, unsigned timeout_ms,
				struct error *err);

/* --- quorum_found.c --- */

/* What a node said. */
struct voter {
	json_t *node;  /* as configured */
	json_t *state; /* NULL: it does not answer */
	bool self;
};

struct ballot {
	struct quorum *q;
	const struct quorum_begin *how;
	struct voter *voters;
	size_t n;
	struct strv ignored; /* nodes that have no say */
};

/* All nodes of the configuration are voters, this one among them. */
int quorum_ballot_begin(struct ballot *b, struct error *err);
void quorum_ballot_done(struct ballot *b);
/* The name of this node. */
const char *quorum_ballot_self(const struct ballot *b);
/* What each node says of the master and of itself. */
WAITS void quorum_ballot_ask(struct ballot *b);

/* --- quorum_drop.c --- */

/* Whether the candidates of b->how->drop may be left behind; -1 with err, which
 * says why not. */
WAITS int quorum_ballot_without(struct ballot *b, struct error *err);
/* The same, to be asked before anything is done. */
WAITS int quorum_may_drop(struct quorum *q, const struct strv *drop,
			  struct error *err);
/* Whether the answer holds still: -1 with err when this node has not the log
 * any more of which it had this number, as a master has taken it in while the
 * others were asked. */
int quorum_ballot_holds(const struct ballot *b, uint64_t id, struct error *err);

/* --- quorum_members.c --- */

/* Whether a member answers and lacks next to nothing of what counts, as the
 * leader sees it; now is the status of the log. */
bool quorum_is_up_to_date(const struct quorum *q,
			  const struct consensus_status *now, uint64_t id);
/* Whether a candidate cannot be a member, as there are as many as there can be.
 */
bool quorum_is_left_out(const struct raft_members *m,
			const struct quorum_candidate *c);

/* --- quorum_orders.c --- */

/* Who changes what this server is, between these two: one after the other. */
WAITS void quorum_turn_begin(struct quorum *q);
void quorum_turn_end(struct quorum *q);

/* Whether a server with this status has more than this one (own): a vote is
 * given to who has as new an entry, and as many. */
bool quorum_has_more(const json_t *status, const json_t *own);

/* What this server is, as it answers the order status; to be freed. */
json_t *quorum_tell_status(const struct quorum *q);

#endif
