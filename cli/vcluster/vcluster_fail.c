/* SPDX-License-Identifier: BSD-2-Clause */
/* A node daemon that dies some time after the cluster was made.
 *
 * Who kills it waits with a descriptor of the daemon's process: it can hit no
 * other process, and nothing is left of it once the daemon has ended, when the
 * cluster is destroyed before the time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "cli/remote/bootstrap.h"
#include "cli/vcluster/vcluster.h"
#include "cli/vcluster/vcluster_double.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

/* poll() takes milliseconds in an int: more than three weeks. */
#define AFTER_MAX_S 86400.0

static int misfit(const char *text, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "--fail takes NODE@SECONDS, at most %.0f seconds, not "
			 "'%s'",
			 AFTER_MAX_S, text);
}

int vcluster_fail_read(struct vcluster *v, const char *text,
		       const struct vcluster_node **ret_node,
		       unsigned *ret_after_ms, struct error *err)
{
	const char *at = strrchr(text, '@');
	auto_free char *name = NULL, *time = NULL;
	double seconds;
	size_t n;

	if (at == NULL || at == text)
		return misfit(text, err);
	name = xstrndup(text, (size_t)(at - text));
	time = xstrdup(at + 1);
	n = strlen(time);
	if (n > 1 && time[n - 1] == 's')
		time[n - 1] = '\0';
	if (!str_to_double(time, &seconds) || !(seconds >= 0) ||
	    seconds > AFTER_MAX_S)
		return misfit(text, err);
	*ret_node = vcluster_node(v, name, err);
	if (*ret_node == NULL)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "--fail %s: the cluster has no node '%s'",
				 text, name);
	*ret_after_ms = (unsigned)(seconds * 1000);
	return 0;
}

/* Wait in the background; nobody may be kept waiting for our output. */
_Noreturn static void wait_and_kill(int pidfd, unsigned after_ms)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	int64_t deadline_us = clock_mono_us() + (int64_t)after_ms * 1000;
	int null = open("/dev/null", O_RDWR);
	int64_t left_us;

	setsid();
	if (chdir("/") < 0 || null < 0)
		_exit(1);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	while ((left_us = deadline_us - clock_mono_us()) > 0) {
		int rc = poll(&end, 1, (int)((left_us + 999) / 1000));

		if (rc > 0 || (rc < 0 && errno != EINTR))
			_exit(0); /* it has ended by itself */
	}
	pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	_exit(0);
}

int vcluster_fail_later(const struct vcluster_node *node, unsigned after_ms,
			struct error *err)
{
	int pid = bootstrap_pid(node->paths, DAEMON_NODED);
	int pidfd = pid <= 0 ? -1 : pidfd_open(pid, 0);
	pid_t child;

	if (pidfd < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "The node daemon of %s does not run",
				 node->name);
	child = fork();
	if (child == 0)
		wait_and_kill(pidfd, after_ms);
	close(pidfd);
	if (child < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot start a process: %s", strerror(errno));
	return 0;
}
