/* SPDX-License-Identifier: BSD-2-Clause */
/* Metrics of this node for Prometheus, in plain HTTP on an address of their
 * own: what the host and its instances use, and what the daemon does. Everybody
 * who reaches that address may read them; without --metrics-address there is
 * none. */
#ifndef NODED_ACCESS_METRICS_H
#define NODED_ACCESS_METRICS_H

#include "lib/base/error.h"

struct noded;

#define METRICS_PORT 9716
/* Few ask, each now and then. */
#define METRICS_CONNECTIONS_MAX 32
#define METRICS_REQUESTS_MAX 2

/* Listen there: an address, or ADDRESS:PORT ("[::1]:9716"). */
int metrics_start(struct noded *n, const char *where, struct error *err);

/* Stop to listen, if it does. */
void metrics_stop(struct noded *n);

#endif
