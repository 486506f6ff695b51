/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls: builds the request, waits for the answers, turns what a node
 * says into a payload or an error that names the node and the procedure. */
#include "masterd/rpc/noderpc.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"

/* When a call fails after a longer time than this, the node hangs or is cut
 * off.  A node that refuses the connection does so at once. */
#define WAITED_US 2000000
/* A master that is elected so often while a node has a call has no majority
 * that lasts. */
#define TRIES_MAX 5
/* A node daemon says at once whose it is. */
#define WHOSE_MS 5000u

/* A little less than the node daemon's own limit (NODED_BODY_MAX), whose error
 * does not say how long the call was. */
#define CALL_BYTES_MAX ((size_t)60 * 1024 * 1024)

struct noderpc {
	struct noderpc_transport transport;
	uint64_t term;
	uint64_t *n_calls; /* the transport's, or own_calls */
	uint64_t own_calls;
	bool is_fenced;
	void (*fenced)(void *arg, const struct error *err);
	void *fenced_arg;
	void (*fill)(void *arg, const json_t *node, json_t *args);
	void *fill_arg;
	struct table heard;    /* address -> struct heard */
	struct list abandoned; /* struct noderpc_fanout */
	struct cond ended;     /* one of these */
};

/* How a node was last heard of. */
struct heard {
	int64_t answer_us;	 /* its last answer; 0: it has failed since */
	int64_t silent_until_us; /* it did not answer: not asked until then */
};

/* One call on its way. */
struct sent {
	struct noderpc_fanout *fanout;
	struct node_result *result;
	uint64_t term; /* with which it went out */
	unsigned tries;
};

/* The calls of one noderpc_call_many.  When the caller gives up, the answers
 * that still come find it in the list of the abandoned. */
struct noderpc_fanout {
	struct list link;
	struct noderpc *rpc;
	const struct rpc_procedure *procedure; /* of those without their own, */
	const char *args;		       /* whose caller keeps them */
	unsigned timeout_ms;
	bool look, abandoned;
	uint64_t task; /* whose calls they are */
	int64_t begin_us;
	size_t left;
	struct cond changed;
	struct sent sent[];
};

struct noderpc *noderpc_create(const struct noderpc_transport *transport)
{
	struct noderpc *r = xalloc(sizeof(*r));

	r->transport = *transport;
	list_init(&r->abandoned);
	cond_init(&r->ended);
	r->n_calls =
		transport->n_calls != NULL ? transport->n_calls : &r->own_calls;
	/* Begin with the present time, so that the numbers are higher than
	 * those of an earlier object of the same term. */
	if (*r->n_calls == 0)
		*r->n_calls = (uint64_t)clock_wall_us();
	return r;
}

static void fanout_free(struct noderpc_fanout *f)
{
	list_remove(&f->link);
	free(f);
}

void noderpc_destroy(struct noderpc *r)
{
	if (r == NULL)
		return;
	while (!list_empty(&r->abandoned))
		fanout_free(
			list_first(&r->abandoned, struct noderpc_fanout, link));
	table_done(&r->heard, free);
	free(r);
}

static const char *address_of(const json_t *node)
{
	return node_primary_ip(node);
}

static bool is_silent(const struct noderpc *r, const json_t *node)
{
	const struct heard *h = table_get(&r->heard, address_of(node));

	return h != NULL && clock_mono_us() < h->silent_until_us;
}

bool noderpc_heard_since(const struct noderpc *r, const json_t *node,
			 int64_t mono_us)
{
	const struct heard *h = table_get(&r->heard, address_of(node));

	return h != NULL && h->answer_us > mono_us;
}

static struct heard *heard_of(struct noderpc *r, const char *address)
{
	struct heard *h = table_get(&r->heard, address);

	if (h == NULL) {
		h = xalloc(sizeof(*h));
		table_put(&r->heard, address, h);
	}
	return h;
}

