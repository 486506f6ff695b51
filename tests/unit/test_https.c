/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTPS server and client against each other. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "tests/lib/expire.h"
#include "tests/lib/https_pair.h"

#define FDS 1024

TestSuite(https, .init = pair_setup, .fini = pair_teardown, .timeout = 60);

Test(https, answers)
{
	struct call echo = {.path = "/echo", .body = "[1, 2]"};
	struct call empty = {.path = "/echo"};
	struct call ip = {.path = "/ip"};
	struct call peer = {.path = "/peer"};
	struct call method = {.path = "/method"};
	struct call none = {.path = "/unknown"};

	call_expect(&echo, 200, "[1, 2]");
	call_expect(&empty, 200, "");
	call_expect(&ip, 200, ADDRESS);
	call_expect(&peer, 200, pair.node_digest);
	call_expect(&method, 200, "POST");
	call_expect(&none, 500, NULL);
}

Test(https, headers_travel)
{
	const char *const headers[] = {"X-Test: 17", NULL};
	struct call with = {.path = "/header", .headers = headers};
	struct call without = {.path = "/header"};

	call_expect(&with, 200, "17");
	call_expect(&without, 200, "none");
}

Test(https, long_bodies_travel)
{
	static char body[BODY_MAX];
	struct call echo = {.path = "/echo", .body = body, .len = BODY_MAX};
	struct call big = {.path = "/big"};

	memset(body, 'x', sizeof(body));
	call_run(&echo);
	cr_assert_eq(echo.status, 200);
	cr_assert_eq(echo.reply_len, BODY_MAX);
	cr_assert_eq(memcmp(echo.reply, body, BODY_MAX), 0);
	free(echo.reply);
	call_run(&big);
	cr_assert_eq(big.reply_len, 5000000);
	free(big.reply);
}

Test(https, body_over_the_limit_is_413)
{
	static char body[BODY_MAX + 1];
	struct call too_long = {
		.path = "/echo", .body = body, .len = sizeof(body)};

	memset(body, 'x', sizeof(body));
	call_expect(&too_long, 413, NULL);
	cr_assert_eq(pair.handled, 0);
}

/* Its chunks could be read in more than one way. */
Test(https, a_body_in_chunks_is_411)
{
	const char *const chunked[] = {"Transfer-Encoding: chunked", NULL};
	struct call call = {.path = "/echo", .body = "x", .headers = chunked};

	call_expect(&call, 411, NULL);
	cr_assert_eq(pair.handled, 0);
}

static void expect_403(const char *cert)
{
	struct call call = {.path = "/echo", .body = "x"};
	struct error err;

	call.client = https_client_create(cert, pair.ca, &err);
	cr_assert_not_null(call.client, "%s", err.text);
	call_expect(&call, 403, NULL);
	cr_assert_eq(pair.handled, 0);
	https_client_destroy(call.client);
}

Test(https, no_certificate_is_403)
{
	expect_403(NULL);
}

Test(https, foreign_certificate_is_403)
{
	expect_403(pair.foreign);
}

Test(https, certificate_made_by_a_node_is_403)
{
	expect_403(pair.below);
}

Test(https, certificate_of_another_node_is_403)
{
	auto_free char *other = pair_file("client2.pem");
	struct error err;

	cr_assert_eq(tls_make_signed(other, pair.ca, "node2", &err), 0);
	expect_403(other);
}

/* Also on a connection that was good before. */
Test(https, removed_node_is_403)
{
	struct call before = {.path = "/echo", .body = "x"};
	struct call after = {.path = "/echo", .body = "x"};

	call_expect(&before, 200, "x");
	pair.shut_out = true;
	call_expect(&after, 403, NULL);
	cr_assert_eq(pair.handled, 1);
}

Test(https, foreign_server_is_refused)
{
	auto_free char *other_ca = pair_file("other.pem");
	struct call call = {.path = "/echo"};
	struct error err;

	call.client = https_client_create(pair.node, other_ca, &err);
	call_run(&call);
	cr_assert_eq(call.rc, -1);
	cr_assert_eq(call.err.kind, ERR_RPC);
	cr_assert_eq(pair.handled, 0);
	https_client_destroy(call.client);
}

Test(https, connections_are_kept)
{
	for (int i = 0; i < 50; i++) {
		struct call call = {.path = "/echo", .body = "x"};

		call_expect(&call, 200, "x");
	}
	cr_assert_eq(https_server_accepted(pair.server), 1);
}

/* The pair.client's socket to the pair.server, kept after a call. */
static int kept_socket(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
		    ntohs(peer.sin_port) == https_server_port(pair.server))
			return fd;
	}
	return -1;
}

static int tcp_option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	getsockopt(fd, level, name, &value, &len);
	return value;
}

