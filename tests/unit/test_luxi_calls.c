/* SPDX-License-Identifier: BSD-2-Clause */
/* A whole master, whose nodes do not answer, behind its real socket. */
#include "masterd/luxi/luxi_calls.h"

#include <signal.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "masterd/core/slices.h"
#include "masterd/master.h"
#include "tests/lib/luxi_sock.h"
#include "tests/lib/root.h"

static struct test_root root;
static struct master *master;
static struct luxi_calls *calls;
static struct luxi_server *server;
static bool stopped;

/* --- nodes that cannot be reached: the answer comes from the loop --- */

struct unreachable {
	uv_idle_t idle;
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

static void on_closed(uv_handle_t *handle)
{
	free(container_of((uv_idle_t *)handle, struct unreachable, idle));
}

static void on_idle(uv_idle_t *idle)
{
	struct unreachable *u = container_of(idle, struct unreachable, idle);
	struct error err;

	error_set(&err, ERR_RPC, NULL, "no route");
	u->on_reply(u->arg, NULL, 0, &err);
	uv_close((uv_handle_t *)idle, on_closed);
}

static void no_route(void *arg, const struct noderpc_call *call)
{
	struct unreachable *u = xalloc(sizeof(*u));

	(void)arg;
	free(call->body);
	u->on_reply = call->on_reply;
	u->arg = call->arg;
	uv_idle_init(uv_default_loop(), &u->idle);
	uv_idle_start(&u->idle, on_idle);
}

/* --- the master --- */

static void setup(void)
{
	struct noderpc_transport transport = {.send = no_route};
	struct error err;

	signal(SIGPIPE, SIG_IGN);
	mem_init();
	test_root_create(&root);
	test_root_add_config(&root);
	test_loop_start();
	master = master_create(
		disk_real(),
		paths_create(root.paths->root, root.paths->hostname),
		&transport, NULL, NULL, &err);
	cr_assert_not_null(master, "%s", err.text);
	calls = luxi_calls_create(master);
	server = luxi_server_create(
		&(struct luxi_server_config){
			.sockets = (const char *[]){path(root.paths,
							 PATH_QUERY_SOCKET),
						    NULL},
			.handle = luxi_calls_handle,
			.arg = calls,
		},
		&err);
	cr_assert_not_null(server, "%s", err.text);
	master_start(master);
}

static void on_stopped(void *arg)
{
	(void)arg;
	stopped = true;
}

static void stop_master(void *arg)
{
	(void)arg;
	master_stop(master);
}

static void teardown(void)
{
	luxi_server_stop(server, on_stopped, NULL);
	task_spawn("stop", stop_master, NULL);
	while (!stopped)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	test_run_tasks();
	luxi_calls_destroy(calls);
	master_free(master);
	test_loop_stop();
	test_root_destroy(&root);
}

TestSuite(luxi_calls, .init = setup, .fini = teardown, .timeout = 60);

static json_t *read_answer(int fd)
{
	auto_free char *heard = sock_hear(fd);
	struct error err;
	json_t *answer = json_parse(heard, strlen(heard), &err);

	cr_assert_not_null(answer, "%s", heard);
	return answer;
}

/* One call on a connection of its own: the whole answer. */
static json_t *ask(const char *method, json_t *args STEALS)
{
	auto_json json_t *message =
		json_make("{s:s, s:o}", "method", method, "args", args);
	auto_free char *text = json_text(message);
	int fd = sock_connect(path(root.paths, PATH_QUERY_SOCKET));
	json_t *answer;

	sock_say(fd, text);
	answer = read_answer(fd);
	close(fd);
	return answer;
}

/* The result of a call that has to succeed. */
static json_t *result_of(const char *method, json_t *args STEALS)
{
	auto_json json_t *answer = ask(method, args);
	auto_free char *text = json_text(answer);

	cr_assert(json_is_true(json_object_get(answer, "success")), "%s", text);
	return json_incref(json_object_get(answer, "result"));
}

static void assert_result(const char *method, json_t *args STEALS,
			  const char *expected)
{
	auto_json json_t *result = result_of(method, args);
	auto_free char *text = json_text(result);

	cr_assert_str_eq(text, expected);
}

/* Asserts the class of an error; NULL: a text that says the message is none. */
static void assert_fails(const char *method, json_t *args STEALS,
			 const char *class)
{
	auto_json json_t *answer = ask(method, args);
	const json_t *result = json_object_get(answer, "result");
	auto_free char *text = json_text(answer);

	cr_assert(json_is_false(json_object_get(answer, "success")), "%s",
		  text);
	if (class == NULL)
		cr_assert(json_is_string(result), "%s", text);
	else
		cr_assert_str_eq(json_string_value(json_array_get(result, 0)),
				 class, "%s", text);
}

static json_t *delay_op(double duration)
{
	return json_make("{s:s, s:f, s:[]}", "OP_ID", "OP_TEST_DELAY",
			 "duration", duration, "reason");
}

static json_int_t submit(double duration)
{
	auto_json json_t *id =
		result_of("SubmitJob", json_make("[[o]]", delay_op(duration)));

	cr_assert(json_is_integer(id));
	return json_integer_value(id);
}

Test(luxi_calls, a_job_runs_to_its_end)
{
	json_int_t id = submit(0.001);
	auto_free char *status = xstrdup("");

	while (strcmp(status, "success") != 0) {
		auto_json json_t *pair = result_of(
			"WaitForJobChange", json_make("[I, [s], [s], i, i]", id,
						      "status", status, 0, 10));
		const json_t *values = json_array_get(pair, 0);

		free(status);
		status = xstrdup(json_string_value(json_array_get(values, 0)));
		cr_assert_str_neq(status, "error");
	}
	assert_result("QueryJobs", json_make("[[I], [s]]", id, "status"),
		      "[[\"success\"]]");
	assert_result("ArchiveJob", json_make("[I]", id), "true");
	assert_fails("WaitForJobChange",
		     json_make("[I, [s], n, n, i]", id, "status", 1),
		     "JobLost");
}

Test(luxi_calls, unchanged_jobs_answer_when_the_time_is_over)
{
	json_int_t id = submit(1000);
	auto_json json_t *state = NULL;
	int fd = sock_connect(path(root.paths, PATH_QUERY_SOCKET));
	auto_free char *text = NULL;

	while (!str_eq(
		json_string_value(json_array_get(json_array_get(state, 0), 0)),
		"running")) {
		json_decref(state);
		state = result_of("QueryJobs",
				  json_make("[[I], [s]]", id, "status"));
	}
	text = xprintf("{\"method\":\"WaitForJobChange\",\"args\":[%d,"
		       "[\"status\"],[\"running\"],0,0.05]}",
		       (int)id);
	sock_say(fd, text);
	assert_hear(fd, "{\"success\":true,\"result\":[[\"running\"],[]]}");
	free(text);
	text = xprintf("{\"method\":\"WaitForJobChange\",\"args\":[\"%d\","
		       "[\"status\"],[\"running\"],0,60]}",
		       (int)id);
	sock_say(fd, text);
	sock_turn();
	shutdown(fd, SHUT_WR);
	assert_hear(fd, "{\"success\":true,\"result\":[[\"running\"],[]]}");
	assert_hear(fd, "closed");
	close(fd);
	json_decref(result_of("CancelJob", json_make("[I, b]", id, 1)));
}

Test(luxi_calls, many_jobs_and_their_dependencies)
{
	auto_json json_t *dependent = delay_op(0.001);
	auto_json json_t *ids = NULL;

	json_object_set_new(dependent, "depends",
			    json_make("[[i, [s]]]", -1, "success"));
	ids = result_of("SubmitManyJobs",
			json_make("[[[o], [O]]]", delay_op(0.001), dependent));
	cr_assert_eq(json_array_size(ids), 2);
	assert_result("SubmitManyJobs", json_make("[[]]"), "[]");
}

Test(luxi_calls, an_opcode_that_cannot_be_read_spoils_all_jobs_of_a_call)
{
	assert_fails("SubmitManyJobs",
		     json_make("[[[o], [{s:s}]]]", delay_op(0.001), "OP_ID",
			       "OP_NOSUCH"),
		     NULL);
	assert_result("QueryJobs", json_make("[n, [s]]", "id"), "[]");
}

Test(luxi_calls, a_job_that_is_refused_does_not_spoil_the_others)
{
	json_t *dependent = delay_op(0.001);
	auto_json json_t *ids = NULL;

	json_object_set_new(dependent, "depends",
			    json_make("[[i, [s]]]", 99, "success"));
	ids = result_of("SubmitManyJobs",
			json_make("[[[o], [o]]]", delay_op(0.001), dependent));
	cr_assert(json_is_true(json_array_get(json_array_get(ids, 0), 0)));
	cr_assert(json_is_false(json_array_get(json_array_get(ids, 1), 0)));
	cr_assert(json_is_string(json_array_get(json_array_get(ids, 1), 1)));
}

Test(luxi_calls, a_job_needs_an_opcode)
{
	assert_fails("SubmitJob", json_make("[[]]"), NULL);
}

Test(luxi_calls, why_a_job_without_opcodes_waits)
{
	auto_free char *folder =
		xprintf("%s/0", path(root.paths, PATH_QUEUE_ARCHIVE_DIR));
	auto_free char *file = xprintf("%s/job-7", folder);
	static const char text[] = "{\"id\": 7, \"ops\": []}";
	struct error err;

	cr_assert_eq(fs_mkdirs(folder, 0750, &err), 0);
	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0640, &err), 0);
	/* What lies before its opcodes is not the same each time. */
	for (int i = 0; i < 20; i++)
		assert_result("QueryJobWhy", json_make("[i]", 7),
			      "[{\"id\":7,\"status\":\"success\","
			      "\"opcode\":null,\"why\":\"ended\","
			      "\"archived\":true}]");
}

