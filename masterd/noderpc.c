/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls: builds the request, waits for the answers, turns what a node
 * says into a payload or an error that names the node and the procedure. */
#include "masterd/noderpc.h"

#include <string.h>

#include "lib/json/json.h"

/* For procedures that are not in the table. */
#define DEFAULT_TIMEOUT_MS 60000u

struct noderpc {
	struct noderpc_transport transport;
	uint64_t term;
};

/* The calls of one noderpc_call_many. */
struct noderpc_fanout {
	const char *procedure;
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
	free(r);
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

	r->transport.send(
		r->transport.arg,
		&(struct noderpc_call){
			.node_name = node_name(result->node),
			.address = json_str(result->node, "primary_ip", ""),
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
	send_one(r, result, own == NULL ? common : own, timeout_ms);
}

static WAITS void call_all(struct noderpc *r, struct node_result *results,
			   size_t n, const char *procedure, json_t *args STEALS,
			   unsigned timeout_ms)
{
	struct noderpc_fanout fanout = {.procedure = procedure, .left = n};
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
	call_all(r, results, n, procedure, args, noderpc_timeout_ms(procedure));
}

WAITS void noderpc_call_many_for(struct noderpc *r, struct node_result *results,
				 size_t n, const char *procedure,
				 json_t *args STEALS, unsigned timeout_ms)
{
	call_all(r, results, n, procedure, args, timeout_ms);
}

WAITS json_t *noderpc_call_for(struct noderpc *r, const json_t *node,
			       const char *procedure, json_t *args STEALS,
			       unsigned timeout_ms, struct error *err)
{
	struct node_result result = {.node = json_incref((json_t *)node)};

	call_all(r, &result, 1, procedure, args, timeout_ms);
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
