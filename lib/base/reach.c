/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket does not block, so that the wait for an answer has a limit of our
 * own: the kernel's is two minutes. */
#include "lib/base/reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "lib/base/mem.h"

static int wait_for_end(int fd, int timeout_ms)
{
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int result = 0;

	if (poll(&wait, 1, timeout_ms) != 1)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &len) < 0 ? errno
								       : result;
}

static int try_connect(const struct addrinfo *to, int timeout_ms)
{
	auto_close int fd = socket(
		to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
		return 0;
	return errno == EINPROGRESS ? wait_for_end(fd, timeout_ms) : errno;
}

int reach_try(const char *address, int port, int timeout_ms)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags =
					       AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	char service[16];
	int result;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(address, service, &hints, &found) != 0)
		return EINVAL;
	result = try_connect(found, timeout_ms);
	freeaddrinfo(found);
	return result;
}
