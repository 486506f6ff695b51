/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTPS side of the node daemon: it decides who gets in, and starts one
 * task for each request. */
#ifndef NODED_ACCESS_SERVER_H
#define NODED_ACCESS_SERVER_H

#include "lib/base/error.h"

struct noded;

/* The largest body, in bytes: an upload of a whole configuration. */
#define NODED_BODY_MAX (64u * 1024 * 1024)
/* Memory for the values of a body: what a master sends consists of few long
 * texts, or of some hundred disks. */
#define NODED_PARSED_MAX (64u * 1024 * 1024)
/* A master keeps one connection; besides, a few candidates may call. */
#define NODED_CONNECTIONS_MAX 256
#define NODED_CONNECTIONS_PER_IP_MAX 128
/* Each request has the stack of a task; slow ones must not keep quick ones from
 * running.  Those of the log have as many places of their own. */
#define NODED_REQUESTS_MAX 64

/* Listen at n->address and n->port. */
int server_start(struct noded *n, struct error *err);
/* Take no more requests; those that run are completed. */
void server_stop(struct noded *n);

#endif
