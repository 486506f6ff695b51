/* SPDX-License-Identifier: BSD-2-Clause */
/* Does a host answer?  A connection to its node daemon, or the greeting of its
 * SSH server, on the primary network or the secondary one. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/array.h"
#include "lib/json/json.h"

#define PROBE_MS 3000
#define SSH_PORT 22
#define GREETING "SSH-"

/* A connected socket; -1. */
static int connect_within(const char *address, int port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	struct pollfd ready = {.events = POLLOUT};
	char service[16];
	int problem = 0;
	socklen_t len = sizeof(problem);

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(address, service, &hints, &found) != 0)
		return -1;
	ready.fd = socket(found->ai_family,
			  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (ready.fd >= 0 &&
	    connect(ready.fd, found->ai_addr, found->ai_addrlen) < 0)
		problem = errno;
	freeaddrinfo(found);
	if (ready.fd < 0 || problem == 0)
		return ready.fd;
	if (problem == EINPROGRESS && poll(&ready, 1, PROBE_MS) == 1 &&
	    getsockopt(ready.fd, SOL_SOCKET, SO_ERROR, &problem, &len) == 0 &&
	    problem == 0)
		return ready.fd;
	close(ready.fd);
	return -1;
}

/* Whether the other side begins with these bytes; NULL: it need not talk. */
static bool greets(const char *address, int port, const char *greeting)
{
	auto_close int fd = connect_within(address, port);
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char text[16];

	if (fd < 0 || greeting == NULL)
		return fd >= 0;
	return poll(&ready, 1, PROBE_MS) == 1 &&
	       recv(fd, text, sizeof(text), 0) >= (ssize_t)strlen(greeting) &&
	       memcmp(text, greeting, strlen(greeting)) == 0;
}

static bool probe(const json_t *node, int port, const char *greeting)
{
	static const char *const keys[] = {"pip", "sip"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *address = json_str(node, keys[i], NULL);

		if (address != NULL && greets(address, port, greeting))
			return true;
	}
	return false;
}

static bool probe_ssh(void *arg, const json_t *node)
{
	(void)arg;
	return probe(node, (int)json_int(node, "ssh_port", SSH_PORT), GREETING);
}

/* Only where the master calls it. */
static bool probe_noded(void *arg, const json_t *node)
{
	(void)arg;
	return greets(json_str(node, "pip", ""), paths_noded_port(), NULL);
}

const struct watcher_probe watcher_probe_real = {
	.ssh = probe_ssh,
	.noded = probe_noded,
};
