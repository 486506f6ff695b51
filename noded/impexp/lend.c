/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon writes its PID file when it shows the image, and says in the file
 * AT.err why it cannot.  SIGTERM makes it write everything to the image and
 * take the file away; it is told so by us, or by the kernel when we die.  It is
 * in a session of its own, as who ends us kills our process group.
 *
 * It cannot open snapshots.  qemu-nbd can, and passes on to it what is in one,
 * by a socket beside the file. */
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define PROGRAM "qemu-storage-daemon"
#define NBD_PROGRAM "qemu-nbd"
#define BEGIN_MS 20000
/* It writes what it has not written yet. */
#define END_MS 600000
#define POLL_MS 5
#define TELL_MS 500
#define ERROR_MAX 2000
#define FOLDER_FD 3
/* IMAGE SNAPSHOT AT */
#define WORDS_EACH 3

static char *beside(const char *at, const char *ending)
{
	return xprintf("%s%s", at, ending);
}

static void forget_files(const char *at)
{
	auto_free char *pid_file = beside(at, ".pid");
	auto_free char *err_file = beside(at, ".err");
	auto_free char *socket = beside(at, ".nbd");

	unlink(pid_file);
	unlink(err_file);
	unlink(socket);
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

/* The socket, from the open folder of `at`: the kernel takes short paths only,
 * qemu-nbd absolute ones. */
static char *socket_of(const char *at, int folder_fd)
{
	return xprintf("/proc/self/fd/%d%s.nbd", folder_fd, strrchr(at, '/'));
}

/* The same of what qemu-nbd opens. */
static char *nbd_drive(const char *at)
{
	auto_free char *socket = socket_of(at, FOLDER_FD);
	auto_json json_t *node =
		json_make("{s:s, s:s, s:b, s:{s:s, s:s}}", "driver", "nbd",
			  "node-name", "disk", "read-only", 1, "server", "type",
			  "unix", "path", socket);

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

/* In a child: a process that goes on when our group is killed, and ends when we
 * do.  It has the folder of `at` open. */
static void go_apart(const char *at)
{
	auto_free char *folder = xstrndup(at, (size_t)(strrchr(at, '/') - at));
	auto_free char *err_file = beside(at, ".err");
	int folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	int null_fd = open("/dev/null", O_RDWR);
	int err_fd = open(err_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
	sigset_t none;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null_fd, STDIN_FILENO);
	dup2(null_fd, STDOUT_FILENO);
	dup2(err_fd, STDERR_FILENO);
	if (folder_fd != FOLDER_FD)
		dup2(folder_fd, FOLDER_FD);
	close_range(FOLDER_FD + 1, ~0u, 0);
}

static void run_daemon(const char *blockdev, bool writable, const char *at)
{
	auto_free char *pid_file = beside(at, ".pid");
	auto_free char *shown = export(at, writable);

	go_apart(at);
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

/* --persistent: it would end with the first connection, which may be a look. */
static void run_nbd(const char *image, const char *snapshot, const char *at)
{
	auto_free char *socket = socket_of(at, FOLDER_FD);
	auto_free char *name = xprintf("snapshot.name=%s", snapshot);
	auto_json json_t *node = json_make("{s:s, s:b, s:{s:s, s:s}}", "driver",
					   "qcow2", "force-share", 1, "file",
					   "driver", "file", "filename", image);
	auto_free char *json = json_text(node);
	auto_free char *options = xprintf("json:%s", json);

	go_apart(at);
	execlp(NBD_PROGRAM, NBD_PROGRAM, "--read-only", "--persistent",
	       "--socket", socket, "--load-snapshot", name, options, NULL);
	fprintf(stderr, "there is no " NBD_PROGRAM " on this node (Debian's "
			"package qemu-utils)\n");
	_exit(1);
}

static bool is_shown(const char *at)
{
	auto_free char *file = beside(at, ".pid");

	return fs_exists(file);
}

/* The socket is there before anybody listens at it. */
static bool is_served(const char *at)
{
	auto_free char *folder = xstrndup(at, (size_t)(strrchr(at, '/') - at));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	auto_free char *path = socket_of(at, folder_fd);
	bool served = false;

	if (folder_fd >= 0 && fd >= 0 &&
	    strlen(path) < sizeof(address.sun_path)) {
		memcpy(address.sun_path, path, strlen(path) + 1);
		served = connect(fd, (const void *)&address, sizeof(address)) ==
			 0;
	}
	if (fd >= 0)
		close(fd);
	if (folder_fd >= 0)
		close(folder_fd);
	return served;
}

/* Wait until the process is ready. */
static int wait_ready(const char *image, const char *at,
		      bool (*ready)(const char *at), pid_t pid,
		      struct error *err)
{
	for (int waited = 0; waited < BEGIN_MS; waited += POLL_MS) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return did_not_begin(image, at, err);
		if (ready(at))
			return 0;
		pause_ms(POLL_MS);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return did_not_begin(image, at, err);
}

static int begin_nbd(const char *image, const char *snapshot, struct lend *l,
		     struct error *err)
{
	pid_t pid = fork();

	if (pid == 0)
		run_nbd(image, snapshot, l->at);
	if (pid < 0)
		return error_set(err, ERR_SYSTEM, NULL,
				 "Cannot start a "
				 "process: %s",
				 strerror(errno));
	if (wait_ready(image, l->at, is_served, pid, err) < 0)
		return -1;
	l->nbd = pid;
	return 0;
}

static int begin_daemon(const char *image, bool writable, struct lend *l,
			struct error *err)
{
	auto_free char *blockdev =
		l->nbd != 0 ? nbd_drive(l->at) : drive(image, writable);
	pid_t pid = fork();

	if (pid == 0)
		run_daemon(blockdev, writable, l->at);
	if (pid < 0)
		return error_set(err, ERR_SYSTEM, NULL,
				 "Cannot start a "
				 "process: %s",
				 strerror(errno));
	if (wait_ready(image, l->at, is_shown, pid, err) < 0)
		return -1;
	l->pid = pid;
	return 0;
}

int lend_begin(const char *image, const char *snapshot, bool writable,
	       const char *at, struct lend *ret, struct error *err)
{
	struct lend l = {.at = xstrdup(at)};
	bool old = snapshot != NULL && *snapshot != '\0';
	struct error ignored;

	if (make_file(at, err) == 0 &&
	    (!old || begin_nbd(image, snapshot, &l, err) == 0) &&
	    begin_daemon(image, writable && !old, &l, err) == 0) {
		*ret = l;
		return 0;
	}
	lend_end(&l, &ignored);
	return -1;
}

/* --- end --- */

/* Tell it to end, and how it ended, as waitpid() says it; -1: not in time.  It
 * is told again and again, as it notes what comes between its last look and its
 * sleep, and sleeps on. */
static int wait_ended(pid_t pid)
{
	int status;

	for (int waited = 0; waited < END_MS; waited += POLL_MS) {
		if (waited % TELL_MS == 0)
			kill(pid, SIGTERM);
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		pause_ms(POLL_MS);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

/* A process that may not be; how it ended. */
static int end_daemon(pid_t *pid)
{
	int status;

	if (*pid == 0)
		return 0;
	status = wait_ended(*pid);
	*pid = 0;
	return status;
}

/* It only reads.  SIGTERM is lost while it begins, and then it never ends. */
static void end_nbd(pid_t *pid)
{
	if (*pid == 0)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

int lend_end(struct lend *l, struct error *err)
{
	auto_free char *at = steal(&l->at);
	int status;

	if (at == NULL)
		return 0;
	status = end_daemon(&l->pid);
	end_nbd(&l->nbd);
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

static int lend_all(char **words, size_t n, struct lend *lent,
		    struct error *err)
{
	for (size_t i = 0; i < n; i++, words += WORDS_EACH)
		if (lend_begin(words[0], words[1], true, words[2], &lent[i],
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
	if (argv[words] == NULL || argv[words + 1] == NULL ||
	    words % WORDS_EACH != 0)
		return 1;
	n = words / WORDS_EACH;
	lent = xcalloc(n + 1, sizeof(*lent));
	rc = lend_all(argv, n, lent, &err) < 0 ? complain(&err)
					       : run_program(argv + words + 1);
	for (size_t i = 0; i < n; i++)
		if (lend_end(&lent[i], &err) < 0 && rc == 0)
			rc = complain(&err);
	return rc;
}
