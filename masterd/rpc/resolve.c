/* SPDX-License-Identifier: BSD-2-Clause */
/* The resolver and the attempt to connect may block for long.  So both run
 * between task_leave() and task_enter(), while other tasks go on, and use no
 * data that those could change. */
#include "masterd/rpc/resolve.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

#define ADDRESS_TEXT_MAX 64

void resolve_done(struct resolved *r)
{
	free(r->name);
	free(r->ip);
	*r = (struct resolved){0};
}

int resolve_host(const char *name, int family, struct resolved *ret,
		 struct error *err)
{
	const struct addrinfo hints = {.ai_family = family,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_CANONNAME};
	struct addrinfo *found = NULL;
	auto_free char *own = xstrdup(name);
	char text[ADDRESS_TEXT_MAX];
	int rc;

	task_leave(); /* asks the network */
	rc = getaddrinfo(own, NULL, &hints, &found);
	task_enter();
	if (rc != 0)
		return error_set(err, ERR_PREREQ, ECODE_RESOLVER,
				 "The given name (%s) does not resolve: %s",
				 own, gai_strerror(rc));
	rc = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text),
			 NULL, 0, NI_NUMERICHOST);
	assert(rc == 0); /* numbers always fit */
	ret->name = xstrdup(found->ai_canonname != NULL ? found->ai_canonname
							: own);
	ret->ip = xstrdup(text);
	freeaddrinfo(found);
	return 0;
}

/* How a connection ends: 0, or errno. */
static int try_connect(const struct addrinfo *to)
{
	int fd = socket(to->ai_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int result = 0;

	if (fd < 0)
		return errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0) {
		result = errno;
		if (result == EINPROGRESS) {
			result = poll(&wait, 1, RESOLVE_PING_MS) == 1
					 ? 0
					 : ETIMEDOUT;
			if (result == 0)
				getsockopt(fd, SOL_SOCKET, SO_ERROR, &result,
					   &len);
		}
	}
	close(fd);
	return result;
}

bool resolve_answers(const struct paths *p, const char *ip)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags =
					       AI_NUMERICHOST | AI_NUMERICSERV};
	bool virtual = *p->root != '\0';
	struct addrinfo *found;
	char port[8];
	int result;

	snprintf(port, sizeof(port), "%d", paths_noded_port());
	if (getaddrinfo(ip, port, &hints, &found) != 0)
		return false;
	task_leave();
	result = try_connect(found);
	task_enter();
	freeaddrinfo(found);
	return result == 0 || (!virtual && result == ECONNREFUSED);
}
