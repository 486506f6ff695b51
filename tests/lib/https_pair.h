/* SPDX-License-Identifier: BSD-2-Clause */
/* A server and a client of HTTPS, on one loop; the server's calls do what their
 * path says:
 *
 *	/echo    answers the body
 *	/peer, /ip, /method, /header
 *	         what is known of the call
 *	/big     answers 5 MB
 *	/wait    waits for pair.gate_open
 *	/ip      is urgent
 */
#ifndef TESTS_LIB_HTTPS_PAIR_H
#define TESTS_LIB_HTTPS_PAIR_H

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/https_client.h"
#include "lib/event/https_server.h"
#include "lib/event/tls.h"
#include "tests/lib/https_wait.h"

#define ADDRESS "127.0.0.1"
#define BODY_MAX 100000

static struct pair {
	char folder[32];
	char *ca, *node, *foreign, *below;
	char node_digest[TLS_DIGEST_MAX];
	struct https_server *server;
	struct https_client *client;
	struct cond gate;
	bool gate_open, shut_out, server_closed;
	unsigned limit_ms; /* for slow clients; 0: as in life */
	unsigned at_once, most_at_once, handled;
} pair;

static inline bool pair_allowed(void *arg, const char *digest)
{
	(void)arg;
	return !pair.shut_out &&
	       (digest == NULL || strcmp(digest, pair.node_digest) == 0);
}

static inline void pair_reply(struct https_request *r, int status,
			      const char *text)
{
	https_reply(r, status, "text/plain", xstrdup(text), strlen(text));
}

static inline void pair_handle(void *arg, struct https_request *r)
{
	const char *header = https_header(r, "X-Test");

	(void)arg;
	pair.handled++;
	if (++pair.at_once > pair.most_at_once)
		pair.most_at_once = pair.at_once;
	if (strcmp(r->path, "/echo") == 0)
		https_reply(r, 200, "application/json",
			    xmemdup(r->body, r->body_len), r->body_len);
	else if (strcmp(r->path, "/peer") == 0)
		pair_reply(r, 200, r->peer_digest);
	else if (strcmp(r->path, "/ip") == 0)
		pair_reply(r, 200, r->peer_ip);
	else if (strcmp(r->path, "/method") == 0)
		pair_reply(r, 200, r->method);
	else if (strcmp(r->path, "/header") == 0)
		pair_reply(r, 200, header == NULL ? "none" : header);
	else if (strcmp(r->path, "/big") == 0)
		https_reply(r, 200, "text/plain", xalloc(5000000), 5000000);
	else if (strcmp(r->path, "/wait") == 0)
		while (!pair.gate_open)
			cond_wait(&pair.gate);
	pair.at_once--;
}

static inline bool pair_urgent(void *arg, const struct https_request *r)
{
	(void)arg;
	return strcmp(r->path, "/ip") == 0;
}

static inline struct https_server_config pair_config(void)
{
	return (struct https_server_config){
		.address = ADDRESS,
		.cert_file = pair.ca,
		.ca_file = pair.ca,
		.body_max = BODY_MAX,
		.connections_max = 300,
		.connections_per_ip_max = 200,
		.requests_max = 20,
		.first_ms = pair.limit_ms,
		.body_ms = pair.limit_ms,
		.stranger_ms = pair.limit_ms,
		.allowed = pair_allowed,
		.urgent = pair_urgent,
		.handle = pair_handle,
	};
}

static inline char *pair_file(const char *name)
{
	return xprintf("%s/%s", pair.folder, name);
}

static inline void pair_append(const char *path, const char *from)
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

static inline void pair_certificates(void)
{
	auto_free char *other_ca = pair_file("other.pem");
	struct error err;

	pair.ca = pair_file("server.pem");
	pair.node = pair_file("client.pem");
	pair.foreign = pair_file("foreign.pem");
	pair.below = pair_file("below.pem");
	cr_assert_eq(tls_make_ca(pair.ca, "cluster", &err), 0);
	cr_assert_eq(tls_make_ca(other_ca, "cluster", &err), 0);
	cr_assert_eq(tls_make_signed(pair.node, pair.ca, "node1", &err), 0);
	cr_assert_eq(tls_make_signed(pair.foreign, other_ca, "node1", &err), 0);
	/* A chain that ends at our CA over a certificate that is none. */
	cr_assert_eq(tls_make_signed(pair.below, pair.node, "node1", &err), 0);
	pair_append(pair.below, pair.node);
	cr_assert_eq(tls_digest(pair.node, pair.node_digest, &err), 0);
}

static inline void pair_setup(void)
{
	struct https_server_config c;
	struct error err;

	signal(SIGPIPE, SIG_IGN);
	strcpy(pair.folder, "/tmp/test_https.XXXXXX");
	cr_assert_not_null(mkdtemp(pair.folder));
	pair_certificates();
	tasks_init(uv_default_loop());
	cond_init(&pair.gate);
	c = pair_config();
	pair.server = https_server_create(&c, &err);
	cr_assert_not_null(pair.server, "%s", err.text);
	pair.client = https_client_create(pair.node, pair.ca, &err);
	cr_assert_not_null(pair.client, "%s", err.text);
}

static inline void pair_run(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static inline void pair_on_closed(void *arg)
{
	(void)arg;
	pair.server = NULL;
	pair.server_closed = true;
}

static inline void pair_stop_server(void)
{
	https_server_destroy(pair.server, pair_on_closed, NULL);
	while (!pair.server_closed)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static inline void pair_teardown(void)
{
	struct error err;

	https_client_destroy(pair.client);
	if (!pair.server_closed)
		pair_stop_server();
	pair_run();
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(uv_default_loop()), 0);
	fs_remove_tree(pair.folder, &err);
	free(pair.ca);
	free(pair.node);
	free(pair.foreign);
	free(pair.below);
}

/* One call, in a task of its own. */
struct call {
	struct https_client *client; /* NULL: the pair's */
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

static inline void call_task(void *arg)
{
	struct call *call = arg;
	struct https_post post = {
		.address = ADDRESS,
		.port = call->port != 0 ? call->port
					: https_server_port(pair.server),
		.path = call->path,
		.headers = call->headers,
		.timeout_ms = call->timeout_ms == 0 ? 20000 : call->timeout_ms,
	};

	call->rc = https_post_wait(
		call->client == NULL ? pair.client : call->client, &post,
		xmemdup(call->body, call->len), call->len, &call->status,
		&call->reply, &call->reply_len, &call->err);
}

static inline void call_run(struct call *call)
{
	if (call->body == NULL)
		call->body = "";
	if (call->len == 0)
		call->len = strlen(call->body);
	task_spawn("call", call_task, call);
	pair_run();
}

static inline void call_expect(struct call *call, int status, const char *text)
{
	call_run(call);
	cr_assert_eq(call->rc, 0, "%s", call->err.text);
	cr_assert_eq(call->status, status, "%d %s", call->status, call->reply);
	if (text != NULL)
		cr_assert_str_eq(call->reply, text);
	free(call->reply);
}

#endif
