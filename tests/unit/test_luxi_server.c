/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/luxi/luxi_server.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "tests/lib/luxi_sock.h"
#include "tests/lib/root.h"

static struct test_root root;
static struct luxi_server *server;
static struct luxi_request *held; /* a call that is not answered yet */
static bool stopped, hurried;
static unsigned message_ms; /* 0: as in life */
static size_t output_max;   /* the same */
static size_t n_pieces;	    /* of the answer in pieces that were sent */
static bool pieces_over;
static char *big; /* text of a big answer */

static void on_hurry(struct luxi_request *r)
{
	hurried = true;
	held = NULL;
	luxi_answer(r, json_string("hurried"), NULL);
}

/* A text of ever so many "x", as long as somebody wants more of it. */
static void pieces_task(void *arg)
{
	struct luxi_request *r = arg;
	int left = (int)json_int(r->message, "args", 0);
	auto_buf struct buf text = {0};

	buf_adds(&text, "{\"success\":true,\"result\":\"");
	for (; left > 0 && !luxi_client_gone(r); left--) {
		for (size_t i = 0; i < LUXI_PIECE; i++)
			buf_addc(&text, 'x');
		if (luxi_answer_piece(r, &text) == 0)
			n_pieces++;
	}
	pieces_over = true;
	buf_adds(&text, "\"}");
	luxi_answer_end(r, &text);
}

/* {"method": "echo", "args": x} answers x. */
static void handle(void *arg, struct luxi_request *r)
{
	const char *method = json_str(r->message, "method", "");
	struct error err;

	(void)arg;
	if (str_eq(method, "hold")) {
		held = r;
		r->hurry = on_hurry;
	} else if (str_eq(method, "fail")) {
		error_set(&err, ERR_PREREQ, ECODE_STATE, "no \"way\"");
		luxi_answer(r, NULL, &err);
	} else if (str_eq(method, "big")) {
		luxi_answer(r, json_string(big), NULL);
	} else if (str_eq(method, "pieces")) {
		task_spawn("pieces", pieces_task, r);
	} else if (str_eq(method, "echo")) {
		luxi_answer(r, json_incref(json_object_get(r->message, "args")),
			    NULL);
	} else {
		luxi_reject(r, "what?");
	}
}

static void setup(void)
{
	struct error err;

	signal(SIGPIPE, SIG_IGN); /* as daemons do */
	mem_init();
	test_root_create(&root);
	test_loop_start();
	server = luxi_server_create(
		&(struct luxi_server_config){
			.sockets =
				(const char *[]){
					path(root.paths, PATH_QUERY_SOCKET),
					path(root.paths, PATH_MASTER_SOCKET),
					NULL},
			.handle = handle,
			.message_ms = message_ms,
			.output_max = output_max,
		},
		&err);
	cr_assert_not_null(server, "%s", err.text);
}

static void on_stopped(void *arg)
{
	(void)arg;
	stopped = true;
}

static void teardown(void)
{
	if (server != NULL)
		luxi_server_stop(server, on_stopped, NULL);
	while (!stopped)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	test_run_tasks();
	test_loop_stop();
	test_root_destroy(&root);
	free(big);
}

TestSuite(luxi_server, .init = setup, .fini = teardown);

static int connect_to(enum path_id id)
{
	return sock_connect(path(root.paths, id));
}

#define REJECTED "{\"success\":false,\"result\":\"Failed to parse request: "

static void assert_rejected(const char *bytes, size_t len)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	auto_free char *heard = NULL;

	cr_assert(sock_send(fd, bytes, len));
	sock_say(fd, "");
	heard = sock_hear(fd);
	cr_assert(str_starts(heard, REJECTED), "%s", heard);
	assert_hear(fd, "closed");
	close(fd);
}

