/* SPDX-License-Identifier: BSD-2-Clause */
/* Over real HTTPS: who gets in. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/event/https_client.h"
#include "lib/model/config/ssconf.h"
#include "noded/access/server.h"
#include "tests/lib/https_wait.h"
#include "tests/lib/node.h"

#define ADDRESS "127.0.0.1"

static struct test_node node;
static struct error err;

/* A port that was free a moment ago. */
static int free_port(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0), port;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	port = ntohs(in.sin_port);
	close(fd);
	return port;
}

static void setup(void)
{
	test_loop_start();
	test_node_create(&node);
	node.n.address = xstrdup(ADDRESS);
	node.n.port = free_port();
	cr_assert_eq(server_start(&node.n, &err), 0, "%s", err.text);
}

static void teardown(void)
{
	server_stop(&node.n);
	test_node_loop_stop(&node);
	test_node_destroy(&node);
}

TestSuite(noded_server, .init = setup, .fini = teardown, .timeout = 60);

struct ask {
	struct https_client *client;
	const char *path, *body;
	int rc, status;
	char *answer;
};

static void ask_task(void *arg)
{
	struct ask *a = arg;
	struct https_post post = {.address = ADDRESS,
				  .port = node.n.port,
				  .path = a->path,
				  .timeout_ms = 20000};
	size_t len;

	a->rc = https_post_wait(a->client, &post, xstrdup(a->body),
				strlen(a->body), &a->status, &a->answer, &len,
				&err);
}

/* The HTTP status that a client with this certificate gets; -1: no connection.
 * The answer, if wanted, is to be freed. */
static int ask(const char *cert_file, const char *path_, const char *body,
	       char **ret_answer)
{
	struct ask a = {.path = path_, .body = body};

	a.client = https_client_create(
		cert_file, path(node.root.paths, PATH_SERVER_PEM), &err);
	cr_assert_not_null(a.client, "%s", err.text);
	task_spawn("ask", ask_task, &a);
	test_run_tasks();
	https_client_destroy(a.client);
	if (ret_answer != NULL)
		*ret_answer = a.answer;
	else
		free(a.answer);
	return a.rc < 0 ? -1 : a.status;
}

static int ask_version(const char *cert_file)
{
	return ask(cert_file, "/version", "[]", NULL);
}

/* Let in the holders of these certificates, as the master would say. */
static void set_candidates(const char *const *files, size_t n)
{
	auto_json json_t *lines = json_array();
	auto_json json_t *values = NULL;

	for (size_t i = 0; i < n; i++) {
		char digest[TLS_DIGEST_MAX];
		auto_free char *line = NULL;

		cr_assert_eq(tls_digest(files[i], digest, &err), 0);
		line = xprintf("uuid-%zu=%s", i, digest);
		json_array_append_new(lines, json_string(line));
	}
	values = json_make("{s:O}", "master_candidates_certs", lines);
	cr_assert_eq(ssconf_write(disk_real(), node.root.paths, values, &err),
		     0, "%s", err.text);
}

/* A client certificate of another node; to be freed. */
static char *other_client(const char *ca)
{
	char *file = xprintf("%s/other.pem", node.root.top);

	cr_assert_eq(tls_make_signed(file, ca, "node2.example.com", &err), 0,
		     "%s", err.text);
	return file;
}

Test(noded_server, a_new_node_lets_in_the_cluster_certificate_alone)
{
	const char *server = path(node.root.paths, PATH_SERVER_PEM);
	auto_free char *other = other_client(server);
	auto_free char *answer = NULL;

	cr_assert_eq(ask(server, "/version", "[]", &answer), 200, "%s",
		     err.text);
	cr_assert_str_eq(answer, "[true,3000000]");
	cr_assert_eq(ask_version(other), 403);
}

Test(noded_server, no_certificate_is_refused)
{
	int status = ask_version(NULL);

	cr_assert(status == 403 || status == -1, "%d", status);
}

