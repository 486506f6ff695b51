/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTPS server and client against each other, on one loop. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/https_client.h"
#include "lib/event/https_server.h"
#include "lib/event/tls.h"

#define ADDRESS "127.0.0.1"
#define BODY_MAX 100000

static char folder[] = "/tmp/test_https.XXXXXX";
static char *ca, *node, *foreign, *below;
static char node_digest[TLS_DIGEST_MAX];
static struct https_server *server;
static struct https_client *client;
static struct cond gate;
static bool gate_open, let_in = true, server_closed;
static unsigned limit_ms; /* for slow clients; 0: as in life */
static unsigned at_once, most_at_once, handled;

static bool allowed(void *arg, const char *digest)
{
	(void)arg;
	return let_in && (digest == NULL || strcmp(digest, node_digest) == 0);
}

static void reply(struct https_request *r, int status, const char *text)
{
	https_reply(r, status, "text/plain", xstrdup(text), strlen(text));
}

static void handle(void *arg, struct https_request *r)
{
	const char *header = https_header(r, "X-Test");

	(void)arg;
	handled++;
	if (++at_once > most_at_once)
		most_at_once = at_once;
	if (strcmp(r->path, "/echo") == 0)
		https_reply(r, 200, "application/json",
			    xmemdup(r->body, r->body_len), r->body_len);
	else if (strcmp(r->path, "/peer") == 0)
		reply(r, 200, r->peer_digest);
	else if (strcmp(r->path, "/ip") == 0)
		reply(r, 200, r->peer_ip);
	else if (strcmp(r->path, "/method") == 0)
		reply(r, 200, r->method);
	else if (strcmp(r->path, "/header") == 0)
		reply(r, 200, header == NULL ? "none" : header);
	else if (strcmp(r->path, "/big") == 0)
		https_reply(r, 200, "text/plain", xalloc(5000000), 5000000);
	else if (strcmp(r->path, "/wait") == 0)
		while (!gate_open)
			cond_wait(&gate);
	at_once--;
}

static struct https_server_config config(void)
{
	return (struct https_server_config){
		.address = ADDRESS,
		.cert_file = ca,
		.ca_file = ca,
		.body_max = BODY_MAX,
		.connections_max = 500,
		.connections_per_ip_max = 400,
		.requests_max = 20,
		.first_ms = limit_ms,
		.body_ms = limit_ms,
		.allowed = allowed,
		.handle = handle,
	};
}

static char *in_folder(const char *name)
{
	return xprintf("%s/%s", folder, name);
}

static void append(const char *path, const char *from)
{
	struct error err;
	size_t a_len, b_len;
	char *a = fs_read(path, 100000, &a_len, &err);
	char *b = fs_read(from, 100000, &b_len, &err);
	char *text = xprintf("%s%s", a, strstr(b, "-----BEGIN CERT"));

	cr_assert_eq(fs_write_atomic(path, text, strlen(text), 0400, &err), 0);
	free(a);
	free(b);
	free(text);
}

static void make_certificates(void)
{
	auto_free char *other_ca = in_folder("other.pem");
	struct error err;

	ca = in_folder("server.pem");
	node = in_folder("client.pem");
	foreign = in_folder("foreign.pem");
	below = in_folder("below.pem");
	cr_assert_eq(tls_make_ca(ca, "cluster", &err), 0);
	cr_assert_eq(tls_make_ca(other_ca, "cluster", &err), 0);
	cr_assert_eq(tls_make_signed(node, ca, "node1", &err), 0);
	cr_assert_eq(tls_make_signed(foreign, other_ca, "node1", &err), 0);
	/* A chain that ends at our CA over a certificate that is none. */
	cr_assert_eq(tls_make_signed(below, node, "node1", &err), 0);
	append(below, node);
	cr_assert_eq(tls_digest(node, node_digest, &err), 0);
}

