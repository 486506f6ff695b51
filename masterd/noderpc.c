/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls: builds the request, waits for the answers, turns what a node
 * says into a payload or an error that names the node and the procedure. */
#include "masterd/noderpc.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/table.h"
#include "lib/json/json.h"

/* A failure that took longer than this was a wait in vain: the node hangs or is
 * cut off.  One that refuses the connection says so at once. */
#define WAITED_US 2000000

/* For procedures that are not in the table. */
#define DEFAULT_TIMEOUT_MS 60000u

struct noderpc {
	struct noderpc_transport transport;
	uint64_t term;
	struct table silent; /* address -> struct silence */
};

/* Until when a node that let us wait is not looked at. */
struct silence {
	int64_t until_us;
};

/* The calls of one noderpc_call_many. */
struct noderpc_fanout {
	struct noderpc *rpc;
	const char *procedure;
	bool look;
	int64_t begin_us;
	size_t left;
	struct cond changed;
};

struct noderpc *noderpc_create(const struct noderpc_transport *transport)
{
	struct noderpc *r = xalloc(sizeof(*r));

	r->transport = *transport;
	return r;
}

void noderpc_destroy(struct noderpc *r)
{
	if (r != NULL)
		table_done(&r->silent, free);
	free(r);
}

static const char *address_of(const json_t *node)
{
	return json_str(node, "primary_ip", "");
}

static bool is_silent(const struct noderpc *r, const json_t *node)
{
	const struct silence *s = table_get(&r->silent, address_of(node));

	return s != NULL && clock_mono_us() < s->until_us;
}

/* Note how the call ended: an answer, or a wait in vain. */
static void note_outcome(const struct node_result *result, bool answered)
{
	struct noderpc *r = result->fanout->rpc;
	const char *address = address_of(result->node);
	int64_t now = clock_mono_us();
	struct silence *s;

	if (answered) {
		free(table_remove(&r->silent, address));
		return;
	}
	if (now - result->fanout->begin_us < WAITED_US)
		return;
	s = xalloc(sizeof(*s));
	s->until_us = now + (int64_t)NODERPC_SILENT_MS * 1000;
	free(table_put(&r->silent, address, s));
}

void noderpc_set_term(struct noderpc *r, uint64_t term)
{
	r->term = term;
}

unsigned noderpc_timeout_ms(const char *procedure)
{
	static const struct {
		const char *name;
		unsigned timeout_s;
	} table[] = {
#define RPC(name, timeout_s, min, max) {#name, timeout_s},
#include "lib/model/noderpcs.def"
#undef RPC
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, procedure) == 0)
			return table[i].timeout_s * 1000;
	return DEFAULT_TIMEOUT_MS;
}

/* Nodes that are marked offline are asked these all the same: who would know
 * otherwise that they are back. */
static bool is_for_offline(const char *procedure)
{
	return strcmp(procedure, "version") == 0 ||
	       strcmp(procedure, "master_node_name") == 0;
}

static const char *node_name(const json_t *node)
{
	return json_str(node, "name", "?");
}

static void set_failed(struct node_result *result, enum error_kind kind,
		       const char *text)
{
	result->err = xalloc(sizeof(*result->err));
	error_set(result->err, kind, NULL, "%s on node '%s': %s",
		  result->fanout->procedure, node_name(result->node), text);
}

/* The node itself says why; the error holds only the beginning of it. */
static void set_refused(struct node_result *result, const char *text)
{
	if (text != NULL)
		result->failure = xstrdup(text);
	set_failed(result, ERR_EXEC,
		   text != NULL ? text : "it failed without saying why");
}

/* [true, payload] or [false, text]. */
static void read_answer(struct node_result *result, const char *text,
			size_t len)
{
	struct error err;
	auto_json json_t *answer = json_parse(text, len, &err);
	const json_t *ok = json_array_get(answer, 0);
	json_t *payload = json_array_get(answer, 1);

	if (answer == NULL)
		return set_failed(result, ERR_RPC, err.text);
	if (json_array_size(answer) != 2 || !json_is_boolean(ok))
		return set_failed(result, ERR_RPC,
				  "the answer is not [success, payload]");
	if (json_is_true(ok))
		result->payload = json_incref(payload);
	else
		set_refused(result, json_string_value(payload));
}