Test(luxi_server, both_sockets_answer)
{
	int a = connect_to(PATH_QUERY_SOCKET);
	int b = connect_to(PATH_MASTER_SOCKET);
	struct stat st;

	sock_say(a, "{\"method\":\"echo\",\"args\":[1]}");
	sock_say(b, "{\"method\":\"echo\",\"args\":[2]}");
	assert_hear(a, "{\"success\":true,\"result\":[1]}");
	assert_hear(b, "{\"success\":true,\"result\":[2]}");
	cr_assert_eq(stat(path(root.paths, PATH_QUERY_SOCKET), &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0660);
	close(a);
	close(b);
}

Test(luxi_server, many_requests_on_one_connection)
{
	int fd = connect_to(PATH_QUERY_SOCKET);

	cr_assert(sock_send(fd, "{\"method\":\"echo\",", 17));
	sock_say(fd, "\"args\":1}\x03{\"method\":\"echo\",\"args\":2}");
	assert_hear(fd, "{\"success\":true,\"result\":1}");
	assert_hear(fd, "{\"success\":true,\"result\":2}");
	sock_say(fd, "{\"method\":\"echo\",\"args\":3}");
	assert_hear(fd, "{\"success\":true,\"result\":3}");
	close(fd);
}

Test(luxi_server, errors_have_class_and_arguments)
{
	int fd = connect_to(PATH_QUERY_SOCKET);

	sock_say(fd, "{\"method\":\"fail\"}");
	assert_hear(fd, "{\"success\":false,\"result\":[\"OpPrereqError\","
			"[\"no \\\"way\\\"\",\"wrong_state\"]]}");
	sock_say(fd, "{\"method\":\"echo\",\"args\":3}");
	assert_hear(fd, "{\"success\":true,\"result\":3}");
	close(fd);
}

Test(luxi_server, garbage_is_answered_and_closed)
{
	auto_free char *deep = xalloc(200001);

	memset(deep, '[', 100000);
	memset(deep + 100000, ']', 100000);
	assert_rejected("", 0);
	assert_rejected("hello", 5);
	assert_rejected("{\"method\":", 10);
	assert_rejected("\0\xff\xfe", 3);
	assert_rejected("{\"a\":1,\"a\":2}", 13);
	assert_rejected("[1,2]", 5);
	assert_rejected(deep, 200000);
}

Test(luxi_server, a_big_message_is_parsed_beside_the_loop)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	size_t len = 3 * 1024 * 1024;
	auto_free char *text = xalloc(len + 1);
	auto_free char *heard = NULL;

	memset(text, 'x', len);
	cr_assert(sock_send(fd, "{\"method\":\"echo\",\"args\":\"", 25));
	cr_assert(sock_send(fd, text, len));
	sock_say(fd, "\"}");
	heard = sock_hear(fd);
	cr_assert_eq(strlen(heard), len + 28);
	close(fd);
}

/* Say an echo whose message has this length; what is heard. */
static char *echo_of(size_t len)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	static const char before[] = "{\"method\":\"echo\",\"args\":\"";
	size_t n = len - strlen(before) - strlen("\"}");
	auto_free char *text = xalloc(n);
	char *heard;

	memset(text, 'x', n);
	cr_assert(sock_send(fd, before, strlen(before)));
	cr_assert(sock_send(fd, text, n));
	sock_say(fd, "\"}");
	heard = sock_hear(fd);
	close(fd);
	return heard;
}

Test(luxi_server, messages_of_64_mib_are_taken_and_no_longer_ones)
{
	auto_free char *most = echo_of(LUXI_MESSAGE_MAX);
	auto_free char *more = echo_of(LUXI_MESSAGE_MAX + 1);

	cr_assert_gt(strlen(most), LUXI_MESSAGE_MAX - 100);
	cr_assert_not_null(strstr(more, "longer than 64 MiB"), "%.100s", more);
}

/* The client is heard out, so that it can hear why. */
Test(luxi_server, too_long_a_message_is_refused)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	size_t len = 1024 * 1024;
	auto_free char *chunk = xalloc(len);
	auto_free char *heard = NULL;

	memset(chunk, ' ', len);
	for (int sent = 0; sent < 70; sent++)
		cr_assert(sock_send(fd, chunk, len));
	sock_say(fd, "");
	heard = sock_hear(fd);
	cr_assert_not_null(strstr(heard, "longer than 64 MiB"), "%s", heard);
	assert_hear(fd, "closed");
	close(fd);
}

Test(luxi_server, the_end_of_too_long_a_message_may_miss)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	size_t len = 1024 * 1024;
	auto_free char *chunk = xalloc(len);
	auto_free char *heard = NULL;

	memset(chunk, ' ', len);
	for (int sent = 0; sent < 65; sent++)
		cr_assert(sock_send(fd, chunk, len));
	heard = sock_hear(fd);
	cr_assert_not_null(strstr(heard, "longer than 64 MiB"), "%s", heard);
	shutdown(fd, SHUT_WR);
	assert_hear(fd, "closed");
	close(fd);
}

Test(luxi_server, a_client_that_does_not_read_blocks_nobody)
{
	int slow = connect_to(PATH_QUERY_SOCKET);
	int quick = connect_to(PATH_QUERY_SOCKET);

	big = xalloc(4 * 1024 * 1024 + 1);
	memset(big, 'b', 4 * 1024 * 1024);
	for (int i = 0; i < 20; i++)
		sock_say(slow, "{\"method\":\"big\"}");
	sock_say(quick, "{\"method\":\"echo\",\"args\":3}");
	assert_hear(quick, "{\"success\":true,\"result\":3}");
	close(slow);
	close(quick);
}

