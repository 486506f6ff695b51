/* SPDX-License-Identifier: BSD-2-Clause */
/* What the HTTPS server does with those who speak badly, or not at all. */
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "tests/lib/https_pair.h"

TestSuite(https_hostile, .init = pair_setup, .fini = pair_teardown,
	  .timeout = 60);

/* What a client may send that is no HTTP. */
struct raw {
	const char *bytes;
	size_t len; /* 0: of the string */
	int status; /* expected; 0: the connection just ends */
	char answer[2000];
	bool waits; /* the server had not ended it when we gave up */
};

static int connect_raw(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct timeval limit = {.tv_sec = 10};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)https_server_port(pair.server));
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
	gnutls_certificate_set_x509_key_file(credentials, pair.node, pair.node,
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
		raw->waits = n == GNUTLS_E_AGAIN;
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

Test(https_hostile, malformed_requests_end_with_an_error)
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
			  "Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n",
		 .status = 411},
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
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *line = xprintf("HTTP/1.1 %d ", cases[i].status);

		task_spawn("raw", raw_task, &cases[i]);
		pair_run();
		cr_expect(cases[i].status == 0
				  ? cases[i].answer[0] != 'H' ||
					    strstr(cases[i].answer, " 400 ")
				  : str_starts(cases[i].answer, line),
			  "case %zu: %.40s", i, cases[i].answer);
	}
	cr_expect_eq(pair.handled, 1);
	call_expect(&after, 200, "x");
}

#define POST "POST /echo HTTP/1.1\r\n"
#define HOST "Host: x\r\n"
#define EMPTY "Connection: close\r\nContent-Length: 0\r\n"

#define RAW(s)                                                                 \
	{                                                                      \
		.bytes = s, .len = sizeof(s) - 1, .status = 400                \
	}

Test(https_hostile, what_could_be_read_in_two_ways_is_refused)
{
	struct raw cases[] = {
		RAW("POST /echo HTTP/1.1\n" HOST EMPTY "\r\n"),
		RAW(POST "Host: x\n" EMPTY "\r\n"),
		RAW(POST HOST "Content-Length: 1\n\r\nx"),
		RAW(POST HOST "Content-Length: 1\r\n\nx"),
		RAW(POST HOST EMPTY "X: a\rY: b\r\n\r\n"),
		RAW(POST HOST EMPTY "X: a\0b\r\n\r\n"),
		RAW(POST HOST EMPTY "X: a\0b\r\nY: c\r\n\r\n"),
		RAW(POST HOST EMPTY "X\0: a\r\n\r\n"),
		RAW(POST HOST EMPTY "X: a\r\n b\r\n\r\n"),
		RAW(POST HOST EMPTY "X: a\r\n\tb\r\nY: c\r\n\r\n"),
		RAW(POST "Host: x\r\n y\r\n" EMPTY "\r\n"),
		RAW(POST " Host: x\r\n" EMPTY "\r\n"),
		RAW(POST HOST "Host: y\r\n" EMPTY "\r\n"),
		RAW(POST HOST EMPTY ": a\r\n\r\n"),
		RAW(POST HOST EMPTY "X y: a\r\n\r\n"),
		RAW(POST HOST EMPTY "X: a\x01\r\n\r\n"),
		RAW("POST /echo%00x HTTP/1.1\r\n" HOST EMPTY "\r\n"),
		RAW("POST /echo\0x HTTP/1.1\r\n" HOST EMPTY "\r\n"),
		RAW("POST /echo HTTP/1.1\0\r\n" HOST EMPTY "\r\n"),
	};
	struct raw good = {.bytes = POST HOST EMPTY "X:a\r\nY: \t b c \r\n"
						    "Z:\r\n\r\n"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		task_spawn("raw", raw_task, &cases[i]);
		pair_run();
		cr_expect(cases[i].answer[0] == '\0' ||
				  str_starts(cases[i].answer, "HTTP/1.1 400 "),
			  "case %zu: %.40s", i, cases[i].answer);
		cr_expect_eq(pair.handled, 0, "case %zu", i);
	}
	task_spawn("raw", raw_task, &good);
	pair_run();
	cr_expect(str_starts(good.answer, "HTTP/1.1 200 "), "%.40s",
		  good.answer);
}

/* Where a connection has more than one request. */
Test(https_hostile, each_request_of_a_connection_is_looked_at)
{
	struct raw raw = {.bytes = POST HOST
			  "Content-Length: 3\r\n\r\nabc" POST HOST
			  "Content-Length: 2\r\n\r\nde" POST HOST "X: a\n" EMPTY
			  "\r\n"};
	const char *bad;

	task_spawn("raw", raw_task, &raw);
	pair_run();
	cr_expect_eq(pair.handled, 2);
	bad = strstr(raw.answer, "HTTP/1.1 400 ");
	cr_expect_not_null(bad, "%s", raw.answer);
}

/* More than there are places, none with a certificate. */
#define N_STRANGERS (HTTPS_STRANGERS_MAX + 100)

Test(https_hostile, strangers_keep_nobody_out)
{
	struct call call = {.path = "/echo", .body = "x"};
	int fds[N_STRANGERS];
	char byte;

	for (int i = 0; i < N_STRANGERS; i++) {
		fds[i] = connect_raw();
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	}
	call_expect(&call, 200, "x");
	cr_expect_eq(read(fds[0], &byte, 1), 0, "the oldest went");
	cr_expect_eq(recv(fds[N_STRANGERS - 1], &byte, 1, MSG_DONTWAIT), -1,
		     "the newest stays");
	for (int i = 0; i < N_STRANGERS; i++)
		close(fds[i]);
	call_expect(&call, 200, "x");
	cr_expect_eq(https_server_accepted(pair.server), N_STRANGERS + 1,
		     "the known one stays as well");
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

Test(https_hostile, plain_http_is_not_spoken)
{
	struct call after = {.path = "/echo", .body = "x"};

	task_spawn("plain", plain_task, NULL);
	pair_run();
	cr_assert_eq(pair.handled, 0);
	call_expect(&after, 200, "x");
}

static void setup_slow(void)
{
	pair.limit_ms = 1000; /* a busy machine takes a while to shake hands */
	pair_setup();
}

TestSuite(https_slow, .init = setup_slow, .fini = pair_teardown, .timeout = 60);

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
	pair_run();
	cr_assert_eq(heard, 0);
}

static void assert_ends(const char *bytes)
{
	struct call after = {.path = "/echo", .body = "x"};
	struct raw raw = {.bytes = bytes};

	task_spawn("raw", raw_task, &raw);
	pair_run();
	cr_assert_not(raw.waits);
	cr_assert_eq(pair.handled, 0);
	call_expect(&after, 200, "x");
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
	while (pair.handled == 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	turn_for_ms(2 * pair.limit_ms);
	pair.gate_open = true;
	cond_signal(&pair.gate);
	pair_run();
	cr_assert_eq(slow.rc, 0, "%s", slow.err.text);
	free(slow.reply);
	turn_for_ms(2 * pair.limit_ms);
	call_expect(&after, 200, "x");
	cr_assert_eq(https_server_accepted(pair.server), 1);
}
