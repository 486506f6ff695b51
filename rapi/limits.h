/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon takes at most of each thing: defaults, and the option that
 * changes one (limits.def is the list). */
#ifndef RAPI_LIMITS_H
#define RAPI_LIMITS_H

#include <stdint.h>

#include "lib/base/error.h"

#define RAPI_CONNECTIONS_MAX 1000
#define RAPI_CONNECTIONS_PER_IP_MAX 100
#define RAPI_REQUESTS_MAX 1000
/* Of these, lists of whole objects and queries. */
#define RAPI_LISTS_MAX 8
/* Streams do not count among the connections. */
#define RAPI_STREAMS_MAX 1000
/* For clients that come back, or read slowly: as many as the master keeps. */
#define RAPI_EVENTS_KEPT 32768
#define RAPI_BODY_MAX (10 * 1024 * 1024)
#define RAPI_BODIES_MAX (64 * 1024 * 1024)
#define RAPI_BODIES_PER_IP_MAX (16 * 1024 * 1024)
#define RAPI_HEADER_MAX (16 * 1024)
#define RAPI_TARGET_MAX (8 * 1024)
/* The handshake and the first request's headers have to be there by then. */
#define RAPI_HANDSHAKE_S 5
#define RAPI_IDLE_S 60
/* An answer has to be read by then; and so much may wait to be read. */
#define RAPI_ANSWER_S 300
#define RAPI_UNREAD_MAX (256 * 1024 * 1024)

/* Two threads each. */
#define RAPI_CONSOLES_MAX 32

struct limits {
#define LIMIT(name, normal, most) int64_t name;
#include "rapi/limits.def"
#undef LIMIT
};

/* The defaults. */
struct limits limits_default(void);

/* Set the one that "NAME=NUMBER" names; a number may end in K, M or G, which
 * stand for 1,024 and its powers.  ECODE_INVAL says what is wrong. */
int limits_set(struct limits *l, const char *text, struct error *err);

#endif
