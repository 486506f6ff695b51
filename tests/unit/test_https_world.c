/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTPS server as one for the world: all methods, refusals in words of the
 * owner, limits of its own.  Without TLS, so that requests are what they are.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/https_internal.h"
#include "lib/event/https_server.h"
#include "lib/event/task.h"

#define HEADER_MAX 2000
#define TARGET_MAX 500
#define BODY_MAX 1000
#define BODIES_MAX 1500
#define BODIES_PER_IP_MAX 1200
#define PER_IP_MAX 10
/* An answer that no socket takes, and two of them at the same time. */
#define LONG ((size_t)16 * 1024 * 1024)
#define UNREAD_MAX (2 * LONG + LONG / 2)

static struct https_server *server;
static bool closed;
static char seen[200]; /* the last refusal */
static char told[200]; /* the last one that libmicrohttpd answered */
static unsigned n_told;

static WAITS void handle(void *arg, struct https_request *r)
{
	char *text = xprintf("%s %s %s %s", r->method, r->target, r->version,
			     r->body);

	(void)arg;
	if (strcmp(r->target, "/long") == 0) {
		free(text);
		text = xalloc(LONG + 1);
		memset(text, 'x', LONG);
	}
	https_reply(r, 200, "text/plain", text, strlen(text));
	r->headers = xstrdup("X-One: 1\nX-Two: a: b\n");
}

static char *refuse(void *arg, const struct https_refusal *r,
		    const char **ret_type)
{
	(void)arg;
	snprintf(seen, sizeof(seen), "%s %.20s %d %s", r->method, r->target,
		 r->status, r->peer_ip);
	*ret_type = "text/x-refusal";
	return xprintf("no: %s", r->why);
}

static void tell(void *arg, const struct https_refusal *r)
{
	(void)arg;
	n_told++;
	snprintf(told, sizeof(told), "%.20s %d %s",
		 r->target == NULL ? "-" : r->target, r->status, r->peer_ip);
}

static void setup(void)
{
	struct https_server_config config = {
		.address = "127.0.0.1",
		.all_methods = true,
		.body_max = BODY_MAX,
		.bodies_max = BODIES_MAX,
		.bodies_per_ip_max = BODIES_PER_IP_MAX,
		.unread_max = UNREAD_MAX,
		.header_max = HEADER_MAX,
		.target_max = TARGET_MAX,
		.connections_max = 20,
		.connections_per_ip_max = PER_IP_MAX,
		.requests_max = 4,
		.first_ms = 1000,
		.body_ms = 1000,
		.refuse = refuse,
		.tell = tell,
		.handle = handle,
	};
	struct error err;

	tasks_init(uv_default_loop());
	server = https_server_create(&config, &err);
	cr_assert_not_null(server, "%s", err.text);
}

static void on_closed(void *arg)
{
	(void)arg;
	closed = true;
}

static void teardown(void)
{
	https_server_destroy(server, on_closed, NULL);
	while (!closed)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(uv_default_loop()), 0);
}

TestSuite(https_world, .init = setup, .fini = teardown, .timeout = 60);

struct ask {
	const char *bytes;
	bool elsewhere; /* of another address */
	char answer[2000];
	size_t len; /* of the whole answer */
	int fd;	    /* kept open when that is asked for */
	bool keep;
	bool begun; /* wait until there is some of the answer */
};

static int connect_server(bool elsewhere)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	if (elsewhere)
		cr_assert_eq(bind(fd, (void *)&address, sizeof(address)), 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)https_server_port(server));
	cr_assert_eq(connect(fd, (void *)&address, sizeof(address)), 0);
	return fd;
}

/* Until the server ends the connection. */
static void read_answer(struct ask *ask)
{
	static char rest[65536];
	size_t room = sizeof(ask->answer) - 1;
	ssize_t n;

	while ((n = ask->len < room ? recv(ask->fd, ask->answer + ask->len,
					   room - ask->len, 0)
				    : recv(ask->fd, rest, sizeof(rest), 0)) > 0)
		ask->len += (size_t)n;
	close(ask->fd);
}

