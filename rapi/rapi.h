/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon of the remote API: HTTPS to the world, LUXI to the master, on
 * whose node it runs.  It knows nothing of the cluster but what the master
 * tells, and keeps nothing between requests but connections.
 *
 * Resources are functions named in a table (routes.def) that run beside the
 * loop, so that none of them keeps others waiting; all that requests share
 * belongs to the loop (server.c). */
#ifndef RAPI_RAPI_H
#define RAPI_RAPI_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/log_rate.h"
#include "lib/base/str.h"
#include "lib/event/timer.h"
#include "rapi/access/guard.h"
#include "rapi/access/seen.h"
#include "rapi/access/users.h"
#include "rapi/access_log.h"
#include "rapi/answers.h"
#include "rapi/console/ticket.h"
#include "rapi/feed.h"
#include "rapi/figures/samples.h"
#include "rapi/figures/stats.h"
#include "rapi/job_log.h"
#include "rapi/limits.h"
#include "rapi/places.h"
#include "rapi/pool.h"
#include "rapi/record.h"
#include "rapi/streams.h"

struct https_server;
struct paths;

/* How often is looked whether the certificate was renewed, and memory is given
 * back. */
#define RAPI_LOOK_S 5

struct rapi {
	const struct paths *paths;
	const char *address;
	int port;
	bool no_ssl; /* plain HTTP, behind a proxy that speaks TLS */
	/* The site's own certificate, and its key where that is another file;
	 * NULL: the cluster's. */
	const char *cert_file, *key_file;
	bool require_auth;   /* also for what everybody may read */
	struct strv proxies; /* whose word is taken for the client's address */
	struct request_way way; /* to the master */
	struct limits limits;

	struct https_server *server;
	struct seen certificate, key;
	struct timer look; /* for a new certificate, and spare memory */
	struct users users;
	struct guard guard;
	struct cond attempt_ended; /* one that counted */
	struct pool pool;
	struct places lists; /* that are made at the same time */
	struct answers answers;
	struct access_log log;
	struct log_rate refusals, failures; /* lines about them */
	struct record record;		    /* in a virtual cluster */
	struct stats stats;
	struct feed *feed;
	struct streams *streams;
	struct job_logs logs;
	json_t *tokens; /* that there were; NULL: not known */
	uint64_t tokens_seen;
	bool looking; /* which there are */
	struct tickets tickets;
	unsigned consoles; /* that are open */
	struct list open_consoles;
	struct samples samples;
	struct {
		struct timer timer;
		bool busy;
		double requests; /* until the last step */
	} sampler;
};

/* The file with the certificate. */
const char *rapi_certificate(const struct rapi *r);

/* Start to listen. */
int rapi_start(struct rapi *r, struct error *err);

/* Stop to listen; requests that run go on. */
void rapi_stop(struct rapi *r);

/* After its last task. */
void rapi_end(struct rapi *r);

/* Read the certificate and the users again, and open the logs anew. */
void rapi_reload(struct rapi *r);

#endif