Test(luxi_calls, a_filter_that_is_none)
{
	assert_fails("Query",
		     json_make("[s, [s], [s, s, s]]", "node", "name",
			       "nosuchop", "name", "x"),
		     NULL);
	assert_fails("Query",
		     json_make("[s, [s], [s, s, s]]", "node", "name",
			       "==", "zzz", "x"),
		     "ParameterError");
}

Test(luxi_calls, a_drained_queue_takes_nothing)
{
	assert_result("SetDrainFlag", json_make("[b]", 1), "true");
	assert_fails("SubmitJob", json_make("[[o]]", delay_op(0.001)),
		     "GenericError");
	assert_fails("SubmitManyJobs", json_make("[[[o]]]", delay_op(0.001)),
		     "GenericError");
	json_decref(result_of("SubmitJobToDrainedQueue",
			      json_make("[[o]]", delay_op(0.001))));
	assert_result("QueryConfigValues", json_make("[[s]]", "drain_flag"),
		      "[true]");
	assert_result("SetDrainFlag", json_make("[b]", 0), "true");
}

Test(luxi_calls, answers_about_unknown_jobs)
{
	assert_result("CancelJob", json_make("[i]", 999),
		      "[false,\"Job 999 not found in queue\"]");
	assert_result("ChangeJobPriority", json_make("[i, i]", 999, 1),
		      "[false,\"Job 999 not found in queue\"]");
	assert_result("ArchiveJob", json_make("[i]", 999), "false");
	assert_result("AutoArchiveJobs", json_make("[i, i]", 1000, 1), "[0,0]");
}

