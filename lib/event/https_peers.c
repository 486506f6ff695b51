/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is at the other end of a connection.
 *
 * On a server that asks for certificates, a connection is a stranger until its
 * handshake ends with a certificate of this cluster.  Strangers have places of
 * their own.  When all of these are taken, a new stranger takes the place of
 * the oldest stranger of the address that has most of them.  So strangers,
 * however many, cannot keep out those who have a certificate.
 *
 * A certificate of this cluster whose time is over is still good: its digest
 * says whether it is let in.  If it were not, nobody could give the nodes of a
 * cluster new ones once the old have ended. */
#include <arpa/inet.h>
#include <assert.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/event/https_internal.h"

/* The log mentions cut-off strangers at most this often. */
#define TELL_US (60 * INT64_C(1000000))
/* And certificates that have ended. */
#define TELL_ENDED_US (3600 * INT64_C(1000000))

struct https_peer *https_peer_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static bool asks_for_certificates(const struct https_server *s)
{
	return s->config.ca_file != NULL;
}

/* Shut the socket down; MHD sees the end of the connection and closes it. */
static void hang_up(struct https_peer *peer)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		peer->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info != NULL)
		shutdown(info->connect_fd, SHUT_RDWR);
	https_instance_wake(peer->instance);
}

static void on_limit(struct timer *t)
{
	struct https_peer *peer = container_of(t, struct https_peer, limit);

	peer->late = true;
	hang_up(peer);
}

void https_peer_limit(struct https_peer *peer, unsigned ms)
{
	peer->limit.fired = on_limit;
	timer_start(&peer->limit, clock_mono_us() + ms * INT64_C(1000));
}

/* --- sources --- */

#define NETWORK_BYTES 8

void https_source(const char *ip, char ret[HTTPS_SOURCE_MAX])
{
	struct in6_addr in;

	snprintf(ret, HTTPS_SOURCE_MAX, "%s", ip);
	if (inet_pton(AF_INET6, ip, &in) != 1 || IN6_IS_ADDR_V4MAPPED(&in))
		return;
	memset(in.s6_addr + NETWORK_BYTES, 0, sizeof(in) - NETWORK_BYTES);
	inet_ntop(AF_INET6, &in, ret, HTTPS_SOURCE_MAX);
}

size_t https_amount(const struct table *by_ip, const char *source)
{
	const size_t *n = table_get(by_ip, source);

	return n == NULL ? 0 : *n;
}

void https_set_amount(struct table *by_ip, const char *source, size_t n)
{
	free(n == 0 ? table_remove(by_ip, source)
		    : table_put(by_ip, source, xmemdup(&n, sizeof(n))));
}

/* One connection more, or less. */
static void count_open(struct https_peer *peer, bool more)
{
	struct table *all = &peer->instance->server->open_by_ip;

	https_set_amount(all, peer->source,
			 https_amount(all, peer->source) + (more ? 1 : -1));
}

enum MHD_Result https_on_accept(void *arg, const struct sockaddr *address,
				socklen_t len)
{
	const struct https_instance *i = arg;
	const struct https_server *s = i->server;
	const struct https_server_config *c = &s->config;
	char ip[HTTPS_SOURCE_MAX] = "", source[HTTPS_SOURCE_MAX];

	(void)len;
	if (c->streams_max > 0 && s->open - s->streams >= c->connections_max)
		return MHD_NO;
	if (c->connections_per_ip_max == 0 || asks_for_certificates(s))
		return MHD_YES;
	uv_ip_name(address, ip, sizeof(ip));
	https_source(ip, source);
	return https_amount(&s->open_by_ip, source) < c->connections_per_ip_max
		       ? MHD_YES
		       : MHD_NO;
}

/* --- strangers --- */

static size_t count(const struct list *peers, const char *source)
{
	const struct https_peer *p;
	size_t n = 0;

	list_each (p, peers, link)
		n += source == NULL || strcmp(p->source, source) == 0;
	return n;
}

/* The oldest stranger of the address that has most of them; the list is in the
 * order of arrival. */
static struct https_peer *whose_turn(const struct https_server *s)
{
	struct https_peer *p, *found = NULL;
	size_t most = 0;

	list_each (p, &s->strangers, link) {
		size_t n = count(&s->strangers, p->source);

		if (n > most) {
			most = n;
			found = p;
		}
	}
	return found;
}

static void tell(struct https_server *s, const struct https_peer *gone)
{
	int64_t now = clock_mono_us();

	s->sent_away++;
	if (s->told_us != 0 && now - s->told_us < TELL_US)
		return;
	log_warning("HTTPS: %u connections without a certificate had to make "
		    "room for others since the last such line, the last one of "
		    "%s",
		    s->sent_away, gone->ip);
	s->told_us = now;
	s->sent_away = 0;
}

static void make_room(struct https_server *s)
{
	struct https_peer *peer;

	if (count(&s->strangers, NULL) < HTTPS_STRANGERS_MAX)
		return;
	peer = whose_turn(s);
	tell(s, peer);
	list_remove(&peer->link);
	timer_stop(&peer->limit);
	hang_up(peer);
}

/* The peer has shown a certificate.  The number of such connections is limited,
 * too: beyond it this one is closed. */
