/* SPDX-License-Identifier: BSD-2-Clause */
/* A request on its way to its answer. */
#ifndef RAPI_EXCHANGE_H
#define RAPI_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/mem.h"
#include "lib/event/https_server.h"
#include "lib/event/task.h"
#include "lib/model/constants.h"
#include "rapi/access/auth.h"
#include "rapi/access/guard.h"
#include "rapi/figures/stats.h"
#include "rapi/frame/request.h"

struct rapi;

/* In each answer, also to what never becomes an exchange. */
#define EXCHANGE_SERVER_LINE "Server: Ganeti " GANETI_RELEASE "\n"

struct exchange {
	struct request q;
	struct auth auth;
	char *address;	   /* of the client */
	const char *type;  /* of the body */
	const char *known; /* If-None-Match: what the client has */
	uint64_t pulse;	   /* of the master then; 0: it is not known */
	int64_t index;	   /* wait for something newer; -1: do not */
	int64_t index_wait_s;
	bool follow;  /* a stream */
	bool checked; /* the password was right */
	bool noted;   /* what came of the password */
	struct guard_attempt attempt;
	uint64_t newest;    /* event before the answer was made */
	struct stats stats; /* as they were at its beginning */
	int64_t begin_us;
	int status;
	char *text; /* the answer */
	const char *text_type;
	bool wrong; /* the password was */
};

/* Answer it; for struct https_server_config, with a struct rapi as arg. */
WAITS void exchange_handle(void *rapi, struct https_request *http);

/* --- for quick.c and wishes.c --- */

/* The client's address, which a proxy may have told; to be freed. */
char *exchange_address(const struct rapi *r, const struct https_request *http);
/* Whether the answer is the same for all who may have it: those who show no
 * token, which may be for some objects alone. */
bool exchange_by_name(const struct https_request *http);
/* Send x->text with these headers, and log it. */
void exchange_send(struct rapi *r, struct https_request *http,
		   struct exchange *x, char *headers STEALS);
void exchange_done(struct exchange *x);

#endif