Test(luxi_server, an_answer_in_pieces_is_one_message)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	auto_free char *heard = NULL;

	sock_say(fd, "{\"method\":\"pieces\",\"args\":10}");
	sock_say(fd, "{\"method\":\"echo\",\"args\":3}");
	heard = sock_hear(fd);
	cr_assert_eq(strlen(heard), 10 * LUXI_PIECE + 28);
	assert_hear(fd, "{\"success\":true,\"result\":3}");
	close(fd);
}

/* What the kernel keeps of it, and two. */
Test(luxi_server, who_does_not_read_costs_two_pieces)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	int quick = connect_to(PATH_QUERY_SOCKET);
	int size = 0;
	socklen_t len = sizeof(size);

	sock_say(fd, "{\"method\":\"pieces\",\"args\":1000}");
	while (n_pieces == 0)
		sock_turn();
	for (int i = 0; i < 1000; i++) {
		sock_say(quick, "{\"method\":\"echo\",\"args\":3}");
		assert_hear(quick, "{\"success\":true,\"result\":3}");
	}
	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &len);
	cr_assert_leq(n_pieces, 2 + (size_t)size / LUXI_PIECE, "%zu", n_pieces);
	close(fd);
	while (!pieces_over)
		sock_turn();
	cr_assert_leq(n_pieces, 3 + (size_t)size / LUXI_PIECE, "%zu", n_pieces);
	close(quick);
}

static void setup_small_output(void)
{
	output_max = 10 * 1024 * 1024;
	setup();
}

TestSuite(luxi_output, .init = setup_small_output, .fini = teardown,
	  .timeout = 30);

/* Three of 4 MiB are too much: the one goes that has not read for longest. */
Test(luxi_output, all_answers_together_have_a_limit)
{
	int fds[3];
	auto_free char *heard = NULL;

	big = xalloc(4 * 1024 * 1024 + 1);
	memset(big, 'b', 4 * 1024 * 1024);
	for (int i = 0; i < 3; i++) {
		fds[i] = connect_to(PATH_QUERY_SOCKET);
		sock_say(fds[i], "{\"method\":\"big\"}");
		for (int k = 0; k < 10; k++)
			sock_turn();
	}
	cr_assert_eq(luxi_server_connections(server), 2);
	for (int i = 1; i < 3; i++) {
		auto_free char *text = sock_hear(fds[i]);

		cr_assert_eq(strlen(text), 4 * 1024 * 1024 + 28);
	}
	heard = sock_hear(fds[0]);
	cr_assert(str_ends(heard, "closed"), "cut, not ended");
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

Test(luxi_output, one_answer_alone_may_be_longer)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	auto_free char *heard = NULL;

	big = xalloc(16 * 1024 * 1024 + 1);
	memset(big, 'b', 16 * 1024 * 1024);
	sock_say(fd, "{\"method\":\"big\"}");
	heard = sock_hear(fd);
	cr_assert_eq(strlen(heard), 16 * 1024 * 1024 + 28);
	close(fd);
}

Test(luxi_server, calls_answer_in_any_order)
{
	int a = connect_to(PATH_QUERY_SOCKET);
	int b = connect_to(PATH_QUERY_SOCKET);

	sock_say(a, "{\"method\":\"hold\"}");
	sock_say(b, "{\"method\":\"echo\",\"args\":3}");
	assert_hear(b, "{\"success\":true,\"result\":3}");
	cr_assert_not_null(held);
	held->hurry = NULL;
	luxi_answer(steal(&held), json_string("late"), NULL);
	assert_hear(a, "{\"success\":true,\"result\":\"late\"}");
	close(a);
	close(b);
}

Test(luxi_server, a_call_learns_that_its_client_closed)
{
	int fd = connect_to(PATH_QUERY_SOCKET);

	sock_say(fd, "{\"method\":\"hold\"}");
	while (held == NULL)
		sock_turn();
	shutdown(fd, SHUT_WR);
	assert_hear(fd, "{\"success\":true,\"result\":\"hurried\"}");
	assert_hear(fd, "closed");
	cr_assert(hurried);
	close(fd);
}

