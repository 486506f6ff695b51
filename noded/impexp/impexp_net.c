/* SPDX-License-Identifier: BSD-2-Clause */
/* The network end: TLS, in which both sides show certificates.
 *
 * It blocks, in a process of its own.  Only who listens hears several at the
 * same time, until one of them has shown that it is the expected one: whoever
 * else connects is sent away, and holds up nobody by saying nothing.
 * The data ends with TLS's closing message; a connection that just breaks is an
 * error. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/event/tls.h"
#include "noded/impexp/impexp.h"
#include "noded/impexp/impexp_expected.h"
#include "noded/impexp/impexp_net.h"
#include "noded/impexp/impexp_pace.h"
#include "noded/impexp/impexp_wire.h"

/* The time limit for each read of handshake, magic and closing message. */
#define TALK_TIMEOUT_S 10
/* A peer that is gone is noticed after these; one that reads nothing is waited
 * for. */
#define KEEP_IDLE_S 60
#define KEEP_INTERVAL_S 10
#define KEEP_COUNT 5
/* The wait for its end, when it has taken all. */
#define BYE_TIMEOUT_S 120
#define RETRY_US 500000
#define COMPLETE_POLL_US 5000
#define MAGIC_MAX 128
#define GUESTS_MAX 16 /* who are heard at the same time */

#define SECOND_US INT64_C(1000000)
#define MIB_BYTES (INT64_C(1024) * 1024)

struct impexp_net {
	struct impexp_stream stream;
	const struct impexp_spec *spec;
	gnutls_certificate_credentials_t creds;
	gnutls_session_t session;
	int fd;
	int64_t greeted_by_us; /* when the handshake has to be done */
	struct impexp_wire wire;
	struct impexp_pace pace;
	bool failed;
};

static int tls_fail(struct error *err, const char *what, int rc)
{
	return error_set(err, ERR_SYSTEM, NULL, "%s: %s", what,
			 gnutls_strerror(rc));
}

static int sys_fail(struct error *err, const char *what)
{
	return error_set(err, ERR_SYSTEM, NULL, "%s: %s", what,
			 strerror(errno));
}

/* --- who may be there --- */

static int check_peer(struct impexp_net *net, struct error *err)
{
	unsigned n = 0;
	const gnutls_datum_t *peer =
		gnutls_certificate_get_peers(net->session, &n);

	if (n > 0 && impexp_expected_has(net->spec->ca_file, &peer[0], err))
		return 0;
	return error_set(err, ERR_SYSTEM, NULL,
			 "The other side does not show the certificate that "
			 "was agreed on");
}

/* --- connections --- */

