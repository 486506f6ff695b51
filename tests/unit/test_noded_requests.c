/* SPDX-License-Identifier: BSD-2-Clause */
/* What is no call, what a call may not do, and what calls leave on the node. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/event/tls.h"
#include "noded/calls/calls.h"
#include "tests/lib/node.h"

TEST_NODE_SUITE(noded_requests);

static json_t *plain(const char *text)
{
	return json_make("[i, s]", 0, text);
}

Test(noded_requests, only_calls_are_answered)
{
	static const struct {
		const char *method, *path, *body;
		int status;
	} cases[] = {
		{"POST", "/version", "[]", 200},
		{"PUT", "/version", "[]", 200},
		{"POST", "/version", "", 200},
		{"GET", "/version", "", 400},
		{"DELETE", "/version", "[]", 400},
		{"POST", "/nosuch", "[]", 404},
		{"POST", "/", "[]", 404},
		{"POST", "/version/x", "[]", 404},
		{"POST", "/\xff", "[]", 404},
		{"POST", "/../version", "[]", 404},
		{"POST", "/version", "[", 400},
		{"POST", "/version", "[1,]", 400},
		{"POST", "/version", "[\"\\ud800\"]", 400},
		{"POST", "/version", "[\"\xff\"]", 400},
		{"POST", "/version", "\"x\"", 400},
		{"POST", "/version", "5", 400},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int status = 0;
		auto_json json_t *answer =
			test_node_request(&node, cases[i].method, cases[i].path,
					  cases[i].body, &status);

		cr_expect_eq(status, cases[i].status, "%s %s %s: %d",
			     cases[i].method, cases[i].path, cases[i].body,
			     status);
		cr_expect_eq(json_is_true(json_array_get(answer, 0)),
			     status == 200);
	}
}

Test(noded_requests, deep_json_is_refused)
{
	auto_free char *body = xalloc(100001);
	int status = 0;

	memset(body, '[', 100000);
	json_decref(
		test_node_request(&node, "POST", "/version", body, &status));
	cr_assert_eq(status, 400);
}

/* A million keys in a small body. */
Test(noded_requests, many_values_are_refused)
{
	auto_buf struct buf body = {0};
	auto_json json_t *answer = NULL;
	int status = 0;

	buf_adds(&body, "[{");
	for (int i = 0; i < 1000000; i++)
		buf_addf(&body, "%s\"%d\":0", i > 0 ? "," : "", i);
	buf_adds(&body, "}]");
	answer = test_node_request(&node, "POST", "/version", body.data,
				   &status);
	cr_assert_eq(status, 400);
	cr_assert_not_null(
		strstr(json_string_value(json_array_get(answer, 1)), "64 MiB"));
}

Test(noded_requests, arguments_are_counted)
{
	test_node_fails(&node, "version", json_make("[i]", 1), "at most 0");
	test_node_fails(&node, "test_delay", json_array(), "needs 1");
}

/* Ganeti's luxid sends an argument that its node daemon passes over. */
Test(noded_requests, export_list_takes_the_argument_of_luxid)
{
	test_node_fails(&node, "export_list", json_make("[[]]"),
			"No exports directory");
}

/* As folders of a file server that does not answer: whoever opens the file
 * waits until somebody writes into it.  Meanwhile another call is served. */
static void expect_beside(const char *call, const char *body,
			  const char *folder, const char *name)
{
	auto_free char *place = paths_local(node.root.paths, folder);
	auto_free char *file = xprintf("%s/%s", place, name);
	struct test_request slow = {
		.node = &node, .method = "POST", .path = call, .body = body};
	struct test_request other = {.node = &node,
				     .method = "POST",
				     .path = "/version",
				     .body = "[]"};
	struct error err;
	int fd;

	cr_assert_eq(fs_mkdirs(place, 0755, &err), 0, "%s", err.text);
	cr_assert_eq(mkfifo(file, 0644), 0);
	task_spawn("slow", test_request_task, &slow);
	task_spawn("other", test_request_task, &other);
	while (other.answer == NULL)
		uv_run(tasks_loop(), UV_RUN_ONCE);
	cr_assert_eq(other.status, 200);
	cr_expect_null(slow.answer, "%s: %s", call, slow.answer);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	close(fd);
	test_run_tasks();
	cr_expect_not_null(slow.answer);
	free(slow.answer);
	free(other.answer);
}

