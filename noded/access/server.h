/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTPS side of the node daemon: who gets in, one task a request. */
#ifndef NODED_ACCESS_SERVER_H
#define NODED_ACCESS_SERVER_H

#include "lib/base/error.h"

struct noded;

/* Uploads of whole configurations are the largest bodies. */
#define NODED_BODY_MAX (64u * 1024 * 1024)
/* Its values in memory: what a master sends is few and long, or some hundred
 * disks. */
#define NODED_PARSED_MAX (64u * 1024 * 1024)
/* A master keeps one connection and reconnects, a few candidates may call. */
#define NODED_CONNECTIONS_MAX 256
#define NODED_CONNECTIONS_PER_IP_MAX 128
/* Each has a task's stack; slow ones must not keep quick ones from running. */
#define NODED_REQUESTS_MAX 64

/* Listen at n->address and n->port. */
int server_start(struct noded *n, struct error *err);
/* No more requests; what runs goes on to its end. */
void server_stop(struct noded *n);

#endif