static void talk_timeout(int fd, int seconds)
{
	struct timeval limit = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* connect() keeps the limit for sending, and waits for two minutes without.
 * What is sent later may wait as long as the peer pauses. */
static int connect_within(int fd, const struct sockaddr *address, socklen_t len,
			  int64_t limit_us)
{
	struct timeval limit = {.tv_sec = limit_us / SECOND_US,
				.tv_usec = limit_us % SECOND_US};
	struct timeval none = {0};
	int rc;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	rc = connect(fd, address, len);
	if (rc < 0 && errno == EINPROGRESS)
		errno = ETIMEDOUT;
	if (rc == 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	return rc;
}

static void watch_peer(int fd)
{
	static const struct {
		int level, option, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
		{IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		setsockopt(fd, options[i].level, options[i].option,
			   &options[i].value, sizeof(int));
}

/* The numeric address with port; its length, or 0. */
static socklen_t make_address(const char *text, int port,
			      struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	*ret = (struct sockaddr_storage){0};
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		return sizeof(*v6);
	}
	return 0;
}

static int make_socket(const struct impexp_spec *spec,
		       struct sockaddr_storage *ret, socklen_t *ret_len,
		       struct error *err)
{
	int fd;

	*ret_len = make_address(spec->address, spec->port, ret);
	if (*ret_len == 0)
		return error_set(err, ERR_SYSTEM, NULL,
				 "%s is not a numeric address", spec->address);
	fd = socket(ret->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? sys_fail(err, "Cannot make a socket") : fd;
}

static void hang_up(struct impexp_net *net)
{
	if (net->session != NULL)
		gnutls_deinit(net->session);
	net->session = NULL;
	if (net->fd >= 0)
		close(net->fd);
	net->fd = -1;
}

static int begin_handshake(struct impexp_net *net, struct error *err)
{
	unsigned side = net->spec->import ? GNUTLS_SERVER : GNUTLS_CLIENT;
	int rc = gnutls_init(&net->session, side);

	if (rc == 0)
		rc = gnutls_priority_set_direct(net->session, TLS_PRIORITIES,
						NULL);
	if (rc == 0)
		rc = gnutls_credentials_set(net->session,
					    GNUTLS_CRD_CERTIFICATE, net->creds);
	if (rc < 0)
		return tls_fail(err, "TLS cannot be set up", rc);
	if (net->spec->import)
		gnutls_certificate_server_set_request(net->session,
						      GNUTLS_CERT_REQUIRE);
	gnutls_transport_set_int(net->session, net->fd);
	net->greeted_by_us = clock_mono_us() + TALK_TIMEOUT_S * SECOND_US;
	watch_peer(net->fd);
	return 0;
}

/* Go on with it as far as the socket allows.  1: it is done, and the peer is
 * the expected one; 0: not yet. */
static int go_on_shaking(struct impexp_net *net, struct error *err)
{
	int rc = gnutls_handshake(net->session);

	if ((rc == GNUTLS_E_INTERRUPTED || rc == GNUTLS_E_AGAIN) &&
	    clock_mono_us() < net->greeted_by_us)
		return 0;
	if (rc == GNUTLS_E_AGAIN)
		rc = GNUTLS_E_TIMEDOUT;
	if (rc < 0)
		return tls_fail(err, "TLS handshake failed", rc);
	return check_peer(net, err) < 0 ? -1 : 1;
}

/* --- bytes --- */

static int send_all(struct impexp_net *net, const char *data, size_t len,
		    struct error *err)
{
	while (len > 0) {
		ssize_t n = gnutls_record_send(net->session, data, len);

		if (n == GNUTLS_E_INTERRUPTED || n == GNUTLS_E_AGAIN)
			continue;
		if (n <= 0)
			return tls_fail(err, "Cannot send", (int)n);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Read at most len bytes; 0 after the closing message, -1 with err.  GnuTLS
 * says "again" after a message of TLS's own, such as one about new keys, also
 * where reads have no time limit; where they have one, it says so too when that
 * is over, hence the deadline. */
static ssize_t receive(struct impexp_net *net, char *data, size_t len,
		       int64_t deadline_us, struct error *err)
{
	ssize_t n;

	do {
		n = gnutls_record_recv(net->session, data, len);
	} while (n == GNUTLS_E_INTERRUPTED ||
		 (n == GNUTLS_E_AGAIN && clock_mono_us() < deadline_us));
	return n < 0 ? tls_fail(err, "Cannot receive", (int)n) : n;
}

static int exchange_magic(struct impexp_net *net, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + TALK_TIMEOUT_S * SECOND_US;
	char expected[MAGIC_MAX], found[MAGIC_MAX];
	size_t len, have = 0;

	if (net->spec->magic == NULL)
		return 0;
	len = (size_t)snprintf(expected, sizeof(expected), "M=%s",
			       net->spec->magic);
	if (!net->spec->import)
		return send_all(net, expected, len, err);
	while (have < len) {
		ssize_t n = receive(net, found + have, len - have, deadline_us,
				    err);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	if (have == len && gnutls_memcmp(found, expected, len) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, NULL,
			 "The other side means another disk");
}

static int greet(struct impexp_net *net, struct error *err)
{
	int rc = begin_handshake(net, err);

	talk_timeout(net->fd, TALK_TIMEOUT_S);
	while (rc == 0)
		rc = go_on_shaking(net, err);
	if (rc < 0 || exchange_magic(net, err) < 0)
		return -1;
	talk_timeout(net->fd, 0);
	return 0;
}

/* --- meeting the peer --- */

static int listen_socket(const struct impexp_spec *spec,
			 struct impexp_shared *s, struct error *err)
{
	struct sockaddr_storage address;
	socklen_t len;
	int fd = make_socket(spec, &address, &len, err);
	int on = 1, off = 0;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* "::" is both families, whatever the host is used to. */
	if (address.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *)&address, len) < 0 ||
	    listen(fd, GUESTS_MAX) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		sys_fail(err, "Cannot listen");
		close(fd);
		return -1;
	}
	s->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
	return fd;
}

/* Who has connected and not shown yet who it is, the first one first. */
struct guests {
	struct impexp_net all[GUESTS_MAX];
	size_t n;
};

/* Forget one, who may have been sent away or taken over. */
static void forget(struct guests *g, size_t i)
{
	g->n--;
	memmove(&g->all[i], &g->all[i + 1],
		(g->n - i) * sizeof(struct impexp_net));
}

static void send_away(struct guests *g, size_t i)
{
	hang_up(&g->all[i]);
	forget(g, i);
}

/* Where there are too many, the one goes who has had the most time. */
static void take_in(struct guests *g, const struct impexp_net *as, int listener,
		    struct error *err)
{
	struct impexp_net guest = *as;

	guest.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (guest.fd < 0)
		return;
	if (begin_handshake(&guest, err) < 0) {
		hang_up(&guest);
		return;
	}
	if (g->n == GUESTS_MAX)
		send_away(g, 0);
	g->all[g->n++] = guest;
}

/* 1: it is the peer; 0: that is not known yet; -1: it is not.  Who has the
 * certificate is believed to say at once which disk it means. */
static int hear(struct impexp_net *guest, struct error *err)
{
	int rc = go_on_shaking(guest, err);

	if (rc <= 0)
		return rc;
	fcntl(guest->fd, F_SETFL, 0);
	talk_timeout(guest->fd, TALK_TIMEOUT_S);
	if (exchange_magic(guest, err) < 0)
		return -1;
	talk_timeout(guest->fd, 0);
	return 1;
}

/* Hear all; true: *ret is the peer. */
static bool hear_all(struct guests *g, struct impexp_net *ret,
		     struct error *err)
{
	for (size_t i = g->n; i > 0; i--) {
		int rc = hear(&g->all[i - 1], err);

		if (rc < 0)
			send_away(g, i - 1);
		if (rc <= 0)
			continue;
		*ret = g->all[i - 1];
		forget(g, i - 1);
		return true;
	}
	return false;
}

/* Until somebody connects or speaks, or the first guest's time is over. */
static bool await_guests(const struct guests *g, int listener,
			 int64_t deadline_us)
{
	struct pollfd fds[GUESTS_MAX + 1] = {
		{.fd = listener, .events = POLLIN}};
	int64_t until_us = deadline_us, left_us;

	for (size_t i = 0; i < g->n; i++)
		fds[i + 1] =
			(struct pollfd){.fd = g->all[i].fd, .events = POLLIN};
	if (g->n > 0 && g->all[0].greeted_by_us < until_us)
		until_us = g->all[0].greeted_by_us;
	left_us = until_us - clock_mono_us();
	poll(fds, g->n + 1, left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
	return fds[0].revents != 0;
}

static int accept_peer(struct impexp_net *net, struct impexp_shared *s,
		       int64_t deadline_us, struct error *err)
{
	auto_close int listener = listen_socket(net->spec, s, err);
	struct guests guests = {0};
	bool met = false;

	if (listener < 0)
		return -1;
	error_set(err, ERR_SYSTEM, NULL, "Nobody connected in %d seconds",
		  net->spec->connect_timeout_s);
	while (!met && clock_mono_us() < deadline_us) {
		if (await_guests(&guests, listener, deadline_us))
			take_in(&guests, net, listener, err);
		met = hear_all(&guests, net, err);
	}
	while (guests.n > 0)
		send_away(&guests, 0);
	return met ? 0 : -1;
}

static int connect_once(struct impexp_net *net, int64_t deadline_us,
			struct error *err)
{
	struct sockaddr_storage address;
	int64_t left_us = deadline_us - clock_mono_us();
	socklen_t len;

	net->fd = make_socket(net->spec, &address, &len, err);
	if (net->fd < 0)
		return -1;
	/* 0 would be no limit. */
	if (connect_within(net->fd, (struct sockaddr *)&address, len,
			   left_us > 0 ? left_us : 1) < 0)
		return error_set(err, ERR_SYSTEM, NULL,
				 "Cannot connect to %s, port %d: %s",
				 net->spec->address, net->spec->port,
				 strerror(errno));
	return greet(net, err);
}

static int connect_peer(struct impexp_net *net, int64_t deadline_us,
			struct error *err)
{
	while (connect_once(net, deadline_us, err) < 0) {
		hang_up(net);
		if (clock_mono_us() + RETRY_US > deadline_us)
			return -1;
		usleep(RETRY_US);
	}
	return 0;
}

/* --- the stream --- */

/* Keep the limit after n more bytes. */
static void brake(struct impexp_net *net, ssize_t n)
{
	int64_t us = impexp_pace_us(&net->pace, n, clock_mono_us());

	if (us > 0)
		usleep((useconds_t)us);
}

/* Whether there is something that the peer has not taken yet. */
static bool is_under_way(int fd)
{
	int bytes = 0;

	return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* Send the closing message and wait until the peer hangs up, which it does when
 * it has read everything.  Whatever it sends until then has to be read (TLS
 * tickets, for example), even if it sends no closing message (socat does not):
 * closing a connection with unread data resets it, and what we have sent would
 * be lost.  A peer that fails in the end breaks the connection. */
static int say_goodbye(struct impexp_net *net, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + BYE_TIMEOUT_S * SECOND_US;
	char rest[512];
	ssize_t n;
	int rc;

	do {
		rc = gnutls_bye(net->session, GNUTLS_SHUT_WR);
	} while (rc == GNUTLS_E_INTERRUPTED);
	shutdown(net->fd, SHUT_WR);
	talk_timeout(net->fd, TALK_TIMEOUT_S);
	do {
		if (is_under_way(net->fd))
			deadline_us =
				clock_mono_us() + BYE_TIMEOUT_S * SECOND_US;
		n = read(net->fd, rest, sizeof(rest));
	} while ((n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) &&
		 clock_mono_us() < deadline_us);
	if (n == 0 || !net->spec->alone)
		return 0;
	return sys_fail(err, "The other side has not taken all");
}

/* --- the connection --- */

static struct impexp_net *net_of(struct impexp_stream *s)
{
	return container_of(s, struct impexp_net, stream);
}

static int put(struct impexp_stream *s, const void *data, size_t n,
	       struct error *err)
{
	struct impexp_net *net = net_of(s);

	impexp_wire_gather(&net->wire);
	if (send_all(net, data, n, err) < 0) {
		net->failed = true;
		return -1;
	}
	if (impexp_wire_flush(&net->wire) < 0) {
		net->failed = true;
		return sys_fail(err, "Cannot send");
	}
	brake(net, (ssize_t)n);
	return 0;
}

static ssize_t get(struct impexp_stream *s, void *data, size_t n,
		   struct error *err)
{
	struct impexp_net *net = net_of(s);
	ssize_t got = receive(net, data, n, INT64_MAX, err);

	if (got > 0)
		brake(net, got);
	net->failed = got < 0;
	return got;
}

static int hear_end(struct impexp_net *net, struct error *err)
{
	char more;
	ssize_t n = receive(net, &more, sizeof(more), INT64_MAX, err);

	if (n > 0)
		return error_set(err, ERR_SYSTEM, NULL,
				 "The other side sends more than the disk");
	if (n == 0)
		gnutls_bye(net->session, GNUTLS_SHUT_WR);
	return n < 0 ? -1 : 0;
}

static int end(struct impexp_stream *s, struct error *err)
{
	struct impexp_net *net = net_of(s);
	int rc = net->spec->import ? hear_end(net, err) : say_goodbye(net, err);

	net->failed = rc < 0;
	return rc;
}

static int meet(struct impexp_net *net, struct impexp_shared *s,
		struct error *err)
{
	int64_t deadline_us = clock_mono_us() +
			      (int64_t)net->spec->connect_timeout_s * 1000000;
	int rc = gnutls_certificate_allocate_credentials(&net->creds);

	if (rc == 0)
		rc = gnutls_certificate_set_x509_key_file(
			net->creds, net->spec->key_file, net->spec->key_file,
			GNUTLS_X509_FMT_PEM);
	if (rc < 0)
		return tls_fail(err, "Cannot use our certificate", rc);
	return net->spec->import ? accept_peer(net, s, deadline_us, err)
				 : connect_peer(net, deadline_us, err);
}

struct impexp_net *impexp_net_meet(const struct impexp_spec *spec,
				   struct impexp_shared *s, struct error *err)
{
	struct impexp_net *net = xalloc(sizeof(*net));

	*net = (struct impexp_net){
		.stream = {.put = put, .get = get, .end = end},
		.spec = spec,
		.fd = -1,
		.pace = {.bytes_per_s = spec->bandwidth_mib * MIB_BYTES},
	};
	if (meet(net, s, err) < 0) {
		impexp_net_drop(net);
		return NULL;
	}
	impexp_wire_begin(&net->wire, net->session, net->fd);
	s->connected = true;
	return net;
}

void impexp_net_drop(struct impexp_net *net)
{
	hang_up(net);
	impexp_wire_end(&net->wire);
	if (net->creds != NULL)
		gnutls_certificate_free_credentials(net->creds);
	free(net);
}

struct impexp_stream *impexp_net_stream(struct impexp_net *net)
{
	return &net->stream;
}

bool impexp_net_failed(const struct impexp_net *net)
{
	return net->failed;
}

/* --- between it and a pipe --- */

/* The end of our input is that of the disk only if those before us have ended
 * well: a script that fails closes its output as well, and the peer would take
 * the half for the whole.  If they fail we are killed, and the peer sees a
 * connection that breaks. */
static void await_complete(const struct impexp_shared *s)
{
	while (!s->complete)
		usleep(COMPLETE_POLL_US);
}

static int pump_out(struct impexp_stream *to, int fd, bool count,
		    struct impexp_shared *s, struct error *err)
{
	auto_free char *data = xalloc(IMPEXP_CHUNK);
	ssize_t n;

	while ((n = read(fd, data, IMPEXP_CHUNK)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sys_fail(err, "Cannot read the data to send");
		if (to->put(to, data, (size_t)n, err) < 0)
			return -1;
		if (count)
			s->bytes += n;
	}
	await_complete(s);
	return to->end(to, err);
}

static int pump_in(struct impexp_stream *from, int fd, bool count,
		   struct impexp_shared *s, struct error *err)
{
	auto_free char *data = xalloc(IMPEXP_CHUNK);
	ssize_t n;

	while ((n = from->get(from, data, IMPEXP_CHUNK, err)) > 0) {
		if (impexp_write_all(fd, data, (size_t)n) < 0)
			return sys_fail(err, "Cannot pass on what was sent");
		if (count)
			s->bytes += n;
	}
	return n < 0 ? -1 : from->end(from, err);
}

int impexp_net_run(const struct impexp_spec *spec, int fd, bool count,
		   struct impexp_shared *s, struct error *err)
{
	struct impexp_net *net = impexp_net_meet(spec, s, err);
	int rc;

	if (net == NULL)
		return -1;
	rc = spec->import ? pump_in(&net->stream, fd, count, s, err)
			  : pump_out(&net->stream, fd, count, s, err);
	impexp_net_drop(net);
	return rc;
}
