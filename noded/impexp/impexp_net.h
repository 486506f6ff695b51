/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to the peer: TLS, in which both sides show certificates. */
#ifndef NODED_IMPEXP_NET_H
#define NODED_IMPEXP_NET_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "noded/impexp/impexp.h"
#include "noded/impexp/impexp_stream.h"

struct impexp_net;

/* Listen and wait for the peer, or connect to it; to be dropped.  NULL with
 * err: nobody came in time, or somebody else. */
struct impexp_net *impexp_net_meet(const struct impexp_spec *spec,
				   struct impexp_shared *s, struct error *err);
void impexp_net_drop(struct impexp_net *net);

/* Its bytes; valid as long as the connection. */
struct impexp_stream *impexp_net_stream(struct impexp_net *net);

/* Whether one of its functions has failed: then not the disk is to blame. */
bool impexp_net_failed(const struct impexp_net *net);

#endif