/* Whether the call waited for somebody who is not there.  A long call that is
 * cut off when the node starts anew did not. */
static bool waited_in_vain(const struct sent *sent, const struct error *err)
{
	return clock_mono_us() - sent->fanout->begin_us >= WAITED_US &&
	       !error_is(err, ECODE_REFUSED) && !error_is(err, ECODE_CUT);
}

/* Note how the call ended: an answer, a failure, or a wait in vain. */
static void note_outcome(const struct sent *sent, bool answered,
			 const struct error *err)
{
	struct heard *h =
		heard_of(sent->fanout->rpc, address_of(sent->result->node));
	int64_t now = clock_mono_us();

	h->answer_us = answered ? now : 0;
	if (answered)
		h->silent_until_us = 0;
	else if (waited_in_vain(sent, err))
		h->silent_until_us = now + (int64_t)NODERPC_SILENT_MS * 1000;
}

void noderpc_set_term(struct noderpc *r, uint64_t term)
{
	r->term = term;
}

void noderpc_begin_term(struct noderpc *r, uint64_t term)
{
	if (term != r->term)
		r->is_fenced = false;
	r->term = term;
}

void noderpc_set_fenced(struct noderpc *r,
			void (*fenced)(void *arg, const struct error *err),
			void *arg)
{
	r->fenced = fenced;
	r->fenced_arg = arg;
}

void noderpc_set_fill(struct noderpc *r,
		      void (*fill)(void *arg, const json_t *node, json_t *args),
		      void *arg)
{
	r->fill = fill;
	r->fill_arg = arg;
}

/* The arguments for this node as text, to be freed. */
static char *args_text(const struct noderpc *r, const json_t *node,
		       json_t *args)
{
	if (r->fill != NULL)
		r->fill(r->fill_arg, node, args);
	return json_text(args);
}

bool noderpc_is_fenced(const struct noderpc *r)
{
	return r->is_fenced;
}

static const struct rpc_procedure *procedure_of(const struct sent *sent)
{
	const struct rpc_procedure *own = sent->result->own.procedure;

	return own != NULL ? own : sent->fanout->procedure;
}

/* Calls that are made even to nodes that are marked offline: they find out
 * whether such a node is back, start it anew, or make it forget the cluster. */
static bool is_for_offline(const struct rpc_procedure *procedure)
{
	static const struct rpc_procedure *const those[] = {
		&rpc_procedure_version,
		&rpc_procedure_master_node_name,
		&rpc_procedure_master_state,
		&rpc_procedure_node_powercycle,
		&rpc_procedure_node_leave_cluster,
	};

	for (size_t i = 0; i < ARRAY_SIZE(those); i++)
		if (those[i] == procedure)
			return true;
	return false;
}

static void set_failed(const struct sent *sent, enum error_kind kind,
		       const char *text)
{
	struct node_result *result = sent->result;

	result->err = xalloc(sizeof(*result->err));
	error_set(result->err, kind, NULL, "%s on node '%s': %s",
		  procedure_of(sent)->name, node_name(result->node), text);
}

static void set_unreachable(const struct sent *sent, const struct error *err)
{
	set_failed(sent, err->kind == ERR_EXEC ? ERR_EXEC : ERR_RPC, err->text);
	sent->result->err->ecode = err->ecode;
}

static void set_fenced(const struct sent *sent)
{
	set_failed(sent, ERR_RPC, "there is another master by now");
	sent->result->err->ecode = ECODE_FENCED;
}

/* Whether the node refused the call because it had heard of a newer term of
 * this very master, which was elected again meanwhile.  If the newer term is
 * another master's, the next call tells. */
static bool is_overtaken(const struct sent *sent, const struct error *err)
{
	return error_is(err, ECODE_FENCED) &&
	       sent->term < sent->fanout->rpc->term;
}

static void set_overtaken(const struct sent *sent, const struct error *err)
{
	auto_free char *text =
		xprintf("this master was elected again before the node did "
			"it: %s",
			err->text);

	set_failed(sent, ERR_RPC, text);
}

