/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/rpc/noderpc.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "tests/lib/root.h"

/* A scripted network: answers from a table by address, in the order asked, or
 * backwards. */
struct waiting {
	struct noderpc_call call;
	char *address;
};

static struct waiting calls[8];
static size_t n_calls;
static struct noderpc *rpc;
static struct error err;
static uv_idle_t answering;
static bool fails;     /* node 1 as well */
static bool late;      /* answers only when the test says so */
static bool begun;     /* and the node has done something of it */
static bool overtaken; /* the next answer is that there is a newer term */
static struct buf trace;
static int64_t virtual_us = 1000000, hang_us; /* before a failure */
static const char *failure = ECODE_REFUSED;

/* By value: the call may be sent anew into its place. */
static void answer(struct waiting call)
{
	const struct waiting *w = &call;
	struct error e;
	const char *text = NULL;

	if (overtaken)
		error_set(&e, ERR_RPC, ECODE_FENCED, "term 8 of node1%s",
			  begun ? "" : RPC_NOT_BEGUN);
	else if (strcmp(w->address, "192.0.2.1") == 0 && !fails)
		text = strcmp(w->call.procedure, "version") == 0
			       ? "[true, 42]"
			       : "[true, [42]]";
	else if (strcmp(w->address, "192.0.2.2") == 0)
		text = "[false, \"disk is gone\"]";
	else if (strcmp(w->address, "192.0.2.3") == 0)
		text = "<html>";
	else if (strcmp(w->address, "192.0.2.4") == 0)
		text = "[1, 2, 3]";
	else if (strcmp(w->address, "192.0.2.7") == 0)
		text = "[true, \"text\"]";
	else if (strcmp(w->address, "192.0.2.6") == 0)
		error_set(&e, ERR_RPC, ECODE_FENCED, "term 8 of node9");
	else
		error_set(&e, ERR_RPC, failure, "connection refused");
	overtaken = false;
	virtual_us += text == NULL ? hang_us : 0;
	w->call.on_reply(w->call.arg, text, text == NULL ? 0 : strlen(text),
			 &e);
	free(w->address);
}

static void on_idle(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	while (n_calls > 0)
		answer(calls[--n_calls]);
}

static void scripted_send(void *arg, const struct noderpc_call *call)
{
	(void)arg;
	buf_addf(&trace, "%s %s %s %u; ", call->node_name, call->procedure,
		 call->body, call->timeout_ms);
	free(call->body);
	calls[n_calls].call = *call;
	calls[n_calls++].address = xstrdup(call->address);
	if (!late)
		uv_idle_start(&answering, on_idle);
}

static void setup(void)
{
	mem_init();
	test_loop_start();
	uv_idle_init(uv_default_loop(), &answering);
	rpc = noderpc_create(
		&(struct noderpc_transport){.send = scripted_send});
}

static void teardown(void)
{
	noderpc_destroy(rpc);
	uv_close((uv_handle_t *)&answering, NULL);
	test_loop_stop();
	buf_done(&trace);
}

TestSuite(noderpc, .init = setup, .fini = teardown);

static json_t *node(int i, bool offline)
{
	auto_free char *name = xprintf("node%d", i);
	auto_free char *ip = xprintf("192.0.2.%d", i);

	return json_make("{s:s, s:s, s:b}", "name", name, "primary_ip", ip,
			 "offline", offline);
}

struct one {
	int node;
	bool offline;
	const char *procedure;
	json_t *payload;
};

static void call_one(void *arg)
{
	struct one *one = arg;
	auto_json json_t *n = node(one->node, one->offline);

	one->payload = noderpc_call(
		rpc, n, rpc_unchecked(one->procedure, json_make("[s]", "a")),
		&err);
}

static void call_big(void *arg)
{
	size_t len = 61 * 1024 * 1024;
	auto_free char *big = xalloc(len + 1);
	auto_json json_t *n = node(1, false);

	(void)arg;
	memset(big, 'x', len);
	cr_expect_null(noderpc_call(rpc, n, rpc_restricted_command(big), &err));
}