Test(luxi_calls, watcher_pause)
{
	assert_result("SetWatcherPause", json_make("[i]", 2000000000),
		      "2000000000");
	assert_result("QueryConfigValues", json_make("[[s]]", "watcher_pause"),
		      "[2000000000]");
	assert_result("SetWatcherPause", json_make("[n]"), "null");
}

Test(luxi_calls, numbers_beyond_all_times)
{
	assert_result("AutoArchiveJobs", json_make("[f, f]", 1e300, 1e300),
		      "[0,0]");
	assert_result("AutoArchiveJobs", json_make("[f, f]", -1e300, -1e300),
		      "[0,0]");
}

Test(luxi_calls, tags)
{
	assert_result("QueryTags", json_make("[s, s]", "cluster", ""),
		      "[\"owner:me\"]");
	assert_result("QueryTags", json_make("[s, s]", "node", "node1"), "[]");
	assert_fails("QueryTags", json_make("[s, s]", "node", "x"),
		     "OpPrereqError");
}

/* Arguments that are no message of LUXI: a plain text, and the connection is
 * closed. */
Test(luxi_calls, misfits_are_named)
{
	static const struct {
		const char *name;
		int max; /* arguments; without any, all are taken */
	} methods[] = {
#define LUXI(name, min, max) {#name, max},
#include "lib/model/luxi.def"
#undef LUXI
	};

	assert_fails("NoSuchMethod", json_array(), NULL);
	assert_fails("SubmitJob", json_object(), NULL);
	assert_fails("SubmitJob", json_array(), NULL);
	assert_fails("SubmitJob", json_make("[i]", 1), NULL);
	assert_fails("SubmitJob", json_make("[[i]]", 1), NULL);
	assert_fails("SubmitJob", json_make("[[{s:s}]]", "OP_ID", "OP_NO"),
		     NULL);
	assert_fails("SubmitManyJobs", json_make("[[{}]]"), NULL);
	assert_fails("CancelJob", json_make("[s]", "x"), NULL);
	assert_fails("CancelJob", json_make("[i, i]", 1, 1), NULL);
	assert_fails("ChangeJobPriority", json_make("[i, i]", 1, 77), NULL);
	assert_fails("SetDrainFlag", json_make("[s]", "x"), NULL);
	assert_fails("QueryConfigValues", json_array(), NULL);
	assert_fails("Query", json_make("[s, [s], n]", "nosuch", "name"), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (methods[i].max > 0)
			assert_fails(
				methods[i].name,
				json_make("[i,i,i,i,i,i]", 1, 2, 3, 4, 5, 6),
				NULL);
}

static json_t *times(size_t n, json_t *value STEALS)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append(list, value);
	json_decref(value);
	return list;
}