static void on_reply(void *arg, const char *text, size_t len,
		     const struct error *err)
{
	struct node_result *result = arg;
	struct noderpc_fanout *fanout = result->fanout;

	note_outcome(result, text != NULL);
	if (text == NULL)
		set_failed(result, ERR_RPC, err->text);
	else
		read_answer(result, text, len);
	fanout->left--;
	cond_signal(&fanout->changed);
}

static void send_one(struct noderpc *r, struct node_result *result,
		     const char *body, unsigned timeout_ms)
{
	const char *procedure = result->fanout->procedure;

	r->transport.send(r->transport.arg,
			  &(struct noderpc_call){
				  .node_name = node_name(result->node),
				  .address = address_of(result->node),
				  .procedure = procedure,
				  .body = xstrdup(body),
				  .len = strlen(body),
				  .timeout_ms = timeout_ms,
				  .term = r->term,
				  .on_reply = on_reply,
				  .arg = result,
			  });
}

static void call_one(struct noderpc *r, struct node_result *result,
		     const char *common, unsigned timeout_ms)
{
	auto_free char *own =
		result->args == NULL ? NULL : json_text(result->args);

	if (json_bool(result->node, "offline", false) &&
	    !is_for_offline(result->fanout->procedure)) {
		result->offline = true;
		set_failed(result, ERR_RPC, "Node is marked offline");
		result->fanout->left--;
		return;
	}
	if (result->fanout->look && is_silent(r, result->node)) {
		set_failed(result, ERR_RPC,
			   "it did not answer a moment ago and is not asked "
			   "again yet");
		result->fanout->left--;
		return;
	}
	send_one(r, result, own == NULL ? common : own, timeout_ms);
}

static WAITS void call_all(struct noderpc *r, struct node_result *results,
			   size_t n, const char *procedure, json_t *args STEALS,
			   unsigned timeout_ms, bool look)
{
	struct noderpc_fanout fanout = {
		.rpc = r,
		.procedure = procedure,
		.look = look,
		.begin_us = clock_mono_us(),
		.left = n,
	};
	auto_free char *common = args == NULL ? xstrdup("[]") : json_text(args);

	json_decref(args);
	cond_init(&fanout.changed);
	for (size_t i = 0; i < n; i++) {
		results[i].fanout = &fanout;
		call_one(r, &results[i], common, timeout_ms);
	}
	while (fanout.left > 0)
		cond_wait(&fanout.changed);
	for (size_t i = 0; i < n; i++)
		results[i].fanout = NULL;
}

WAITS void noderpc_call_many(struct noderpc *r, struct node_result *results,
			     size_t n, const char *procedure,
			     json_t *args STEALS)
{
	call_all(r, results, n, procedure, args, noderpc_timeout_ms(procedure),
		 false);
}

WAITS void noderpc_look_many(struct noderpc *r, struct node_result *results,
			     size_t n, const char *procedure,
			     json_t *args STEALS)
{
	call_all(r, results, n, procedure, args, NODERPC_LOOK_MS, true);
}

WAITS void noderpc_call_many_for(struct noderpc *r, struct node_result *results,
				 size_t n, const char *procedure,
				 json_t *args STEALS, unsigned timeout_ms)
{
	call_all(r, results, n, procedure, args, timeout_ms, false);
}

WAITS json_t *noderpc_call_for(struct noderpc *r, const json_t *node,
			       const char *procedure, json_t *args STEALS,
			       unsigned timeout_ms, struct error *err)
{
	struct node_result result = {.node = json_incref((json_t *)node)};

	call_all(r, &result, 1, procedure, args, timeout_ms, false);
	json_decref(result.node);
	if (result.err != NULL)
		*err = *result.err;
	free(result.err);
	free(result.failure);
	return result.payload;
}

WAITS json_t *noderpc_call(struct noderpc *r, const json_t *node,
			   const char *procedure, json_t *args STEALS,
			   struct error *err)
{
	return noderpc_call_for(r, node, procedure, args,
				noderpc_timeout_ms(procedure), err);
}

struct node_result *node_results_new(size_t n)
{
	return xcalloc(n == 0 ? 1 : n, sizeof(struct node_result));
}

void node_results_free(struct node_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_decref(results[i].node);
		json_decref(results[i].args);
		json_decref(results[i].payload);
		free(results[i].err);
		free(results[i].failure);
	}
	free(results);
}