/* It is not the node's fault. */
Test(noderpc, a_call_that_is_too_long_is_not_sent)
{
	task_spawn("call", call_big, NULL);
	test_run_tasks();
	cr_assert_eq(err.kind, ERR_EXEC);
	cr_assert_str_eq(err.text,
			 "restricted_command on node 'node1': the call is "
			 "61 MiB long, and node daemons take at most 60");
	cr_assert_eq(trace.len, 0);
}

static json_t *call(int i, bool offline, const char *procedure)
{
	struct one one = {i, offline, procedure, NULL};

	task_spawn("call", call_one, &one);
	test_run_tasks();
	return one.payload;
}

/* [n], as a node answers here. */
static json_int_t number(const json_t *payload)
{
	return json_integer_value(json_array_get(payload, 0));
}

Test(noderpc, gives_the_payload)
{
	auto_json json_t *payload = call(1, false, "node_info");

	cr_assert_eq(number(payload), 42);
	cr_assert_str_eq(trace.data, "node1 node_info [\"a\"] 60000; ");
}

/* The number of a call by this object. */
static uint64_t counted(struct noderpc *by)
{
	struct noderpc *before = rpc;

	rpc = by;
	json_decref(call(1, false, "node_info"));
	rpc = before;
	return calls[0].call.number;
}

/* The calls of the master and those of its log: a node tells which is later. */
Test(noderpc, what_goes_by_one_transport_is_counted_together)
{
	uint64_t n = 0;
	struct noderpc_transport t = {.n_calls = &n, .send = scripted_send};
	struct noderpc *first = noderpc_create(&t), *second;
	uint64_t number = counted(first);

	second = noderpc_create(&t);
	cr_expect_eq(counted(second), number + 1);
	cr_expect_eq(counted(first), number + 2);
	noderpc_destroy(second);
	noderpc_destroy(first);
}

Test(noderpc, an_answer_of_another_kind_is_a_failure)
{
	cr_assert_null(call(7, false, "node_info"));
	cr_assert_eq(err.kind, ERR_RPC);
	cr_assert_str_eq(err.text, "node_info on node 'node7': the answer is "
				   "not a list");
}

Test(noderpc, a_failure_names_node_and_procedure)
{
	cr_assert_null(call(2, false, "instance_start"));
	cr_assert_eq(err.kind, ERR_EXEC);
	cr_assert_str_eq(err.text,
			 "instance_start on node 'node2': disk is gone");
}

Test(noderpc, garbage_is_an_error)
{
	cr_assert_null(call(3, false, "node_info"));
	cr_assert_eq(err.kind, ERR_RPC);
	cr_assert_null(call(4, false, "node_info"));
	cr_assert_eq(err.kind, ERR_RPC);
}

Test(noderpc, an_unreachable_node_is_an_error)
{
	cr_assert_null(call(5, false, "node_info"));
	cr_assert_eq(err.kind, ERR_RPC);
	cr_assert_not_null(strstr(err.text, "connection refused"));
	cr_assert(error_is(&err, ECODE_REFUSED));
}

static unsigned n_fenced;

static void on_fenced(void *arg, const struct error *e)
{
	cr_assert_eq(arg, &n_fenced);
	cr_assert_not_null(strstr(e->text, "node_info"));
	cr_assert_not_null(strstr(e->text, "term 8 of node9"));
	n_fenced++;
}

Test(noderpc, a_newer_term_ends_all_calls)
{
	noderpc_set_fenced(rpc, on_fenced, &n_fenced);
	cr_assert_null(call(6, false, "node_info"));
	cr_assert(error_is(&err, ECODE_FENCED));
	cr_assert_eq(n_fenced, 1);
	cr_assert(noderpc_is_fenced(rpc));
	buf_consume(&trace, trace.len);
	cr_assert_null(call(1, false, "node_info"));
	cr_assert(error_is(&err, ECODE_FENCED));
	cr_assert_eq(trace.len, 0, "nothing is sent any more");
	cr_assert_eq(n_fenced, 1, "told once");
}

/* A server that had led for a moment becomes the master later. */
Test(noderpc, a_term_that_begins_is_no_former_one)
{
	json_t *got;

	noderpc_set_fenced(rpc, on_fenced, &n_fenced);
	noderpc_begin_term(rpc, 5);
	cr_assert_null(call(6, false, "node_info"));
	noderpc_begin_term(rpc, 5);
	cr_expect(noderpc_is_fenced(rpc), "it is the same one");
	noderpc_set_term(rpc, 9);
	cr_expect(noderpc_is_fenced(rpc), "jobs of the former one go on");
	noderpc_begin_term(rpc, 10);
	got = call(1, false, "node_info");
	cr_expect_not_null(got, "%s", err.text);
	json_decref(got);
}

