/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the owner of a server for the world of requests that never get here,
 * for his log: those that libmicrohttpd answers itself, and those that did not
 * come in time.
 *
 * When it has seen the first line of a request, its end is told with the status
 * of the answer.  Of what is wrong with a first line itself there is only a
 * line of its log, without the connection; then the connection is closed.  So
 * such a line is told with the next end of a connection without a request,
 * which is the same one unless two such end in the same round of the loop. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/event/https_internal.h"

/* The log mentions connections without a request at most this often. */
#define SILENT_US (60 * INT64_C(1000000))
#define FAULT "Error processing request (HTTP response code is "

static void tell(const struct https_peer *peer, int status, const char *method,
		 const char *version)
{
	const struct https_server_config *c = &peer->instance->server->config;

	c->tell(c->arg, &(struct https_refusal){
				.method = method,
				.target = peer->asks ? peer->target : NULL,
				.version = version,
				.peer_ip = peer->ip,
				.status = status,
				.why = status == MHD_HTTP_REQUEST_TIMEOUT
					       ? "It did not come in time"
					       : "It is no proper HTTP"});
}

void https_told_line(struct https_instance *i, const char *text)
{
	uint64_t status;
	const char *rest;

	if (str_starts(text, FAULT) &&
	    str_to_number(text + strlen(FAULT), 999, &status, &rest)) {
		i->faults.n++;
		i->faults.status = (int)status;
	}
}

/* What MHD answered; 0: nothing. */
static int status_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_HTTP_STATUS);

	return info == NULL ? 0 : (int)info->http_status;
}

void https_told_request(struct https_peer *peer, const char *method,
			const char *version,
			enum MHD_RequestTerminationCode code)
{
	struct https_instance *i = peer->instance;
	int status = status_of(peer->connection);
	bool late =
		peer->late || code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED;

	if (i->server->config.tell == NULL || !peer->asks || peer->refused)
		return;
	if (status != 0) {
		if (i->faults.n > 0)
			i->faults.n--;
		tell(peer, status, NULL, NULL);
	} else if (late) {
		tell(peer, MHD_HTTP_REQUEST_TIMEOUT, method, version);
	}
}

/* Probes that only connect, scans, TLS that failed. */
static void mention_silent(struct https_server *s, const char *ip)
{
	int64_t now = clock_mono_us();

	s->silent++;
	if (s->silent_us != 0 && now - s->silent_us < SILENT_US)
		return;
	log_info("HTTPS: %u connections ended without a request since the last "
		 "such line, the last one of %s",
		 s->silent, ip);
	s->silent_us = now;
	s->silent = 0;
}

void https_told_end(struct https_peer *peer)
{
	struct https_instance *i = peer->instance;

	if (i->server->config.tell == NULL || peer->asks)
		return;
	if (i->faults.n > 0) {
		i->faults.n--;
		tell(peer, i->faults.status, NULL, NULL);
	} else if (!peer->served) {
		mention_silent(i->server, peer->ip);
	}
}
