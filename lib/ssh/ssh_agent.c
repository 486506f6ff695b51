/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and answers are a length, a number that says what it is, and the
 * rest of the message.  The socket blocks, with a time limit, while the task is
 * beside the loop. */
#include "lib/ssh/ssh_agent.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/mem.h"

enum {
	REQUEST_IDENTITIES = 11,
	ANSWER_IDENTITIES = 12,
	REQUEST_SIGN = 13,
	ANSWER_SIGN = 14,
};

/* Flags of a request to sign. */
enum { SIGN_SHA256 = 2, SIGN_SHA512 = 4 };

static void put_number(struct buf *b, size_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addc(b, (char)(n >> shift & 0xff));
}

static void put_text(struct buf *b, struct ssh_bytes text)
{
	put_number(b, text.len);
	buf_add(b, text.data, text.len);
}

static bool send_all(int fd, const struct buf *b)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n =
			send(fd, b->data + done, b->len - done, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool receive(int fd, struct buf *b, size_t wanted)
{
	char chunk[4096];

	while (wanted > 0) {
		ssize_t n = recv(
			fd, chunk,
			wanted < sizeof(chunk) ? wanted : sizeof(chunk), 0);

		if (n <= 0)
			return false;
		buf_add(b, chunk, (size_t)n);
		wanted -= (size_t)n;
	}
	return true;
}

static bool exchange_beside(int fd, const struct buf *request, struct buf *ret)
{
	struct ssh_bytes head;
	uint32_t len;

	if (!send_all(fd, request) || !receive(fd, ret, 4))
		return false;
	head = (struct ssh_bytes){(const void *)ret->data, ret->len};
	if (!ssh_bytes_number(&head, &len) || len > SSH_AGENT_ANSWER_MAX)
		return false;
	buf_consume(ret, 4);
	return receive(fd, ret, len);
}

/* Send a message (its length is added) and take the answer, which has to be of
 * this kind; *ret_rest is behind that number, in *ret. */
static WAITS bool exchange(int fd, const struct buf *message, int kind,
			   struct buf *ret, struct ssh_bytes *ret_rest)
{
	auto_buf struct buf request = {0};
	bool good;

	put_text(&request,
		 (struct ssh_bytes){(const void *)message->data, message->len});
	task_leave();
	good = exchange_beside(fd, &request, ret);
	task_enter();
	if (!good || ret->len == 0 || ret->data[0] != kind)
		return false;
	*ret_rest = (struct ssh_bytes){(const void *)ret->data, ret->len};
	return ssh_bytes_skip(ret_rest, 1);
}

static int open_socket(const char *socket_path)
{
	const struct timeval limit = {.tv_sec = SSH_AGENT_MS / 1000};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(socket_path) >= sizeof(to.sun_path))
		return -1;
	strcpy(to.sun_path, socket_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool read_keys(struct ssh_agent *a, struct ssh_bytes rest)
{
	struct ssh_bytes comment;
	uint32_t n;

	if (!ssh_bytes_number(&rest, &n))
		return false;
	for (; n > 0 && a->n_keys < SSH_AGENT_KEYS_MAX; n--) {
		if (!ssh_bytes_text(&rest, &a->keys[a->n_keys]) ||
		    !ssh_bytes_text(&rest, &comment))
			return false;
		a->n_keys++;
	}
	return true;
}

bool ssh_agent_open(struct ssh_agent *a, const char *socket)
{
	auto_buf struct buf request = {0};
	struct ssh_bytes rest;

	*a = (struct ssh_agent){.fd = -1};
	task_leave();
	a->fd = open_socket(socket);
	task_enter();
	if (a->fd < 0)
		return false;
	buf_addc(&request, REQUEST_IDENTITIES);
	if (exchange(a->fd, &request, ANSWER_IDENTITIES, &a->answer, &rest) &&
	    read_keys(a, rest))
		return true;
	ssh_agent_close(a);
	return false;
}

void ssh_agent_close(struct ssh_agent *a)
{
	close(a->fd);
	buf_done(&a->answer);
	a->n_keys = 0;
}

bool ssh_agent_sign(struct ssh_agent *a, struct ssh_bytes key,
		    struct ssh_bytes data, struct ssh_bytes algorithm,
		    unsigned char **ret_signature, size_t *ret_len)
{
	auto_buf struct buf request = {0}, answer = {0};
	struct ssh_bytes rest, both, method, signature;
	size_t flags = ssh_bytes_are(&algorithm, "rsa-sha2-512")   ? SIGN_SHA512
		       : ssh_bytes_are(&algorithm, "rsa-sha2-256") ? SIGN_SHA256
								   : 0;

	buf_addc(&request, REQUEST_SIGN);
	put_text(&request, key);
	put_text(&request, data);
	put_number(&request, flags);
	if (!exchange(a->fd, &request, ANSWER_SIGN, &answer, &rest) ||
	    !ssh_bytes_text(&rest, &both) || !ssh_bytes_text(&both, &method) ||
	    !ssh_bytes_text(&both, &signature) || signature.len == 0)
		return false;
	*ret_signature = xmemdup(signature.data, signature.len);
	*ret_len = signature.len;
	return true;
}
