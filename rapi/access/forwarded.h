/* SPDX-License-Identifier: BSD-2-Clause */
/* For whom a reverse proxy asks.  A proxy appends to the header X-Forwarded-For
 * the address that it sees; so of the list in it only the end can be believed,
 * and of that only as long as proxies of ours wrote it. */
#ifndef RAPI_FORWARDED_H
#define RAPI_FORWARDED_H

#include <stdbool.h>

#include "lib/base/str.h"

/* Whether text names proxies: an address, or a network ("10.1.0.0/16"). */
bool forwarded_valid_proxy(const char *text);

/* The address of the client, to be freed: that of the peer, unless it is one of
 * the proxies; then the last one in list (the values of all X-Forwarded-For
 * headers in their order with commas between; NULL: none) that is no proxy.  A
 * part that is no address ends the search at what was found until then. */
char *forwarded_address(const struct strv *proxies, const char *peer,
			const char *list);

#endif