Test(luxi_server, a_client_may_vanish_in_a_call)
{
	int fd = connect_to(PATH_QUERY_SOCKET);

	sock_say(fd, "{\"method\":\"hold\"}");
	while (held == NULL)
		sock_turn();
	held->hurry = NULL;
	close(fd);
	for (int i = 0; i < 10; i++)
		sock_turn();
	luxi_answer(steal(&held), json_string("to nobody"), NULL);
	while (luxi_server_connections(server) > 0)
		sock_turn();
}

Test(luxi_server, the_end_hurries_those_who_wait)
{
	int fd = connect_to(PATH_QUERY_SOCKET);

	sock_say(fd, "{\"method\":\"hold\"}");
	while (held == NULL)
		sock_turn();
	luxi_server_stop(server, on_stopped, NULL);
	assert_hear(fd, "{\"success\":true,\"result\":\"hurried\"}");
	assert_hear(fd, "closed");
	close(fd);
	while (!stopped)
		sock_turn();
	server = NULL;
}

/* The call still runs when the server has stopped and its client is gone. */
Test(luxi_server, the_end_waits_for_calls_of_those_who_left)
{
	int fd = connect_to(PATH_QUERY_SOCKET);

	sock_say(fd, "{\"method\":\"hold\"}");
	while (held == NULL)
		sock_turn();
	held->hurry = NULL;
	/* What the client does not read makes its end a reset. */
	sock_say(fd, "{\"method\":\"echo\",\"args\":3}");
	close(fd);
	luxi_server_stop(server, on_stopped, NULL);
	for (int i = 0; i < 20; i++)
		sock_turn();
	cr_assert(!stopped);
	luxi_answer(steal(&held), json_string("to nobody"), NULL);
	while (!stopped)
		sock_turn();
	server = NULL;
}

static void setup_slow(void)
{
	message_ms = 100;
	setup();
}

TestSuite(luxi_slow, .init = setup_slow, .fini = teardown, .timeout = 30);

Test(luxi_slow, a_message_has_to_end)
{
	int half = connect_to(PATH_QUERY_SOCKET);
	int idle = connect_to(PATH_QUERY_SOCKET);
	int64_t until;

	cr_assert(sock_send(half, "{\"method\":", 10));
	assert_hear(half, "closed");
	/* A byte now and then does not help. */
	close(half);
	half = connect_to(PATH_QUERY_SOCKET);
	until = clock_mono_us() + 10000000;
	while (sock_send(half, " ", 1))
		cr_assert_lt(clock_mono_us(), until);
	/* Who says nothing may stay. */
	sock_say(idle, "{\"method\":\"echo\",\"args\":3}");
	assert_hear(idle, "{\"success\":true,\"result\":3}");
	close(half);
	close(idle);
}

static size_t lines_of(const char *file)
{
	struct error err;
	auto_free char *text = fs_read(file, 1 << 20, NULL, &err);
	size_t n = 0;

	cr_assert_not_null(text, "%s", err.text);
	for (const char *c = text; *c != '\0'; c++)
		n += *c == '\n';
	return n;
}

Test(luxi_slow, half_messages_make_one_line_of_log)
{
	auto_free char *file = xprintf("%s/log", root.top);
	struct error err;
	int fds[20];

	cr_assert_eq(log_open(file, &err), 0);
	for (int i = 0; i < 20; i++) {
		fds[i] = connect_to(PATH_QUERY_SOCKET);
		cr_assert(sock_send(fds[i], "{\"method\":", 10));
	}
	for (int i = 0; i < 20; i++) {
		assert_hear(fds[i], "closed");
		close(fds[i]);
	}
	cr_assert_eq(lines_of(file), 1);
	cr_assert_eq(log_open(NULL, &err), 0);
}

/* The limit is for the client: the call itself may take longer. */
Test(luxi_slow, a_call_may_take_longer)
{
	int fd = connect_to(PATH_QUERY_SOCKET);
	int64_t until;

	sock_say(fd, "{\"method\":\"hold\"}");
	until = clock_mono_us() + 300000;
	while (clock_mono_us() < until)
		sock_turn();
	held->hurry = NULL;
	luxi_answer(steal(&held), json_string("late"), NULL);
	assert_hear(fd, "{\"success\":true,\"result\":\"late\"}");
	close(fd);
}

Test(luxi_server, a_long_path_is_refused)
{
	auto_free char *name = xalloc(200);
	struct error err;

	memset(name, 'p', 150);
	name[0] = '/';
	cr_assert_null(luxi_server_create(
		&(struct luxi_server_config){
			.sockets = (const char *[]){name, NULL},
			.handle = handle,
		},
		&err));
	cr_assert_not_null(strstr(err.text, "107"));
}
