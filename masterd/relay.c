/* SPDX-License-Identifier: BSD-2-Clause */
/* A call becomes an order to the node that leads, and there a call at that
 * daemon's own socket. */
#include "masterd/relay.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "masterd/luxi/luxi_calls.h"
#include "masterd/luxi/luxi_server.h"
#include "masterd/quorum/quorum.h"
#include "masterd/role.h"

/* No call of the remote API takes longer. */
#define CALL_MS 60000u
#define TAKE_OVER_US (ROLE_FAILOVER_MS * INT64_C(1000))
#define POLL_MS 50u
#define ASK_US 2000000

struct relay {
	const struct paths *paths;
	struct role *role;
	struct luxi_calls *calls; /* NULL: this is not the master */
	struct luxi_server *luxi;
	unsigned n_calls;
};

/* --- who is the master --- */

static json_t *leader(struct relay *r)
{
	auto_free char *name = quorum_leader(role_quorum(r->role));

	if (r->calls != NULL)
		return json_make("{s:s, s:b}", "leader", r->paths->hostname,
				 "here", 1);
	return json_make("{s:s?, s:b}", "leader", name, "here", 0);
}

/* Who has just lost its leader forgets what it was told, so tell it again; one
 * that has newer data lends them. */
static WAITS void ask_again(struct relay *r)
{
	struct quorum *q = role_quorum(r->role);
	auto_free char *leader = quorum_leader(q);

	if (leader == NULL && !quorum_borrow(q) && r->calls == NULL)
		quorum_lead(q);
}

/* Wait until this daemon is the master. */
static WAITS int await_master(struct relay *r, struct error *err)
{
	int64_t now_us = clock_mono_us(), ask_us = now_us + ASK_US;
	int64_t until_us = now_us + TAKE_OVER_US;

	for (; r->calls == NULL; now_us = clock_mono_us()) {
		if (now_us > ask_us) {
			ask_again(r);
			ask_us = clock_mono_us() + ASK_US;
		}
		if (now_us > until_us) {
			quorum_lead_no_more(role_quorum(r->role));
			return error_set(err, ERR_SYSTEM, ECODE_STATE,
					 "This node did not become the master "
					 "in time; see its master-daemon.log");
		}
		task_sleep(POLL_MS);
	}
	return 0;
}

/* Let the master hand over to this node; where there is none, ask for votes. */
static WAITS int take_over(struct relay *r, struct error *err)
{
	struct quorum *q = role_quorum(r->role);
	auto_free char *now = NULL;

	if (r->calls != NULL)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is the master already",
				 r->paths->hostname);
	if (!quorum_has_log(q))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is no master candidate",
				 r->paths->hostname);
	log_info("This node is to become the master");
	now = quorum_find_leader(q);
	if (now == NULL)
		quorum_lead(q);
	else if (quorum_ask_for_lead(q, err) < 0)
		return -1;
	return await_master(r, err);
}

static WAITS json_t *take_over_call(struct relay *r, const json_t *args,
				    struct error *err)
{
	const char *node = json_string_value(json_array_get(args, 0));

	if (node != NULL && strcmp(node, r->paths->hostname) != 0)
		return quorum_tell(role_quorum(r->role), node,
				   json_make("[s]", "take_over"), CALL_MS, err);
	return take_over(r, err) < 0 ? NULL : json_string(r->paths->hostname);
}

/* --- calls --- */

/* What the master has answered: its result, or its error. */
static json_t *unpack(const json_t *answer, struct error *err)
{
	const json_t *result = json_object_get(answer, "result");

	if (json_bool(answer, "success", false))
		return json_ref(result);
	luxi_error_unpack(result, err);
	return NULL;
}

static WAITS json_t *pass_on(struct relay *r, const char *method,
			     const json_t *args, struct error *err)
{
	auto_json json_t *answer = quorum_tell(
		role_quorum(r->role), NULL,
		json_make("[s, s, O]", "relay", method, args), CALL_MS, err);

	if (answer != NULL)
		return unpack(answer, err);
	/* For clients of LUXI the master is not there. */
	error_as(err, ERR_LUXI, NULL);
	return NULL;
}

struct call {
	struct relay *relay;
	struct luxi_request *request;
};

