/* SPDX-License-Identifier: BSD-2-Clause */
/* From an HTTPS request to a call and back (doc/protocol/noderpc.md): POST or
 * PUT /<procedure>, the body is the JSON list of arguments, the answer
 * [true, payload] or [false, text]. */
#ifndef NODED_SERVER_H
#define NODED_SERVER_H

#include <stddef.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct noded;

/* Uploads of whole configurations are the largest bodies. */
#define NODED_BODY_MAX (64u * 1024 * 1024)
/* A master keeps one connection and reconnects, a few candidates may call. */
#define NODED_CONNECTIONS_MAX 256
#define NODED_CONNECTIONS_PER_IP_MAX 128
/* Each has a task's stack; slow ones must not keep quick ones from running. */
#define NODED_REQUESTS_MAX 64

/* Listen at n->address and n->port. */
int server_start(struct noded *n, struct error *err);
/* No more requests; what runs goes on to its end. */
void server_stop(struct noded *n);

/* The answer to a request, to be freed, and its HTTP status. */
WAITS char *server_answer(struct noded *n, const char *method, const char *path,
			  const char *body, size_t len, int *ret_status);

#endif
