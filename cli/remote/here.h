/* SPDX-License-Identifier: BSD-2-Clause */
/* This host in the network: its addresses and devices, and whether an address
 * is in use.  For commands that run without a master.  Questions to the
 * resolver and to the network may take seconds. */
#ifndef CLI_REMOTE_HERE_H
#define CLI_REMOTE_HERE_H

#include <stdbool.h>

#include "lib/base/error.h"

/* The first address that the resolver has for a name, in a family (AF_...); to
 * be freed.  NULL with ERR_PREREQ. */
char *here_resolve(const char *name, int family, struct error *err);

/* The whole name that the resolver has for a name, in lower case; to be freed.
 * NULL with ERR_PREREQ. */
char *here_full_name(const char *name, int family, struct error *err);

/* The first one that is this host's and that others reach: no loopback address.
 * name is this host's.  To be freed; NULL with ERR_PREREQ when there is none.
 */
char *here_own_address(const char *name, int family, struct error *err);

/* Whether others reach this host at the address (numeric). */
bool here_has_address(const char *address);

bool here_has_device(const char *name);

/* Whether a host answers at the address (numeric) within HERE_ANSWER_MS: it
 * accepts a connection to the port of node daemons, or refuses it (*ret_refused
 * is set). */
#define HERE_ANSWER_MS 5000
bool here_answers(const char *address, bool *ret_refused);

#endif