Test(noded_requests, folders_of_the_site_hold_up_nobody_else)
{
	expect_beside("/export_info", "[\"/var/lib/ganeti/export/inst1\"]",
		      "/var/lib/ganeti/export/inst1", "config.ini");
	expect_beside("/os_diagnose", "[]", "/srv/ganeti/os/slow",
		      "ganeti_api_version");
}

Test(noded_requests, calls_that_we_do_not_serve_say_so)
{
	test_node_fails(&node, "os_export", json_make("[{}, {}]"),
			"not supported");
}

/* What is wrong with an argument is told with its name. */
Test(noded_requests, arguments_are_named)
{
	test_node_fails(&node, "upload_file_single",
			json_make("[s, n, i]", "/etc/hosts", 0644),
			"Call upload_file_single: argument 2 (content) must be "
			"a list");
	test_node_fails(
		&node, "upload_file",
		json_make("[[s, [i, s], s]]", "/etc/hosts", 0, "x", "rw"),
		"Call upload_file_single: argument 3 (mode) must be "
		"an integer");
	test_node_fails(&node, "instance_start",
			json_make("[{s:s}, i]", "name", "web1", 1),
			"Call instance_start: argument 2 (paused) must be true "
			"or false");
	test_node_fails(&node, "blockdev_close", json_make("[s, []]", "../x"),
			"Call blockdev_close: \"../x\" is not a valid "
			"instance name");
}

/* Ganeti's luxid sends an object without a list around it. */
Test(noded_requests, an_object_is_the_only_argument)
{
	int status;
	auto_json json_t *consoles = test_node_request(
		&node, "POST", "/instance_console_info", "{}", &status);
	auto_json json_t *refused = test_node_request(
		&node, "POST", "/instance_info", "{}", &status);

	cr_assert(json_is_object(json_array_get(consoles, 1)));
	cr_assert_eq(status, 200);
	cr_assert_str_eq(json_string_value(json_array_get(refused, 1)),
			 "Call instance_info needs 2 arguments, 1 given");
}

static const char *const all_calls[] = {
#define RPC(name, ...) #name,
#include "lib/model/rpc/noderpcs.def"
#undef RPC
};

/* Values that fit no call, or do no good when they do. */
static const char *const hostile[] = {
	"null",
	"true",
	"-1",
	"1e300",
	"\"\"",
	"\"../x\"",
	"[]",
	"{}",
	"[[]]",
	"[{}]",
	"{\"name\": 5}",
	"{\"name\": \"a/b\"}",
	"[[null, null, null]]",
	"{\"x\": null}",
	"{\"name\": \"web1\", \"hypervisor\": \"fake\"}",
};

/* This one acts on what is given to it. */
static bool may_be_harmed(const char *name)
{
	return strcmp(name, "node_start_master_daemons") == 0;
}

static void send_args(const char *name, const struct buf *args)
{
	auto_free char *path = xprintf("/%s", name);
	auto_free char *body = xprintf("[%s]", args->len > 0 ? args->data : "");
	int status;

	json_decref(test_node_request(&node, "POST", path, body, &status));
	cr_expect_eq(status, 200, "%s %s: %d", name, body, status);
}