Test(luxi_calls, what_nobody_needs_is_refused)
{
	assert_fails(
		"Query",
		json_make("[s, o, n]", "job", times(1001, json_string("id"))),
		NULL);
	assert_fails("QueryFields",
		     json_make("[s, o]", "job", times(1001, json_string("id"))),
		     NULL);
	assert_fails("QueryConfigValues",
		     json_make("[o]", times(1001, json_string("cluster_name"))),
		     NULL);
	assert_fails("WaitForJobChange",
		     json_make("[i, o, n, n, i]", 1,
			       times(51, json_string("id")), 1),
		     NULL);
	assert_fails(
		"QueryJobs",
		json_make("[o, [s]]", times(100001, json_integer(1)), "id"),
		NULL);
	assert_fails("SubmitJob",
		     json_make("[o]", times(1001, delay_op(0.001))), NULL);
	assert_fails("Query",
		     json_make("[s, [s], [s, s, s]]", "job", "id", "=~",
			       "status", "(*NO_START_OPT)a"),
		     NULL);
}

/* --- long queries --- */

#define MANY 1000

/* Jobs that do not start; the id of the first. */
static json_int_t submit_waiting(void)
{
	auto_json json_t *ids = NULL;

	json_decref(result_of("ReplaceFilter",
			      json_make("[n, i, [[s, [s, s, i]]], s, []]", 0,
					"jobid", ">", "id", 0, "PAUSE")));
	ids = result_of(
		"SubmitManyJobs",
		json_make("[o]", times(MANY, json_make("[o]", delay_op(1)))));
	return json_integer_value(json_array_get(json_array_get(ids, 0), 1));
}

/* Some thousand steps a job. */
#define LONG_QUERY                                                             \
	"{\"method\":\"Query\",\"args\":[\"job\",[\"id\"],"                    \
	"[\"=~\",\"status\",\"(.?){5}[yz]\"]]}"
#define PING "{\"method\":\"QueryConfigValues\",\"args\":[[\"cluster_name\"]]}"