static void setup(void)
{
	struct https_server_config c;
	struct error err;

	signal(SIGPIPE, SIG_IGN);
	cr_assert_not_null(mkdtemp(folder));
	make_certificates();
	tasks_init(uv_default_loop());
	cond_init(&gate);
	c = config();
	server = https_server_create(&c, &err);
	cr_assert_not_null(server, "%s", err.text);
	client = https_client_create(node, ca, &err);
	cr_assert_not_null(client, "%s", err.text);
}

static void run_all(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static void on_server_closed(void *arg)
{
	(void)arg;
	server = NULL;
	server_closed = true;
}

static void stop_server(void)
{
	https_server_destroy(server, on_server_closed, NULL);
	while (!server_closed)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static void teardown(void)
{
	struct error err;

	https_client_destroy(client);
	if (!server_closed)
		stop_server();
	run_all();
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(uv_default_loop()), 0);
	fs_remove_tree(folder, &err);
	free(ca);
	free(node);
	free(foreign);
	free(below);
}

TestSuite(https, .init = setup, .fini = teardown, .timeout = 60);

/* One call, in a task of its own. */
struct call {
	struct https_client *client; /* NULL: the node's */
	const char *path;
	const char *body;
	size_t len;
	const char *const *headers;
	unsigned timeout_ms;
	int port;

	int rc, status;
	char *reply;
	size_t reply_len;
	struct error err;
};

static void call_task(void *arg)
{
	struct call *call = arg;
	struct https_post post = {
		.address = ADDRESS,
		.port = call->port != 0 ? call->port
					: https_server_port(server),
		.path = call->path,
		.headers = call->headers,
		.timeout_ms = call->timeout_ms == 0 ? 20000 : call->timeout_ms,
	};

	call->rc = https_post_wait(call->client == NULL ? client : call->client,
				   &post, xmemdup(call->body, call->len),
				   call->len, &call->status, &call->reply,
				   &call->reply_len, &call->err);
}

static void run(struct call *call)
{
	if (call->body == NULL)
		call->body = "";
	if (call->len == 0)
		call->len = strlen(call->body);
	task_spawn("call", call_task, call);
	run_all();
}

static void expect(struct call *call, int status, const char *text)
{
	run(call);
	cr_assert_eq(call->rc, 0, "%s", call->err.text);
	cr_assert_eq(call->status, status, "%d %s", call->status, call->reply);
	if (text != NULL)
		cr_assert_str_eq(call->reply, text);
	free(call->reply);
}

Test(https, answers)
{
	struct call echo = {.path = "/echo", .body = "[1, 2]"};
	struct call empty = {.path = "/echo"};
	struct call ip = {.path = "/ip"};
	struct call peer = {.path = "/peer"};
	struct call method = {.path = "/method"};
	struct call none = {.path = "/unknown"};

	expect(&echo, 200, "[1, 2]");
	expect(&empty, 200, "");
	expect(&ip, 200, ADDRESS);
	expect(&peer, 200, node_digest);
	expect(&method, 200, "POST");
	expect(&none, 500, NULL);
}

Test(https, headers_travel)
{
	const char *const headers[] = {"X-Test: 17", NULL};
	struct call with = {.path = "/header", .headers = headers};
	struct call without = {.path = "/header"};

	expect(&with, 200, "17");
	expect(&without, 200, "none");
}

Test(https, long_bodies_travel)
{
	static char body[BODY_MAX];
	struct call echo = {.path = "/echo", .body = body, .len = BODY_MAX};
	struct call big = {.path = "/big"};

	memset(body, 'x', sizeof(body));
	run(&echo);
	cr_assert_eq(echo.status, 200);
	cr_assert_eq(echo.reply_len, BODY_MAX);
	cr_assert_eq(memcmp(echo.reply, body, BODY_MAX), 0);
	free(echo.reply);
	run(&big);
	cr_assert_eq(big.reply_len, 5000000);
	free(big.reply);
}

Test(https, body_over_the_limit_is_413)
{
	static char body[BODY_MAX + 1];
	const char *const chunked[] = {"Transfer-Encoding: chunked", NULL};
	struct call too_long = {
		.path = "/echo", .body = body, .len = sizeof(body)};

	memset(body, 'x', sizeof(body));
	expect(&too_long, 413, NULL);
	too_long.headers = chunked;
	expect(&too_long, 413, NULL);
	cr_assert_eq(handled, 0);
}

static void expect_403(const char *cert)
{
	struct call call = {.path = "/echo", .body = "x"};
	struct error err;

	call.client = https_client_create(cert, ca, &err);
	cr_assert_not_null(call.client, "%s", err.text);
	expect(&call, 403, NULL);
	cr_assert_eq(handled, 0);
	https_client_destroy(call.client);
}

Test(https, no_certificate_is_403)
{
	expect_403(NULL);
}

Test(https, foreign_certificate_is_403)
{
	expect_403(foreign);
}

Test(https, certificate_made_by_a_node_is_403)
{
	expect_403(below);
}

Test(https, certificate_of_another_node_is_403)
{
	auto_free char *other = in_folder("client2.pem");
	struct error err;

	cr_assert_eq(tls_make_signed(other, ca, "node2", &err), 0);
	expect_403(other);
}

/* Also on a connection that was good before. */
Test(https, removed_node_is_403)
{
	struct call before = {.path = "/echo", .body = "x"};
	struct call after = {.path = "/echo", .body = "x"};

	expect(&before, 200, "x");
	let_in = false;
	expect(&after, 403, NULL);
	cr_assert_eq(handled, 1);
}

Test(https, foreign_server_is_refused)
{
	auto_free char *other_ca = in_folder("other.pem");
	struct call call = {.path = "/echo"};
	struct error err;

	call.client = https_client_create(node, other_ca, &err);
	run(&call);
	cr_assert_eq(call.rc, -1);
	cr_assert_eq(call.err.kind, ERR_RPC);
	cr_assert_eq(handled, 0);
	https_client_destroy(call.client);
}

Test(https, connections_are_kept)
{
	for (int i = 0; i < 50; i++) {
		struct call call = {.path = "/echo", .body = "x"};

		expect(&call, 200, "x");
	}
	cr_assert_eq(https_server_accepted(server), 1);
}

/* The client's socket to the server, kept after a call. */
static int kept_socket(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
		    ntohs(peer.sin_port) == https_server_port(server))
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

	expect(&call, 200, "x");
	fd = kept_socket();
	cr_assert_geq(fd, 0);
	cr_assert_eq(tcp_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_assert_eq(tcp_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
	cr_assert_eq(tcp_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
	cr_assert_eq(tcp_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 120000);
}

Test(https, many_in_parallel_within_the_limit)
{
	enum { MANY = 100 };
	static struct call calls[MANY];

	for (int i = 0; i < MANY; i++) {
		calls[i].path = "/wait";
		calls[i].body = "";
		task_spawn("call", call_task, &calls[i]);
	}
	while (at_once < 20)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	gate_open = true;
	cond_signal(&gate);
	run_all();
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(calls[i].rc, 0, "%s", calls[i].err.text);
		cr_assert_eq(calls[i].status, 500);
		free(calls[i].reply);
	}
	cr_assert_eq(handled, MANY);
	cr_assert_eq(most_at_once, 20);
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
	gate_open = true;
	cond_signal(&gate);
	run_all();
	expect(&next, 200, "y");
}

Test(https, gone_server_is_an_error)
{
	struct call before = {.path = "/echo", .body = "x"};
	struct call after = {.path = "/echo", .body = "x"};

	after.port = https_server_port(server);
	expect(&before, 200, "x");
	stop_server();
	run(&after);
	cr_assert_eq(after.rc, -1);
	cr_assert_not_null(strstr(after.err.text, "Cannot call 127.0.0.1:"));
	cr_assert(error_is(&after.err, ECODE_REFUSED));
}

Test(https, end_waits_for_running_requests)
{
	struct call call = {.path = "/wait", .body = ""};

	task_spawn("call", call_task, &call);
	while (at_once == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	https_server_destroy(server, on_server_closed, NULL);
	for (int i = 0; i < 10; i++)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	cr_assert_not(server_closed);
	gate_open = true;
	cond_signal(&gate);
	run_all();
	cr_assert_eq(call.rc, 0);
	cr_assert_eq(call.status, 500);
	free(call.reply);
	while (!server_closed)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

Test(https, client_end_ends_requests)
{
	struct call call = {.path = "/wait", .body = ""};
	struct error err;

	call.client = https_client_create(node, ca, &err);
	task_spawn("call", call_task, &call);
	while (at_once == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	https_client_destroy(call.client);
	gate_open = true;
	cond_signal(&gate);
	run_all();
	cr_assert_eq(call.rc, -1);
	cr_assert_str_eq(call.err.text, "The daemon is ending");
}

Test(https, reads_certificates_again)
{
	auto_free char *other_ca = in_folder("other.pem");
	auto_free char *text = NULL;
	struct call before = {.path = "/echo", .body = "x"};
	struct call kept = {.path = "/echo", .body = "x"};
	struct call fresh = {.path = "/echo", .body = "x"};
	struct error err;
	size_t len;

	expect(&before, 200, "x");
	text = fs_read(other_ca, 100000, &len, &err);
	cr_assert_eq(fs_write_atomic(ca, text, len, 0400, &err), 0);
	cr_assert_eq(https_server_reload(server, ca, &err), 0, "%s", err.text);
	expect(&kept, 200, "x"); /* on its old connection */
	cr_assert_eq(tls_digest(foreign, node_digest, &err), 0);
	fresh.client = https_client_create(foreign, ca, &err);
	expect(&fresh, 200, "x");
	https_client_destroy(fresh.client);
	cr_assert_eq(https_server_accepted(server), 2);
}

Test(https, old_and_new_certificates_are_good_together)
{
	auto_free char *both = in_folder("both.pem");
	auto_free char *fresh_ca = in_folder("fresh.pem");
	auto_free char *fresh_node = in_folder("fresh-node.pem");
	const char *const files[] = {ca, fresh_ca};
	struct call old = {.path = "/echo", .body = "x"};
	struct call fresh = {.path = "/echo", .body = "x"};
	struct call retired = {.path = "/wait", .body = "x"};
	struct error err;

	cr_assert_eq(tls_make_ca(fresh_ca, "cluster", &err), 0);
	cr_assert_eq(tls_make_signed(fresh_node, fresh_ca, "n", &err), 0);
	cr_assert_eq(tls_write_certs(both, files, 2, 0400, &err), 0);
	cr_assert_eq(https_server_reload(server, both, &err), 0, "%s",
		     err.text);
	expect(&old, 200, "x");
	cr_assert_eq(tls_digest(fresh_node, node_digest, &err), 0);
	fresh.client = https_client_create(fresh_node, both, &err);
	retired.client = fresh.client;
	expect(&fresh, 200, "x");
	task_spawn("call", call_task, &retired);
	while (at_once == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	https_client_retire(fresh.client);
	gate_open = true;
	cond_signal(&gate);
	run_all();
	cr_assert_eq(retired.rc, 0, "%s", retired.err.text);
	free(retired.reply);
}

Test(https, bad_certificates_are_told)
{
	auto_free char *empty = in_folder("empty");
	struct https_server_config c = config();
	struct error err;

	cr_assert_eq(fs_write_atomic(empty, "", 0, 0600, &err), 0);
	c.cert_file = empty;
	cr_assert_null(https_server_create(&c, &err));
	cr_assert_not_null(strstr(err.text, empty));
	cr_assert_null(https_client_create(empty, ca, &err));
	cr_assert_null(https_client_create(node, "/nonexistent", &err));
}

Test(https, taken_port_is_told)
{
	struct https_server_config c = config();
	struct error err;

	c.port = https_server_port(server);
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

	https_post(client, &post, xstrdup("x"), 1, on_refused, &err);
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
	own = https_client_create(node, ca, &err);
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
	run_all();
	for (int i = 0; i < DEAD; i++)
		cr_assert_eq(dead[i].rc, -1);
	close(fd);
}

/* What a client may send that is no HTTP. */
struct raw {
	const char *bytes;
	size_t len; /* 0: of the string */
	int status; /* expected; 0: the connection just ends */
	char answer[2000];
};

static int connect_raw(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct timeval limit = {.tv_sec = 10};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)https_server_port(server));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	cr_assert_eq(connect(fd, (void *)&address, sizeof(address)), 0);
	return fd;
}

static void raw_tls(struct raw *raw, int fd)
{
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;
	size_t got = 0, sent = 0;
	ssize_t n;

	gnutls_certificate_allocate_credentials(&credentials);
	gnutls_certificate_set_x509_key_file(credentials, node, node,
					     GNUTLS_X509_FMT_PEM);
	gnutls_init(&session, GNUTLS_CLIENT);
	gnutls_set_default_priority(session);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
	gnutls_transport_set_int(session, fd);
	if (gnutls_handshake(session) == 0) {
		while (sent < raw->len &&
		       (n = gnutls_record_send(session, raw->bytes + sent,
					       raw->len - sent)) > 0)
			sent += (size_t)n;
		while ((n = gnutls_record_recv(session, raw->answer + got,
					       sizeof(raw->answer) - 1 - got)) >
		       0)
			got += (size_t)n;
	}
	gnutls_deinit(session);
	gnutls_certificate_free_credentials(credentials);
}

static void raw_task(void *arg)
{
	struct raw *raw = arg;
	int fd = connect_raw();

	if (raw->len == 0)
		raw->len = strlen(raw->bytes);
	task_leave();
	raw_tls(raw, fd);
	close(fd);
	task_enter();
}

static char long_header[HTTPS_HEADER_MAX + 1000] =
	"POST /echo HTTP/1.1\r\nHost: x\r\nX: ";

Test(https, malformed_requests_end_with_an_error)
{
	struct raw cases[] = {
		{.bytes = "\r\n\r\nGARBAGE\r\n\r\n"},
		{.bytes = "POST /echo HTTP/9.9\r\nHost: x\r\n\r\n",
		 .status = 505},
		{.bytes = "POST /echo HTTP/1.1\r\n\r\n", .status = 400},
		{.bytes = "POST /echo HTTP/1.1\r\nHost: x\r\n"
			  "Content-Length: -1\r\n\r\n",
		 .status = 400},
		{.bytes = "POST /echo HTTP/1.1\r\nHost: x\r\n"
			  "Content-Length: 99999999999999999999999\r\n\r\n",
		 .status = 413},
		{.bytes = "POST /echo HTTP/1.1\r\nHost: x\r\n"
			  "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"
			  "\r\n0\r\n\r\n",
		 .status = 400},
		{.bytes = "POST /echo HTTP/1.1\r\nHost: x\r\n"
			  "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
		 .status = 400},
		{.bytes = "POST /echo HTTP/1.1\r\nHost: x\r\n"
			  "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		 .status = 400},
		{.bytes = "POST /echo HTTP/1.1\r\nHost: x\r\n"
			  "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
		 .status = 400},
		{.bytes = "POST /echo HTTP/1.1\r\nHost: x\r\n"
			  "Content-Length : 3\r\n\r\nabc",
		 .status = 400},
		{.bytes = "GET /echo HTTP/1.1\r\nHost: x\r\n"
			  "Connection: close\r\n\r\n",
		 .status = 405},
		{.bytes = "PUT /method HTTP/1.1\r\nHost: x\r\n"
			  "Connection: close\r\nContent-Length: 0\r\n\r\n",
		 .status = 200},
		{.bytes = long_header,
		 .len = sizeof(long_header),
		 .status = 431},
	};
	struct call after = {.path = "/echo", .body = "x"};

	memset(long_header + strlen(long_header), 'x',
	       sizeof(long_header) - strlen(long_header) - 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		auto_free char *line = xprintf("HTTP/1.1 %d ", cases[i].status);

		task_spawn("raw", raw_task, &cases[i]);
		run_all();
		cr_expect(cases[i].status == 0
				  ? cases[i].answer[0] != 'H' ||
					    strstr(cases[i].answer, " 400 ")
				  : str_starts(cases[i].answer, line),
			  "case %zu: %.40s", i, cases[i].answer);
	}
	cr_expect_eq(handled, 1);
	expect(&after, 200, "x");
}

static void plain_task(void *arg)
{
	int fd = connect_raw();
	char got[100];

	(void)arg;
	cr_assert_gt(write(fd, "POST / HTTP/1.1\r\n\r\n", 19), 0);
	task_leave();
	while (read(fd, got, sizeof(got)) > 0)
		;
	close(fd);
	task_enter();
}

Test(https, plain_http_is_not_spoken)
{
	struct call after = {.path = "/echo", .body = "x"};

	task_spawn("plain", plain_task, NULL);
	run_all();
	cr_assert_eq(handled, 0);
	expect(&after, 200, "x");
}

static void setup_slow(void)
{
	limit_ms = 200;
	setup();
}

TestSuite(https_slow, .init = setup_slow, .fini = teardown, .timeout = 60);

static void silent_task(void *arg)
{
	int fd = connect_raw();
	char byte;

	task_leave();
	/* 0: the server hung up; -1: it did not within 10 s. */
	*(ssize_t *)arg = read(fd, &byte, 1);
	close(fd);
	task_enter();
}

Test(https_slow, a_connection_without_a_handshake_ends)
{
	ssize_t heard = -1;

	task_spawn("silent", silent_task, &heard);
	run_all();
	cr_assert_eq(heard, 0);
}

static void assert_ends(const char *bytes)
{
	struct call after = {.path = "/echo", .body = "x"};
	struct raw raw = {.bytes = bytes};
	int64_t start = clock_mono_us();

	task_spawn("raw", raw_task, &raw);
	run_all();
	cr_assert_lt(clock_mono_us() - start, 8000000);
	cr_assert_eq(handled, 0);
	expect(&after, 200, "x");
}

Test(https_slow, headers_that_never_end_do)
{
	assert_ends("POST /echo HTTP/1.1\r\nHost: x\r\nX: y");
}

Test(https_slow, a_body_that_does_not_come_ends)
{
	assert_ends("POST /echo HTTP/1.1\r\nHost: x\r\n"
		    "Content-Length: 100\r\n\r\nabc");
}

static void turn_for_ms(unsigned ms)
{
	int64_t until = clock_mono_us() + ms * INT64_C(1000);

	while (clock_mono_us() < until)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

/* The limits are for what a client sends: a call may take longer, and its
 * connection is kept. */
Test(https_slow, a_long_call_and_a_kept_connection_stay)
{
	struct call slow = {.path = "/wait", .body = ""};
	struct call after = {.path = "/echo", .body = "x", .len = 1};

	task_spawn("call", call_task, &slow);
	while (handled == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	turn_for_ms(2 * limit_ms);
	gate_open = true;
	cond_signal(&gate);
	run_all();
	cr_assert_eq(slow.rc, 0, "%s", slow.err.text);
	free(slow.reply);
	turn_for_ms(2 * limit_ms);
	expect(&after, 200, "x");
	cr_assert_eq(https_server_accepted(server), 1);
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

/* Far below 1 ms each; only told, as the machine may be busy. */
Test(https, thousand_calls_in_sequence)
{
	int64_t start = clock_mono_us();
	unsigned done = 0;

	task_spawn("sequence", sequential_task, &done);
	run_all();
	cr_assert_eq(done, 1000);
	cr_assert_eq(https_server_accepted(server), 1);
	fprintf(stderr, "%d us a call\n",
		(int)((clock_mono_us() - start) / 1000));
}
