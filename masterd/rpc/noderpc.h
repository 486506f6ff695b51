/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the node daemons (doc/protocol/noderpc.md):
 * one node or many at once, each with the procedure's own time limit.
 *
 * How the bytes travel is given at creation: HTTPS in the daemon, a scripted
 * network in the simulation. */
#ifndef MASTERD_RPC_NODERPC_H
#define MASTERD_RPC_NODERPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/model/rpc/rpc.h"

/* A call to be sent.  The transport calls on_reply exactly once, from the loop
 * (or at once, when it has ended): with the whole answer ([ok, payload] as
 * text), or with NULL and err.  The ecode of err is ECODE_REFUSED when the host
 * refuses the connection, ECODE_CUT when the connection ended before the
 * answer, ECODE_FENCED when the node knows a newer term, ECODE_SHUT_OUT when it
 * does not let this one in.  Its kind is ERR_EXEC when the node answers but the
 * call or the answer is not possible (too long, for example); any other error
 * means that the node did not answer. */
struct noderpc_call {
	const char *node_name;
	const char *address;
	const char *procedure;
	char *body; /* JSON list of arguments; the transport frees it */
	size_t len;
	unsigned timeout_ms;
	uint64_t term;	 /* 0: none */
	uint64_t number; /* counts all calls of this master */
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

struct noderpc_transport {
	void *arg;
	/* The number of the last call.  All that send by one transport count
	 * together, so that a node tells which of two calls of one daemon is
	 * the later one.  NULL: each object counts for itself. */
	uint64_t *n_calls;
	/* Everything in *call but body is borrowed until send() returns. */
	void (*send)(void *arg, const struct noderpc_call *call);
};

struct noderpc;

/* The transport is copied; what its arg points to must live longer. */
struct noderpc *noderpc_create(const struct noderpc_transport *transport);
void noderpc_destroy(struct noderpc *r);

/* Send a call of another struct noderpc with this one's transport, term and
 * numbers; the answer goes to the call's own on_reply. */
void noderpc_pass(struct noderpc *r, const struct noderpc_call *call);

/* The term number sent with every call (doc/design/failover.md); 0: none. */
void noderpc_set_term(struct noderpc *r, uint64_t term);
/* The same when a term of this server begins, for calls that go on with no work
 * of a former term: that another master was obeyed before it is over.  The
 * calls of a master's jobs stay refused: what they were about may have changed
 * meanwhile. */
void noderpc_begin_term(struct noderpc *r, uint64_t term);

/* fenced() is called once, from the loop, when a node says that it knows a
 * newer term than ours.  From then on each call fails with ECODE_FENCED.  A
 * call that went out with a former term of ours is sent anew if the node
 * refused it before it did anything, else it fails alone. */
void noderpc_set_fenced(struct noderpc *r,
			void (*fenced)(void *arg, const struct error *err),
			void *arg);
bool noderpc_is_fenced(const struct noderpc *r);

/* fill() is called with the arguments of each call to one node before they
 * become text, to put in what depends on the node.  The common arguments of
 * noderpc_call_many() go out as they are. */
void noderpc_set_fill(struct noderpc *r,
		      void (*fill)(void *arg, const json_t *node, json_t *args),
		      void *arg);

/* Call a node (its configuration object).  The payload, to be freed (JSON null
 * for none); NULL with err: what the node answered, that the call or its answer
 * is too long (ERR_EXEC) or the answer is not of the kind that the table of
 * calls says (ERR_RPC), that it cannot be reached (ERR_RPC with the transport's
 * ecode), or that it is marked offline (ERR_RPC without asking, unless the
 * procedure is for offline nodes too).  The text names the node.
 *
 * The arguments of a request are given away, in all calls here.  In a task that
 * was interrupted no node is asked, and waits end: ERR_CANCELED. */
WAITS json_t *noderpc_call(struct noderpc *r, const json_t *node,
			   struct rpc_request request, struct error *err);

/* The same with the list of arguments as JSON text, for calls that go to many
 * nodes; the text is copied at once.  The procedure must be known. */
WAITS json_t *noderpc_call_text(struct noderpc *r, const json_t *node,
				const char *procedure, const char *args,
				unsigned timeout_ms, struct error *err);

/* Wait until no call is on its way any more that this task (task_number()) gave
 * up when it was interrupted: each is answered or has taken its time limit. */
WAITS void noderpc_settle(struct noderpc *r, uint64_t task);
/* Whether there is such a call. */
bool noderpc_gave_up(const struct noderpc *r, uint64_t task);

struct node_result {
	json_t *node;		/* set by the caller, a reference of its own */
	struct rpc_request own; /* zeroed: the common one */
	json_t *payload;	/* NULL: failed, see err */
	struct error *err;	/* allocated only when failed */
	char *failure;		/* its whole message; NULL if none */
	json_t *blind; /* masterd/resources/running.h: hypervisors that cannot
			  tell */
	bool offline;
};

/* Call all nodes at the same time and wait for the last answer; those without a
 * request of their own get the common one, which has the time limit of all. */
WAITS void noderpc_call_many(struct noderpc *r, struct node_result *results,
			     size_t n, struct rpc_request common);

/* The same where each result has a request of its own, all of the same time
 * limit. */
WAITS void noderpc_call_each(struct noderpc *r, struct node_result *results,
			     size_t n);

/* For calls that only look at nodes (queries, data for allocators).  An answer
 * must come within NODERPC_LOOK_MS.  A node that did not answer in time is not
 * asked again for NODERPC_SILENT_MS, unless it has answered something since;
 * one that refuses or ends a connection is there.  So a node that hangs delays
 * one command, not each. */
#define NODERPC_LOOK_MS 10000u
#define NODERPC_SILENT_MS 10000
WAITS void noderpc_look_many(struct noderpc *r, struct node_result *results,
			     size_t n, struct rpc_request common);

/* The same where each result has a request of its own. */
WAITS void noderpc_look_each(struct noderpc *r, struct node_result *results,
			     size_t n);

/* Whether the node has answered any call after that moment (clock_mono_us()),
 * and no call to it has failed since.  Then it is alive and need not be
 * asked. */
bool noderpc_heard_since(const struct noderpc *r, const json_t *node,
			 int64_t mono_us);

/* For callers of call_many: allocate for these nodes, free with everything. */
struct node_result *node_results_new(size_t n);
void node_results_free(struct node_result *results, size_t n);

/* Ask whether Ganeti's own node daemon runs there; then the payload is an
 * integer.  It is the call `version` with an argument: our node daemon refuses
 * that, Ganeti's ignores it.  (A call that only ours knows would not tell:
 * Ganeti's answers it by closing the connection, as does a daemon that is just
 * ending.) A node that recently did not answer is not asked, and none for more
 * than five seconds: what follows waits for it. */
WAITS void noderpc_ask_whose(struct noderpc *r, struct node_result *results,
			     size_t n);
WAITS bool noderpc_is_ganetis(struct noderpc *r, const json_t *node);

#endif
