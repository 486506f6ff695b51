/* SPDX-License-Identifier: BSD-2-Clause */
/* An SSH server for one test (tests/lib/sshd.sh), and tasks that use it. */
#ifndef TESTS_LIB_SSHD_H
#define TESTS_LIB_SSHD_H

#include <criterion/criterion.h>
#include <libssh2.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/ssh/ssh.h"

#define SSHD_WAIT_MS 30000

struct test_sshd {
	char folder[40];
	char address[16];
	char *key, *known; /* the user's key, and known_hosts */
	const char *keys[3], *known_hosts[2];
	int port;
	pid_t pid;
};

static inline void test_shell(const char *line)
{
	cr_assert_eq(system(line), 0, "%s", line);
}

/* A socket at a free port of an address of its own; *ret_port is the port. */
static inline int test_listen(const char *address, int *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	uv_inet_pton(AF_INET, address, &at.sin_addr);
	cr_assert(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
		  getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
		  listen(fd, 64) == 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static inline bool test_sshd_listens(const struct test_sshd *d)
{
	auto_free char *path = xprintf("%s/log", d->folder);
	struct error err;
	auto_free char *log = fs_read(path, 100000, NULL, &err);

	return log != NULL && strstr(log, "Server listening") != NULL;
}

/* Start it with these lines in its configuration (NULL ends; may be NULL). */
static inline void test_sshd_start(struct test_sshd *d,
				   const char *const *lines)
{
	int64_t limit = clock_mono_us() + (int64_t)SSHD_WAIT_MS * 1000;
	auto_free char *log = xprintf("%s/log", d->folder);
	const char *argv[16] = {"sh", "tests/lib/sshd.sh", d->folder,
				d->address};
	char port[8];
	int n = 4, status;

	snprintf(port, sizeof(port), "%d", d->port);
	argv[n++] = port;
	for (; lines != NULL && *lines != NULL; lines++)
		argv[n++] = *lines;
	unlink(log);
	d->pid = fork();
	if (d->pid == 0) {
		/* A test that crashes takes it along. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execvp(argv[0], mem_unconst(argv));
		_exit(127);
	}
	while (!test_sshd_listens(d)) {
		cr_assert_lt(clock_mono_us(), limit);
		cr_assert_eq(waitpid(d->pid, &status, WNOHANG), 0,
			     "sshd cannot run here");
		usleep(20000);
	}
}

static inline void test_sshd_stop(struct test_sshd *d)
{
	if (d->pid > 0) {
		kill(d->pid, SIGTERM);
		waitpid(d->pid, NULL, 0);
	}
	d->pid = 0;
}

/* A folder with a key for the user, and known_hosts with the server's. */
static inline void test_sshd_create(struct test_sshd *d)
{
	auto_free char *line = NULL;

	*d = (struct test_sshd){.folder = "/tmp/gantry-sshd-XXXXXX"};
	cr_assert_not_null(mkdtemp(d->folder));
	snprintf(d->address, sizeof(d->address), "127.7.%d.%d",
		 (getpid() >> 7 & 127) + 1, (getpid() & 127) + 1);
	close(test_listen(d->address, &d->port));
	d->key = xprintf("%s/user", d->folder);
	d->known = xprintf("%s/known", d->folder);
	d->keys[0] = d->key;
	d->known_hosts[0] = d->known;
	line = xprintf("cd %s && for t in ed25519 ecdsa; do ssh-keygen -q -t "
		       "$t -N '' -C '' -f host_$t; done && "
		       "ssh-keygen -q -t rsa -b 2048 -N '' -f host_rsa && "
		       "ssh-keygen -q -t ed25519 -N '' -f user && "
		       "cp user.pub authorized && for t in ed25519 ecdsa rsa; "
		       "do echo \"[%s]:%d $(cat host_$t.pub)\"; done >known",
		       d->folder, d->address, d->port);
	test_shell(line);
}

static inline void test_sshd_destroy(struct test_sshd *d)
{
	struct error err;

	test_sshd_stop(d);
	cr_expect_eq(fs_remove_tree(d->folder, &err), 0, "%s", err.text);
	free(d->key);
	free(d->known);
}

/* What is meant in most tests. */
static inline struct ssh_target test_sshd_target(const struct test_sshd *d)
{
	return (struct ssh_target){.name = "node2.example.com",
				   .address = d->address,
				   .port = d->port,
				   .user = "root",
				   .keys = d->keys,
				   .known_hosts = d->known_hosts};
}

#endif
