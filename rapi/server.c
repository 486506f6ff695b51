/* SPDX-License-Identifier: BSD-2-Clause */
/* The server with its limits and files: its begin, its end, and what is looked
 * at now and then.  What becomes of a request is in exchange.c. */
#include <malloc.h>

#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/event/https_server.h"
#include "lib/model/files/paths.h"
#include "rapi/exchange.h"
#include "rapi/login.h"
#include "rapi/quick.h"
#include "rapi/rapi.h"
#include "rapi/refusals.h"
#include "rapi/sampler.h"

static void read_certificate(struct rapi *r)
{
	struct error err;

	if (https_server_reload(r->server, NULL, &err) < 0)
		log_error("keeping the old certificate: %s", err.text);
	else
		log_info("read the certificate");
}

static void on_told(void *arg)
{
	struct rapi *r = arg;

	streams_told(r->streams);
	login_look(r, false);
}

const char *rapi_certificate(const struct rapi *r)
{
	return r->cert_file != NULL ? r->cert_file
				    : path(r->paths, PATH_RAPI_PEM);
}

static bool certificate_changed(struct rapi *r)
{
	bool cert = seen_changed(&r->certificate, rapi_certificate(r));
	bool key = r->key_file != NULL && seen_changed(&r->key, r->key_file);

	return cert || key;
}

static void look_later(struct rapi *r);

static void on_look(struct timer *t)
{
	struct rapi *r = container_of(t, struct rapi, look);

	answers_look(&r->answers, path(r->paths, PATH_PULSE));
	if (!r->no_ssl && certificate_changed(r))
		read_certificate(r);
	/* What a crowd of connections took goes back when they have gone. */
	if (r->stats.running == 0)
		malloc_trim(0);
	if (https_server_streams(r->server) > 0 || r->consoles > 0)
		login_look(r, true);
	look_later(r);
}

static void look_later(struct rapi *r)
{
	r->look.fired = on_look;
	timer_start(&r->look, clock_mono_us() + RAPI_LOOK_S * INT64_C(1000000));
}

/* One body at least is let in. */
static int64_t bodies_of_one(const struct rapi *r)
{
	const struct limits *l = &r->limits;

	if (r->proxies.n > 0)
		return l->bodies;
	return l->bodies_per_address > l->body ? l->bodies_per_address
					       : l->body;
}

int rapi_start(struct rapi *r, struct error *err)
{
	const struct limits *l = &r->limits;
	/* All clients of a proxy have its address. */
	struct https_server_config config = {
		.address = r->address,
		.port = r->port,
		.early = true,
		.cert_file = r->no_ssl ? NULL : rapi_certificate(r),
		.key_file = r->no_ssl ? NULL : r->key_file,
		.all_methods = true,
		.body_max = (size_t)l->body,
		.bodies_max = (size_t)l->bodies,
		.bodies_per_ip_max = (size_t)bodies_of_one(r),
		.unread_max = (size_t)l->unread,
		.header_max = (size_t)l->header,
		.target_max = (size_t)l->target,
		.idle_s = (unsigned)l->idle,
		.first_ms = (unsigned)l->handshake * 1000,
		.body_ms = (unsigned)l->idle * 1000,
		.answer_ms = (unsigned)l->answer * 1000,
		.connections_max = (unsigned)l->clients,
		.connections_per_ip_max =
			(unsigned)(r->proxies.n > 0 ? l->clients
						    : l->clients_per_address),
		.requests_max = (unsigned)l->requests,
		.streams_max = (unsigned)l->streams,
		.refuse = refusals_word,
		.refuse_headers = EXCHANGE_SERVER_LINE,
		.tell = refusals_tell,
		.quick = quick_answer,
		.handle = exchange_handle,
		.arg = r,
	};

	if (access_log_open(&r->log, path(r->paths, PATH_RAPI_ACCESS_LOG),
			    err) < 0 ||
	    record_open(&r->record, r->paths, err) < 0)
		return -1;
	certificate_changed(r);
	places_init(&r->lists, (unsigned)l->lists);
	r->server = https_server_create(&config, err);
	if (r->server == NULL)
		return -1;
	r->way.luxi_socket = path(r->paths, PATH_QUERY_SOCKET);
	r->way.relay_socket = path(r->paths, PATH_RELAY_SOCKET);
	r->feed = feed_create(&r->way, (size_t)l->events, on_told, r);
	r->streams = streams_create(r->feed, login_holds, r);
	feed_start(r->feed);
	look_later(r);
	answers_look(&r->answers, path(r->paths, PATH_PULSE));
	sampler_start(r);
	users_load(&r->users, true);
	return 0;
}

void rapi_stop(struct rapi *r)
{
	timer_stop(&r->look);
	sampler_stop(r);
	streams_stop(r->streams);
	if (r->server != NULL)
		https_server_destroy(steal(&r->server), NULL, NULL);
	r->logs.stopping = true;
	if (r->feed != NULL)
		feed_stop(r->feed);
}

void rapi_end(struct rapi *r)
{
	streams_free(steal(&r->streams));
	feed_free(steal(&r->feed));
	json_decref(steal(&r->tokens));
}

void rapi_reload(struct rapi *r)
{
	struct error err;

	users_load(&r->users, true);
	login_check(r);
	if (access_log_open(&r->log, path(r->paths, PATH_RAPI_ACCESS_LOG),
			    &err) < 0)
		log_error("keeping the old access log: %s", err.text);
	if (!r->no_ssl)
		read_certificate(r);
}