/* The answers of a call to many come in any order; here the last first. */
static void call_both(void *arg)
{
	noderpc_call_many(rpc, arg, 2,
			  rpc_unchecked("node_info", json_array()));
}

Test(noderpc, an_answer_after_the_newer_term_does_not_count)
{
	struct node_result *results = node_results_new(2);

	results[0].node = node(1, false);
	results[1].node = node(6, false);
	task_spawn("call", call_both, results);
	test_run_tasks();
	cr_assert_null(results[0].payload);
	cr_assert(error_is(results[0].err, ECODE_FENCED));
	node_results_free(results, 2);
}

/* While the call is on its way, the master is elected again; the node hears of
 * the new term first. */
static void elected_again(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	noderpc_set_term(rpc, 8);
	overtaken = true;
	late = false;
	answer(calls[--n_calls]);
}

static uv_idle_t again;

/* A call to node 1 that is overtaken so. */
static json_t *call_overtaken(void)
{
	json_t *got;

	late = true;
	uv_idle_init(uv_default_loop(), &again);
	uv_idle_start(&again, elected_again);
	noderpc_set_term(rpc, 5);
	noderpc_set_fenced(rpc, on_fenced, &n_fenced);
	got = call(1, false, "node_info");
	uv_close((uv_handle_t *)&again, NULL);
	return got;
}

Test(noderpc, a_call_of_its_own_former_term_is_sent_anew)
{
	json_t *got = call_overtaken();

	cr_expect_not_null(got, "%s", err.text);
	json_decref(got);
	cr_expect_str_eq(trace.data, "node1 node_info [\"a\"] 60000; "
				     "node1 node_info [\"a\"] 60000; ");
	cr_expect_eq(n_fenced, 0);
	cr_expect_not(noderpc_is_fenced(rpc));
}

/* What it has done may be done only once. */
Test(noderpc, one_that_had_begun_fails_alone)
{
	json_t *next;

	begun = true;
	cr_expect_null(call_overtaken());
	cr_expect_eq(err.kind, ERR_RPC);
	cr_expect_null(err.ecode);
	cr_expect_str_eq(err.text,
			 "node_info on node 'node1': this master was elected "
			 "again before the node did it: term 8 of node1");
	cr_expect_not(noderpc_is_fenced(rpc));
	next = call(1, false, "node_info");
	cr_expect_not_null(next);
	json_decref(next);
}

Test(noderpc, offline_nodes_are_not_asked)
{
	static const char *const also[] = {"version", "node_powercycle",
					   "node_leave_cluster"};

	cr_assert_null(call(1, true, "node_info"));
	cr_assert_not_null(strstr(err.text, "Node is marked offline"));
	cr_assert_eq(trace.len, 0);
	for (size_t i = 0; i < ARRAY_SIZE(also); i++) {
		auto_json json_t *answer = call(1, true, also[i]);

		cr_expect_not_null(answer, "%s", also[i]);
	}
}

static void call_many(void *arg)
{
	struct node_result *results = arg;

	noderpc_call_many(rpc, results, 4,
			  rpc_unchecked("node_info", json_make("[i]", 1)));
}

Test(noderpc, many_at_once)
{
	struct node_result *results = node_results_new(4);

	results[0].node = node(1, false);
	results[1].node = node(2, false);
	results[2].node = node(1, true);
	results[3].node = node(5, false);
	results[3].own = rpc_unchecked("node_info", json_make("[i]", 2));
	task_spawn("call", call_many, results);
	test_run_tasks();
	cr_assert_str_eq(trace.data, "node1 node_info [1] 60000; "
				     "node2 node_info [1] 60000; "
				     "node5 node_info [2] 60000; ");
	cr_assert_eq(number(results[0].payload), 42);
	cr_assert_null(results[1].payload);
	cr_assert_eq(results[1].err->kind, ERR_EXEC);
	cr_assert_not(results[1].offline);
	cr_assert(results[2].offline);
	cr_assert_eq(results[3].err->kind, ERR_RPC);
	node_results_free(results, 4);
}