static WAITS void ask_task(void *arg)
{
	struct ask *ask = arg;

	task_leave();
	ask->fd = connect_server(ask->elsewhere);
	cr_assert_eq(send(ask->fd, ask->bytes, strlen(ask->bytes), 0),
		     (ssize_t)strlen(ask->bytes));
	if (ask->begun)
		cr_assert_eq(recv(ask->fd, ask->answer, 1, MSG_PEEK), 1);
	if (!ask->keep)
		read_answer(ask);
	task_enter();
}

static void run(struct ask *ask)
{
	task_spawn("ask", ask_task, ask);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static void expect(const char *bytes, const char *begin, const char *body)
{
	struct ask ask = {.bytes = bytes};

	run(&ask);
	cr_expect(str_starts(ask.answer, begin), "%s", ask.answer);
	cr_expect(body == NULL || str_ends(ask.answer, body), "%s", ask.answer);
}

#define TAIL " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"

Test(https_world, any_method_and_the_target_as_sent)
{
	expect("DELETE /a%2fb?x=%31&y" TAIL "\r\n", "HTTP/1.1 200 ",
	       "DELETE /a%2fb?x=%31&y HTTP/1.1 ");
	expect("GET /?" TAIL "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200 ",
	       "GET /? HTTP/1.1 abc");
	expect("FROB /x" TAIL "\r\n", "HTTP/1.1 200 ", "FROB /x HTTP/1.1 ");
}

Test(https_world, answers_have_headers)
{
	struct ask ask = {.bytes = "GET /" TAIL "\r\n"};

	run(&ask);
	cr_expect_not_null(strstr(ask.answer, "\r\nX-One: 1\r\n"));
	cr_expect_not_null(strstr(ask.answer, "\r\nX-Two: a: b\r\n"));
}

Test(https_world, refusals_are_in_the_owners_words)
{
	expect("POST /p" TAIL "Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
	       "HTTP/1.1 400 ", "no: The length of the body is not clear");
	cr_expect_str_eq(seen, "POST /p 400 127.0.0.1");
	expect("POST /" TAIL "Content-Length: 1001\r\n\r\n", "HTTP/1.1 413 ",
	       "no: The body is too long");
	expect("POST /" TAIL "Transfer-Encoding: chunked\r\n\r\n",
	       "HTTP/1.1 411 ", NULL);
}

Test(https_world, long_heads_are_refused)
{
	char fill[HEADER_MAX + 1] = {0};
	auto_free char *target = NULL, *header = NULL;

	memset(fill, 'x', TARGET_MAX);
	target = xprintf("GET /%s" TAIL "\r\n", fill);
	expect(target, "HTTP/1.1 414 ", "no: The address is too long");
	memset(fill, 'x', HEADER_MAX);
	header = xprintf("GET /" TAIL "X: %s\r\n\r\n", fill);
	expect(header, "HTTP/1.1 431 ", "no: The headers are too long");
}

Test(https_world, bodies_have_a_limit_together)
{
	struct ask first = {.bytes = "POST /" TAIL "Content-Length: 1000\r\n"
				     "\r\nx",
			    .keep = true};
	const char *const second = "POST /" TAIL "Content-Length: 501\r\n\r\n";
	struct ask other = {.bytes = "POST /" TAIL
				     "Content-Length: 201\r\n\r\nx",
			    .elsewhere = true,
			    .keep = true};

	run(&first);
	/* The first one's place is taken once its head is read. */
	while (seen[0] == '\0') {
		struct ask ask = {.bytes = second};

		run(&ask);
		cr_assert(str_starts(ask.answer, "HTTP/1.1 503 ") ||
			  ask.answer[0] == '\0');
	}
	cr_expect(str_starts(seen, "POST / 503"), "%s", seen);
	/* One address does not get all of it. */
	expect("POST /" TAIL "Content-Length: 201\r\n\r\n", "HTTP/1.1 503 ",
	       "of this address have long bodies");
	seen[0] = '\0';
	run(&other);
	while (seen[0] == '\0') {
		struct ask ask = {.bytes = "POST /" TAIL
					   "Content-Length: 300\r\n\r\n",
				  .elsewhere = true};

		run(&ask);
	}
	cr_expect(str_starts(seen, "POST / 503 127.0.0.2"), "%s", seen);
	close(other.fd);
	close(first.fd);
	expect("POST /" TAIL "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200 ",
	       NULL);
}

static WAITS void read_task(void *arg)
{
	task_leave();
	read_answer(arg);
	task_enter();
}

static size_t read_on(struct ask *ask)
{
	task_spawn("read", read_task, ask);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	return ask->len;
}

Test(https_world, who_reads_last_of_many_long_answers_is_cut_off)
{
	struct ask asks[3] = {{.begun = true, .keep = true},
			      {.begun = true, .keep = true},
			      {.begun = true, .keep = true}};

	for (size_t i = 0; i < 3; i++) {
		asks[i].bytes = "GET /long" TAIL "\r\n";
		run(&asks[i]);
	}
	/* There is room for two. */
	cr_expect_gt(read_on(&asks[2]), LONG);
	cr_expect_lt(read_on(&asks[0]), LONG);
	cr_expect_gt(read_on(&asks[1]), LONG);
	/* What was read makes room again. */
	for (size_t i = 0; i < 2; i++) {
		asks[i] = (struct ask){.bytes = "GET /long" TAIL "\r\n",
				       .begun = true,
				       .keep = true};
		run(&asks[i]);
	}
	cr_expect_gt(read_on(&asks[0]), LONG);
	cr_expect_gt(read_on(&asks[1]), LONG);
}

/* What the server cannot word: it is told of each, once. */
static void expect_told(const char *bytes, const char *begin, const char *what)
{
	n_told = 0;
	seen[0] = told[0] = '\0';
	expect(bytes, begin, NULL);
	/* The connection's end is known a moment after the client's. */
	for (int i = 0; i < 1000 && n_told == 0; i++)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_expect_str_eq(told, what, "%s", bytes);
	cr_expect_eq(n_told, 1, "%s: %u", bytes, n_told);
	cr_expect_str_eq(seen, "", "%s: %s", bytes, seen);
}

Test(https_world, no_host_is_refused_in_the_owners_words)
{
	expect("GET /x HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 ",
	       "no: A request of HTTP/1.1 names its host");
	cr_expect_str_eq(seen, "GET /x 400 127.0.0.1");
	expect("GET /a b" TAIL "\r\n", "HTTP/1.1 400 ", NULL);
	cr_expect_str_eq(seen, "GET /a b 400 127.0.0.1");
	expect("GET /old HTTP/1.0\r\n\r\n", "HTTP/1.", "GET /old HTTP/1.0 ");
	cr_expect_eq(n_told, 0);
}

Test(https_world, what_libmicrohttpd_answers_is_told)
{
	char fill[3 * HEADER_MAX] = {0};
	auto_free char *huge = NULL, *endless = NULL;

	expect_told("POST /n" TAIL "Content-Length: -1\r\n\r\n",
		    "HTTP/1.1 400 ", "/n 400 127.0.0.1");
	expect_told("POST /m" TAIL "Content-Length: "
		    "99999999999999999999999\r\n\r\n",
		    "HTTP/1.1 413 ", "/m 413 127.0.0.1");
	expect_told("GET /c" TAIL "no colon\r\n\r\n", "HTTP/1.1 400 ",
		    "/c 400 127.0.0.1");
	expect_told("GET /v HTTP/9.9\r\nHost: x\r\n\r\n", "HTTP/1.1 505 ",
		    "- 505 127.0.0.1");
	expect_told("GET /v\r\n\r\n", "HTTP/1.", "- 400 127.0.0.1");
	memset(fill, 'x', sizeof(fill) - 1);
	endless = xprintf("GET /h" TAIL "X: %s", fill);
	expect_told(endless, "HTTP/1.1 431 ", "/h 431 127.0.0.1");
	huge = xprintf("GET /%s", fill);
	expect_told(huge, "HTTP/1.", "- 414 127.0.0.1");
}

Test(https_world, who_does_not_end_his_request_is_told)
{
	expect_told("GET /slow HTTP/1.1\r\nX: ", "", "/slow 408 127.0.0.1");
	expect_told("POST /b" TAIL "Content-Length: 5\r\n\r\nabc", "",
		    "/b 408 127.0.0.1");
}

Test(https_world, who_says_nothing_is_not_told)
{
	struct ask ask = {.bytes = ""};

	n_told = 0;
	run(&ask);
	expect("GET /" TAIL "\r\n", "HTTP/1.1 200 ", NULL);
	cr_expect_eq(n_told, 0);
}

/* --- addresses --- */

Test(https_world, one_address_does_not_get_all_connections)
{
	struct ask kept[PER_IP_MAX] = {0}, one_more = {.bytes = ""};
	struct ask other = {.bytes = "GET /" TAIL "\r\n", .elsewhere = true};

	for (size_t i = 0; i < PER_IP_MAX; i++) {
		kept[i] = (struct ask){.bytes = "", .keep = true};
		run(&kept[i]);
	}
	run(&one_more);
	cr_expect_eq(server->accepted, PER_IP_MAX);
	run(&other);
	cr_expect(str_starts(other.answer, "HTTP/1.1 200 "));
	for (size_t i = 0; i < PER_IP_MAX; i++)
		close(kept[i].fd);
	while (server->open > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	expect("GET /" TAIL "\r\n", "HTTP/1.1 200 ", NULL);
}

static enum MHD_Result accepts(struct https_server *s, const char *ip)
{
	struct https_instance i = {.server = s};
	struct sockaddr_in6 address = {.sin6_family = AF_INET6};
	struct sockaddr_in old = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, ip, &old.sin_addr) == 1)
		return https_on_accept(&i, (const void *)&old, sizeof(old));
	cr_assert_eq(inet_pton(AF_INET6, ip, &address.sin6_addr), 1);
	return https_on_accept(&i, (const void *)&address, sizeof(address));
}

