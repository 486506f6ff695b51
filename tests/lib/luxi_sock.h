/* SPDX-License-Identifier: BSD-2-Clause */
/* A LUXI client in the process of its server: it turns the loop while it
 * waits. */
#ifndef TESTS_LIB_LUXI_SOCK_H
#define TESTS_LIB_LUXI_SOCK_H

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#include "lib/base/str.h"
#include "masterd/luxi/luxi_server.h"

static inline int sock_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	cr_assert_lt(strlen(path), sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)),
		     0, "%s", strerror(errno));
	return fd;
}

static inline void sock_turn(void)
{
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

/* Send all; false when the server has closed. */
static inline bool sock_send(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return false;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
		sock_turn();
	}
	return true;
}

/* A whole message. */
static inline void sock_say(int fd, const char *text)
{
	cr_assert(sock_send(fd, text, strlen(text)));
	cr_assert(sock_send(fd, "\x03", 1));
}

/* The next answer without its ETX; "closed" when the server closed. */
static inline char *sock_hear(int fd)
{
	struct buf b = {0};
	char part[64 * 1024];

	for (;;) {
		/* Looked at first: what follows the ETX is the next one's. */
		ssize_t n = recv(fd, part, sizeof(part), MSG_PEEK);
		const char *end;

		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			buf_adds(&b, "closed");
			return buf_steal(&b);
		}
		if (n < 0) {
			sock_turn();
			continue;
		}
		end = memchr(part, LUXI_ETX, (size_t)n);
		buf_add(&b, part,
			end == NULL ? (size_t)n : (size_t)(end - part));
		n = end == NULL ? n : end - part + 1;
		cr_assert_eq(recv(fd, part, (size_t)n, 0), n);
		if (end != NULL)
			return buf_steal(&b);
	}
}

#define assert_hear(fd, text)                                                  \
	do {                                                                   \
		auto_free char *heard_ = sock_hear(fd);                        \
		cr_assert_str_eq(heard_, text);                                \
	} while (0)

#endif
