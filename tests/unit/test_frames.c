/* SPDX-License-Identifier: BSD-2-Clause */
/* Both ends are in this process, on one loop. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/event/frames.h"

#define WAIT_MS 30000
#define SHORT_MS 20
#define LARGE (5u * 1024 * 1024)

static char folder[] = "/tmp/gframes.XXXXXX", *socket_path;
static struct frames_server *server;
static int asked;

/* Kinds of requests: 'e' is sent back, of 'l' as much as LARGE, 's' sleeps
 * after the client has gone, 'n' has no answer. */
static char *answer(void *arg, char kind, const char *data, size_t len)
{
	char *large;

	(void)arg;
	asked++;
	switch (kind) {
	case 'e':
		return xstrndup(data, len);
	case 'l':
		cr_expect_eq(len, LARGE);
		cr_expect_eq(data[LARGE - 1], 'x');
		large = xalloc(LARGE + 1);
		memset(large, 'y', LARGE);
		return large;
	case 's':
		task_sleep(3 * SHORT_MS);
		return xstrdup("late");
	default:
		return NULL;
	}
}

static struct frames_request *taken;

/* 't' is answered by the test, later, and 'a' at once. */
static bool take(void *arg, struct frames_request *r, char kind,
		 const char *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
	if (kind == 't')
		taken = r;
	else if (kind == 'a')
		frames_reply(r, "at once");
	return kind == 't' || kind == 'a';
}

static const struct frames_functions functions = {
	.take = take,
	.answer = answer,
};

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static void setup(void)
{
	struct error err;

	signal(SIGPIPE, SIG_IGN); /* as in all daemons */
	cr_assert_not_null(mkdtemp(folder));
	socket_path = xprintf("%s/socket", folder);
	tasks_init(uv_default_loop());
	server = frames_listen(socket_path, &functions, &err);
	cr_assert_not_null(server, "%s", err.text);
}

static bool all_done(void *arg)
{
	(void)arg;
	return tasks_count() == 0;
}

static void teardown(void)
{
	if (server != NULL)
		frames_stop(server);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(uv_default_loop()), 0);
	unlink(socket_path);
	rmdir(folder);
	free(socket_path);
}

TestSuite(frames, .init = setup, .fini = teardown);

static WAITS void echo(void *arg)
{
	auto_free char *text = xprintf("request %d", *(int *)arg);
	struct error err;
	auto_free char *said =
		frames_ask(socket_path, 'e', text, strlen(text), WAIT_MS, &err);

	cr_assert_str_eq(said, text);
}

/* More than wait at the socket at once. */
Test(frames, each_gets_its_answer)
{
	static int numbers[300];

	for (int i = 0; i < 300; i++) {
		numbers[i] = i;
		task_spawn("client", echo, &numbers[i]);
	}
	tasks_drive(all_done, NULL);
	cr_assert_eq(asked, 300);
}

static WAITS void ask_large(void *arg)
{
	auto_free char *text = xalloc(LARGE);
	auto_free char *said = NULL;
	struct error err;

	(void)arg;
	memset(text, 'x', LARGE);
	said = frames_ask(socket_path, 'l', text, LARGE, WAIT_MS, &err);
	cr_assert_not_null(said, "%s", err.text);
	cr_assert_eq(strlen(said), LARGE);
	cr_assert_eq(said[LARGE - 1], 'y');
}

Test(frames, large_ones_come_whole)
{
	task_spawn("client", ask_large, NULL);
	tasks_drive(all_done, NULL);
	cr_assert_eq(asked, 1);
}

static WAITS void ask_in_vain(void *arg)
{
	struct error err;

	(void)arg;
	cr_expect_null(frames_ask(socket_path, 's', "", 0, SHORT_MS, &err));
	cr_expect_not_null(strstr(err.text, "timed out"), "%s", err.text);
	cr_expect_null(frames_ask(socket_path, 'n', "", 0, WAIT_MS, &err));
	cr_expect_not_null(strstr(err.text, "reset"), "%s", err.text);
	cr_expect_not(error_is(&err, ECODE_REFUSED));
}

