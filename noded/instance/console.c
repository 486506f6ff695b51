/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits does so beside the loop.  Meanwhile the console may be closed: then
 * its socket is shut down, which ends the wait, and the last user frees it. */
#include "noded/instance/console.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/random.h"
#include "lib/base/str.h"
#include "lib/event/timer.h"

#define ID_BYTES 16

struct console {
	struct list link;
	char id[2 * ID_BYTES + 1];
	int fd;
	unsigned users; /* calls that use fd now */
	bool reading, closed;
	struct timer idle;
};

static struct console *find(struct list *consoles, const char *id,
			    struct error *err)
{
	struct console *c;

	list_each (c, consoles, link)
		if (strcmp(c->id, id) == 0)
			return c;
	error_set(err, ERR_HYPERVISOR, ECODE_NOENT,
		  "This console is not open (any more)");
	return NULL;
}

static void free_unused(struct console *c)
{
	if (!c->closed || c->users > 0)
		return;
	close(c->fd);
	free(c);
}

static void end(struct console *c)
{
	if (c->closed)
		return;
	c->closed = true;
	timer_stop(&c->idle);
	list_remove(&c->link);
	shutdown(c->fd, SHUT_RDWR);
	free_unused(c);
}

static void on_idle(struct timer *t)
{
	end(container_of(t, struct console, idle));
}

static void rest(struct console *c)
{
	c->idle.fired = on_idle;
	timer_start(&c->idle,
		    clock_mono_us() + CONSOLE_IDLE_S * INT64_C(1000000));
}

static size_t count(const struct list *consoles)
{
	const struct console *c;
	size_t n = 0;

	list_each (c, consoles, link)
		n++;
	return n;
}

static int refused(const char *path, int fd, struct error *err)
{
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Cannot connect to the console at %s: %s", path,
		  strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* An address of this host answers at once. */
static int connect_port(const char *where, struct error *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	const char *colon = strrchr(where, ':');
	auto_free char *host =
		colon == NULL ? xstrdup(where)
			      : xstrndup(where, (size_t)(colon - where));
	uint64_t port = 0;
	int fd;

	if (colon == NULL ||
	    !str_to_number(colon + 1, UINT16_MAX, &port, NULL) ||
	    inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "%s is no place of a console", where);
	address.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const void *)&address, sizeof(address)) < 0)
		return refused(where, fd, err);
	return fd;
}

/* -1 with err. */
static int connect_to(const char *path, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (*path != '/')
		return connect_port(path, err);
	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The path of the console is too long: %s",
				 path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 &&
	    connect(fd, (const void *)&address, sizeof(address)) == 0)
		return fd;
	return refused(path, fd, err);
}

char *console_open(struct list *consoles, const char *path, struct error *err)
{
	struct console *c;
	int fd;

	if (count(consoles) >= CONSOLES_MAX) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "%d consoles are open on this node already",
			  CONSOLES_MAX);
		return NULL;
	}
	fd = connect_to(path, err);
	if (fd < 0)
		return NULL;
	c = xalloc(sizeof(*c));
	c->fd = fd;
	random_hex(c->id, ID_BYTES);
	list_init(&c->link);
	list_append(consoles, &c->link);
	rest(c);
	return xstrdup(c->id);
}

/* --- beside the loop --- */

static void wait_for(int fd, short events, int64_t ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	poll(&p, 1, (int)ms);
}

/* How many bytes came; *ret_ended. */
static size_t receive(int fd, char *data, unsigned wait_ms, bool *ret_ended)
{
	ssize_t n;

	wait_for(fd, POLLIN, wait_ms);
	n = recv(fd, data, CONSOLE_PIECE, MSG_DONTWAIT);
	*ret_ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	return n < 0 ? 0 : (size_t)n;
}

static int send_all(int fd, const char *data, size_t len)
{
	int64_t end_us = clock_mono_us() + CONSOLE_WRITE_MS * INT64_C(1000);

	while (len > 0) {
		int64_t left = (end_us - clock_mono_us()) / 1000;
		ssize_t n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (n < 0 && left <= 0)
			return -1;
		if (n < 0)
			wait_for(fd, POLLOUT, left);
		else {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* --- on the loop --- */

char *console_read(struct list *consoles, const char *id, unsigned wait_ms,
		   size_t *ret_len, bool *ret_ended, struct error *err)
{
	struct console *c = find(consoles, id, err);
	char *data;

	if (c == NULL)
		return NULL;
	if (c->reading) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Somebody else reads from this console");
		return NULL;
	}
	if (wait_ms > CONSOLE_WAIT_MAX_MS)
		wait_ms = CONSOLE_WAIT_MAX_MS;
	data = xalloc(CONSOLE_PIECE);
	c->reading = true;
	c->users++;
	timer_stop(&c->idle);
	task_leave();
	*ret_len = receive(c->fd, data, wait_ms, ret_ended);
	task_enter();
	c->users--;
	c->reading = false;
	if (!c->closed)
		rest(c);
	free_unused(c);
	return data;
}

int console_write(struct list *consoles, const char *id, const void *data,
		  size_t len, struct error *err)
{
	struct console *c = find(consoles, id, err);
	int rc;

	if (c == NULL)
		return -1;
	c->users++;
	task_leave();
	rc = send_all(c->fd, data, len);
	task_enter();
	c->users--;
	free_unused(c);
	return rc == 0 ? 0
		       : error_set(err, ERR_HYPERVISOR, NULL,
				   "The console takes no input");
}

void console_close(struct list *consoles, const char *id)
{
	struct error err;
	struct console *c = find(consoles, id, &err);

	if (c != NULL)
		end(c);
}
