/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster as its master describes it over LUXI or RAPI, ours or Ganeti's.
 */
#ifndef IALLOCATORS_LIVE_LIVE_H
#define IALLOCATORS_LIVE_LIVE_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/client/rapi.h"

/* Where the master listens when no socket is named; to be freed. */
char *live_socket(const char *socket, struct error *err);

/* Ask for nodes, instances and groups and read them, as text_read() reads a
 * file; *ret_text keeps the memory that c points into.  With KVM, nodes are
 * taken to need kvm_node_memory themselves, unless it is 0. */
int live_read(struct cluster *c, struct luxi *luxi, int64_t kvm_node_memory,
	      struct buf *ret_text, struct error *err);

/* The same from a RAPI server. */
int live_read_rapi(struct cluster *c, struct rapi *rapi,
		   int64_t kvm_node_memory, struct buf *ret_text,
		   struct error *err);

#endif
