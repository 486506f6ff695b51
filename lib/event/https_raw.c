/* SPDX-License-Identifier: BSD-2-Clause */
/* While a request is handled its connection is suspended: libmicrohttpd touches
 * neither the socket nor the TLS session.  So a handler can use both, for what
 * is no HTTP any more.  (libmicrohttpd has a way of its own for that, but with
 * TLS it then copies four bytes at a time, and does not tell when the client
 * goes.) */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/event/https_internal.h"

void https_raw_init(struct https_raw *raw, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	*raw = (struct https_raw){.socket =
					  info == NULL ? -1 : info->connect_fd};
	info = MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_GNUTLS_SESSION);
	raw->session = info == NULL ? NULL : info->tls_session;
	pthread_mutex_init(&raw->lock, NULL);
}

void https_raw_done(struct https_raw *raw)
{
	pthread_mutex_destroy(&raw->lock);
}

void https_take_over(struct https_request *request)
{
	struct https_raw *raw = https_raw_of(request);
	const int off = 0, on = 1;

	raw->taken = true;
	/* libmicrohttpd lets the kernel gather small pieces for 200 ms; who
	 * types waits for each of them. */
	setsockopt(raw->socket, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
	setsockopt(raw->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* How many bytes; 0: none now; -1: it is over. */
static ssize_t judge(const struct https_raw *raw, ssize_t rc)
{
	if (rc > 0)
		return rc;
	if (raw->session != NULL)
		return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED ? 0
									  : -1;
	return rc < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static ssize_t read_now(struct https_raw *raw, void *data, size_t size)
{
	ssize_t rc;

	pthread_mutex_lock(&raw->lock);
	rc = raw->session != NULL ? gnutls_record_recv(raw->session, data, size)
				  : recv(raw->socket, data, size, MSG_DONTWAIT);
	rc = judge(raw, rc);
	pthread_mutex_unlock(&raw->lock);
	return rc;
}

static ssize_t write_now(struct https_raw *raw, const void *data, size_t len)
{
	ssize_t rc;

	pthread_mutex_lock(&raw->lock);
	rc = raw->session != NULL ? gnutls_record_send(raw->session, data, len)
				  : send(raw->socket, data, len,
					 MSG_DONTWAIT | MSG_NOSIGNAL);
	rc = judge(raw, rc);
	pthread_mutex_unlock(&raw->lock);
	return rc;
}

/* Whether there is time left; waits for it to be used. */
static bool wait_for(const struct https_raw *raw, short events, int64_t end_us)
{
	struct pollfd p = {.fd = raw->socket, .events = events};
	int64_t left = (end_us - clock_mono_us() + 999) / 1000;

	return left > 0 && poll(&p, 1, (int)left) > 0;
}

ssize_t https_read(struct https_request *request, void *data, size_t size,
		   unsigned wait_ms)
{
	struct https_raw *raw = https_raw_of(request);
	int64_t end_us = clock_mono_us() + wait_ms * INT64_C(1000);
	ssize_t n;

	while ((n = read_now(raw, data, size)) == 0)
		if (!wait_for(raw, POLLIN, end_us))
			return 0;
	return n;
}

int https_write(struct https_request *request, const void *data, size_t len,
		unsigned wait_ms)
{
	struct https_raw *raw = https_raw_of(request);
	int64_t end_us = clock_mono_us() + wait_ms * INT64_C(1000);
	const char *next = data;

	while (len > 0) {
		ssize_t n = raw->stuck ? -1 : write_now(raw, next, len);

		/* A record that is half out is all that GnuTLS will go on with,
		 * and its length what it tells of any further call. */
		if (n < 0 || (size_t)n > len ||
		    (n == 0 && !wait_for(raw, POLLOUT, end_us))) {
			raw->stuck = true;
			return -1;
		}
		next += n;
		len -= (size_t)n;
	}
	return 0;
}

void https_hang_up(struct https_request *request)
{
	struct https_raw *raw = https_raw_of(request);

	pthread_mutex_lock(&raw->lock);
	if (raw->session != NULL && !raw->stuck)
		gnutls_bye(raw->session, GNUTLS_SHUT_WR);
	shutdown(raw->socket, SHUT_RDWR);
	pthread_mutex_unlock(&raw->lock);
}