Test(frames, no_answer_is_an_error)
{
	task_spawn("client", ask_in_vain, NULL);
	tasks_drive(all_done, NULL);
	cr_assert_eq(asked, 2);
}

static WAITS void ask_nobody(void *arg)
{
	auto_free char *other = xprintf("%s/other", folder);
	struct error err;

	(void)arg;
	cr_expect_null(frames_ask(other, 'e', "", 0, WAIT_MS, &err));
	cr_expect(error_is(&err, ECODE_REFUSED), "%s", err.text);
}

Test(frames, where_nobody_listens_is_told_apart)
{
	task_spawn("client", ask_nobody, NULL);
	tasks_drive(all_done, NULL);
	/* As a program without tasks. */
	ask_nobody(NULL);
}

/* The request before has not been answered yet, and is being read. */
static WAITS void talk_on(void *arg)
{
	static const char request[] = "\1\0\0\0\0\0\0\0s";
	struct sockaddr_un address = address_of(socket_path);
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char byte;

	(void)arg;
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)),
		     0);
	cr_assert_eq(write(fd, request, sizeof(request) - 1),
		     sizeof(request) - 1);
	while (asked == 0)
		task_yield();
	cr_assert_eq(write(fd, request, sizeof(request) - 1),
		     sizeof(request) - 1);
	task_leave();
	cr_expect_eq(read(fd, &byte, 1), 0);
	task_enter();
}

Test(frames, who_talks_on_is_sent_away)
{
	task_spawn("client", talk_on, NULL);
	tasks_drive(all_done, NULL);
	cr_assert_eq(asked, 1);
}

/* --- a daemon that lets nobody in --- */

#define CROWD 8

static bool others_run;

static WAITS void note_turn(void *arg)
{
	(void)arg;
	others_run = true;
}

static WAITS void ask_in_a_crowd(void *arg)
{
	struct error err;

	task_interrupt(task_self());
	task_spawn("other", note_turn, NULL);
	cr_expect_null(frames_ask(arg, 'e', "", 0, SHORT_MS, &err));
	cr_expect_not(error_is(&err, ECODE_REFUSED), "%s", err.text);
	cr_expect(others_run);
}

/* Who has to wait before it is let in holds up nobody, also when its task has
 * been interrupted. */
Test(frames, a_crowd_at_the_socket_holds_up_nobody)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct sockaddr *at = (const struct sockaddr *)&address;
	int fds[CROWD + 1], n = 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/crowd",
		 folder);
	for (int i = 0; i <= CROWD; i++)
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	cr_assert_eq(bind(fds[CROWD], at, sizeof(address)), 0);
	cr_assert_eq(listen(fds[CROWD], 1), 0);
	while (n < CROWD && connect(fds[n], at, sizeof(address)) == 0)
		n++;
	cr_assert_lt(n, CROWD);
	task_spawn("client", ask_in_a_crowd, address.sun_path);
	tasks_drive(all_done, NULL);
	for (int i = 0; i <= CROWD; i++)
		close(fds[i]);
	unlink(address.sun_path);
}

/* --- connections that are kept --- */

static WAITS void ask_three_times(void *arg)
{
	struct frames_line *line = frames_line_create(arg);

	for (int i = 0; i < 3; i++) {
		struct error err;
		auto_free char *said =
			frames_line_ask(line, 'e', "x", 1, WAIT_MS, &err);

		cr_assert_not_null(said, "%s", err.text);
		cr_assert_str_eq(said, "x");
	}
	frames_line_free(line);
}

/* Let one client in, and answer what it asks until it hangs up: the number of
 * requests. */
static void *serve_one(void *arg)
{
	static const char answer_x[] = "\1\0\0\0\0\0\0\0x";
	int fd = accept(*(int *)arg, NULL, NULL);
	char request[64];
	intptr_t n = 0;

	while (recv(fd, request, sizeof(request), 0) > 0) {
		send(fd, answer_x, sizeof(answer_x) - 1, MSG_NOSIGNAL);
		n++;
	}
	close(fd);
	return (void *)n;
}

