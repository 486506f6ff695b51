/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon writes its PID file when it shows the image, and says in the file
 * AT.err why it cannot.  SIGTERM makes it write everything to the image and
 * take the file away; it is told so by us, or by the kernel when we die.  It is
 * in a session of its own, as who ends us kills our process group. */
#include "noded/impexp/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define PROGRAM "qemu-storage-daemon"
#define BEGIN_MS 20000
/* It writes what it has not written yet. */
#define END_MS 600000
#define POLL_MS 5
#define ERROR_MAX 2000

static char *beside(const char *at, const char *ending)
{
	return xprintf("%s%s", at, ending);
}

static void forget_files(const char *at)
{
	auto_free char *pid_file = beside(at, ".pid");
	auto_free char *err_file = beside(at, ".err");

	unlink(pid_file);
	unlink(err_file);
	unlink(at);
}

/* What a daemon that was killed has left. */
static int make_file(const char *at, struct error *err)
{
	int fd;

	umount2(at, MNT_DETACH); /* fails where nothing was left */
	forget_files(at);
	fd = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(err, ERR_SYSTEM, NULL, "%s: can't make: %s",
				 at, strerror(errno));
	close(fd);
	return 0;
}

/* --- the daemon --- */

static char *drive(const char *image, bool writable)
{
	auto_json json_t *node = json_make(
		"{s:s, s:s, s:b, s:s, s:{s:s, s:s, s:b, s:s}}", "driver",
		"qcow2", "node-name", "disk", "read-only", !writable, "discard",
		"unmap", "file", "driver", "file", "filename", image,
		"read-only", !writable, "discard", "unmap");

	return json_text(node);
}

static char *export(const char *at, bool writable)
{
	auto_json json_t *shown =
		json_make("{s:s, s:s, s:s, s:s, s:b, s:s}", "type", "fuse",
			  "id", "raw", "node-name", "disk", "mountpoint", at,
			  "writable", writable, "allow-other", "off");

	return json_text(shown);
}

static void run_daemon(const char *image, bool writable, const char *at)
{
	auto_free char *pid_file = beside(at, ".pid");
	auto_free char *err_file = beside(at, ".err");
	auto_free char *blockdev = drive(image, writable);
	auto_free char *shown = export(at, writable);
	int null_fd = open("/dev/null", O_RDWR);
	int err_fd = open(err_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	sigset_t none;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null_fd, STDIN_FILENO);
	dup2(null_fd, STDOUT_FILENO);
	dup2(err_fd, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	execlp(PROGRAM, PROGRAM, "--blockdev", blockdev, "--export", shown,
	       "--pidfile", pid_file, NULL);
	fprintf(stderr,
		"there is no %s on this node (Debian's package "
		"qemu-system-common)\n",
		PROGRAM);
	_exit(1);
}

/* --- begin --- */

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int did_not_begin(const char *image, const char *at, struct error *err)
{
	auto_free char *file = beside(at, ".err");
	struct error ignored;
	auto_free char *text = fs_read(file, ERROR_MAX, NULL, &ignored);

	if (text != NULL)
		text[strcspn(text, "\n")] = '\0';
	return error_set(err, ERR_SYSTEM, NULL, "Cannot open the image %s: %s",
			 image, str_empty(text) ? PROGRAM " hangs" : text);
}

static int wait_begun(const char *image, const char *at, pid_t pid,
		      struct error *err)
{
	auto_free char *pid_file = beside(at, ".pid");

	for (int waited = 0; waited < BEGIN_MS; waited += POLL_MS) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return did_not_begin(image, at, err);
		if (fs_exists(pid_file))
			return 0;
		pause_ms(POLL_MS);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return did_not_begin(image, at, err);
}

int lend_begin(const char *image, bool writable, const char *at,
	       struct lend *ret, struct error *err)
{
	pid_t pid;

	if (make_file(at, err) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run_daemon(image, writable, at);
	if (pid < 0) {
		forget_files(at);
		return error_set(err, ERR_SYSTEM, NULL,
				 "Cannot start " PROGRAM ": %s",
				 strerror(errno));
	}
	if (wait_begun(image, at, pid, err) < 0) {
		umount2(at, MNT_DETACH);
		forget_files(at);
		return -1;
	}
	*ret = (struct lend){.at = xstrdup(at), .pid = pid};
	return 0;
}

/* --- end --- */

/* How it ended, as waitpid() says it; -1: not in time. */
static int wait_ended(pid_t pid)
{
	int status;

	for (int waited = 0; waited < END_MS; waited += POLL_MS) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		pause_ms(POLL_MS);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

int lend_end(struct lend *l, struct error *err)
{
	auto_free char *at = steal(&l->at);
	int status;

	if (l->pid == 0)
		return 0;
	kill(l->pid, SIGTERM);
	status = wait_ended(l->pid);
	l->pid = 0;
	umount2(at, MNT_DETACH); /* where it could not */
	forget_files(at);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, NULL,
			 PROGRAM " did not end in order; what was written to "
				 "the image may be lost");
}

/* --- while a program runs --- */

static int complain(const struct error *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

/* Its exit status; one that a signal ended takes us along. */
static int run_program(char **argv)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		fprintf(stderr, "Cannot run %s: %s\n", argv[0],
			strerror(errno));
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int lend_all(char **pairs, size_t n, struct lend *lent,
		    struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (lend_begin(pairs[2 * i], true, pairs[2 * i + 1], &lent[i],
			       err) < 0)
			return -1;
	return 0;
}

int lend_run(char **argv)
{
	auto_free struct lend *lent = NULL;
	struct error err;
	size_t words = 0, n;
	int rc;

	while (argv[words] != NULL && strcmp(argv[words], "--") != 0)
		words++;
	if (argv[words] == NULL || argv[words + 1] == NULL || words % 2 != 0)
		return 1;
	n = words / 2;
	lent = xcalloc(n + 1, sizeof(*lent));
	rc = lend_all(argv, n, lent, &err) < 0 ? complain(&err)
					       : run_program(argv + words + 1);
	for (size_t i = 0; i < n; i++)
		if (lend_end(&lent[i], &err) < 0 && rc == 0)
			rc = complain(&err);
	return rc;
}
