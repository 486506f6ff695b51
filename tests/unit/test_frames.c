/* SPDX-License-Identifier: BSD-2-Clause */
/* Both ends are in this process, on one loop. */
#include <criterion/criterion.h>
#include <signal.h>
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

static void setup(void)
{
	struct error err;

	signal(SIGPIPE, SIG_IGN); /* as in all daemons */
	cr_assert_not_null(mkdtemp(folder));
	socket_path = xprintf("%s/socket", folder);
	tasks_init(uv_default_loop());
	server = frames_listen(socket_path, answer, NULL, &err);
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
