/* SPDX-License-Identifier: BSD-2-Clause */
/* What a request wishes beyond what its resource takes: headers and arguments
 * of our own (doc/rapi.md, "Beyond Ganeti's"). */
#ifndef RAPI_WISHES_H
#define RAPI_WISHES_H

#include "lib/base/error.h"
#include "rapi/exchange.h"

/* Read those of conditions, plans and waiting; what is ours is taken out of the
 * arguments: to some resources any that they do not know means something. */
int wishes_read(const struct https_request *http, struct exchange *x,
		struct error *err);

/* Read Idempotency-Key: who submits under a key; the same key of another user
 * is another one. */
int wishes_read_key(const struct https_request *http, struct exchange *x,
		    struct error *err);

#endif
