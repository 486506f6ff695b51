/* SPDX-License-Identifier: BSD-2-Clause */
/* Births, ends and entries of processes with namespaces of their own.
 *
 * A birth takes up to three forks: into `within` (a PID namespace is that of
 * children only), then into the new spaces, whose first process is to live on.
 * That one first tells its number: over a socket, since there the kernel gives
 * it as the reader counts.  It does nothing before the number is in its pid
 * file.  So whoever reads that file later finds it, whenever this program was
 * killed. */
#include "cli/vcluster/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define BIRTH_S 60
#define END_US 20000000
#define POLL_NS (5 * 1000 * 1000)
#define FDS_MAX 1024

static int fail(struct error *err, const char *what)
{
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot %s: %s", what,
			 strerror(errno));
}

/* --- the newborn's side --- */

/* Nothing of ours is held but these two. */
static void close_others(int keep, int keep_too)
{
	for (int fd = 3; fd < FDS_MAX; fd++)
		if (fd != keep && fd != keep_too)
			close(fd);
}

static void redirect(const char *log)
{
	int in = open("/dev/null", O_RDONLY);
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

	dup2(in, STDIN_FILENO);
	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
	}
}

/* What a host gives to its daemons, and nothing that was meant for us. */
static void forget_environment(void)
{
	unsetenv("GANETI_ROOTDIR");
	unsetenv("GANETI_HOSTNAME");
	unsetenv("GANETI_NODED_PORT");
	unsetenv("GANETI_RAPI_PORT");
	unsetenv("SSH_AUTH_SOCK");
	setenv("HOME", "/root", 1);
}

static _Noreturn void reap(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		sigwait(&set, &sig);
	}
}

/* Answer with how it went. */
static int answer(int sock, int rc, const struct error *err)
{
	const char *text = rc < 0 ? err->text : "";

	return send(sock, text, strlen(text) + 1, MSG_NOSIGNAL) < 0 ? -1 : rc;
}

static _Noreturn void live(const struct machine_birth *b, int sock)
{
	struct error err;
	char go;

	setsid();
	if (send(sock, "", 1, MSG_NOSIGNAL) < 0 || recv(sock, &go, 1, 0) != 1)
		_exit(1);
	if (answer(sock, b->inside(b->arg, &err), &err) < 0)
		_exit(1);
	close(sock);
	reap();
}

/* In `within`: the new spaces, and the first process in them. */
static int deliver(const struct machine_birth *b, int sock)
{
	struct error err;
	pid_t pid;

	if (b->before != NULL && b->before(b->arg, &err) < 0)
		return answer(sock, -1, &err);
	if (unshare(b->spaces) < 0)
		return answer(sock, fail(&err, "make namespaces"), &err);
	pid = fork();
	if (pid == 0)
		live(b, sock);
	return pid < 0 ? answer(sock, fail(&err, "fork"), &err) : 0;
}

static int go_within(const struct machine_birth *b, int sock)
{
	struct error err;
	pid_t pid;

	if (b->within == 0)
		return deliver(b, sock);
	if (machine_enter(b->within, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID,
			  &err) < 0)
		return answer(sock, -1, &err);
	pid = fork();
	if (pid == 0)
		_exit(deliver(b, sock) < 0);
	return pid < 0 ? -1 : -run_wait(pid);
}

/* --- our side --- */

/* Its number, as we count. */
static pid_t receive_pid(int sock, char *text, size_t size)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = text, .iov_len = size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head;
	struct ucred who = {0};

	if (recvmsg(sock, &message, MSG_CMSG_CLOEXEC) <= 0)
		return 0;
	head = CMSG_FIRSTHDR(&message);
	if (head != NULL && head->cmsg_type == SCM_CREDENTIALS)
		memcpy(&who, CMSG_DATA(head), sizeof(who));
	return who.pid;
}

static int write_pid(int lock, pid_t pid)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)pid);

	return ftruncate(lock, 0) < 0 || pwrite(lock, text, (size_t)n, 0) != n
		       ? -1
		       : 0;
}

/* Follow the birth; *ret_pid: what lives, even when it fails later. */
static int attend(int sock, int lock, pid_t *ret_pid, struct error *err)
{
	char text[ERROR_TEXT_MAX] = "";
	pid_t pid = receive_pid(sock, text, sizeof(text) - 1);

	if (*text != '\0')
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "%s", text);
	if (pid <= 1)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "A process ended before it was born");
	*ret_pid = pid;
	if (write_pid(lock, pid) < 0 || send(sock, "", 1, MSG_NOSIGNAL) != 1)
		return fail(err, "write a pid file");
	if (receive_pid(sock, text, sizeof(text) - 1) == 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "A process ended, or took more than %d s, "
				 "while it was born",
				 BIRTH_S);
	return *text == '\0'
		       ? 0
		       : error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "%s", text);
}

static int open_socket(int ends[2], struct error *err)
{
	struct timeval limit = {.tv_sec = BIRTH_S};
	int on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return fail(err, "make a socket");
	setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return 0;
}

int machine_bear(const struct machine_birth *b, struct error *err)
{
	auto_close int lock = fs_lock(b->pid_file, err);
	pid_t child, pid = 0;
	int ends[2], rc;

	if (lock < 0)
		return -1;
	/* The number of a former life may be anybody's by now. */
	if (ftruncate(lock, 0) < 0)
		return fail(err, "ftruncate");
	if (open_socket(ends, err) < 0)
		return -1;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		close_others(ends[1], lock);
		redirect(b->log);
		forget_environment();
		_exit(go_within(b, ends[1]) < 0);
	}
	close(ends[1]);
	rc = child < 0 ? fail(err, "fork") : attend(ends[0], lock, &pid, err);
	if (rc < 0 && pid > 1)
		kill(pid, SIGKILL);
	close(ends[0]);
	if (child > 0)
		run_wait(child);
	return rc;
}

int machine_end(const char *pid_file, struct error *err)
{
	int64_t deadline = clock_mono_us() + END_US;
	pid_t pid = fs_read_pid(pid_file);

	if (pid == 0)
		return 0;
	if (kill(pid, SIGKILL) < 0 && errno != ESRCH)
		return fail(err, "kill");
	while (fs_read_pid(pid_file) != 0) {
		if (clock_mono_us() > deadline)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "The process %d does not end",
					 (int)pid);
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return 0;
}

int machine_enter(pid_t pid, int spaces, struct error *err)
{
	auto_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 || setns(fd, spaces) < 0)
		return fail(err, "enter the namespaces of a node");
	return 0;
}

/* --- programs --- */

/* A pipe that has the input, which is short. */
static int input_pipe(const char *input)
{
	size_t n = input == NULL ? 0 : strlen(input);
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	if (n > 0 && write(ends[1], input, n) != (ssize_t)n) {
		close(ends[0]);
		ends[0] = -1;
	}
	close(ends[1]);
	return ends[0];
}

int machine_run(int net, const char *const *argv, const char *input,
		struct error *err)
{
	auto_close int in = input_pipe(input);
	pid_t pid;
	int status;

	if (in < 0)
		return fail(err, "give input to a program");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (dup2(in, STDIN_FILENO) < 0 ||
		    (net >= 0 && setns(net, CLONE_NEWNET) < 0))
			_exit(126);
		execvp(argv[0], mem_unconst(argv));
		_exit(127);
	}
	status = pid < 0 ? 127 : run_wait(pid);
	if (status == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "%s %s failed (status %d), see the log in .machine",
			 argv[0], argv[1] == NULL ? "" : argv[1], status);
}