static void comes_from(struct https_server *s, const char *ip)
{
	char source[HTTPS_SOURCE_MAX];

	https_source(ip, source);
	https_set_amount(&s->open_by_ip, source,
			 https_amount(&s->open_by_ip, source) + 1);
}

/* Who has one has 2^64 of them. */
Test(https_sources, an_address_of_ipv6_is_that_of_its_network)
{
	struct https_server s = {
		.config = {.connections_max = 9, .connections_per_ip_max = 2}};
	char source[HTTPS_SOURCE_MAX];

	comes_from(&s, "2001:db8::1");
	cr_expect(accepts(&s, "2001:db8::2"));
	comes_from(&s, "2001:db8::2");
	cr_expect_not(accepts(&s, "2001:db8::3"));
	cr_expect(accepts(&s, "2001:db8:0:1::3"));
	https_source("2001:db8::9", source);
	https_set_amount(&s.open_by_ip, source, 1);
	cr_expect(accepts(&s, "2001:db8::3"));
	comes_from(&s, "::ffff:192.0.2.1");
	comes_from(&s, "::ffff:192.0.2.2");
	cr_expect(accepts(&s, "::ffff:192.0.2.2"));
	comes_from(&s, "192.0.2.3");
	comes_from(&s, "192.0.2.3");
	cr_expect_not(accepts(&s, "192.0.2.3"));
	cr_expect(accepts(&s, "192.0.2.4"));
	table_done(&s.open_by_ip, free);
}
