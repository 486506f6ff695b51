/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of protocol version 1, that of Ganeti 1.2: one group, no policy, no
 * spindles; types allocate and relocate. */
#ifndef IALLOCATORS_INPUT_PROTOCOL1_H
#define IALLOCATORS_INPUT_PROTOCOL1_H

#include "iallocators/input/jtext.h"

/* The request as one of version 2: what version 1 does not have is filled in.
 * A request that has it, because it is of version 2, stays as it is.  NULL
 * with err for a type that version 1 does not have. */
const struct jval *protocol1_request(struct arena *a, const struct jval *top,
				     struct error *err);

#endif