Test(noded_server, a_foreign_certificate_is_refused)
{
	auto_free char *ca = xprintf("%s/ca.pem", node.root.top);
	auto_free char *foreign = NULL;
	int status;

	/* Of the same name as the cluster's. */
	cr_assert_eq(tls_make_ca(ca, "ganeti.example", &err), 0);
	foreign = other_client(ca);
	status = ask_version(foreign);
	cr_assert(status == 403 || status == -1, "%d", status);
	status = ask_version(ca);
	cr_assert(status == 403 || status == -1, "%d", status);

	/* Even if its digest were in the list. */
	set_candidates((const char *const[]){foreign}, 1);
	status = ask_version(foreign);
	cr_assert(status == 403 || status == -1, "%d", status);
}

Test(noded_server, candidates_get_in_until_they_are_removed)
{
	const char *server = path(node.root.paths, PATH_SERVER_PEM);
	const char *mine = path(node.root.paths, PATH_CLIENT_PEM);
	auto_free char *other = other_client(server);

	set_candidates((const char *const[]){mine, other}, 2);
	cr_assert_eq(ask_version(mine), 200);
	cr_assert_eq(ask_version(other), 200);
	cr_assert_eq(ask_version(server), 403);
	set_candidates((const char *const[]){mine}, 1);
	cr_assert_eq(ask_version(other), 403);
	cr_assert_eq(ask_version(mine), 200);
}

static void put_list(const char *file, const char *text)
{
	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0444, &err), 0,
		     "%s", err.text);
}

/* Every node has the cluster's certificate. */
Test(noded_server, a_list_that_cannot_be_read_is_not_an_empty_one)
{
	const char *server = path(node.root.paths, PATH_SERVER_PEM);
	const char *mine = path(node.root.paths, PATH_CLIENT_PEM);
	auto_free char *list =
		paths_ssconf(node.root.paths, "master_candidates_certs");

	cr_assert_eq(mkdir(list, 0755), 0);
	cr_expect_eq(ask_version(server), 403, "none was ever read");
	cr_expect_eq(ask_version(mine), 403);
	cr_assert_eq(rmdir(list), 0);
	set_candidates((const char *const[]){mine}, 1);
	cr_expect_eq(ask_version(mine), 200, "it is read again");
	cr_assert_eq(unlink(list), 0);
	cr_assert_eq(mkdir(list, 0755), 0);
	cr_expect_eq(ask_version(server), 403, "the last one still counts");
	cr_expect_eq(ask_version(mine), 200);
	cr_assert_eq(rmdir(list), 0);
	cr_expect_eq(ask_version(server), 200, "now there is none");
	put_list(list, "what is no list\n");
	cr_expect_eq(ask_version(server), 403, "nor is what names nobody");
	put_list(list, "\n");
	cr_expect_eq(ask_version(server), 200, "an empty one is none");
	cr_assert_eq(unlink(list), 0);
	cr_assert_eq(mkdir(list, 0755), 0);
	cr_expect_eq(ask_version(server), 403, "after it there is one");
}

Test(noded_server, what_is_no_call_is_404)
{
	const char *server = path(node.root.paths, PATH_SERVER_PEM);

	cr_assert_eq(ask(server, "/nosuch", "[]", NULL), 404);
	cr_assert_eq(ask(server, "/version", "[", NULL), 400);
}

/* A slow call holds nobody up: the second answer comes while the first call
 * still runs. */
static bool slow_done, quick_first;

static void slow_task(void *arg)
{
	ask_task(arg);
	slow_done = true;
}

static void quick_task(void *arg)
{
	ask_task(arg);
	quick_first = !slow_done;
}

Test(noded_server, slow_calls_do_not_hold_up_quick_ones)
{
	const char *server = path(node.root.paths, PATH_SERVER_PEM);
	struct https_client *client = https_client_create(server, server, &err);
	struct ask slow = {
		.client = client, .path = "/test_delay", .body = "[2]"};
	struct ask quick = {.client = client, .path = "/version", .body = "[]"};

	cr_assert_not_null(client);
	task_spawn("slow", slow_task, &slow);
	task_spawn("quick", quick_task, &quick);
	test_run_tasks();
	https_client_destroy(client);
	cr_assert_eq(slow.status, 200);
	cr_assert_eq(quick.status, 200);
	cr_assert(quick_first);
	free(slow.answer);
	free(quick.answer);
}