Test(frames, one_connection_has_all_requests)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t thread;
	void *served;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/one", folder);
	cr_assert_eq(
		bind(listener, (struct sockaddr *)&address, sizeof(address)),
		0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(pthread_create(&thread, NULL, serve_one, &listener), 0);
	task_spawn("client", ask_three_times, address.sun_path);
	tasks_drive(all_done, NULL);
	uv_run(uv_default_loop(), UV_RUN_NOWAIT); /* it hangs up */
	pthread_join(thread, &served);
	cr_assert_eq((intptr_t)served, 3);
	close(listener);
	unlink(address.sun_path);
}

Test(frames, our_server_has_them_too)
{
	task_spawn("client", ask_three_times, socket_path);
	tasks_drive(all_done, NULL);
	cr_assert_eq(asked, 3);
}

static WAITS void ask_two_daemons(void *arg)
{
	struct frames_line *line = frames_line_create(socket_path);
	auto_free char *first = NULL, *none = NULL, *second = NULL;
	struct error err;

	(void)arg;
	first = frames_line_ask(line, 'e', "1", 1, WAIT_MS, &err);
	cr_assert_str_eq(first, "1");
	frames_stop(server);
	none = frames_line_ask(line, 'e', "2", 1, WAIT_MS, &err);
	cr_assert_null(none);
	cr_expect(error_is(&err, ECODE_REFUSED), "%s", err.text);
	server = frames_listen(socket_path, &functions, &err);
	second = frames_line_ask(line, 'e', "3", 1, WAIT_MS, &err);
	cr_assert_str_eq(second, "3");
	frames_line_free(line);
}

/* The daemon closes a connection that is kept, and another one listens later.
 */
Test(frames, the_next_daemon_is_asked_over_a_new_connection)
{
	task_spawn("client", ask_two_daemons, NULL);
	tasks_drive(all_done, NULL);
	cr_assert_eq(asked, 2);
}

static struct frames_line *shared_line;
static int left;

static WAITS void ask_beside_others(void *arg)
{
	struct error err;
	auto_free char *said =
		frames_line_ask(shared_line, 's', "", 0, WAIT_MS, &err);

	(void)arg;
	cr_assert_not_null(said, "%s", err.text);
	left--;
}

/* Each has a connection of its own, and the owner may go first. */
Test(frames, requests_do_not_wait_for_each_other)
{
	shared_line = frames_line_create(socket_path);
	left = 20;
	for (int i = 0; i < 20; i++)
		task_spawn("client", ask_beside_others, NULL);
	while (asked < 20)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	frames_line_free(shared_line);
	tasks_drive(all_done, NULL);
	cr_assert_eq(left, 0);
}

/* --- requests that are answered without a task --- */

static WAITS void ask_at_once(void *arg)
{
	struct error err;
	auto_free char *said =
		frames_ask(socket_path, 'a', "", 0, WAIT_MS, &err);

	(void)arg;
	cr_assert_not_null(said, "%s", err.text);
	cr_assert_str_eq(said, "at once");
}

static WAITS void ask_for_later(void *arg)
{
	struct error err;
	auto_free char *said =
		frames_ask(socket_path, 't', "", 0, WAIT_MS, &err);

	(void)arg;
	cr_assert_not_null(said, "%s", err.text);
	cr_assert_str_eq(said, "later");
}

static void await_taken(void)
{
	while (taken == NULL)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

Test(frames, what_is_taken_is_answered_at_once_or_later)
{
	task_spawn("client", ask_at_once, NULL);
	task_spawn("client", ask_for_later, NULL);
	await_taken();
	frames_reply(taken, "later");
	tasks_drive(all_done, NULL);
	cr_assert_eq(asked, 0);
}

static WAITS void give_up(void *arg)
{
	struct error err;

	(void)arg;
	cr_expect_null(frames_ask(socket_path, 't', "", 0, SHORT_MS, &err));
}

/* The client has hung up, and the server is told to stop. */
Test(frames, an_answer_that_comes_too_late_is_for_nobody)
{
	task_spawn("client", give_up, NULL);
	await_taken();
	tasks_drive(all_done, NULL);
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	frames_stop(steal(&server));
	frames_reply(taken, "late");
}