/* Arguments of each wrong kind: an error, whatever the call. */
Test(noded_requests, arguments_of_any_kind_do_no_harm)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_calls); i++) {
		if (may_be_harmed(all_calls[i]))
			continue;
		for (size_t n = 0; n < 8; n++)
			for (size_t k = 0; k < ARRAY_SIZE(hostile); k++) {
				auto_buf struct buf args = {0};

				for (size_t m = 0; m < n; m++)
					buf_addf(&args, m > 0 ? ", %s" : "%s",
						 hostile[(k + m * (n % 3)) %
							 ARRAY_SIZE(hostile)]);
				send_args(all_calls[i], &args);
			}
	}
}

/* The first hostile value from start on that is of the kind. */
static const char *fitting(enum rpc_kind kind, size_t start)
{
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		const char *text = hostile[(start + i) % ARRAY_SIZE(hostile)];
		struct error err;
		auto_json json_t *list = NULL;
		auto_free char *wrapped = xprintf("[%s]", text);
		const char *name;

		list = json_parse(wrapped, strlen(wrapped), &err);
		if (rpc_is_of_kind(kind, json_array_get(list, 0), &name))
			return text;
	}
	cr_assert_fail("no value of kind %d", kind);
	return NULL;
}

/* Arguments that are of the right kind but mean nothing reach the calls. */
Test(noded_requests, arguments_of_the_right_kinds_do_no_harm)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_calls); i++) {
		const struct rpc_procedure *p = rpc_find(all_calls[i]);

		if (may_be_harmed(p->name))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(hostile); k++) {
			auto_buf struct buf args = {0};

			for (size_t m = 0; m < p->n_args; m++)
				buf_addf(&args, m > 0 ? ", %s" : "%s",
					 fitting(p->args[m].kind, k * (m + 1)));
			send_args(p->name, &args);
		}
	}
}

/* --- files --- */

static json_t *upload(const char *file, const char *text, int mode)
{
	return json_make("[s, o, i, s, s, f, f]", file, plain(text), mode,
			 "gnt-masterd", "gnt-masterd", 1795211834.25,
			 1795211811.5);
}