Test(https, a_host_that_loses_its_power_is_noticed)
{
	struct call call = {.path = "/echo", .body = "x"};
	int fd;

	call_expect(&call, 200, "x");
	fd = kept_socket();
	cr_assert_geq(fd, 0);
	cr_assert_eq(tcp_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_assert_eq(tcp_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
	cr_assert_eq(tcp_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
	cr_assert_eq(tcp_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 120000);
}

/* Of these calls as many hang as there are places. */
static void take_all_places(struct call *calls, int n)
{
	for (int i = 0; i < n; i++) {
		calls[i].path = "/wait";
		calls[i].body = "";
		task_spawn("call", call_task, &calls[i]);
	}
	while (pair.at_once < 20)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

Test(https, many_in_parallel_within_the_limit)
{
	enum { MANY = 100 };
	static struct call calls[MANY];

	take_all_places(calls, MANY);
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(calls[i].rc, 0, "%s", calls[i].err.text);
		cr_assert_eq(calls[i].status, 500);
		free(calls[i].reply);
	}
	cr_assert_eq(pair.handled, MANY);
	cr_assert_eq(pair.most_at_once, 20);
}

Test(https, an_urgent_call_does_not_wait_for_those_that_hang)
{
	enum { MANY = 25 };
	static struct call calls[MANY];
	struct call urgent = {.path = "/ip", .body = ""};

	take_all_places(calls, MANY);
	task_spawn("urgent", call_task, &urgent);
	while (urgent.reply == NULL)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_expect_eq(urgent.status, 200);
	cr_expect_eq(pair.at_once, 20);
	free(urgent.reply);
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	for (int i = 0; i < MANY; i++)
		free(calls[i].reply);
}

Test(https, client_gives_up_in_time)
{
	struct call call = {.path = "/wait", .body = "", .timeout_ms = 100};
	struct call next = {.path = "/echo", .body = "y"};

	task_spawn("call", call_task, &call);
	while (call.rc == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_assert_not_null(strstr(call.err.text, "within 100 ms"));
	cr_assert_not(error_is(&call.err, ECODE_REFUSED));
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	call_expect(&next, 200, "y");
}

Test(https, gone_server_is_an_error)
{
	struct call before = {.path = "/echo", .body = "x"};
	struct call after = {.path = "/echo", .body = "x"};

	after.port = https_server_port(pair.server);
	call_expect(&before, 200, "x");
	pair_stop_server();
	call_run(&after);
	cr_assert_eq(after.rc, -1);
	cr_assert_not_null(strstr(after.err.text, "Cannot call 127.0.0.1:"));
	cr_assert(error_is(&after.err, ECODE_REFUSED));
}

/* As when the host of the server starts anew. */
static void cut_connections(void)
{
	struct sockaddr_in own, peer;

	for (int fd = 0; fd < FDS; fd++) {
		socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
		    getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
		    ntohs(own.sin_port) == https_server_port(pair.server))
			shutdown(fd, SHUT_RDWR);
	}
}

Test(https, a_connection_that_ends_is_told_from_silence)
{
	struct call call = {.path = "/wait", .body = ""};

	task_spawn("call", call_task, &call);
	while (pair.at_once == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cut_connections();
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	cr_assert_eq(call.rc, -1);
	cr_assert(error_is(&call.err, ECODE_CUT), "%s", call.err.text);
}

Test(https, end_waits_for_running_requests)
{
	struct call call = {.path = "/wait", .body = ""};

	task_spawn("call", call_task, &call);
	while (pair.at_once == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	https_server_destroy(pair.server, pair_on_closed, NULL);
	for (int i = 0; i < 10; i++)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	cr_assert_not(pair.server_closed);
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	cr_assert_eq(call.rc, 0);
	cr_assert_eq(call.status, 500);
	free(call.reply);
	while (!pair.server_closed)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

Test(https, client_end_ends_requests)
{
	struct call call = {.path = "/wait", .body = ""};
	struct error err;

	call.client = https_client_create(pair.node, pair.ca, &err);
	task_spawn("call", call_task, &call);
	while (pair.at_once == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	https_client_destroy(call.client);
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	cr_assert_eq(call.rc, -1);
	cr_assert_str_eq(call.err.text, "The daemon is ending");
}

Test(https, reads_certificates_again)
{
	auto_free char *other_ca = pair_file("other.pem");
	auto_free char *text = NULL;
	struct call before = {.path = "/echo", .body = "x"};
	struct call kept = {.path = "/echo", .body = "x"};
	struct call fresh = {.path = "/echo", .body = "x"};
	struct error err;
	size_t len;

	call_expect(&before, 200, "x");
	text = fs_read(other_ca, 100000, &len, &err);
	cr_assert_eq(fs_write_atomic(pair.ca, text, len, 0400, &err), 0);
	cr_assert_eq(https_server_reload(pair.server, pair.ca, &err), 0, "%s",
		     err.text);
	call_expect(&kept, 200, "x"); /* on its old connection */
	cr_assert_eq(tls_digest(pair.foreign, pair.node_digest, &err), 0);
	fresh.client = https_client_create(pair.foreign, pair.ca, &err);
	call_expect(&fresh, 200, "x");
	https_client_destroy(fresh.client);
	cr_assert_eq(https_server_accepted(pair.server), 2);
}

Test(https, old_and_new_certificates_are_good_together)
{
	auto_free char *both = pair_file("both.pem");
	auto_free char *fresh_ca = pair_file("fresh.pem");
	auto_free char *fresh_node = pair_file("fresh-node.pem");
	const char *const files[] = {pair.ca, fresh_ca};
	struct call old = {.path = "/echo", .body = "x"};
	struct call fresh = {.path = "/echo", .body = "x"};
	struct call retired = {.path = "/wait", .body = "x"};
	struct error err;

	cr_assert_eq(tls_make_ca(fresh_ca, "cluster", &err), 0);
	cr_assert_eq(tls_make_signed(fresh_node, fresh_ca, "n", &err), 0);
	cr_assert_eq(tls_write_certs(both, files, 2, 0400, &err), 0);
	cr_assert_eq(https_server_reload(pair.server, both, &err), 0, "%s",
		     err.text);
	call_expect(&old, 200, "x");
	cr_assert_eq(tls_digest(fresh_node, pair.node_digest, &err), 0);
	fresh.client = https_client_create(fresh_node, both, &err);
	retired.client = fresh.client;
	call_expect(&fresh, 200, "x");
	task_spawn("call", call_task, &retired);
	while (pair.at_once == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	https_client_retire(fresh.client);
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	cr_assert_eq(retired.rc, 0, "%s", retired.err.text);
	free(retired.reply);
}

/* Both sides read their certificates anew, and the digest of this one is among
 * those that are let in. */
static void call_anew(struct call *call, const char *cert)
{
	struct error err;

	cr_assert_eq(https_server_reload(pair.server, pair.ca, &err), 0, "%s",
		     err.text);
	cr_assert_eq(tls_digest(cert, pair.node_digest, &err), 0);
	call->client = https_client_create(cert, pair.ca, &err);
	cr_assert_not_null(call->client, "%s", err.text);
	call_run(call);
	https_client_destroy(call->client);
	cr_assert_eq(call->rc, 0, "%s", call->err.text);
	free(call->reply);
}

/* Otherwise nobody could give the nodes new ones. */
Test(https, certificates_that_have_ended_are_good)
{
	auto_free char *other = pair_file("client2.pem");
	struct call cluster = {.path = "/echo"}, node = {.path = "/echo"},
		    both = {.path = "/echo"};
	struct error err;

	cr_assert_eq(tls_make_signed(other, pair.ca, "node1", &err), 0);
	expire_set(pair.node, pair.ca, true);
	call_anew(&node, pair.node);
	cr_assert_eq(node.status, 200);
	expire_set(pair.ca, pair.ca, true);
	call_anew(&both, pair.node);
	cr_assert_eq(both.status, 200);
	call_anew(&cluster, other);
	cr_assert_eq(cluster.status, 200);
}

Test(https, of_foreign_certificates_the_ended_are_not_good_either)
{
	auto_free char *forged = pair_file("forged.pem");
	auto_free char *other_ca = pair_file("other.pem");
	const char *const certs[] = {forged, pair.foreign, pair.below};
	struct error err;

	cr_assert_eq(tls_make_signed(forged, other_ca, "node1", &err), 0);
	expire_set(forged, other_ca, true);
	pair_append(forged, pair.ca);
	expire_set(pair.foreign, other_ca, true);
	expire_set(pair.ca, pair.ca, true);
	for (size_t i = 0; i < ARRAY_SIZE(certs); i++) {
		struct call call = {.path = "/echo"};

		call_anew(&call, certs[i]);
		cr_assert_eq(call.status, 403, "%s: %d", certs[i], call.status);
	}
}

/* The clock of one of the two is wrong. */
Test(https, a_certificate_that_has_not_begun_is_403)
{
	struct call call = {.path = "/echo"};

	expire_set(pair.node, pair.ca, false);
	call_anew(&call, pair.node);
	cr_assert_eq(call.status, 403);
}

/* The key of one file behind the certificate of the other; to be freed. */
static char *mixed(const char *cert_file, const char *key_file)
{
	auto_free char *certs = pair_file("certs.pem");
	struct error err;
	auto_free char *key = fs_read(key_file, 100000, NULL, &err);
	auto_free char *cert = NULL;
	const char *begin = key;

	cr_assert_eq(tls_write_certs(certs, &cert_file, 1, 0600, &err), 0);
	cert = fs_read(certs, 100000, NULL, &err);
	while (strncmp(begin, "-----BEGIN CERTIFICATE", 22) == 0 ||
	       strncmp(begin, "-----BEGIN ", 11) != 0)
		begin++;
	return xprintf("%s%s", cert, begin);
}

Test(https, a_key_that_does_not_fit_changes_nothing)
{
	auto_free char *other = pair_file("other.pem");
	auto_free char *text = mixed(other, pair.ca);
	struct call after = {.path = "/echo", .body = "x"};
	struct error err;

	after.client = https_client_create(pair.node, pair.ca, &err);
	cr_assert_eq(fs_write_atomic(pair.ca, text, strlen(text), 0400, &err),
		     0);
	cr_assert_eq(https_server_reload(pair.server, NULL, &err), -1);
	cr_assert_not_null(strstr(err.text, "private key"), "%s", err.text);
	call_expect(&after, 200, "x");
	https_client_destroy(after.client);
}

Test(https, bad_certificates_are_told)
{
	auto_free char *empty = pair_file("empty");
	struct https_server_config c = pair_config();
	struct error err;

	cr_assert_eq(fs_write_atomic(empty, "", 0, 0600, &err), 0);
	c.cert_file = empty;
	cr_assert_null(https_server_create(&c, &err));
	cr_assert_not_null(strstr(err.text, empty));
	cr_assert_null(https_client_create(empty, pair.ca, &err));
	cr_assert_null(https_client_create(pair.node, "/nonexistent", &err));
}

Test(https, taken_port_is_told)
{
	struct https_server_config c = pair_config();
	struct error err;

	c.port = https_server_port(pair.server);
	cr_assert_null(https_server_create(&c, &err));
	cr_assert_not_null(strstr(err.text, "Address already in use"));
}

static void on_refused(void *arg, int status, const char *body, size_t len,
		       const struct error *err)
{
	(void)body;
	(void)len;
	cr_assert_eq(status, 0);
	*(struct error *)arg = *err;
}

Test(https, names_are_not_resolved)
{
	struct https_post post = {.address = "localhost",
				  .port = 1,
				  .path = "/",
				  .timeout_ms = 20000};
	struct error err = {.text = ""};

	https_post(pair.client, &post, xstrdup("x"), 1, on_refused, &err);
	while (err.text[0] == '\0')
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_assert_str_eq(err.text, "Cannot call localhost:1: this is no IP "
				   "address");
}

/* Nodes that take the connection and then say nothing. */
Test(https, dead_nodes_hold_nobody_up)
{
	enum { DEAD = 2 * HTTPS_HANDSHAKES };
	static struct call dead[DEAD];
	struct call good = {.path = "/echo", .body = ""};
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	struct https_client *own;
	struct error err;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(fd, (void *)&address, len), 0);
	cr_assert_eq(listen(fd, DEAD), 0);
	getsockname(fd, (void *)&address, &len);
	own = https_client_create(pair.node, pair.ca, &err);
	for (int i = 0; i < DEAD; i++) {
		dead[i].client = own;
		dead[i].path = "/echo";
		dead[i].body = "";
		dead[i].port = ntohs(address.sin_port);
		dead[i].timeout_ms = 50000;
		task_spawn("dead", call_task, &dead[i]);
	}
	good.client = own;
	task_spawn("good", call_task, &good);
	while (good.status == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	for (int i = 0; i < DEAD; i++)
		cr_assert_eq(dead[i].rc, 0); /* not ended */
	free(good.reply);
	https_client_destroy(own);
	pair_run();
	for (int i = 0; i < DEAD; i++)
		cr_assert_eq(dead[i].rc, -1);
	close(fd);
}

static void sequential_task(void *arg)
{
	unsigned *done = arg;
	struct call call = {.path = "/echo", .body = "[1]", .len = 3};

	for (*done = 0; *done < 1000; ++*done) {
		call_task(&call);
		cr_assert_eq(call.rc, 0, "%s", call.err.text);
		free(call.reply);
	}
}

/* Far pair.below 1 ms each; only told, as the machine may be busy. */
Test(https, thousand_calls_in_sequence)
{
	int64_t start = clock_mono_us();
	unsigned done = 0;

	task_spawn("sequence", sequential_task, &done);
	pair_run();
	cr_assert_eq(done, 1000);
	cr_assert_eq(https_server_accepted(pair.server), 1);
	fprintf(stderr, "%d us a call\n",
		(int)((clock_mono_us() - start) / 1000));
}