static WAITS void run(void *arg)
{
	auto_free struct call *c = arg;
	const json_t *message = c->request->message;
	const char *method = json_str(message, "method", "");
	const json_t *args = json_object_get(message, "args");
	struct error err;
	json_t *result;

	if (strcmp(method, "TakeOver") == 0)
		result = take_over_call(c->relay, args, &err);
	else
		result = pass_on(c->relay, method, args, &err);
	c->relay->n_calls--;
	luxi_answer(c->request, result, &err);
}

static void handle(void *arg, struct luxi_request *request)
{
	struct relay *r = arg;
	const char *method = json_str(request->message, "method", "");
	struct call *c;

	if (strcmp(method, "Leader") == 0) {
		luxi_answer(request, leader(r), NULL);
		return;
	}
	if (r->calls != NULL && strcmp(method, "TakeOver") != 0) {
		luxi_calls_handle(r->calls, request);
		return;
	}
	if (r->n_calls >= RELAY_CALLS_MAX ||
	    !json_is_array(json_object_get(request->message, "args"))) {
		luxi_reject(request, "too many calls, or one that is none");
		return;
	}
	c = xalloc(sizeof(*c));
	*c = (struct call){r, request};
	r->n_calls++;
	task_spawn("relay", run, c);
}

/* --- orders of other nodes --- */

bool relay_is_order(const char *data, size_t len)
{
	static const char *const verbs[] = {"[\"relay\"", "[\"take_over\""};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (len >= strlen(verbs[i]) &&
		    memcmp(data, verbs[i], strlen(verbs[i])) == 0)
			return true;
	return false;
}

/* At this daemon's own socket: only the master has one. */
static WAITS json_t *call_here(struct relay *r, const json_t *order)
{
	const char *method = json_string_value(json_array_get(order, 1));
	json_t *args = json_ref(json_array_get(order, 2));
	struct luxi *luxi;
	json_t *result = NULL, *failed = NULL;
	struct error err;

	task_leave(); /* the order is this task's alone */
	luxi = luxi_connect(path(r->paths, PATH_QUERY_SOCKET), &err);
	if (luxi != NULL && method != NULL && json_is_array(args))
		result = luxi_call(luxi, method, json_incref(args), &err);
	luxi_close(luxi);
	json_decref(args);
	if (result == NULL)
		failed = luxi_error_pack(&err);
	task_enter();
	return json_make("{s:b, s:o}", "success", result != NULL, "result",
			 result ?: failed);
}

static WAITS json_t *obey(struct relay *r, const json_t *order,
			  struct error *err)
{
	const char *verb = json_string_value(json_array_get(order, 0));

	if (str_eq(verb, "relay"))
		return call_here(r, order);
	return take_over(r, err) < 0 ? NULL : json_string(r->paths->hostname);
}

char *relay_order(struct relay *r, const char *data, size_t len)
{
	struct error err = {.text = "the order makes no sense"};
	auto_json json_t *order = json_parse(data, len, &err);
	auto_json json_t *payload = order == NULL ? NULL : obey(r, order, &err);
	auto_json json_t *answer = payload != NULL
					   ? json_make("[b, O]", 1, payload)
					   : json_make("[b, s]", 0, err.text);

	return json_text(answer);
}

/* --- begin and end --- */

struct relay *relay_create(const struct paths *paths, struct role *role,
			   struct error *err)
{
	struct relay *r = xalloc(sizeof(*r));
	const char *const sockets[] = {path(paths, PATH_RELAY_SOCKET), NULL};

	r->paths = paths;
	r->role = role;
	r->luxi = luxi_server_create(
		&(struct luxi_server_config){
			.sockets = sockets,
			.handle = handle,
			.arg = r,
		},
		err);
	if (r->luxi != NULL)
		return r;
	free(r);
	return NULL;
}

void relay_serve(struct relay *r, struct luxi_calls *calls)
{
	if (r != NULL)
		r->calls = calls;
}

void relay_stop(struct relay *r)
{
	if (r == NULL)
		return;
	r->calls = NULL;
	if (r->luxi != NULL)
		luxi_server_stop(steal(&r->luxi), NULL, NULL);
}

void relay_free(struct relay *r)
{
	free(r);
}