Test(luxi_calls, a_long_query_lets_others_in)
{
	int slow = sock_connect(path(root.paths, PATH_QUERY_SOCKET));
	int quick = sock_connect(path(root.paths, PATH_QUERY_SOCKET));
	uint64_t before;
	char c;

	submit_waiting();
	before = master->slices->ended;
	sock_say(slow, LONG_QUERY);
	for (int i = 0; i < 5; i++) {
		sock_say(quick, PING);
		assert_hear(quick, "{\"success\":true,\"result\":"
				   "[\"cluster.example.com\"]}");
		cr_assert_eq(recv(slow, &c, 1, MSG_PEEK | MSG_DONTWAIT), -1,
			     "the long one is over");
	}
	free(sock_hear(slow));
	cr_assert_geq(master->slices->ended - before, 10);
	cr_assert_leq(master->slices->longest, 2 * SLICE_STEPS);
	close(slow);
	close(quick);
}

Test(luxi_calls, the_work_ends_when_its_client_goes)
{
	int fd = sock_connect(path(root.paths, PATH_QUERY_SOCKET));
	uint64_t before, whole;

	submit_waiting();
	before = master->slices->steps;
	sock_say(fd, LONG_QUERY);
	free(sock_hear(fd));
	whole = master->slices->steps - before;
	before = master->slices->steps;
	sock_say(fd, LONG_QUERY);
	while (master->slices->steps == before)
		sock_turn();
	close(fd);
	while (luxi_server_connections(server) > 0)
		sock_turn();
	cr_assert_lt(master->slices->steps - before, whole / 2);
}

static json_t *states(json_int_t first, uint64_t *ret_steps)
{
	uint64_t before = master->slices->steps;
	json_t *rows = result_of("Query",
				 json_make("[s, [s, s], [s, s, I]]", "job",
					   "id", "status", ">=", "id", first));

	*ret_steps = master->slices->steps - before;
	return rows;
}

Test(luxi_calls, asked_again_costs_what_has_changed)
{
	json_int_t first = submit_waiting();
	uint64_t anew, kept, changed;
	auto_json json_t *a = states(first, &anew);
	auto_json json_t *b = states(first, &kept); /* from here on it is */
	auto_json json_t *c = states(first, &kept);
	auto_json json_t *d = NULL;
	const json_t *rows;

	cr_assert_eq(json_array_size(json_get(a, "data")), MANY);
	cr_assert(json_equal(a, b));
	cr_assert(json_equal(a, c));
	cr_assert_lt(kept, anew / 20, "%ju of %ju", (uintmax_t)kept,
		     (uintmax_t)anew);
	json_decref(
		result_of("CancelJob", json_make("[I, b]", first + 100, 0)));
	d = states(first, &changed);
	cr_assert_lt(changed, anew / 10, "%ju of %ju", (uintmax_t)changed,
		     (uintmax_t)anew);
	rows = json_get(d, "data");
	for (size_t i = 0; i < MANY; i++)
		cr_assert_str_eq(
			json_string_value(json_array_get(
				json_array_get(json_array_get(rows, i), 1), 1)),
			i == 100 ? "canceled" : "queued");
}

/* A value of any kind, sometimes nested. */
static json_t *any_value(int depth)
{
	switch (random_below(depth > 2 ? 6 : 9)) {
	case 0:
		return json_null();
	case 1:
		return json_integer((json_int_t)random_below(7) - 3);
	case 2:
		return json_real(1.5);
	case 3:
		return json_string(random_below(2) == 0 ? "node" : "name");
	case 4:
		return json_boolean(random_below(2));
	case 5:
		return json_string("");
	case 6:
		return json_make("[o, o]", any_value(depth + 1),
				 any_value(depth + 1));
	case 7:
		return json_make("{s:o}", "OP_ID", any_value(depth + 1));
	default:
		return json_array();
	}
}

/* Whatever comes as arguments is answered. */
Test(luxi_calls, any_arguments_are_answered)
{
	static const struct {
		const char *name;
		size_t n;
	} methods[] = {
#define LUXI(name, min, max) {#name, max},
#include "lib/model/luxi.def"
#undef LUXI
	};

	random_seed(2);
	for (int round = 0; round < 1500; round++) {
		size_t i = random_below(ARRAY_SIZE(methods));
		json_t *args;

		if (strcmp(methods[i].name, "WaitForJobChange") == 0)
			continue;
		args = json_array();
		for (size_t k = 0; k < methods[i].n; k++)
			json_array_append_new(args, any_value(0));
		json_decref(ask(methods[i].name, args));
	}
}
