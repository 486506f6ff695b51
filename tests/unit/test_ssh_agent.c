/* SPDX-License-Identifier: BSD-2-Clause */
/* Agents that answer something else than what was asked. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/ssh/ssh_agent.h"

static char folder[] = "/tmp/gantry-agent-XXXXXX";
static char *place;

static void setup(void)
{
	tasks_init(uv_default_loop());
	cr_assert_not_null(mkdtemp(folder));
	place = xprintf("%s/agent", folder);
}

static void teardown(void)
{
	unlink(place);
	rmdir(folder);
	free(place);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
}

TestSuite(ssh_agent, .init = setup, .fini = teardown, .timeout = 30);

/* An agent that gives each of these answers to one request, then hangs up. */
struct answer {
	const char *bytes;
	size_t len;
};

static pid_t start_agent(const struct answer *answers, size_t n)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char request[4096];
	pid_t pid;

	unlink(place);
	strcpy(at.sun_path, place);
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	pid = fork();
	if (pid == 0) {
		int peer;

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		peer = accept(fd, NULL, NULL);
		for (size_t i = 0; i < n; i++)
			if (read(peer, request, sizeof(request)) <= 0 ||
			    write(peer, answers[i].bytes, answers[i].len) < 0)
				break;
		_exit(0);
	}
	close(fd);
	return pid;
}

/* One conversation. */
struct talk {
	bool opened, is_signed;
	size_t n_keys, len;
	unsigned char *signature;
};

static void talk_task(void *arg)
{
	static const unsigned char data[] = "data";
	struct talk *t = arg;
	struct ssh_agent a;

	t->opened = ssh_agent_open(&a, place);
	if (!t->opened)
		return;
	t->n_keys = a.n_keys;
	t->is_signed =
		a.n_keys > 0 &&
		ssh_agent_sign(&a, a.keys[0], (struct ssh_bytes){data, 4},
			       (struct ssh_bytes){data, 4}, &t->signature,
			       &t->len);
	ssh_agent_close(&a);
}

static struct talk talk(const struct answer *answers, size_t n)
{
	pid_t pid = start_agent(answers, n);
	struct talk t = {0};

	task_spawn("talk", talk_task, &t);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return t;
}

#define ANSWER(text)                                                           \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}
#define ONE_KEY                                                                \
	ANSWER("\0\0\0\x12\x0c\0\0\0\1"                                        \
	       "\0\0\0\3key"                                                   \
	       "\0\0\0\2me")

Test(ssh_agent, keys_and_signatures)
{
	static const struct answer answers[] = {
		ONE_KEY, ANSWER("\0\0\0\x13\x0e\0\0\0\x0e"
				"\0\0\0\2ed"
				"\0\0\0\4sign")};
	struct talk t = talk(answers, 2);

	cr_expect(t.opened);
	cr_expect_eq(t.n_keys, 1);
	cr_assert(t.is_signed);
	cr_expect(t.len == 4 && memcmp(t.signature, "sign", 4) == 0);
	free(t.signature);
}

Test(ssh_agent, answers_that_make_no_sense)
{
	static const struct answer answers[] = {
		ANSWER(""),
		ANSWER("\0\0\0"),
		ANSWER("\0\0\0\0"),
		ANSWER("\xff\xff\xff\xff"),
		ANSWER("\0\0\0\5\5"),
		ANSWER("\0\0\0\5\x05\0\0\0\0"),
		ANSWER("\0\0\0\1\x0c"),
		ANSWER("\0\0\0\5\x0c\xff\xff\xff\xff"),
		ANSWER("\0\0\0\x09\x0c\0\0\0\1\xff\xff\xff\xff"),
		ANSWER("\0\0\0\x0b\x0c\0\0\0\1\0\0\0\3ke"),
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		cr_expect_not(talk(&answers[i], 1).opened, "%zu", i);
}

Test(ssh_agent, signatures_that_are_none)
{
	static const struct answer bad[] = {
		ANSWER("\0\0\0\1\5"),
		ANSWER("\0\0\0\5\x0e\0\0\0\0"),
		ANSWER("\0\0\0\x09\x0e\0\0\0\4\0\0\0\4"),
		ANSWER("\0\0\0\x0f\x0e\0\0\0\x0a\0\0\0\2ed\0\0\0\0"),
		ANSWER("\0\0\0\x05\x0e\xff\xff\xff\xff"),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const struct answer answers[] = {ONE_KEY, bad[i]};
		struct talk t = talk(answers, 2);

		cr_expect(t.opened);
		cr_expect_not(t.is_signed, "%zu", i);
	}
}

Test(ssh_agent, no_agent)
{
	struct talk t = {0};

	task_spawn("talk", talk_task, &t);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_expect_not(t.opened);
}
