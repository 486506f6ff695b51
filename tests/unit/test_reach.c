/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/base/reach.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 30000

/* A socket at a port of its own; nobody listens at it yet. */
static int bind_somewhere(int *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(0x7f000001)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

Test(reach, tells_who_listens_from_who_only_answers)
{
	int port, fd = bind_somewhere(&port);

	cr_expect_eq(reach_try("127.0.0.1", port, TIMEOUT_MS), ECONNREFUSED);
	cr_assert_eq(listen(fd, 1), 0);
	cr_expect_eq(reach_try("127.0.0.1", port, TIMEOUT_MS), 0);
	close(fd);
}

/* No name is looked up. */
Test(reach, wants_an_address)
{
	cr_expect_eq(reach_try("localhost", 80, TIMEOUT_MS), EINVAL);
	cr_expect_eq(reach_try("", 80, TIMEOUT_MS), EINVAL);
}
