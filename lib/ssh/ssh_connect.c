/* SPDX-License-Identifier: BSD-2-Clause */
/* From a name to a connected socket.  All addresses of the name are tried, each
 * with its share of the time that is left.
 *
 * A lookup of a name cannot be stopped.  Where it takes too long, its memory
 * stays until it has ended, and nobody waits for it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/ssh/ssh_private.h"

/* --- waiting for the socket --- */

static void on_ready(uv_poll_t *handle, int status, int events)
{
	struct ssh_poll *poll = handle->data;

	(void)status; /* an error shows in the next call */
	(void)events;
	poll->ready = true;
	uv_poll_stop(handle);
	cond_signal(&poll->changed);
}

bool ssh_poll_wait(struct ssh_poll *poll, int events, int64_t deadline_us)
{
	poll->ready = false;
	uv_poll_start(&poll->handle, events, on_ready);
	while (!poll->ready && !task_interrupted() &&
	       clock_mono_us() < deadline_us)
		cond_wait_until(&poll->changed, deadline_us);
	uv_poll_stop(&poll->handle);
	return poll->ready;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void ssh_hang_up(struct ssh *s)
{
	if (s->poll != NULL)
		uv_close((uv_handle_t *)&s->poll->handle, on_closed);
	s->poll = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int watch_socket(struct ssh *s)
{
	struct ssh_poll *poll = xalloc(sizeof(*poll));

	if (uv_poll_init(tasks_loop(), &poll->handle, s->fd) != 0) {
		free(poll);
		return -1;
	}
	cond_init(&poll->changed);
	poll->handle.data = poll;
	s->poll = poll;
	return 0;
}

/* --- names --- */

struct lookup {
	uv_getaddrinfo_t request;
	struct cond changed;
	bool done, abandoned;
	int status;
	struct addrinfo *found;
};

static void lookup_free(struct lookup *l)
{
	uv_freeaddrinfo(l->found);
	free(l);
}

static void on_found(uv_getaddrinfo_t *request, int status,
		     struct addrinfo *found)
{
	struct lookup *l = request->data;

	l->done = true;
	l->status = status;
	l->found = found;
	if (l->abandoned)
		lookup_free(l);
	else
		cond_signal(&l->changed);
}

/* The family is for names; an address has one. */
static int family_of(const char *address, bool ipv6)
{
	struct in_addr v4;

	return ipv6 && inet_pton(AF_INET, address, &v4) != 1 ? AF_INET6
							     : AF_UNSPEC;
}

/* NULL with err; else to be freed with lookup_free(). */
static WAITS struct lookup *look_up(struct ssh *s, bool ipv6, struct error *err)
{
	const struct addrinfo hints = {.ai_family = family_of(s->address, ipv6),
				       .ai_socktype = SOCK_STREAM};
	struct lookup *l = xalloc(sizeof(*l));
	char port[8];

	snprintf(port, sizeof(port), "%d", s->port);
	l->request.data = l;
	cond_init(&l->changed);
	l->status = uv_getaddrinfo(tasks_loop(), &l->request, on_found,
				   s->address, port, &hints);
	l->done = l->status != 0;
	while (!l->done && !task_interrupted() &&
	       clock_mono_us() < s->deadline_us)
		cond_wait_until(&l->changed, s->deadline_us);
	if (!l->done) {
		l->abandoned = true;
		uv_cancel((uv_req_t *)&l->request);
		ssh_fail(s, err, "the name is not found in time");
		return NULL;
	}
	if (l->status == 0 && l->found != NULL)
		return l;
	ssh_fail(s, err, "the name is not found: %s", uv_strerror(l->status));
	lookup_free(l);
	return NULL;
}

/* --- connections --- */

/* 0 or a number of errno. */
static WAITS int try_address(struct ssh *s, const struct addrinfo *to,
			     int64_t deadline_us)
{
	int on = 1, rc = 0;
	socklen_t len = sizeof(rc);

	s->fd = socket(to->ai_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || watch_socket(s) < 0)
		return errno;
	setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(s->fd, to->ai_addr, to->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (!ssh_poll_wait(s->poll, UV_WRITABLE, deadline_us))
		return ETIMEDOUT;
	return getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &rc, &len) < 0 ? errno
								      : rc;
}

static int count(const struct addrinfo *list)
{
	int n = 0;

	for (; list != NULL; list = list->ai_next)
		n++;
	return n;
}

int ssh_connect(struct ssh *s, bool ipv6, struct error *err)
{
	struct lookup *l;
	int rc = ETIMEDOUT;

	ssh_step(s, "connect");
	l = look_up(s, ipv6, err);
	if (l == NULL)
		return -1;
	for (const struct addrinfo *to = l->found; to != NULL;
	     to = to->ai_next) {
		int64_t now = clock_mono_us();

		rc = try_address(s, to,
				 now + (s->deadline_us - now) / count(to));
		if (rc == 0 || task_interrupted())
			break;
		ssh_hang_up(s);
	}
	lookup_free(l);
	if (rc == 0)
		return 0;
	return ssh_fail(s, err, "%s", strerror(rc));
}