static void make_known(struct https_peer *peer)
{
	struct https_server *s = peer->instance->server;
	const struct https_server_config *c = &s->config;

	list_remove(&peer->link);
	if (count(&s->known, NULL) >= c->connections_max ||
	    count(&s->known, peer->source) >= c->connections_per_ip_max) {
		log_warning("HTTPS: %s has too many connections", peer->ip);
		hang_up(peer);
		return;
	}
	list_append(&s->known, &peer->link);
	https_peer_limit(peer, c->first_ms);
}

/* What is wrong with the certificate that the peer has shown, as bits of
 * GnuTLS's; 0: nothing.  GnuTLS takes the flags from what all connections
 * share, so they are set before each look. */
static unsigned find_faults(gnutls_session_t session, unsigned flags)
{
	void *credentials = NULL;
	unsigned faults = 0;

	if (gnutls_credentials_get(session, GNUTLS_CRD_CERTIFICATE,
				   &credentials) < 0)
		return GNUTLS_CERT_INVALID;
	gnutls_certificate_set_verify_flags(credentials, flags);
	/* gnutls also returns an error when there is no certificate */
	return gnutls_certificate_verify_peers2(session, &faults) < 0
		       ? GNUTLS_CERT_INVALID
		       : faults;
}

/* At the first certificate whose time is over GnuTLS ends its search, so the
 * others are looked at without the time. */
static bool is_ours(gnutls_session_t session, bool *ret_ended)
{
	unsigned faults = find_faults(session, 0);
	bool ended = (faults & GNUTLS_CERT_EXPIRED) != 0 &&
		     (faults & GNUTLS_CERT_NOT_ACTIVATED) == 0;

	if (ended)
		faults = find_faults(
			session,
			GNUTLS_VERIFY_DISABLE_TIME_CHECKS |
				GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS);
	*ret_ended = ended;
	return faults == 0;
}

static void tell_ended(struct https_server *s, const struct https_peer *peer)
{
	int64_t now = clock_mono_us();

	if (s->ended_us != 0 && now - s->ended_us < TELL_ENDED_US)
		return;
	s->ended_us = now;
	log_warning(
		"HTTPS: the certificate that %s has shown, or the cluster's, "
		"HAS ENDED. It is accepted so that the cluster can be "
		"given new ones: gnt-cluster renew-crypto "
		"--new-cluster-certificate --new-node-certificates",
		peer->ip);
}

static bool verify(struct https_peer *peer, gnutls_session_t session)
{
	const gnutls_datum_t *chain;
	unsigned n = 0;
	bool ended;

	if (!is_ours(session, &ended))
		return false;
	chain = gnutls_certificate_get_peers(session, &n);
	if (chain == NULL || n == 0)
		return false;
	tls_digest_der(chain[0].data, chain[0].size, peer->digest);
	if (ended)
		tell_ended(peer->instance->server, peer);
	return true;
}

static void check(struct https_peer *peer, gnutls_session_t session)
{
	if (peer->checked)
		return;
	peer->checked = true;
	peer->verified = verify(peer, session);
	if (peer->verified)
		make_known(peer);
}

/* The finished message comes after the proof that the peer has the
 * certificate's key. */
static int on_finished(gnutls_session_t session, unsigned type, unsigned when,
		       unsigned incoming, const gnutls_datum_t *message)
{
	(void)type;
	(void)when;
	(void)message;
	if (incoming)
		check(gnutls_db_get_ptr(session), session);
	return 0;
}

static gnutls_session_t session_of(const struct https_peer *peer)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		peer->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info == NULL ? NULL : info->tls_session;
}

void https_peer_look(struct https_peer *peer)
{
	gnutls_session_t session = session_of(peer);

	if (session != NULL && asks_for_certificates(peer->instance->server))
		check(peer, session);
}

/* --- coming and going --- */

static void watch_handshake(struct https_peer *peer)
{
	gnutls_session_t session = session_of(peer);

	if (session == NULL)
		return;
	/* MHD would keep a pointer to this in its session cache; we have no
	 * such cache. */
	gnutls_db_set_ptr(session, peer);
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED,
					   GNUTLS_HOOK_POST, on_finished);
}

static struct https_peer *peer_create(struct https_instance *i,
				      struct MHD_Connection *connection)
{
	struct https_server *s = i->server;
	struct https_peer *peer = xalloc(sizeof(*peer));
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	peer->connection = connection;
	peer->instance = i;
	list_init(&peer->link);
	if (info != NULL)
		uv_ip_name(info->client_addr, peer->ip, sizeof(peer->ip));
	https_source(peer->ip, peer->source);
	if (!asks_for_certificates(s)) {
		count_open(peer, true);
		https_peer_limit(peer, s->config.first_ms);
		return peer;
	}
	make_room(s);
	list_append(&s->strangers, &peer->link);
	https_peer_limit(peer, s->config.stranger_ms);
	watch_handshake(peer);
	return peer;
}

static void peer_free(struct https_peer *peer)
{
	if (peer == NULL)
		return;
	https_told_end(peer);
	if (!asks_for_certificates(peer->instance->server))
		count_open(peer, false);
	timer_stop(&peer->limit);
	list_remove(&peer->link);
	free(peer->target);
	free(peer);
}

void https_on_connection(void *arg, struct MHD_Connection *connection,
			 void **context,
			 enum MHD_ConnectionNotificationCode code)
{
	struct https_instance *i = arg;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		i->server->accepted++;
		i->server->open++;
		*context = peer_create(i, connection);
	} else {
		i->server->open--;
		peer_free(*context);
		*context = NULL;
	}
}
