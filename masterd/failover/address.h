/* SPDX-License-Identifier: BSD-2-Clause */
/* The master's IP address: it is up on the node whose master daemon serves. The
 * node daemon there turns it up, unless it is up already. */
#ifndef MASTERD_FAILOVER_ADDRESS_H
#define MASTERD_FAILOVER_ADDRESS_H

#include <jansson.h>

#include "lib/model/rpc/rpc.h"

struct config;
struct noderpc;

/* The calls that turn the address up and down on a node. */
struct rpc_request address_up(const json_t *cluster);
struct rpc_request address_down(const json_t *cluster);

/* Turn it up on this node, in a task of its own.  A failure is logged: a master
 * without its address still serves clients that know the node. */
void address_turn_up(const struct config *config, struct noderpc *rpc);

#endif