/* A node obeys another master: the answers of the others do not count any
 * more. */
static void note_fenced(const struct sent *sent, const struct error *err)
{
	struct noderpc *r = sent->fanout->rpc;
	struct error why;

	if (r->is_fenced)
		return;
	r->is_fenced = true;
	error_set(&why, ERR_RPC, ECODE_FENCED,
		  "Another master has taken over, as was learnt from %s: %s",
		  procedure_of(sent)->name, err->text);
	if (r->fenced != NULL)
		r->fenced(r->fenced_arg, &why);
}

static void set_too_long(const struct sent *sent, size_t len)
{
	auto_free char *text = xprintf(
		"the call is %zu MiB long, and node daemons take at most %zu",
		len >> 20, CALL_BYTES_MAX >> 20);

	set_failed(sent, ERR_EXEC, text);
}

/* The node's own error: `failure` has all of it, the error only its
 * beginning. */
static void set_refused(const struct sent *sent, const char *text)
{
	if (text != NULL)
		sent->result->failure = xstrdup(text);
	set_failed(sent, ERR_EXEC,
		   text != NULL ? text : "it failed without saying why");
}

static void take_payload(const struct sent *sent, json_t *payload)
{
	const char *kind;

	if (rpc_is_of_kind(procedure_of(sent)->answer, payload, &kind)) {
		sent->result->payload = json_incref(payload);
	} else {
		auto_free char *text = xprintf("the answer is not %s", kind);

		set_failed(sent, ERR_RPC, text);
	}
}

/* [true, payload] or [false, text]. */
static void read_answer(const struct sent *sent, const char *text, size_t len)
{
	struct error err;
	auto_json json_t *answer = json_parse(text, len, &err);
	const json_t *ok = json_array_get(answer, 0);
	json_t *payload = json_array_get(answer, 1);

	if (answer == NULL)
		return set_failed(sent, ERR_RPC, err.text);
	if (json_array_size(answer) != 2 || !json_is_boolean(ok))
		return set_failed(sent, ERR_RPC,
				  "the answer is not [success, payload]");
	if (json_is_true(ok))
		take_payload(sent, payload);
	else
		set_refused(sent, json_string_value(payload));
}

static void on_reply(void *arg, const char *text, size_t len,
		     const struct error *err);

/* The text of its arguments; *ret_own is to be freed. */
static const char *body_of(const struct sent *sent, char **ret_own)
{
	const struct node_result *result = sent->result;

	*ret_own = result->own.procedure == NULL
			   ? NULL
			   : args_text(sent->fanout->rpc, result->node,
				       result->own.args);
	return *ret_own == NULL ? sent->fanout->args : *ret_own;
}

static void send_one(struct sent *sent, const char *body)
{
	struct noderpc *r = sent->fanout->rpc;
	const json_t *node = sent->result->node;

	sent->tries++;
	sent->term = r->term;
	r->transport.send(r->transport.arg,
			  &(struct noderpc_call){
				  .node_name = node_name(node),
				  .address = address_of(node),
				  .procedure = procedure_of(sent)->name,
				  .body = xstrdup(body),
				  .len = strlen(body),
				  .timeout_ms = sent->fanout->timeout_ms,
				  .term = r->term,
				  .number = ++*r->n_calls,
				  .on_reply = on_reply,
				  .arg = sent,
			  });
}

/* Whether the node refused the call before it did anything. */
static bool has_not_begun(const struct error *err)
{
	return strstr(err->text, RPC_NOT_BEGUN) != NULL;
}

/* The node had heard of the newer term first: the call is sent anew with
 * that. */
static void send_again(struct sent *sent)
{
	auto_free char *own = NULL;

	send_one(sent, body_of(sent, &own));
}