Test(noded_requests, uploads_replace_listed_files)
{
	auto_free char *file = paths_local(
		node.root.paths, "/var/lib/ganeti/cluster-domain-secret");
	auto_free char *text = NULL;
	struct stat st;

	json_decref(test_node_ok(&node, "upload_file_single",
				 upload("/var/lib/ganeti/cluster-domain-secret",
					"secret\n", 0100640)));
	json_decref(test_node_ok(
		&node, "upload_file",
		json_make("[o]", upload("/###-VIRTUAL-PATH-###,/etc/hosts", "h",
					0644))));
	text = test_node_read(&node, "/var/lib/ganeti/cluster-domain-secret");
	cr_assert_str_eq(text, "secret\n");
	cr_assert_eq(stat(file, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0640);
	cr_assert_eq(st.st_mtim.tv_sec, 1795211811);
	free(text);
	text = test_node_read(&node, "/etc/hosts");
	cr_assert_str_eq(text, "h");
}

Test(noded_requests, other_files_are_not_uploaded)
{
	static const char *const bad[] = {
		"/etc/passwd",
		"/var/lib/ganeti/server.pem",
		"/var/lib/ganeti/../../../etc/hosts",
		"/var/lib/ganeti/ssconf_master_candidates_certs",
		"/etc/hosts ",
		"etc/hosts",
		"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		test_node_fails(&node, "upload_file_single",
				upload(bad[i], "x", 0644),
				"not in allowed upload targets");
}

Test(noded_requests, contents_must_be_whole)
{
	static const char *const bad[] = {
		"[1, \"\"]",	     "[1, \"@@@\"]", "[1, \"eF6VU01v\"]",
		"[1, \"AAAAAAAA\"]", "[2, \"x\"]",   "[0]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err;
		json_t *content = json_parse(bad[i], strlen(bad[i]), &err);

		cr_assert_not_null(content);
		test_node_fails(&node, "upload_file_single",
				json_make("[s, o, i]",
					  "/var/lib/ganeti/known_hosts",
					  content, 0644),
				"Invalid file content");
	}
}

Test(noded_requests, the_queue_takes_its_own_files_only)
{
	static const char *const bad[] = {
		"/var/lib/ganeti/config.data",
		"/var/lib/ganeti/queue/../config.data",
		"/var/lib/ganeti/queue/job-1x",
		"/var/lib/ganeti/queue/job-",
		"/var/lib/ganeti/queue/lock",
		"/var/lib/ganeti/queue/archive/../job-1",
		"/var/lib/ganeti/queue/archive/0/../../serial",
		"/var/lib/ganeti/queue2/job-1",
	};
	auto_free char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		test_node_fails(&node, "jobqueue_update",
				json_make("[s, o]", bad[i], plain("x")),
				"Not a file of the job queue");
	json_decref(
		test_node_ok(&node, "jobqueue_update",
			     json_make("[s, o]", "/var/lib/ganeti/queue/job-17",
				       plain("{}"))));
	json_decref(test_node_ok(
		&node, "jobqueue_rename",
		json_make("[[[s, s]]]", "/var/lib/ganeti/queue/job-17",
			  "/var/lib/ganeti/queue/archive/0/job-17")));
	test_node_finish_queue(&node);
	text = test_node_read(&node, "/var/lib/ganeti/queue/archive/0/job-17");
	cr_assert_str_eq(text, "{}");
	json_decref(test_node_ok(&node, "jobqueue_purge", json_array()));
	cr_assert_null(test_node_read(&node,
				      "/var/lib/ganeti/queue/archive/0/job-"
				      "17"));
}

Test(noded_requests, the_drain_flag_is_a_file)
{
	const char *file = path(node.root.paths, PATH_QUEUE_DRAIN);

	json_decref(test_node_ok(&node, "jobqueue_set_drain_flag",
				 json_make("[b]", 1)));
	test_node_finish_queue(&node);
	cr_assert(fs_exists(file));
	for (int i = 0; i < 2; i++)
		json_decref(test_node_ok(&node, "jobqueue_set_drain_flag",
					 json_make("[b]", 0)));
	test_node_finish_queue(&node);
	cr_assert_not(fs_exists(file));
}

Test(noded_requests, the_watcher_pause_is_kept)
{
	auto_json json_t *none = NULL, *until = NULL;

	none = test_node_ok(&node, "get_watcher_pause", json_array());
	cr_assert(json_is_null(none));
	json_decref(test_node_ok(&node, "set_watcher_pause",
				 json_make("[f]", 1795211834.5)));
	until = test_node_ok(&node, "get_watcher_pause", json_array());
	cr_assert_eq(json_integer_value(until), 1795211834);
	test_node_fails(&node, "set_watcher_pause", json_make("[f]", 1e300),
			"Invalid value");
	test_node_fails(&node, "set_watcher_pause", json_make("[s]", "soon"),
			"Invalid value");
}

Test(noded_requests, unknown_ssconf_keys_are_refused)
{
	test_node_fails(&node, "write_ssconf_files",
			json_make("[{s:s}]", "../x", "y"), "../x");
	json_decref(test_node_ok(
		&node, "write_ssconf_files",
		json_make("[{s:[s, s]}]", "node_list", "n1", "n2")));
	{
		auto_free char *text = test_node_read(
			&node, "/var/lib/ganeti/ssconf_node_list");

		cr_assert_str_eq(text, "n1\nn2\n");
	}
}

/* --- below a virtual root --- */

Test(noded_requests, a_virtual_node_leaves_the_machine_alone)
{
	json_t *no_such = json_make("[[s]]", "br-that-is-not-there");

	json_decref(test_node_ok(&node, "bridges_exist", no_such));
	test_node_fails(&node, "node_powercycle", json_make("[s, {}]", "fake"),
			"virtual");
	json_decref(test_node_ok(&node, "node_activate_master_ip",
				 json_make("[{s:s, s:s}, b]", "ip", "127.0.0.9",
					   "netdev", "lo", 0)));
}

static void expect_hosts(const char *mode, const char *ip, const char *wanted)
{
	auto_free char *text = NULL;

	json_decref(test_node_ok(
		&node, "etc_hosts_modify",
		json_make("[s, s, s?]", mode, "n9.example.com", ip)));
	text = test_node_read(&node, "/etc/hosts");
	cr_expect_str_eq(text, wanted);
}

Test(noded_requests, a_virtual_node_has_hosts_of_its_own)
{
	expect_hosts("add", "127.0.0.9", "127.0.0.9\tn9.example.com n9\n");
	test_node_write(&node, "/etc/hosts", "127.0.0.9 n9 web\n", 0644);
	expect_hosts("remove", NULL, "127.0.0.9 web\n");
	test_node_fails(&node, "etc_hosts_modify",
			json_make("[s, s, s]", "add", "n9", "1.2.3.4 n8"),
			"takes");
}

Test(noded_requests, a_virtual_node_has_its_own_addresses)
{
	static const char *const mine[] = {"127.0.0.5", "127.0.0.6"};
	auto_json json_t *other = NULL;

	node.n.address = xstrdup("127.0.0.5");
	json_decref(test_node_ok(&node, "write_ssconf_files",
				 json_make("[{s:s}]", "node_secondary_ips",
					   "node2.example.com 127.0.0.7\n"
					   "node1.example.com 127.0.0.6")));
	for (size_t i = 0; i < 2; i++) {
		auto_json json_t *has =
			test_node_ok(&node, "node_has_ip_address",
				     json_make("[s]", mine[i]));

		cr_expect(json_is_true(has), "%s", mine[i]);
	}
	other = test_node_ok(&node, "node_has_ip_address",
			     json_make("[s]", "127.0.0.7"));
	cr_assert(json_is_false(other));
}

/* --- being of a cluster --- */

Test(noded_requests, the_master_is_not_demoted)
{
	json_decref(test_node_ok(
		&node, "write_ssconf_files",
		json_make("[{s:s}]", "master_node", "node1.example.com")));
	test_node_fails(&node, "node_demote_from_mc", json_array(),
			"will not be demoted");
}

Test(noded_requests, the_masters_name_is_told_when_known)
{
	auto_json json_t *name = NULL;

	test_node_fails(&node, "master_node_name", json_array(),
			"does not belong to a cluster");
	json_decref(test_node_ok(
		&node, "write_ssconf_files",
		json_make("[{s:s}]", "master_node", "node2.example.com")));
	name = test_node_ok(&node, "master_node_name", json_array());
	cr_assert_str_eq(json_string_value(name), "node2.example.com");
}

Test(noded_requests, a_client_certificate_is_made_when_missing)
{
	const char *file = path(node.root.paths, PATH_CLIENT_PEM);
	json_t *get = json_make("[[[s, s, {}]]]", "ssl", "get");
	json_t *create = json_make("[[[s, s, {}]]]", "ssl", "create");
	auto_json json_t *first =
		test_node_ok(&node, "node_crypto_tokens", json_incref(get));
	auto_json json_t *again =
		test_node_ok(&node, "node_crypto_tokens", json_incref(get));
	auto_json json_t *fresh =
		test_node_ok(&node, "node_crypto_tokens", create);
	auto_json json_t *last = NULL;

	cr_assert(json_equal(first, again));
	cr_assert_not(json_equal(first, fresh));
	unlink(file);
	last = test_node_ok(&node, "node_crypto_tokens", get);
	cr_assert_not(json_equal(last, fresh));
	cr_assert(fs_exists(file));
}

/* The answer to a step; pem may be NULL. */
static json_t *renewal(const char *step, const char *pem)
{
	return test_node_ok(&node, "crypto_renewal",
			    json_make("[s, s?]", step, pem));
}

static const char *shown(const json_t *state, const char *key)
{
	return json_str(state, key, "none");
}

Test(noded_requests, certificates_are_renewed_step_by_step)
{
	struct error err;
	auto_free char *pem = tls_ca_text("cluster", &err);
	auto_json json_t *before = renewal("look", NULL);
	auto_json json_t *staged = renewal("stage", pem);
	auto_json json_t *switched = renewal("switch", NULL);
	auto_json json_t *again = renewal("switch", NULL);
	auto_json json_t *done = renewal("finish", NULL);

	cr_assert_str_eq(shown(before, "new_server"), "none");
	cr_assert_str_eq(shown(staged, "server"), shown(before, "server"));
	cr_assert_str_eq(shown(staged, "client"), shown(before, "client"));
	cr_assert(json_bool(staged, "both", false));
	cr_assert_str_eq(shown(switched, "server"),
			 shown(staged, "new_server"));
	cr_assert_str_eq(shown(switched, "client"),
			 shown(staged, "new_client"));
	cr_assert(json_bool(switched, "both", false));
	cr_assert(json_equal(switched, again));
	cr_assert_not(json_bool(done, "both", true));
	cr_assert_str_eq(shown(done, "server"), shown(switched, "server"));
}

Test(noded_requests, staged_certificates_are_dropped_by_finish)
{
	struct error err;
	auto_free char *pem = tls_ca_text("cluster", &err);
	auto_json json_t *before = renewal("look", NULL);
	auto_json json_t *staged = renewal("stage", pem);
	auto_json json_t *done = renewal("finish", NULL);

	cr_assert_not(json_equal(before, staged));
	cr_assert(json_equal(before, done));
}

Test(noded_requests, what_is_no_certificate_is_not_staged)
{
	auto_json json_t *before = renewal("look", NULL);
	auto_json json_t *after = NULL;

	test_node_fails(&node, "crypto_renewal",
			json_make("[s, s]", "stage", "no certificate"),
			"server.pem.new");
	test_node_fails(&node, "crypto_renewal", json_make("[s]", "jump"),
			"no step of a renewal");
	after = renewal("finish", NULL);
	cr_assert(json_equal(before, after));
}

static void note_quit(struct noded *n)
{
	*(bool *)n->arg = true;
}

Test(noded_requests, a_node_that_leaves_forgets_the_cluster)
{
	bool ended = false;

	node.n.quit = note_quit;
	node.n.arg = &ended;
	test_node_write(&node, "/var/lib/ganeti/queue/job-1", "{}", 0640);
	test_node_write(&node, "/var/lib/ganeti/rapi/users", "x", 0640);
	json_decref(
		test_node_ok(&node, "node_leave_cluster", json_make("[b]", 0)));
	cr_assert(ended);
	cr_assert_not(fs_exists(path(node.root.paths, PATH_SERVER_PEM)));
	cr_assert_not(fs_exists(path(node.root.paths, PATH_CLIENT_PEM)));
	cr_assert_null(test_node_read(&node, "/var/lib/ganeti/queue/job-1"));
	cr_assert_null(test_node_read(&node, "/var/lib/ganeti/rapi/users"));
}

/* --- resources --- */

/* One call is waiting for a file server already. */
Test(noded_requests, one_call_at_a_time_asks_a_folder_for_its_space)
{
	auto_free char *local =
		paths_local(node.root.paths, "/srv/ganeti/file-storage");
	auto_json json_t *info = NULL;

	table_put(&node.n.space.looked_at, local, &node);
	info = test_node_ok(&node, "node_info",
			    json_make("[[[s, s, []], [s, s, []]], []]", "file",
				      "/srv/ganeti/file-storage", "sharedfile",
				      "/srv/ganeti/shared-file-storage"));
	table_remove(&node.n.space.looked_at, local);
	cr_assert(json_is_null(json_object_get(
		json_array_get(json_array_get(info, 1), 0), "storage_size")));
	cr_assert_gt(json_int(json_array_get(json_array_get(info, 1), 1),
			      "storage_size", -1),
		     0);
}

/* Ganeti's master takes an answer with other members for none. */
Test(noded_requests, node_info_has_no_members_of_our_own)
{
	auto_json json_t *info =
		test_node_ok(&node, "node_info",
			     json_make("[[[s, s, []], [s, s, [b]]], [[s, {}]]]",
				       "file", "/srv/ganeti/file-storage",
				       "lvm-vg", "xenvg", 0, "fake"));
	const json_t *storage = json_array_get(info, 1);
	const json_t *file = json_array_get(storage, 0);
	const json_t *vg = json_array_get(storage, 1);
	const json_t *hv = json_array_get(json_array_get(info, 2), 0);

	cr_assert_eq(json_object_size(file), 4);
	cr_assert_gt(json_int(file, "storage_size", -1), 0);
	cr_assert_eq(json_object_size(vg), 4);
	cr_assert(json_is_null(json_object_get(vg, "storage_free")));
	cr_assert_eq(json_object_size(hv), 7);
	cr_assert_gt(json_int(hv, "memory_total", -1), 0);
}

Test(noded_requests, node_info_has_the_version_where_it_is_asked_for)
{
	auto_json json_t *info = test_node_ok(
		&node, "node_info",
		json_make("[[], [[s, {s:b}]]]", "fake", "gantry_version", 1));
	const json_t *hv = json_array_get(json_array_get(info, 2), 0);

	cr_assert_eq(json_object_size(hv), 8);
	cr_assert_gt(strlen(json_str(hv, "gantry_version", "")), 2);
}

Test(noded_requests, a_hypervisor_that_is_none_is_an_error)
{
	test_node_fails(&node, "node_info",
			json_make("[[], [[s, {}]]]", "nosuch"), "'nosuch'");
	test_node_fails(&node, "instance_list", json_make("[[s]]", "nosuch"),
			"'nosuch'");
	test_node_fails(&node, "all_instances_info",
			json_make("[[s, n]]", "nosuch"), "Hypervisor ''");
	test_node_fails(&node, "all_instances_info", json_make("[[n]]"),
			"Hypervisor ''");
}

/* --- an instance's life --- */

Test(noded_requests, an_instance_lives_with_its_disk)
{
	const char *folder = "/srv/ganeti/shared-file-storage/web1";
	const char *file = "/srv/ganeti/shared-file-storage/web1/d0";
	auto_json json_t *instance = test_instance("web1", 64);
	auto_json json_t *disk = test_disk("sharedfile", file);
	auto_json json_t *opened = NULL, *infos = NULL, *gone = NULL;
	auto_free char *link = paths_local(
		node.root.paths, "/var/run/ganeti/instance-disks/web1:0");

	json_array_append(json_object_get(instance, "disks_info"), disk);
	test_node_fails(&node, "instance_start",
			json_make("[O, b, []]", instance, 0), "not set up");
	json_decref(test_node_ok(&node, "file_storage_dir_create",
				 json_make("[s]", folder)));
	json_decref(test_node_ok(&node, "blockdev_create",
				 json_make("[O, i, s, b, s, b]", disk, 4,
					   "web1", 1, "info", 0)));
	opened = test_node_ok(&node, "blockdev_assemble",
			      json_make("[O, O, b, i]", disk, instance, 1, 0));
	cr_assert_str_eq(json_string_value(json_array_get(opened, 0)), file);
	cr_assert_str_eq(json_string_value(json_array_get(opened, 1)),
			 "/var/run/ganeti/instance-disks/web1:0");
	cr_assert(fs_exists(link));
	for (int i = 0; i < 2; i++) /* started twice is started */
		json_decref(test_node_ok(&node, "instance_start",
					 json_make("[O, b, []]", instance, 0)));
	infos = test_node_ok(&node, "all_instances_info",
			     json_make("[[s], {}]", "fake"));
	cr_assert_eq(json_int(json_get(infos, "web1"), "memory", -1), 64);
	json_decref(steal(&infos));
	infos = test_node_ok(&node, "all_instances_info",
			     json_make("[[s, s], {}]", "vax", "fake"));
	cr_assert_not_null(json_get(infos, "web1"));
	test_node_fails(&node, "all_instances_info",
			json_make("[[s], {}]", "vax"), "not supported");
	json_decref(
		test_node_ok(&node, "instance_reboot",
			     json_make("[O, s, i, []]", instance, "hard", 10)));
	for (int i = 0; i < 2; i++)
		json_decref(test_node_ok(&node, "instance_shutdown",
					 json_make("[O, i, []]", instance, 0)));
	test_node_fails(&node, "instance_reboot",
			json_make("[O, s, i, []]", instance, "soft", 10),
			"is not running");
	json_decref(test_node_ok(&node, "blockdev_shutdown",
				 json_make("[O]", disk)));
	cr_assert_not(fs_exists(link));
	json_decref(
		test_node_ok(&node, "blockdev_remove", json_make("[O]", disk)));
	gone = test_node_ok(&node, "blockdev_find", json_make("[O]", disk));
	cr_assert(json_is_null(gone));
	json_decref(test_node_ok(&node, "file_storage_dir_remove",
				 json_make("[s]", folder)));
}

Test(noded_requests, names_of_instances_are_no_paths)
{
	static const char *const bad[] = {"../x", "a/b",  "",	"-x",
					  "a b",  "a\nb", "a:0"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_json json_t *instance = test_instance(bad[i], 64);

		test_node_fails(&node, "instance_start",
				json_make("[O, b, []]", instance, 0),
				"valid instance name");
		test_node_fails(&node, "instance_info",
				json_make("[s, s, {}]", bad[i], "fake"),
				"valid instance name");
	}
}

Test(noded_requests, dimensions_are_in_bytes)
{
	auto_json json_t *disk =
		test_disk("file", "/srv/ganeti/file-storage/d");
	auto_json json_t *none =
		test_disk("file", "/srv/ganeti/file-storage/none");
	auto_json json_t *sizes = NULL;
	auto_free char *text = NULL;

	json_decref(test_node_ok(
		&node, "blockdev_create",
		json_make("[O, i, s, b, s, b]", disk, 4, "x", 1, "", 0)));
	sizes = test_node_ok(&node, "blockdev_getdimensions",
			     json_make("[[O, O]]", disk, none));
	text = json_text(sizes);
	cr_assert_str_eq(text, "[[4194304,null],null]");
	test_node_fails(&node, "blockdev_getmirrorstatus",
			json_make("[[O]]", none), "Can't find device");
}

/* A text of ours that is cut inside a character must not stop the daemon. */
Test(noded_requests, long_names_in_other_alphabets)
{
	static char name[9000];

	while (strlen(name) + 3 < sizeof(name))
		strcat(name, "\u20ac");
	for (size_t i = 0; i < 3; i++) {
		auto_free char *text = xprintf("%.*s%s", (int)i, "xx", name);

		test_node_fails(&node, "instance_info",
				json_make("[s, s, {}]", text, "fake"),
				"\u20ac");
		test_node_fails(&node, "upload_file_single",
				json_make("[s, [i, s], i]", text, 0, "", 0600),
				"\u20ac");
		test_node_fails(&node, "jobqueue_update",
				json_make("[s, [i, s]]", text, 0, ""),
				"\u20ac");
		test_node_fails(&node, "os_validate",
				json_make("[b, s, [], {}, b]", 1, text, 0),
				"\u20ac");
	}
}
