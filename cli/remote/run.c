/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs are started with posix_spawnp().  Their output comes through a pipe,
 * which is read to its end; where a program has left others that keep the pipe
 * open, until DRAIN_MS after its own. */
#include "cli/remote/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gantry-config.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define DRAIN_MS 500
/* So often it is looked whether a program that says nothing has ended. */
#define LOOK_MS 100

extern char **environ;

char *run_find(const char *program)
{
	/* Relative to this binary: works in a build, and in an installation
	 * that was moved. */
	static const char *const beside[] = {"../bin", ".",
					     "../lib/ganeti/iallocators"};
	auto_free char *own = fs_own_folder();
	auto_strv struct strv candidates = {0};

	for (size_t i = 0; own != NULL && i < 3; i++)
		strv_addf(&candidates, "%s/%s/%s", own, beside[i], program);
	strv_addf(&candidates, "%s/%s", GANTRY_BINDIR, program);
	strv_addf(&candidates, "%s/%s", GANTRY_IALLOCATOR_DIR, program);
	for (size_t i = 0; i < candidates.n; i++)
		if (fs_is_executable(candidates.items[i]))
			return xstrdup(candidates.items[i]);
	return xstrdup(program);
}

/* Whether env replaces this variable of our environment. */
static bool overridden(const char *variable, const char *const *env)
{
	size_t n = strcspn(variable, "=") + 1;

	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		if (strncmp(env[i], variable, n) == 0)
			return true;
	return false;
}

static pid_t start(const char *const *argv, const char *const *env,
		   const posix_spawn_file_actions_t *files, struct error *err)
{
	auto_strv struct strv all = {0};
	pid_t pid;
	int rc;

	for (size_t i = 0; environ[i] != NULL; i++)
		if (!overridden(environ[i], env))
			strv_add(&all, environ[i]);
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		strv_add(&all, env[i]);
	rc = posix_spawnp(&pid, argv[0], files, NULL, mem_unconst(argv),
			  all.items);
	if (rc != 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot run %s: %s", argv[0], strerror(rc));
	return pid;
}

pid_t run_start(const char *const *argv, const char *const *env,
		struct error *err)
{
	return start(argv, env, NULL, err);
}

/* Whether the program has ended, which is still to be waited for. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) <
		       0 ||
	       info.si_pid != 0;
}

/* Add what can be read now; what is beyond the limit is dropped.  False: that
 * was all. */
static bool read_some(int fd, struct buf *text)
{
	char chunk[8192];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n > 0 && text->len < RUN_OUTPUT_MAX)
		buf_add(text, chunk, (size_t)n);
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Read all output, so that the program is not blocked. */
static char *read_all(int fd, pid_t pid)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	struct buf text = {0};
	int64_t deadline_us = INT64_MAX; /* until it has ended */

	while (clock_mono_us() < deadline_us) {
		if (deadline_us == INT64_MAX && has_ended(pid))
			deadline_us = clock_mono_us() + DRAIN_MS * 1000;
		if (poll(&ready, 1, LOOK_MS) > 0 && !read_some(fd, &text))
			break;
	}
	return text.data == NULL ? xstrdup("") : text.data;
}

int run_output(const char *const *argv, const char *const *env,
	       char **ret_output, struct error *err)
{
	posix_spawn_file_actions_t files;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot make a pipe: %s", strerror(errno));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
					 O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
	pid = start(argv, env, &files, err);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -1;
	}
	*ret_output = read_all(ends[0], pid);
	close(ends[0]);
	return run_wait(pid);
}

int run_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
