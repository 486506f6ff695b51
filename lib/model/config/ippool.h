/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of a network: a subnet, and two strings with a digit for each
 * of its addresses, "reservations" (taken by instances) and "ext_reservations"
 * (never given to any), as config.data has them. */
#ifndef MODEL_CONFIG_IPPOOL_H
#define MODEL_CONFIG_IPPOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* Subnets from /30 to /16, as Ganeti's. */
#define IPPOOL_PREFIX_MIN 16
#define IPPOOL_PREFIX_MAX 30

struct ippool {
	uint32_t first; /* in host order */
	size_t size;
};

/* "a.b.c.d/len"; ERR_PREREQ/ECODE_INVAL for what is none or has bits set that
 * belong to hosts. */
int ippool_parse(const char *subnet, struct ippool *ret, struct error *err);

/* The number of an address in it; false when it is outside or none. */
bool ippool_index(const struct ippool *p, const char *ip, size_t *ret);

/* --- on a network object that is being edited --- */

/* Add the strings to a new one; its first and last address are taken. */
int ippool_begin(json_t *network, struct error *err);

/* Is it one of the network's addresses? */
bool ippool_contains(const json_t *network, const char *ip);
/* Is it taken by an instance, or kept from all? */
bool ippool_is_taken(const json_t *network, const char *ip);
/* Is it taken by an instance? */
bool ippool_is_used(const json_t *network, const char *ip);

/* Take or give back an address, for an instance or (external) from all of them:
 * ERR_PREREQ when it is outside, or when it is so already (ECODE_STATE).  One
 * does not look at the other: what an instance has may be kept from all, and is
 * so when the instance has gone. */
int ippool_take(json_t *network, const char *ip, bool external,
		struct error *err);
int ippool_give(json_t *network, const char *ip, bool external,
		struct error *err);

/* The first address that is not taken, to be freed; NULL with
 * ERR_PREREQ/ECODE_NORES when all are, or in `but` (may be NULL). */
char *ippool_find(const json_t *network, const struct strv *but,
		  struct error *err);

/* Add the addresses that are reserved for instances though `ips` (of NICs) do
 * not have them, and those of `ips` that are not reserved; what is not in the
 * subnet does not count. */
void ippool_differences(const json_t *network, const struct strv *ips,
			struct strv *ret_leaked, struct strv *ret_missing);

#endif