static void on_reply(void *arg, const char *text, size_t len,
		     const struct error *err)
{
	struct sent *sent = arg;
	struct noderpc_fanout *fanout = sent->fanout;
	bool overtaken = text == NULL && is_overtaken(sent, err);

	if (overtaken && has_not_begun(err) && !fanout->abandoned &&
	    !fanout->rpc->is_fenced && sent->tries < TRIES_MAX)
		return send_again(sent);
	fanout->left--;
	if (text == NULL && error_is(err, ECODE_FENCED) && !overtaken)
		note_fenced(sent, err);
	if (fanout->abandoned) {
		if (fanout->left == 0) {
			cond_signal(&fanout->rpc->ended);
			fanout_free(fanout);
		}
		return;
	}
	note_outcome(sent, text != NULL || err->kind == ERR_EXEC || overtaken,
		     err);
	if (overtaken)
		set_overtaken(sent, err);
	else if (text == NULL)
		set_unreachable(sent, err);
	else if (fanout->rpc->is_fenced)
		set_fenced(sent);
	else
		read_answer(sent, text, len);
	cond_signal(&fanout->changed);
}

void noderpc_pass(struct noderpc *r, const struct noderpc_call *call)
{
	struct noderpc_call ours = *call;

	ours.term = r->term;
	ours.number = ++*r->n_calls;
	r->transport.send(r->transport.arg, &ours);
}

static void call_one(struct noderpc *r, struct sent *sent)
{
	struct node_result *result = sent->result;
	auto_free char *own = NULL;
	const char *body = body_of(sent, &own);

	if (task_interrupted()) {
		set_failed(sent, ERR_CANCELED, "not asked, the job was killed");
	} else if (node_offline(result->node) &&
		   !is_for_offline(procedure_of(sent))) {
		result->offline = true;
		set_failed(sent, ERR_RPC, "Node is marked offline");
	} else if (r->is_fenced) {
		set_fenced(sent);
	} else if (sent->fanout->look && is_silent(r, result->node)) {
		set_failed(sent, ERR_RPC,
			   "it did not answer a moment ago and is not asked "
			   "again yet");
	} else if (strlen(body) > CALL_BYTES_MAX) {
		set_too_long(sent, strlen(body));
	} else {
		send_one(sent, body);
		return;
	}
	sent->fanout->left--;
}

/* Stop waiting; answers that still come are dropped. */
static void abandon(struct noderpc_fanout *f, size_t n)
{
	f->abandoned = true;
	list_append(&f->rpc->abandoned, &f->link);
	for (size_t i = 0; i < n; i++) {
		struct node_result *result = f->sent[i].result;

		if (result->payload == NULL && result->err == NULL)
			set_failed(&f->sent[i], ERR_CANCELED,
				   "the job was killed while it waited; the "
				   "node may go on with it");
	}
}

static void fanout_done(struct noderpc_fanout **f)
{
	if (!(*f)->abandoned)
		fanout_free(*f);
}

static struct noderpc_fanout *fanout_new(struct noderpc *r,
					 struct node_result *results, size_t n,
					 const struct rpc_procedure *procedure,
					 bool look)
{
	struct noderpc_fanout *f = xalloc(sizeof(*f) + n * sizeof(f->sent[0]));

	f->rpc = r;
	f->procedure = procedure;
	f->look = look;
	f->task = task_number();
	f->begin_us = clock_mono_us();
	f->left = n;
	list_init(&f->link);
	cond_init(&f->changed);
	for (size_t i = 0; i < n; i++)
		f->sent[i] = (struct sent){.fanout = f, .result = &results[i]};
	return f;
}

/* args: of all nodes that have no request of their own, as text. */
static WAITS void call_text(struct noderpc *r, struct node_result *results,
			    size_t n, const struct rpc_procedure *procedure,
			    const char *args, unsigned timeout_ms, bool look)
{
	__attribute__((cleanup(fanout_done))) struct noderpc_fanout *fanout =
		fanout_new(r, results, n, procedure, look);

	fanout->args = args;
	fanout->timeout_ms = timeout_ms;
	for (size_t i = 0; i < n; i++)
		call_one(r, &fanout->sent[i]);
	while (fanout->left > 0 && !task_interrupted())
		cond_wait(&fanout->changed);
	if (fanout->left > 0)
		abandon(fanout, n);
}