/* --- looking --- */

static int64_t virtual_clock(void)
{
	return virtual_us;
}

static void look(void *arg)
{
	struct node_result *results = node_results_new(1);
	const char **ret_text = arg;
	static char text[ERROR_TEXT_MAX];

	results[0].node = node(9, false);
	noderpc_look_many(rpc, results, 1,
			  rpc_unchecked("node_info", json_array()));
	memcpy(text, results[0].err->text, sizeof(text));
	*ret_text = text;
	node_results_free(results, 1);
}

static const char *look_at_9(void)
{
	const char *text = NULL;

	buf_consume(&trace, trace.len);
	task_spawn("look", look, &text);
	test_run_tasks();
	return text;
}

/* A node that hangs costs one time limit, not one a command. */
Test(noderpc, a_silent_node_is_not_asked_again_at_once)
{
	clock_replace(virtual_clock);
	hang_us = 5000000;
	failure = NULL;
	cr_assert_not_null(strstr(look_at_9(), "connection refused"));
	cr_assert_eq(strcmp(trace.data, "node9 node_info [] 10000; "), 0);
	cr_assert_not_null(strstr(look_at_9(), "a moment ago"));
	cr_assert_eq(trace.len, 0);
	virtual_us += (int64_t)NODERPC_SILENT_MS * 1000;
	hang_us = 0;
	cr_assert_not_null(strstr(look_at_9(), "connection refused"));
	/* Refused at once is not silent: it is asked each time. */
	cr_assert_not_null(strstr(look_at_9(), "connection refused"));
	clock_replace(NULL);
}

/* A long call that is cut off by a restart says nothing about the next. */
Test(noderpc, a_node_that_ends_a_connection_is_not_silent)
{
	clock_replace(virtual_clock);
	hang_us = 5000000;
	failure = ECODE_CUT;
	cr_assert_not_null(strstr(look_at_9(), "connection refused"));
	hang_us = 0;
	failure = ECODE_REFUSED;
	cr_assert_not_null(strstr(look_at_9(), "connection refused"));
	clock_replace(NULL);
}

Test(noderpc, a_node_that_answered_is_there_until_a_call_fails)
{
	auto_json json_t *n = node(1, false);

	clock_replace(virtual_clock);
	cr_assert_not(noderpc_heard_since(rpc, n, 0));
	json_decref(call(1, false, "node_info"));
	cr_assert(noderpc_heard_since(rpc, n, virtual_us - 1));
	cr_assert_not(noderpc_heard_since(rpc, n, virtual_us));
	fails = true;
	cr_assert_null(call(1, false, "node_info"));
	cr_assert_not(noderpc_heard_since(rpc, n, 0));
	clock_replace(NULL);
}

struct interrupted {
	struct task *task;
	json_t *payload, *second;
	struct error err, second_err;
};

static void call_and_be_interrupted(void *arg)
{
	struct interrupted *i = arg;
	auto_json json_t *n = node(1, false);

	i->task = task_self();
	i->payload = noderpc_call(rpc, n, rpc_version(), &i->err);
	i->second = noderpc_call(rpc, n, rpc_version(), &i->second_err);
}

static void interrupt(void *arg)
{
	task_interrupt(((struct interrupted *)arg)->task);
}

/* The answer that comes afterwards finds nobody. */
Test(noderpc, an_interrupted_task_waits_for_no_answer_and_asks_nobody)
{
	struct interrupted i = {.task = NULL};

	late = true;
	task_spawn("call", call_and_be_interrupted, &i);
	task_spawn("interrupt", interrupt, &i);
	test_run_tasks();
	cr_assert_eq(n_calls, 1);
	answer(calls[--n_calls]);
	cr_assert_null(i.payload);
	cr_assert_eq(i.err.kind, ERR_CANCELED);
	cr_assert_not_null(strstr(i.err.text, "the node may go on"), "%s",
			   i.err.text);
	cr_assert_null(i.second);
	cr_assert_not_null(strstr(i.second_err.text, "not asked"), "%s",
			   i.second_err.text);
	cr_assert_eq(trace.len, strlen("node1 version [] 60000; "), "%s",
		     trace.data);
}
