/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts outside of the cluster: the address of a name, and whether a machine
 * answers at an address. */
#ifndef MASTERD_RPC_RESOLVE_H
#define MASTERD_RPC_RESOLVE_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct resolved {
	char *name; /* the canonical one */
	char *ip;   /* its first address, as numbers */
};

/* What the system's resolver says of a name; family: AF_INET, AF_INET6 or
 * AF_UNSPEC.  ERR_PREREQ/ECODE_RESOLVER when it has no address.  Free with
 * resolve_done(). */
WAITS int resolve_host(const char *name, int family, struct resolved *ret,
		       struct error *err);
void resolve_done(struct resolved *r);

/* Whether a machine is at the address (numeric): within RESOLVE_PING_MS it
 * accepts or refuses a connection to the port of node daemons.  In a virtual
 * cluster all loopback addresses refuse one, so there only an accepted
 * connection counts. */
#define RESOLVE_PING_MS 10000
struct paths;
WAITS bool resolve_answers(const struct paths *p, const char *ip);

#define auto_resolved __attribute__((cleanup(resolve_done), unused))

#endif