static WAITS void call_all(struct noderpc *r, struct node_result *results,
			   size_t n, struct rpc_request common, bool look)
{
	auto_free char *args = json_text(common.args);

	json_decref(common.args);
	call_text(r, results, n, common.procedure, args, common.timeout_ms,
		  look);
}

WAITS void noderpc_call_many(struct noderpc *r, struct node_result *results,
			     size_t n, struct rpc_request common)
{
	call_all(r, results, n, common, false);
}

WAITS void noderpc_call_each(struct noderpc *r, struct node_result *results,
			     size_t n)
{
	if (n > 0)
		call_text(r, results, n, NULL, NULL, results[0].own.timeout_ms,
			  false);
}

WAITS void noderpc_look_many(struct noderpc *r, struct node_result *results,
			     size_t n, struct rpc_request common)
{
	call_all(r, results, n, rpc_within(common, NODERPC_LOOK_MS), true);
}

WAITS void noderpc_look_each(struct noderpc *r, struct node_result *results,
			     size_t n)
{
	call_text(r, results, n, NULL, NULL, NODERPC_LOOK_MS, true);
}

static WAITS json_t *call_node(struct noderpc *r, const json_t *node,
			       const struct rpc_procedure *procedure,
			       const char *args, unsigned timeout_ms,
			       struct error *err)
{
	struct node_result result = {.node = json_ref(node)};

	call_text(r, &result, 1, procedure, args, timeout_ms, false);
	json_decref(result.node);
	if (result.err != NULL)
		*err = *result.err;
	free(result.err);
	free(result.failure);
	return result.payload;
}

WAITS json_t *noderpc_call(struct noderpc *r, const json_t *node,
			   struct rpc_request request, struct error *err)
{
	auto_free char *args = args_text(r, node, request.args);

	json_decref(request.args);
	return call_node(r, node, request.procedure, args, request.timeout_ms,
			 err);
}

WAITS json_t *noderpc_call_text(struct noderpc *r, const json_t *node,
				const char *procedure, const char *args,
				unsigned timeout_ms, struct error *err)
{
	return call_node(r, node, rpc_find(procedure), args, timeout_ms, err);
}

bool noderpc_gave_up(const struct noderpc *r, uint64_t task)
{
	const struct noderpc_fanout *f;

	list_each (f, &r->abandoned, link)
		if (f->task == task)
			return true;
	return false;
}

WAITS void noderpc_settle(struct noderpc *r, uint64_t task)
{
	while (noderpc_gave_up(r, task) && !task_interrupted())
		cond_wait(&r->ended);
}

WAITS void noderpc_ask_whose(struct noderpc *r, struct node_result *results,
			     size_t n)
{
	noderpc_look_many(r, results, n,
			  rpc_within(rpc_unchecked("version",
						   json_make("[s]", "gantry?")),
				     WHOSE_MS));
}

WAITS bool noderpc_is_ganetis(struct noderpc *r, const json_t *node)
{
	struct node_result *result = node_results_new(1);
	bool is;

	result->node = json_ref(node);
	noderpc_ask_whose(r, result, 1);
	is = json_is_integer(result->payload);
	node_results_free(result, 1);
	return is;
}

struct node_result *node_results_new(size_t n)
{
	return xcalloc(n == 0 ? 1 : n, sizeof(struct node_result));
}

void node_results_free(struct node_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_decref(results[i].node);
		json_decref(results[i].own.args);
		json_decref(results[i].payload);
		free(results[i].err);
		free(results[i].failure);
		json_decref(results[i].blind);
	}
	free(results);
}
